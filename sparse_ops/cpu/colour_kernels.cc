#include "sparse_ops/cpu/colour_kernels.h"

#include <cstddef>
#include <cstring>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/colour_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The coefficients of luma sum to 219 / 255, those of each difference to 0.
constexpr int kBits = 16;
constexpr int kHalf = 1 << (kBits - 1);
constexpr int kYRed = 16829;
constexpr int kYGreen = 33039;
constexpr int kYBlue = 6416;
constexpr int kURed = -9714;
constexpr int kUGreen = -19071;
constexpr int kUBlue = 28785;
constexpr int kVRed = 28785;
constexpr int kVGreen = -24103;
constexpr int kVBlue = -4682;

constexpr int kLuma = 76309;  // 255 / 219
constexpr int kRedOfV = 104597;
constexpr int kGreenOfU = -25675;
constexpr int kGreenOfV = -53279;
constexpr int kBlueOfU = 132201;

constexpr int kBlack = 16;
constexpr int kNoColour = 128;

// Added before the shift: to luma, and to the summed difference of four pixels.
constexpr int kToLuma = kHalf + (kBlack << kBits);
constexpr int kDifferenceBits = kBits + 2;
constexpr int kToDifference = 4 * kHalf + ((4 * kNoColour) << kBits);

constexpr int kMost = 128;

// This many neighbours of a row. Computations on them take whole vectors.
struct Chunk {
  HWY_ALIGN uint8_t red[kMost];
  HWY_ALIGN uint8_t green[kMost];
  HWY_ALIGN uint8_t blue[kMost];
  HWY_ALIGN uint8_t luma[kMost];
  HWY_ALIGN uint8_t u[kMost / 2];
  HWY_ALIGN uint8_t v[kMost / 2];
};

// Pixels from number i on, channel by channel.
void SplitFrom(int i, const uint8_t* pixels, int count, uint8_t* first, uint8_t* green,
               uint8_t* last) {
  for (; i < count; ++i) {
    first[i] = pixels[3 * i];
    green[i] = pixels[3 * i + 1];
    last[i] = pixels[3 * i + 2];
  }
}

void JoinFrom(int i, const uint8_t* first, const uint8_t* green, const uint8_t* last, int count,
              uint8_t* pixels) {
  for (; i < count; ++i) {
    pixels[3 * i] = first[i];
    pixels[3 * i + 1] = green[i];
    pixels[3 * i + 2] = last[i];
  }
}

#if HWY_TARGET == HWY_SCALAR

void Split(const uint8_t* pixels, int count, uint8_t* first, uint8_t* green, uint8_t* last) {
  SplitFrom(0, pixels, count, first, green, last);
}

void Join(const uint8_t* first, const uint8_t* green, const uint8_t* last, int count,
          uint8_t* pixels) {
  JoinFrom(0, first, green, last, count, pixels);
}

void FindLuma(int count, Chunk* of) {
  for (int i = 0; i < count; ++i) {
    of->luma[i] = static_cast<uint8_t>(
        (kYRed * of->red[i] + kYGreen * of->green[i] + kYBlue * of->blue[i] + kToLuma) >> kBits);
  }
}

int SumOfFour(const uint8_t* upper, const uint8_t* lower, int pair) {
  return upper[2 * pair] + upper[2 * pair + 1] + lower[2 * pair] + lower[2 * pair + 1];
}

void FindDifferences(const Chunk& lower, int pairs, Chunk* upper) {
  for (int i = 0; i < pairs; ++i) {
    const int red = SumOfFour(upper->red, lower.red, i);
    const int green = SumOfFour(upper->green, lower.green, i);
    const int blue = SumOfFour(upper->blue, lower.blue, i);
    upper->u[i] = static_cast<uint8_t>(
        (kURed * red + kUGreen * green + kUBlue * blue + kToDifference) >> kDifferenceBits);
    upper->v[i] = static_cast<uint8_t>(
        (kVRed * red + kVGreen * green + kVBlue * blue + kToDifference) >> kDifferenceBits);
  }
}

uint8_t Level(int scaled) {
  return static_cast<uint8_t>(HWY_MIN(HWY_MAX(scaled >> kBits, 0), 255));
}

void FindColours(int count, Chunk* of) {
  for (int i = 0; i < count; ++i) {
    const int light = kLuma * (of->luma[i] - kBlack) + kHalf;
    const int du = of->u[i / 2] - kNoColour;
    const int dv = of->v[i / 2] - kNoColour;
    of->red[i] = Level(light + kRedOfV * dv);
    of->green[i] = Level(light + kGreenOfU * du + kGreenOfV * dv);
    of->blue[i] = Level(light + kBlueOfU * du);
  }
}

#else

