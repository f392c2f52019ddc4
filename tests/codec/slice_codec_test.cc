#include "common/codec/slice_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "common/codec/float16.h"
#include "tests/codec/slices.h"

namespace cacheinf {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMany = 1 << 16;
constexpr std::array kCodecs = {SliceCodec::kRaw, SliceCodec::kFp16, SliceCodec::kZstd,
                                SliceCodec::kFp16Zstd};

Bytes Coded(SliceCodec codec, const Bytes& slice) {
  Bytes bytes = {1, 2, 3};  // the codec appends to what is there
  AppendCodedSlice(codec, slice, &bytes);
  return {bytes.begin() + 3, bytes.end()};
}

std::string Decode(const Bytes& bytes, size_t most_bytes, Bytes* slice) {
  const char* error = DecodeSlice(bytes, most_bytes, slice);
  return error == nullptr ? "" : error;
}

// What remains of a slice after its numbers were halves.
Bytes Rounded(Bytes slice, size_t numbers_begin) {
  const size_t count = (slice.size() - numbers_begin) / sizeof(float);
  Bytes halves(count * 2);
  ToHalves(slice.data() + numbers_begin, count, halves.data());
  FromHalves(halves.data(), count, slice.data() + numbers_begin);
  return slice;
}

TEST(SliceCodecTest, SlicesComeBack) {
  for (const int pixels : {0, 1, 9, 14}) {
    const Bytes slice = SliceOf(pixels, 2);
    const size_t numbers_begin = slice.size() - static_cast<size_t>(pixels) * 5 * sizeof(float);
    for (const SliceCodec codec : kCodecs) {
      const Bytes coded = Coded(codec, slice);
      Bytes decoded = {9};
      ASSERT_EQ(Decode(coded, slice.size(), &decoded), "") << NameOf(codec);
      ASSERT_EQ(decoded, IsLossless(codec) ? slice : Rounded(slice, numbers_begin))
          << NameOf(codec) << ' ' << pixels;
      EXPECT_EQ(Decode(coded, slice.size() - 1, &decoded), "a slice is larger than any can be");
    }
    EXPECT_EQ(Coded(SliceCodec::kFp16, slice).size(),
              Coded(SliceCodec::kRaw, slice).size() - static_cast<size_t>(pixels) * 5 * 2);
  }
}

TEST(SliceCodecTest, ManyAlikeNumbersBecomeFewBytes) {
  Bytes slice = SliceOf(14, 3);
  slice.resize(slice.size() + 40000, 0);
  for (const SliceCodec codec : {SliceCodec::kZstd, SliceCodec::kFp16Zstd}) {
    EXPECT_LT(Coded(codec, slice).size(), 600U) << NameOf(codec);
  }
}

TEST(SliceCodecTest, WholeNumbersTravelAsBytesExactly) {
  const size_t numbers = 14 * 5;  // the map's, from number 70 on
  const size_t numbers_begin = SliceOf(14, 1).size() - numbers * sizeof(float);
  const auto expect = [&](const Bytes& slice, bool are_bytes) {
    for (const SliceCodec codec : kCodecs) {
      const bool has_zstd = codec == SliceCodec::kZstd || codec == SliceCodec::kFp16Zstd;
      const Bytes coded = Coded(codec, slice);
      EXPECT_EQ(coded[3], are_bytes && has_zstd ? 1 : 0) << NameOf(codec);
      Bytes decoded;
      ASSERT_EQ(Decode(coded, slice.size(), &decoded), "") << NameOf(codec);
      const bool is_exact = IsLossless(codec) || coded[3] == 1;
      EXPECT_EQ(decoded, is_exact ? slice : Rounded(slice, numbers_begin)) << NameOf(codec);
    }
  };
  std::vector<float> some(5 * 6 * 7);
  for (const int first : {0, 70, 140, 255 - 69}) {
    for (size_t i = 0; i < some.size(); ++i)
      some[i] = static_cast<float>(first - 70) + static_cast<float>(i);
    expect(SliceOf(14, some), /*are_bytes=*/true);
  }
  const Bytes classes = SliceOfClasses(14, 2);
  EXPECT_LT(Coded(SliceCodec::kZstd, classes).size(), classes.size() - 2 * numbers);
  for (const float other : {-0.0F, -1.0F, 0.5F, 254.5F, 256.0F, NAN, INFINITY}) {
    std::vector<float> with_one = some;
    with_one[105] = other;
    expect(SliceOf(14, with_one), /*are_bytes=*/false);
  }
}

TEST(SliceCodecTest, WhatIsNoCodedSliceIsRefused) {
  const Bytes good = Coded(SliceCodec::kZstd, SliceOf(14, 4));
  const auto error_with = [&](size_t at, uint8_t byte) {
    Bytes bytes = good;
    bytes[at] = byte;
    Bytes slice;
    return Decode(bytes, kMany, &slice);
  };
  EXPECT_EQ(error_with(0, 'E'), "");
  EXPECT_EQ(error_with(0, 'S'), "these bytes are not a coded slice");
  EXPECT_EQ(error_with(1, 2), "a coded slice has another version");
  EXPECT_EQ(error_with(2, 4), "a slice's codec is unknown");
  EXPECT_EQ(error_with(2, 0), "a coded slice does not have as many numbers as it says");
  EXPECT_EQ(error_with(3, 1), "a slice's compressed numbers are damaged");
  EXPECT_EQ(error_with(3, 2), "a slice's numbers have an unknown form");
  EXPECT_EQ(error_with(6, 1), "a coded slice ends before its numbers");
  EXPECT_EQ(error_with(8, 1), "a slice's compressed numbers are damaged");
  EXPECT_EQ(error_with(11, 255), "a slice is larger than any can be");
  Bytes slice;
  for (const Bytes& whole : {good, Coded(SliceCodec::kZstd, SliceOfClasses(14, 4))}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      ASSERT_NE(Decode(cut, kMany, &slice), "") << size;
    }
  }
  for (const SliceCodec codec : {SliceCodec::kRaw, SliceCodec::kFp16}) {
    Bytes bytes = Coded(codec, SliceOfClasses(14, 4));
    bytes[3] = 1;
    EXPECT_EQ(Decode(bytes, kMany, &slice),
              "a slice's numbers have a form that its codec does not have");
  }
  Bytes classes = Coded(SliceCodec::kZstd, SliceOfClasses(14, 4));
  classes[3] = 0;
  EXPECT_EQ(Decode(classes, kMany, &slice), "a slice's compressed numbers are damaged");
}

