#include "sparse_ops/reference/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sparse_ops/eight_bits.h"

namespace cacheinf {
namespace {

using Floats = std::vector<float>;

bool IsChange(const Floats& fresh, const Floats& stored, float threshold, const Floats& spread) {
  const ChangeTest test = {threshold, spread.data(), nullptr};
  return reference::IsChange(test, static_cast<int>(fresh.size()), fresh.data(), stored.data());
}

TEST(ChangeTest, WithoutAThresholdAnyBitCounts) {
  EXPECT_FALSE(IsChange({1.0f, 0.0f}, {1.0f, 0.0f}, 0.0f, {}));
  EXPECT_TRUE(IsChange({1.0f, 0.0f}, {1.0f, -0.0f}, 0.0f, {}));
  EXPECT_TRUE(IsChange({1.0f, 0.0f}, {std::nextafter(1.0f, 2.0f), 0.0f}, 0.0f, {}));
}

TEST(ChangeTest, TheRootMeanSquareIsTakenInUnitsOfEachChannelsSpread) {
  // Differences of 3 and 4 in units of the spreads: a root mean square of 5 / sqrt(2).
  const Floats inverse_spread = {1.0f, 0.5f};
  EXPECT_TRUE(IsChange({3.0f, 8.0f}, {0.0f, 0.0f}, 3.5f, inverse_spread));
  EXPECT_FALSE(IsChange({3.0f, 8.0f}, {0.0f, 0.0f}, 3.6f, inverse_spread));
  // A change as large as the threshold does not count.
  EXPECT_FALSE(IsChange({2.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, 1.0f, Floats(4, 1.0f)));
}

TEST(ChangeTest, ANaNIsAChange) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Floats inverse_spread = {1.0f, 0.0f};
  EXPECT_TRUE(IsChange({1.0f, kNaN}, {1.0f, 0.0f}, 9.0f, inverse_spread));
  EXPECT_TRUE(IsChange({1.0f, 0.0f}, {1.0f, kNaN}, 9.0f, inverse_spread));
  EXPECT_TRUE(IsChange({kInfinity, 0.0f}, {kInfinity, 0.0f}, 9.0f, inverse_spread));
}

TEST(ChangeTest, OfBytesTheirNumbersCount) {
  const auto is_change = [](const std::vector<int>& fresh, const std::vector<int>& stored,
                            float threshold, PixelNumbers numbers) {
    Floats words[2] = {Floats(fresh.size() / 4), Floats(fresh.size() / 4)};
    for (size_t c = 0; c < fresh.size(); ++c) {
      SetByte(words[0].data(), static_cast<int>(c), fresh[c]);
      SetByte(words[1].data(), static_cast<int>(c), stored[c]);
    }
    const Floats inverse_spread = {1.0f, 0.5f, 1.0f, 0.0f};
    ChangeTest test = {threshold, inverse_spread.data(), nullptr};
    test.numbers = numbers;
    return reference::IsChange(test, 1, words[0].data(), words[1].data());
  };
  // Differences of 3 and 4 in units of the spreads, and two of 0: a root mean square of 5 / 2.
  const std::vector<int> stored = {10, 20, 30, 40};
  const std::vector<int> fresh = {13, 28, 30, 140};
  EXPECT_TRUE(is_change(fresh, stored, 2.4f, PixelNumbers::kUnsignedBytes));
  EXPECT_FALSE(is_change(fresh, stored, 2.5f, PixelNumbers::kUnsignedBytes));
  // From -1 to 1 are two steps, from 255 to 1 are 254.
  EXPECT_FALSE(is_change({1, 0, 0, 0}, {-1, 0, 0, 0}, 1.0f, PixelNumbers::kSignedBytes));
  EXPECT_TRUE(is_change({1, 0, 0, 0}, {-1, 0, 0, 0}, 1.0f, PixelNumbers::kUnsignedBytes));
  EXPECT_TRUE(is_change(fresh, stored, 0.0f, PixelNumbers::kUnsignedBytes));
}

TEST(ChangeTest, PixelsThatDidNotChangeKeepTheOldValue) {
  const Floats fresh = {1.0f, 2.0f, 3.0f, 4.0f};
  Floats stored = {1.1f, 2.9f, 3.1f, 9.0f};
  const ConstImageView from = {fresh.data(), 1, 1, 4, 1, 4, 4, 1};
  const ImageView to = {stored.data(), 1, 1, 4, 1, 4, 4, 1};
  const PixelRun runs[] = {{0, 0, 2}, {0, 3, 4}};
  const int before[] = {0, 2, 3};
  const Floats inverse_spread = {1.0f};
  uint8_t changed[3];
  const ChangeTest test = {0.5f, inverse_spread.data(), changed};
  reference::StorePixels(from, to, {{0, 1}, runs, before, 2}, &test);
  EXPECT_EQ(stored, (Floats{1.1f, 2.0f, 3.1f, 4.0f}));
  EXPECT_EQ(std::vector<int>(changed, changed + 3), (std::vector<int>{0, 1, 1}));
}

TEST(ChangeTest, WhatStoresAllStillTellsChangesApart) {
  const Floats fresh = {1.0f, 2.0f};
  Floats stored = {1.1f, 2.9f};
  const PixelRun runs[] = {{0, 0, 2}};
  const int before[] = {0, 2};
  const Floats inverse_spread = {1.0f};
  uint8_t changed[2];
  const ChangeTest test = {0.5f, inverse_spread.data(), changed, /*stores_all=*/true};
  reference::StorePixels({fresh.data(), 1, 1, 2, 1, 2, 2, 1}, {stored.data(), 1, 1, 2, 1, 2, 2, 1},
                         {{0, 1}, runs, before, 1}, &test);
  EXPECT_EQ(stored, fresh);
  EXPECT_EQ(std::vector<int>(changed, changed + 2), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace cacheinf
