#include "sparse_ops/cpu/quant_kernels.h"

#include <cstring>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/quant_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

using SumTag = hn::ScalableTag<int32_t>;

#if HWY_TARGET == HWY_SCALAR
void Add(const int16_t* patches, int patch_stride, int pairs, const int16_t* weights,
         int64_t block_stride, int blocks, int32_t* sums, int sum_stride) {
  for (int block = 0; block < blocks; ++block) {
    const int16_t* const w = weights + block * block_stride;
    for (int p = 0; p < QuantKernels::kPixels; ++p) {
      const int16_t* const x = patches + p * patch_stride;
      auto sum = static_cast<uint32_t>(sums[p * sum_stride + block]);
      for (int i = 0; i < 2 * pairs; ++i) sum += static_cast<uint32_t>(int32_t{x[i]} * w[i]);
      sums[p * sum_stride + block] = static_cast<int32_t>(sum);
    }
  }
}
#else
using PairTag = hn::ScalableTag<int16_t>;

void Add(const int16_t* patches, int patch_stride, int pairs, const int16_t* weights,
         int64_t block_stride, int blocks, int32_t* sums, int sum_stride) {
  constexpr int kPixels = QuantKernels::kPixels;
  const SumTag sum_tag;
  const PairTag pair_tag;
  for (int block = 0; block < blocks; ++block) {
    const int16_t* const w = weights + block * block_stride;
    hn::Vec<SumTag> even[kPixels];
    hn::Vec<SumTag> odd[kPixels];  // stays zero where the target adds both to one
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) even[p] = odd[p] = hn::Zero(sum_tag);
    for (int k = 0; k < pairs; ++k) {
      const auto pair_weights = hn::LoadU(pair_tag, w + int64_t{k} * 2 * kLanes);
      CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
        int32_t pair;
        std::memcpy(&pair, patches + p * patch_stride + 2 * k, sizeof(pair));
        const auto x = hn::BitCast(pair_tag, hn::Set(sum_tag, pair));
        even[p] = hn::ReorderWidenMulAccumulate(sum_tag, x, pair_weights, even[p], odd[p]);
      }
    }
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      int32_t* const sum = sums + p * sum_stride + block * kLanes;
      const auto both = hn::RearrangeToOddPlusEven(even[p], odd[p]);
      hn::StoreU(hn::Add(hn::LoadU(sum_tag, sum), both), sum_tag, sum);
    }
  }
}
#endif

void Round(const int32_t* sums, const float* multipliers, int count, int zero_point, int low,
           int high, int32_t* numbers) {
  const Floats zero = hn::Set(FloatTag(), static_cast<float>(zero_point));
  const Floats least = hn::Set(FloatTag(), static_cast<float>(low));
  const Floats most = hn::Set(FloatTag(), static_cast<float>(high));
  for (int i = 0; i < count; i += kLanes) {
    const Floats sum = hn::ConvertTo(FloatTag(), hn::LoadU(SumTag(), sums + i));
    const Floats rounded = hn::Round(hn::Mul(sum, hn::LoadU(FloatTag(), multipliers + i)));
    const Floats clamped = hn::Min(hn::Max(hn::Add(rounded, zero), least), most);
    hn::StoreU(hn::ConvertTo(SumTag(), clamped), SumTag(), numbers + i);
  }
}

}  // namespace

const QuantKernels& TargetQuantKernels() {
  static constexpr QuantKernels kKernels = {kLanes, Add, Round};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(QuantKernels)
#endif
