// Read this first: which pixels of a picture changed against a reference.

#include "common/reuse/change_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "common/reuse/picture_warp.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

using Bits = std::vector<std::vector<bool>>;

struct Case {
  int width = 0;
  int height = 0;
  int channels = 3;
  ChangeConfig config;
};

// Find, written as it is defined.
Bits FindSlowly(const Case& c, const TestPicture& frame, const TestPicture& reference) {
  Bits active(c.height, std::vector<bool>(c.width));
  const auto difference = [&](int y, int x, int channel) {
    const size_t i = (static_cast<size_t>(y) * c.width + x) * c.channels + channel;
    return std::abs(int{reference.pixels[i]} - int{frame.pixels[i]});
  };
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      const int top = y / c.config.cell * c.config.cell;
      const int left = x / c.config.cell * c.config.cell;
      for (int channel = 0; channel < c.channels; ++channel) {
        double sum = 0;
        int count = 0;
        for (int v = top; v < std::min(top + c.config.cell, c.height); ++v) {
          for (int u = left; u < std::min(left + c.config.cell, c.width); ++u, ++count) {
            sum += difference(v, u, channel);
          }
        }
        if (sum / count >= c.config.threshold * 255) active[y][x] = true;
      }
    }
  }
  Bits rounded = active;
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      if (!active[y][x]) continue;
      const int top = y / c.config.block * c.config.block;
      const int left = x / c.config.block * c.config.block;
      for (int v = top; v < std::min(top + c.config.block, c.height); ++v) {
        for (int u = left; u < std::min(left + c.config.block, c.width); ++u) rounded[v][u] = true;
      }
    }
  }
  return rounded;
}

TEST(TrackerChangeTest, FindsWhatTheSlowDefinitionFinds) {
  constexpr uint32_t kSeed = 20;
  std::mt19937 random(kSeed);
  const auto any = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 60; ++round) {
    Case c;
    c.width = any(1, 90);
    c.height = any(1, 70);
    c.channels = any(0, 1) == 0 ? 1 : 3;
    c.config.cell = any(1, 9);
    c.config.block = any(1, 10);
    c.config.threshold = std::vector{0.02, 0.05, 0.1, 0.3}[any(0, 3)];
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);

    const TestPicture reference = Photograph(World(21), {}, c.width, c.height, c.channels);
    const std::vector<Homography> motions = {
        {}, Shift(any(-9, 9), any(-9, 9)), Turn(0.05, 1.02, 40, 30, 2.5, -1.25)};
    TestPicture frame = Photograph(World(21), motions[any(0, 2)], c.width, c.height, c.channels);
    if (any(0, 1) == 1) ChangeLight(0.8, 12.5, &frame);
    for (int i = 0; i < 3; ++i) {
      const int y = any(0, c.height - 1);
      const int x = any(0, c.width - 1);
      Fill({y, std::min(c.height, y + any(1, 9))}, {x, std::min(c.width, x + any(1, 9))},
           static_cast<uint8_t>(any(0, 255)), &frame);
    }
    ChangeFinder finder(c.config, c.width, c.height, c.channels);
    Mask active(c.height, c.width);
    SetAll(active);  // what was there before does not matter
    finder.Find(frame.view(), reference.view(), {}, active);
    const Bits expected = FindSlowly(c, frame, reference);
    for (int y = 0; y < c.height; ++y) {
      for (int x = 0; x < c.width; ++x) {
        ASSERT_EQ(active.view().Test(y, x), expected[y][x]) << y << " " << x;
      }
    }
  }
}

TEST(TrackerChangeTest, WithThresholdZeroEveryByteCounts) {
  ChangeConfig config;
  config.threshold = 0;
  config.block = 1;
  for (const int channels : {1, 3}) {
    const TestPicture reference = Photograph(World(22), {}, 200, 60, channels);
    TestPicture frame = reference;
    ChangeFinder finder(config, 200, 60, channels);
    Mask active(60, 200);
    finder.Find(frame.view(), reference.view(), {}, active);
    EXPECT_EQ(CountActive(active), 0);
    for (const auto& [y, x] : {std::pair(0, 0), {7, 63}, {7, 64}, {59, 199}}) {
      frame.Pixel(y, x)[channels - 1] ^= 1;
    }
    finder.Find(frame.view(), reference.view(), {}, active);
    EXPECT_EQ(CountActive(active), 4);
    for (const auto& [y, x] : {std::pair(0, 0), {7, 63}, {7, 64}, {59, 199}}) {
      EXPECT_TRUE(active.view().Test(y, x));
    }
  }
}

TEST(TrackerChangeTest, WhatIsOutOfViewIsActive) {
  const TestPicture picture = Photograph(World(24), {}, 100, 80);
  ChangeConfig config;
  config.block = 1;
  ChangeFinder finder(config, 100, 80, 3);
  Mask active(80, 100);
  Mask out_of_view(80, 100);
  out_of_view.view().Set(70, 90);
  finder.Find(picture.view(), picture.view(), out_of_view, active);
  EXPECT_EQ(CountActive(active), 1);
  EXPECT_TRUE(active.view().Test(70, 90));
}

TEST(TrackerChangeTest, ByTheRuleOfBlocksCellsChangeWhoseSignalToNoiseRatioIsTooLow) {
  constexpr int kWide = 67;
  constexpr int kHigh = 45;
  for (const int channels : {1, 3}) {
    for (const int cell : {1, 7, 10, 64}) {
      const TestPicture reference = Photograph(World(25), {}, kWide, kHigh, channels);
      TestPicture frame = reference;
      AddNoise(25, 9, &frame);  // about 20 decibels
      ChangeConfig config;
      config.rule = ChangeConfig::Rule::kBlocks;
      config.threshold = 0;  // has no effect
      config.cell = cell;
      config.block = 1;
      ChangeFinder finder(config, kWide, kHigh, channels);
      Mask active(kHigh, kWide);
      finder.Find(frame.view(), reference.view(), {}, active);
      int expected = 0;
      for (int top = 0; top < kHigh; top += cell) {
        for (int left = 0; left < kWide; left += cell) {
          double squares = 0;
          const int bottom = std::min(top + cell, kHigh);
          const int right = std::min(left + cell, kWide);
          for (int y = top; y < bottom; ++y) {
            for (int x = left; x < right; ++x) {
              for (int c = 0; c < channels; ++c) {
                squares += std::pow(frame.Pixel(y, x)[c] - reference.Pixel(y, x)[c], 2);
              }
            }
          }
          const int pixels = (bottom - top) * (right - left);
          const double mean = squares / (pixels * channels);
          if (mean > 0 && 10 * std::log10(255.0 * 255.0 / mean) <= 20) expected += pixels;
        }
      }
      EXPECT_EQ(CountActive(active), expected) << channels << " " << cell;
      EXPECT_TRUE(cell == 64 || (expected > 0 && expected < kWide * kHigh));
    }
  }
}

}  // namespace
}  // namespace cacheinf
