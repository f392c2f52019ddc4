#include "sparse_ops/cpu/global_pool_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/global_pool_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

// Plain loops, which compilers turn into vectors.
void PutIn(const float* pixel, int64_t pixel_stride, int count, int channels, double* sums) {
  for (int x = 0; x < count; ++x, pixel += pixel_stride) {
    for (int c = 0; c < channels; ++c) sums[c] += static_cast<double>(pixel[c]);
  }
}

void TakeOut(const float* pixel, int64_t pixel_stride, int count, int channels, double* sums) {
  for (int x = 0; x < count; ++x, pixel += pixel_stride) {
    for (int c = 0; c < channels; ++c) sums[c] -= static_cast<double>(pixel[c]);
  }
}

}  // namespace

const GlobalPoolKernels& TargetGlobalPoolKernels() {
  static constexpr GlobalPoolKernels kKernels = {PutIn, TakeOut};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(GlobalPoolKernels)
#endif  // HWY_ONCE