using NumberTag = HWY_CAPPED(int32_t, 16);
using Numbers = hn::Vec<NumberTag>;
using NarrowTag = hn::Rebind<uint8_t, NumberTag>;
using PairTag = hn::Repartition<uint16_t, NumberTag>;  // two neighbours' bytes
using WideTag = hn::Rebind<uint8_t, PairTag>;
using SplitTag = hn::FixedTag<uint8_t, 16>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(NumberTag()));
constexpr int kSplitLanes = 16;
static_assert(kMost % (2 * kLanes) == 0, "whole vectors");

void Split(const uint8_t* HWY_RESTRICT pixels, int count, uint8_t* HWY_RESTRICT first,
           uint8_t* HWY_RESTRICT green, uint8_t* HWY_RESTRICT last) {
  const SplitTag tag;
  int i = 0;
  for (; i + kSplitLanes <= count; i += kSplitLanes) {
    hn::Vec<SplitTag> a;
    hn::Vec<SplitTag> b;
    hn::Vec<SplitTag> c;
    hn::LoadInterleaved3(tag, pixels + 3 * i, a, b, c);
    hn::Store(a, tag, first + i);
    hn::Store(b, tag, green + i);
    hn::Store(c, tag, last + i);
  }
  SplitFrom(i, pixels, count, first, green, last);
}

void Join(const uint8_t* HWY_RESTRICT first, const uint8_t* HWY_RESTRICT green,
          const uint8_t* HWY_RESTRICT last, int count, uint8_t* HWY_RESTRICT pixels) {
  const SplitTag tag;
  int i = 0;
  for (; i + kSplitLanes <= count; i += kSplitLanes) {
    hn::StoreInterleaved3(hn::Load(tag, first + i), hn::Load(tag, green + i),
                          hn::Load(tag, last + i), tag, pixels + 3 * i);
  }
  JoinFrom(i, first, green, last, count, pixels);
}

HWY_INLINE Numbers Weighted(Numbers red, int of_red, Numbers green, int of_green, Numbers blue,
                            int of_blue, int added) {
  const NumberTag tag;
  const Numbers of_both =
      hn::Add(hn::Mul(red, hn::Set(tag, of_red)), hn::Mul(green, hn::Set(tag, of_green)));
  return hn::Add(of_both, hn::Add(hn::Mul(blue, hn::Set(tag, of_blue)), hn::Set(tag, added)));
}

void FindLuma(int count, Chunk* of) {
  const NumberTag tag;
  const NarrowTag narrow;
  for (int i = 0; i < count; i += kLanes) {
    const Numbers red = hn::PromoteTo(tag, hn::Load(narrow, of->red + i));
    const Numbers green = hn::PromoteTo(tag, hn::Load(narrow, of->green + i));
    const Numbers blue = hn::PromoteTo(tag, hn::Load(narrow, of->blue + i));
    const Numbers sum = Weighted(red, kYRed, green, kYGreen, blue, kYBlue, kToLuma);
    hn::Store(hn::DemoteTo(narrow, hn::ShiftRight<kBits>(sum)), narrow, of->luma + i);
  }
}

// Bytes of neighbours, apart.
struct Pairs {
  Numbers first;
  Numbers second;
};

HWY_INLINE Pairs Apart(hn::Vec<PairTag> numbers) {
  const NumberTag tag;
  const hn::RebindToUnsigned<NumberTag> bits;
  const auto both = hn::BitCast(bits, numbers);
  return {hn::BitCast(tag, hn::And(both, hn::Set(bits, 0xFFFFu))),
          hn::BitCast(tag, hn::ShiftRight<16>(both))};
}

HWY_INLINE Numbers SumsOfFour(const uint8_t* upper, const uint8_t* lower) {
  const PairTag pairs;
  const WideTag wide;
  const Pairs sums = Apart(hn::Add(hn::PromoteTo(pairs, hn::Load(wide, upper)),
                                   hn::PromoteTo(pairs, hn::Load(wide, lower))));
  return hn::Add(sums.first, sums.second);
}

void FindDifferences(const Chunk& lower, int pairs, Chunk* upper) {
  const NarrowTag narrow;
  for (int i = 0; i < pairs; i += kLanes) {
    const Numbers red = SumsOfFour(upper->red + 2 * i, lower.red + 2 * i);
    const Numbers green = SumsOfFour(upper->green + 2 * i, lower.green + 2 * i);
    const Numbers blue = SumsOfFour(upper->blue + 2 * i, lower.blue + 2 * i);
    const Numbers u = Weighted(red, kURed, green, kUGreen, blue, kUBlue, kToDifference);
    const Numbers v = Weighted(red, kVRed, green, kVGreen, blue, kVBlue, kToDifference);
    hn::Store(hn::DemoteTo(narrow, hn::ShiftRight<kDifferenceBits>(u)), narrow, upper->u + i);
    hn::Store(hn::DemoteTo(narrow, hn::ShiftRight<kDifferenceBits>(v)), narrow, upper->v + i);
  }
}

