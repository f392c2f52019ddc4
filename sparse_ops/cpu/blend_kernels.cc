#include "sparse_ops/cpu/blend_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/blend_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
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

constexpr int kMixShift = kBlendBits - kMixedBits;

void MixPixel(const uint8_t* row, const BlendTap& tap, bool reverses, int16_t* out) {
  for (int c = 0; c < kChannels; ++c) {
    const int32_t sum =
        Between(row[kChannels * tap.first + c], row[kChannels * tap.second + c], tap.weight);
    out[reverses ? kChannels - 1 - c : c] = static_cast<int16_t>(sum >> kMixShift);
  }
}

uint8_t Mixed(int32_t first, int32_t second, int weight) {
  const int32_t sum = ((first * ((1 << kBlendBits) - weight)) >> 16) + ((second * weight) >> 16);
  return static_cast<uint8_t>((sum + 2) >> 2);
}

void WeighPixel(const uint8_t* row, const BlendWindow& window, const int32_t* weights,
                bool reverses, int32_t* sums) {
  for (int c = 0; c < kChannels; ++c) {
    int32_t sum = 0;
    for (int i = 0; i < window.count; ++i) {
      sum += row[kChannels * (window.first + i) + c] * weights[i];
    }
    sums[reverses ? kChannels - 1 - c : c] = sum;
  }
}

constexpr int kHalfWeight = 1 << (kWeightBits - 1);

uint8_t Weighed(const uint8_t* const* rows, const int32_t* weights, int row_count, int at) {
  int32_t sum = kHalfWeight;
  for (int y = 0; y < row_count; ++y) sum += rows[y][at] * weights[y];
  return static_cast<uint8_t>(sum >> kWeightBits);
}

#if HWY_TARGET == HWY_SCALAR

void MixColumns(const uint8_t* row, int, const BlendTap* taps, int count, bool reverses,
                int16_t* out) {
  for (int i = 0; i < count; ++i) MixPixel(row, taps[i], reverses, out + kChannels * i);
}

void MixRows(const int16_t* first, const int16_t* second, int weight, int count, uint8_t* out) {
  for (int i = 0; i < count; ++i) out[i] = Mixed(first[i], second[i], weight);
}

void WeighColumns(const uint8_t* row, int, const BlendWindow* windows, const int32_t* weights,
                  int stride, int count, bool reverses, int32_t* sums) {
  for (int i = 0; i < count; ++i) {
    WeighPixel(row, windows[i], weights + int64_t{stride} * i, reverses, sums + kChannels * i);
  }
}

void WeighRows(const uint8_t* const* rows, const int32_t* weights, int row_count, int count,
               uint8_t* out) {
  for (int i = 0; i < count; ++i) out[i] = Weighed(rows, weights, row_count, i);
}

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

// Take a pixel and the byte behind it at a time; a row's last pixel is read by bytes instead.
template <bool kReverses>
void MixPixels(const uint8_t* HWY_RESTRICT row, int width, const BlendTap* HWY_RESTRICT taps,
               int count, int16_t* HWY_RESTRICT out) {
  const SumsOfPixelTag tag;
  const hn::Rebind<uint8_t, SumsOfPixelTag> byte_tag;
  const hn::Rebind<int16_t, SumsOfPixelTag> narrow_tag;
  alignas(16) static constexpr int32_t kReversed[4] = {2, 1, 0, 3};
  const auto reversed = hn::SetTableIndices(tag, kReversed);
  int i = 0;
  for (; i < count && taps[i].second + 1 < width; ++i) {
    const auto a = hn::PromoteTo(tag, hn::LoadU(byte_tag, row + kChannels * taps[i].first));
    const auto b = hn::PromoteTo(tag, hn::LoadU(byte_tag, row + kChannels * taps[i].second));
    auto pixel = VectorBetween(tag, a, b, hn::Set(tag, taps[i].weight));
    if (kReverses) pixel = hn::TableLookupLanes(pixel, reversed);
    hn::StoreU(hn::DemoteTo(narrow_tag, hn::ShiftRight<kMixShift>(pixel)), narrow_tag,
               out + kChannels * i);
  }
  for (; i < count; ++i) MixPixel(row, taps[i], kReverses, out + kChannels * i);
}

