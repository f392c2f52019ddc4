#ifndef CACHEINF_TESTS_GPU_PLACE_H_
#define CACHEINF_TESTS_GPU_PLACE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "common/backend/backend.h"
#include "sparse_ops/cuda/conv_options.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {

// What kernels for GPUs run on.
struct Place {
  bool is_stand_in = false;
  unsigned seed = 1;  // of the stand-in's order of threads
  cuda::Precision precision = cuda::Precision::kExact;

  // "NVIDIA H100, compute capability 9.0, 132 multiprocessors".
  std::string Describe() const;

  // ConvOptions explains `small_tiles_up_to`.
  std::unique_ptr<Backend> MakeBackend(int small_tiles_up_to = -1) const;

  // How much device memory this backend and its states have taken. REQUIRES: made by MakeBackend.
  size_t DeviceBytes(const Backend& backend) const;

  // Calls check(family) with the operators of sparse_ops/cuda.
  void WithFamily(const std::function<void(const OperatorFamily& family)>& check) const;
};

// Why there is no GPU; empty if there is one.
std::string WhyNoGpu();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GPU_PLACE_H_
