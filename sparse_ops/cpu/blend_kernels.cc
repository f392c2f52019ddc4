#include "sparse_ops/cpu/blend_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/blend_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChannels = 3;
constexpr int kHalf = 1 << (2 * kBlendBits - 1);

int32_t Between(int32_t first, int32_t second, int weight) {
  return (first << kBlendBits) + (second - first) * weight;
}

void BlendPixel(const int32_t* sums, const BlendTap& tap, bool reverses, uint8_t* out) {
  for (int c = 0; c < kChannels; ++c) {
    const int32_t sum =
        Between(sums[kChannels * tap.first + c], sums[kChannels * tap.second + c], tap.weight);
    out[reverses ? kChannels - 1 - c : c] = static_cast<uint8_t>((sum + kHalf) >> (2 * kBlendBits));
  }
}

constexpr int kScaleBits = 24;

uint8_t Scaled(uint32_t sum, uint32_t scale) {
  return static_cast<uint8_t>((sum * scale + (1u << (kScaleBits - 1))) >> kScaleBits);
}

void AverageCell(const uint16_t* sums, int cell, uint32_t scale, uint8_t* out) {
  for (int c = 0; c < kChannels; ++c) {
    uint32_t sum = 0;
    for (int x = 0; x < cell; ++x) sum += sums[kChannels * x + c];
    out[c] = Scaled(sum, scale);
  }
}

#if HWY_TARGET == HWY_SCALAR

void SumRows(const uint8_t* first, int64_t stride, int rows, int count, uint16_t* sums) {
  for (int i = 0; i < count; ++i) {
    uint32_t sum = 0;
    for (int y = 0; y < rows; ++y) sum += first[y * stride + i];
    sums[i] = static_cast<uint16_t>(sum);
  }
}

void AverageCells(const uint16_t* sums, int cell, uint32_t scale, int count, uint8_t* out) {
  for (int i = 0; i < count; ++i) {
    AverageCell(sums + kChannels * cell * i, cell, scale, out + kChannels * i);
  }
}

void BlendRows(const uint8_t* first, const uint8_t* second, int weight, int count, int32_t* sums) {
  for (int i = 0; i < count; ++i) sums[i] = Between(first[i], second[i], weight);
}

void BlendColumns(const int32_t* sums, const BlendTap* taps, int count, bool reverses,
                  uint8_t* out) {
  for (int i = 0; i < count; ++i) BlendPixel(sums, taps[i], reverses, out + kChannels * i);
}

#else

using SumTag = HWY_CAPPED(int32_t, 16);
using SumsOfPixelTag = hn::FixedTag<int32_t, 4>;

template <class D>
HWY_INLINE hn::Vec<D> VectorBetween(D, hn::Vec<D> first, hn::Vec<D> second, hn::Vec<D> weight) {
  return hn::Add(hn::ShiftLeft<kBlendBits>(first), hn::Mul(hn::Sub(second, first), weight));
}

void SumRows(const uint8_t* HWY_RESTRICT first, int64_t stride, int rows, int count,
             uint16_t* HWY_RESTRICT sums) {
  const HWY_CAPPED(uint16_t, 32) sum_tag;
  const hn::Rebind<uint8_t, decltype(sum_tag)> byte_tag;
  const int lanes = static_cast<int>(hn::Lanes(sum_tag));
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Zero(sum_tag);
    for (int y = 0; y < rows; ++y) {
      sum = hn::Add(sum, hn::PromoteTo(sum_tag, hn::LoadU(byte_tag, first + y * stride + i)));
    }
    hn::StoreU(sum, sum_tag, sums + i);
  }
  for (; i < count; ++i) {
    uint32_t sum = 0;
    for (int y = 0; y < rows; ++y) sum += first[y * stride + i];
    sums[i] = static_cast<uint16_t>(sum);
  }
}