void MixColumns(const uint8_t* row, int width, const BlendTap* taps, int count, bool reverses,
                int16_t* out) {
  reverses ? MixPixels<true>(row, width, taps, count, out)
           : MixPixels<false>(row, width, taps, count, out);
}

void MixRows(const int16_t* HWY_RESTRICT first, const int16_t* HWY_RESTRICT second, int weight,
             int count, uint8_t* HWY_RESTRICT out) {
  const HWY_CAPPED(int16_t, 32) tag;
  const hn::Rebind<uint8_t, decltype(tag)> byte_tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  const auto first_weight = hn::Set(tag, static_cast<int16_t>((1 << kBlendBits) - weight));
  const auto second_weight = hn::Set(tag, static_cast<int16_t>(weight));
  const auto half = hn::Set(tag, int16_t{2});
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::MulHigh(hn::LoadU(tag, first + i), first_weight);
    const auto b = hn::MulHigh(hn::LoadU(tag, second + i), second_weight);
    const auto sum = hn::ShiftRight<2>(hn::Add(hn::Add(a, b), half));
    hn::StoreU(hn::DemoteTo(byte_tag, sum), byte_tag, out + i);
  }
  for (; i < count; ++i) out[i] = Mixed(first[i], second[i], weight);
}

template <bool kReverses>
void WeighPixels(const uint8_t* HWY_RESTRICT row, int width,
                 const BlendWindow* HWY_RESTRICT windows, const int32_t* HWY_RESTRICT weights,
                 int stride, int count, int32_t* HWY_RESTRICT sums) {
  const SumsOfPixelTag tag;
  const hn::Rebind<uint8_t, SumsOfPixelTag> byte_tag;
  alignas(16) static constexpr int32_t kReversed[4] = {2, 1, 0, 3};
  const auto reversed = hn::SetTableIndices(tag, kReversed);
  int i = 0;
  for (; i < count && windows[i].first + windows[i].count < width; ++i, weights += stride) {
    const uint8_t* pixel = row + kChannels * windows[i].first;
    auto sum = hn::Zero(tag);
    for (int x = 0; x < windows[i].count; ++x, pixel += kChannels) {
      sum = hn::Add(
          sum, hn::Mul(hn::PromoteTo(tag, hn::LoadU(byte_tag, pixel)), hn::Set(tag, weights[x])));
    }
    if (kReverses) sum = hn::TableLookupLanes(sum, reversed);
    hn::StoreU(sum, tag, sums + kChannels * i);
  }
  for (; i < count; ++i, weights += stride) {
    WeighPixel(row, windows[i], weights, kReverses, sums + kChannels * i);
  }
}

void WeighColumns(const uint8_t* row, int width, const BlendWindow* windows, const int32_t* weights,
                  int stride, int count, bool reverses, int32_t* sums) {
  reverses ? WeighPixels<true>(row, width, windows, weights, stride, count, sums)
           : WeighPixels<false>(row, width, windows, weights, stride, count, sums);
}

void WeighRows(const uint8_t* const* rows, const int32_t* HWY_RESTRICT weights, int row_count,
               int count, uint8_t* HWY_RESTRICT out) {
  const SumTag tag;
  const hn::Rebind<uint8_t, SumTag> byte_tag;
  const int lanes = static_cast<int>(hn::Lanes(tag));
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Set(tag, kHalfWeight);
    for (int y = 0; y < row_count; ++y) {
      sum = hn::Add(sum, hn::Mul(hn::PromoteTo(tag, hn::LoadU(byte_tag, rows[y] + i)),
                                 hn::Set(tag, weights[y])));
    }
    hn::StoreU(hn::DemoteTo(byte_tag, hn::ShiftRight<kWeightBits>(sum)), byte_tag, out + i);
  }
  for (; i < count; ++i) out[i] = Weighed(rows, weights, row_count, i);
}

#endif

}  // namespace

const BlendKernels& TargetBlendKernels() {
  static constexpr BlendKernels kKernels = {SumRows,    AverageCells, BlendRows,    BlendColumns,
                                            MixColumns, MixRows,      WeighColumns, WeighRows};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(BlendKernels)
#endif
