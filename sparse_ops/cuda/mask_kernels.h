#ifndef CACHEINF_SPARSE_OPS_CUDA_MASK_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_MASK_KERNELS_H_

#include <cstdint>

#include "sparse_ops/cuda/device.h"

namespace cacheinf {
namespace cuda {

struct UniteMasks {
  static constexpr const char* kName = "UniteMasks";
  static constexpr int kThreads = 128;

  const uint64_t* a;
  const uint64_t* b;
  uint64_t* out;
  int words;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.BlockX() * kThreads + thread.ThreadIndex();
    if (i < words) thread.Store(out + i, thread.Load(a + i) | thread.Load(b + i));
  }
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_MASK_KERNELS_H_