// Takes four sums at a time, like BlendPixels.
void AverageCells(const uint16_t* HWY_RESTRICT sums, int cell, uint32_t scale, int count,
                  uint8_t* HWY_RESTRICT out) {
  const hn::FixedTag<uint32_t, 4> tag;
  const hn::Rebind<uint16_t, decltype(tag)> narrow_tag;
  const hn::Rebind<int32_t, decltype(tag)> signed_tag;
  const hn::Rebind<uint8_t, decltype(tag)> byte_tag;
  const auto scales = hn::Set(tag, scale);
  const auto half = hn::Set(tag, 1u << (kScaleBits - 1));
  for (int i = 0; i + 1 < count; ++i) {
    auto sum = hn::Zero(tag);
    for (int x = 0; x < cell; ++x) {
      sum = hn::Add(sum,
                    hn::PromoteTo(tag, hn::LoadU(narrow_tag, sums + kChannels * (cell * i + x))));
    }
    const auto level = hn::ShiftRight<kScaleBits>(hn::Add(hn::Mul(sum, scales), half));
    hn::StoreU(hn::DemoteTo(byte_tag, hn::BitCast(signed_tag, level)), byte_tag,
               out + kChannels * i);
  }
  if (count > 0) {
    AverageCell(sums + kChannels * cell * (count - 1), cell, scale, out + kChannels * (count - 1));
  }
}

void BlendRows(const uint8_t* HWY_RESTRICT first, const uint8_t* HWY_RESTRICT second, int weight,
               int count, int32_t* HWY_RESTRICT sums) {
  const SumTag sum_tag;
  const hn::Rebind<uint8_t, SumTag> byte_tag;
  const int lanes = static_cast<int>(hn::Lanes(sum_tag));
  const auto weights = hn::Set(sum_tag, weight);
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::PromoteTo(sum_tag, hn::LoadU(byte_tag, first + i));
    const auto b = hn::PromoteTo(sum_tag, hn::LoadU(byte_tag, second + i));
    hn::StoreU(VectorBetween(sum_tag, a, b, weights), sum_tag, sums + i);
  }
  for (; i < count; ++i) sums[i] = Between(first[i], second[i], weight);
}

// Takes four sums at a time; one belongs to the next pixel, which is written afterwards.
template <bool kReverses>
void BlendPixels(const int32_t* HWY_RESTRICT sums, const BlendTap* HWY_RESTRICT taps, int count,
                 uint8_t* HWY_RESTRICT out) {
  const SumsOfPixelTag tag;
  const hn::Rebind<uint8_t, SumsOfPixelTag> byte_tag;
  alignas(16) static constexpr int32_t kReversed[4] = {2, 1, 0, 3};
  const auto reversed = hn::SetTableIndices(tag, kReversed);
  const auto half = hn::Set(tag, kHalf);
  for (int i = 0; i + 1 < count; ++i) {
    const auto a = hn::LoadU(tag, sums + kChannels * taps[i].first);
    const auto b = hn::LoadU(tag, sums + kChannels * taps[i].second);
    auto pixel = VectorBetween(tag, a, b, hn::Set(tag, taps[i].weight));
    pixel = hn::ShiftRight<2 * kBlendBits>(hn::Add(pixel, half));
    if (kReverses) pixel = hn::TableLookupLanes(pixel, reversed);
    hn::StoreU(hn::DemoteTo(byte_tag, pixel), byte_tag, out + kChannels * i);
  }
  if (count > 0) BlendPixel(sums, taps[count - 1], kReverses, out + kChannels * (count - 1));
}

void BlendColumns(const int32_t* sums, const BlendTap* taps, int count, bool reverses,
                  uint8_t* out) {
  reverses ? BlendPixels<true>(sums, taps, count, out) : BlendPixels<false>(sums, taps, count, out);
}

#endif

}  // namespace

const BlendKernels& TargetBlendKernels() {
  static constexpr BlendKernels kKernels = {SumRows, AverageCells, BlendRows, BlendColumns};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(BlendKernels)
#endif