float Float(uint32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof(bits));
  return number;
}

uint16_t Half(float number) {
  uint8_t bytes[4];
  std::memcpy(bytes, &number, sizeof(bytes));
  uint16_t half = 0;
  ToHalves(bytes, 1, reinterpret_cast<uint8_t*>(&half));
  return half;
}

float Back(uint16_t half) {
  float number = 0;
  FromHalves(reinterpret_cast<const uint8_t*>(&half), 1, reinterpret_cast<uint8_t*>(&number));
  return number;
}

TEST(Float16Test, RoundsToNearestAndThenToEven) {
  EXPECT_EQ(Half(0.0F), 0x0000);
  EXPECT_EQ(Half(-0.0F), 0x8000);
  EXPECT_EQ(Half(1.0F), 0x3c00);
  EXPECT_EQ(Half(-2.0F), 0xc000);
  EXPECT_EQ(Half(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(Half(1.0F + 0x1.002p-11F), 0x3c01);
  EXPECT_EQ(Half(1.0F + 0x1.8p-10F), 0x3c02);
  EXPECT_EQ(Half(2.0F - 0x1p-11F), 0x4000);
  EXPECT_EQ(Half(0x1p-14F), 0x0400);
  EXPECT_EQ(Half(0x1p-14F - 0x1p-25F), 0x0400);
  EXPECT_EQ(Half(0x1p-24F), 0x0001);
  EXPECT_EQ(Half(0x1p-25F), 0x0000);
  EXPECT_EQ(Half(0x1.002p-25F), 0x0001);
  EXPECT_EQ(Half(0x1.8p-24F), 0x0002);
  EXPECT_EQ(Half(65504.0F), 0x7bff);
  EXPECT_EQ(Half(65520.0F), 0x7bff);
  EXPECT_EQ(Half(-1e30F), 0xfbff);
  EXPECT_EQ(Half(Float(0x7f800000)), 0x7c00);
  EXPECT_EQ(Half(Float(0xff800000)), 0xfc00);
  EXPECT_EQ(Half(Float(0x7f800001)), 0x7e00);
  EXPECT_EQ(Half(Float(0xffc12345)), 0xfe00);
}

TEST(Float16Test, HalvesComeBackAndNothingLiesNearer) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float number = Back(half);
    if (std::isnan(number)) continue;
    ASSERT_EQ(Half(number), half);
    if ((half & 0x7fff) >= 0x7bff) continue;
    const float next = Back(static_cast<uint16_t>(half + 1));
    const float middle = (number + next) / 2;
    ASSERT_EQ(Half(middle), half + (half & 1));
    ASSERT_EQ(Half(std::nextafter(middle, number)), half);
    ASSERT_EQ(Half(std::nextafter(middle, next)), half + 1);
  }
}

}  // namespace
}  // namespace cacheinf
