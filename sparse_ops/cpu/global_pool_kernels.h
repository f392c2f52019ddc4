#ifndef CACHEINF_SPARSE_OPS_CPU_GLOBAL_POOL_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_GLOBAL_POOL_KERNELS_H_

#include <cstdint>

namespace cacheinf {
namespace cpu {

// Of `count` pixels of a row, one after the other.
using GlobalPoolKernel = void (*)(const float* pixel, int64_t pixel_stride, int count, int channels,
                                  double* sums);

struct GlobalPoolKernels {
  GlobalPoolKernel put_in = nullptr;    // sums[c] += pixel[c]
  GlobalPoolKernel take_out = nullptr;  // sums[c] -= pixel[c]
};

// Those for the best target that this machine has.
const GlobalPoolKernels& ChooseGlobalPoolKernels();

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_GLOBAL_POOL_KERNELS_H_
