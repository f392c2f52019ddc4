#include "sparse_ops/cpu/transpose_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/transpose_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kBlock = 1;

void TransposeBlock(const float* from, int64_t, float* to, int64_t) { *to = *from; }
#else
constexpr int64_t kBlock = 4;

HWY_INLINE void TransposeBlock(const float* from, int64_t from_step, float* to, int64_t to_step) {
  const hn::FixedTag<float, kBlock> tag;
  const auto a = hn::LoadU(tag, from);
  const auto b = hn::LoadU(tag, from + from_step);
  const auto c = hn::LoadU(tag, from + 2 * from_step);
  const auto d = hn::LoadU(tag, from + 3 * from_step);
  const auto ab_low = hn::InterleaveLower(tag, a, b);
  const auto ab_high = hn::InterleaveUpper(tag, a, b);
  const auto cd_low = hn::InterleaveLower(tag, c, d);
  const auto cd_high = hn::InterleaveUpper(tag, c, d);
  hn::StoreU(hn::ConcatLowerLower(tag, cd_low, ab_low), tag, to);
  hn::StoreU(hn::ConcatUpperUpper(tag, cd_low, ab_low), tag, to + to_step);
  hn::StoreU(hn::ConcatLowerLower(tag, cd_high, ab_high), tag, to + 2 * to_step);
  hn::StoreU(hn::ConcatUpperUpper(tag, cd_high, ab_high), tag, to + 3 * to_step);
}
#endif

void Transpose(const float* from, int64_t from_step, float* to, int64_t to_step, int64_t count) {
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    for (int64_t j = 0; j < kTransposedTogether; j += kBlock) {
      TransposeBlock(from + i + j * from_step, from_step, to + i * to_step + j, to_step);
    }
  }
  for (; i < count; ++i) {
    for (int64_t j = 0; j < kTransposedTogether; ++j) to[i * to_step + j] = from[i + j * from_step];
  }
}

}  // namespace

const TransposeKernels& TargetTransposeKernels() {
  static constexpr TransposeKernels kKernels = {Transpose};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(TransposeKernels)
#endif
