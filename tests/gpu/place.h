#ifndef CACHEINF_TESTS_GPU_PLACE_H_
#define CACHEINF_TESTS_GPU_PLACE_H_

#include <memory>
#include <string>

#include "common/exec/backend.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {

// What the kernels for GPUs run on.
struct Place {
  bool is_stand_in = false;
  unsigned seed = 1;  // of the stand-in's order of threads

  // "NVIDIA H100, compute capability 9.0, 132 multiprocessors".
  std::string Describe() const;

  std::unique_ptr<Backend> MakeBackend() const;

  // Calls check(family) with the operators of sparse_ops/cuda there.
  void WithFamily(const std::function<void(const OperatorFamily& family)>& check) const;
};

// Why there is no GPU to run on; empty if there is one.
std::string WhyNoGpu();

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_GPU_PLACE_H_