HWY_INLINE Numbers Levels(Numbers scaled) {
  const NumberTag tag;
  return hn::Min(hn::Max(hn::ShiftRight<kBits>(scaled), hn::Zero(tag)), hn::Set(tag, 255));
}

// Stores the bytes of neighbours side by side.
HWY_INLINE void StoreLevels(const Pairs& light, Numbers colour, uint8_t* to) {
  const hn::Rebind<uint16_t, NumberTag> pairs;
  const Numbers first = Levels(hn::Add(light.first, colour));
  const Numbers second = Levels(hn::Add(light.second, colour));
  hn::Store(hn::DemoteTo(pairs, hn::Or(first, hn::ShiftLeft<8>(second))), pairs,
            reinterpret_cast<uint16_t*>(to));
}

void FindColours(int count, Chunk* of) {
  const NumberTag tag;
  const NarrowTag narrow;
  const Numbers no_colour = hn::Set(tag, kNoColour);
  const Numbers of_luma = hn::Set(tag, kLuma);
  const Numbers added = hn::Set(tag, kHalf - kLuma * kBlack);
  for (int i = 0; i < count; i += 2 * kLanes) {
    const Pairs luma = Apart(hn::PromoteTo(PairTag(), hn::Load(WideTag(), of->luma + i)));
    const Pairs light = {hn::Add(hn::Mul(luma.first, of_luma), added),
                         hn::Add(hn::Mul(luma.second, of_luma), added)};
    const Numbers u = hn::Sub(hn::PromoteTo(tag, hn::Load(narrow, of->u + i / 2)), no_colour);
    const Numbers v = hn::Sub(hn::PromoteTo(tag, hn::Load(narrow, of->v + i / 2)), no_colour);
    const Numbers green =
        hn::Add(hn::Mul(u, hn::Set(tag, kGreenOfU)), hn::Mul(v, hn::Set(tag, kGreenOfV)));
    StoreLevels(light, hn::Mul(v, hn::Set(tag, kRedOfV)), of->red + i);
    StoreLevels(light, green, of->green + i);
    StoreLevels(light, hn::Mul(u, hn::Set(tag, kBlueOfU)), of->blue + i);
  }
}

#endif

void SplitRow(const uint8_t* pixels, bool is_blue_first, int count, Chunk* to) {
  Split(pixels, count, is_blue_first ? to->blue : to->red, to->green,
        is_blue_first ? to->red : to->blue);
}

void ToYuv(const uint8_t* upper, const uint8_t* lower, bool is_blue_first, int count,
           uint8_t* upper_luma, uint8_t* lower_luma, uint8_t* u, uint8_t* v) {
  Chunk above = {};
  Chunk below = {};
  for (int x = 0; x < count; x += kMost) {
    const int here = HWY_MIN(kMost, count - x);
    SplitRow(upper + 3 * x, is_blue_first, here, &above);
    SplitRow(lower + 3 * x, is_blue_first, here, &below);
    FindLuma(here, &above);
    FindLuma(here, &below);
    FindDifferences(below, here / 2, &above);
    std::memcpy(upper_luma + x, above.luma, static_cast<size_t>(here));
    std::memcpy(lower_luma + x, below.luma, static_cast<size_t>(here));
    std::memcpy(u + x / 2, above.u, static_cast<size_t>(here / 2));
    std::memcpy(v + x / 2, above.v, static_cast<size_t>(here / 2));
  }
}

void FromYuv(const uint8_t* luma, const uint8_t* u, const uint8_t* v, bool is_blue_first, int count,
             uint8_t* pixels) {
  Chunk chunk = {};
  for (int x = 0; x < count; x += kMost) {
    const int here = HWY_MIN(kMost, count - x);
    const auto pairs = static_cast<size_t>((here + 1) / 2);
    std::memcpy(chunk.luma, luma + x, static_cast<size_t>(here));
    std::memcpy(chunk.u, u + x / 2, pairs);
    std::memcpy(chunk.v, v + x / 2, pairs);
    FindColours(here, &chunk);
    Join(is_blue_first ? chunk.blue : chunk.red, chunk.green,
         is_blue_first ? chunk.red : chunk.blue, here, pixels + 3 * x);
  }
}

}  // namespace

const ColourKernels& TargetColourKernels() {
  static constexpr ColourKernels kKernels = {ToYuv, FromYuv};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(ColourKernels)
#endif
