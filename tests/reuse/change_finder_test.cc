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

// What WarpPicture promises, in real numbers: exact places, exact weights.
struct Seen {
  bool is_in_view = false;
  double value[3] = {};
};

Seen LookAt(const TestPicture& from, const Homography& h, int x, int y) {
  Seen seen;
  const double w = h.m[2][0] * x + h.m[2][1] * y + h.m[2][2];
  if (!(w > 0)) return seen;
  const double at_x = (h.m[0][0] * x + h.m[0][1] * y + h.m[0][2]) / w;
  const double at_y = (h.m[1][0] * x + h.m[1][1] * y + h.m[1][2]) / w;
  seen.is_in_view =
      at_x >= -0.5 && at_x < from.width - 0.5 && at_y >= -0.5 && at_y < from.height - 0.5;
  const double column = std::clamp(at_x, 0.0, from.width - 1.0);
  const double row = std::clamp(at_y, 0.0, from.height - 1.0);
  const int left = static_cast<int>(column);
  const int top = static_cast<int>(row);
  const int right = std::min(left + 1, from.width - 1);
  const int bottom = std::min(top + 1, from.height - 1);
  const double u = column - left;
  const double v = row - top;
  for (int c = 0; c < from.channels; ++c) {
    seen.value[c] = (from.Pixel(top, left)[c] * (1 - u) + from.Pixel(top, right)[c] * u) * (1 - v) +
                    (from.Pixel(bottom, left)[c] * (1 - u) + from.Pixel(bottom, right)[c] * u) * v;
  }
  return seen;
}

TEST(TrackerWarpTest, IsBilinearToAboutASixteenthOfAPixel) {
  for (const int channels : {1, 3}) {
    for (const Homography& h :
         {Shift(3.4, -7.8), Turn(0.1, 0.97, 60, 40, 5, -3),
          Homography{{{1.02, 0.01, -9}, {-0.02, 1.01, 4}, {1e-4, -5e-5, 1}}}}) {
      const TestPicture from = Photograph(World(1), {}, 133, 71, channels);
      std::vector<uint8_t> to(from.pixels.size());
      Mask out_of_view(71, 133);
      WarpPicture(from.view(), h, to.data(), out_of_view);
      for (int y = 0; y < from.height; ++y) {
        for (int x = 0; x < from.width; ++x) {
          const Seen seen = LookAt(from, h, x, y);
          for (int c = 0; c < channels; ++c) {
            // The world's steepest slope is below 24 levels a pixel along each axis.
            EXPECT_NEAR(to[(y * 133 + x) * channels + c], seen.value[c], 0.5 + 2 * 24 / 16.0);
          }
          // At the very edge a sixteenth decides what is in view.
          const auto in_view_near = [&](double dx, double dy) {
            Homography moved = h;
            for (int j = 0; j < 3; ++j) {
              moved.m[0][j] += dx * h.m[2][j];
              moved.m[1][j] += dy * h.m[2][j];
            }
            return LookAt(from, moved, x, y).is_in_view;
          };
          const bool is_in_view = !out_of_view.view().Test(y, x);
          EXPECT_TRUE(is_in_view == seen.is_in_view || in_view_near(0.1, 0) != seen.is_in_view ||
                      in_view_near(-0.1, 0) != seen.is_in_view ||
                      in_view_near(0, 0.1) != seen.is_in_view ||
                      in_view_near(0, -0.1) != seen.is_in_view)
              << y << " " << x;
        }
      }
    }
  }
}

TEST(TrackerWarpTest, ShiftsByWholePixelsCopyBytesAndRepeatTheEdge) {
  for (const int channels : {1, 3}) {
    const TestPicture from = Photograph(World(2), {}, 70, 50, channels);
    for (const auto& [dx, dy] :
         {std::pair(0, 0), {1, 0}, {-3, 2}, {5, -7}, {200, 0}, {-200, 3}, {0, 90}, {-90, -90}}) {
      // The general way gives the same as the shortcut for shifts.
      Homography longer = Shift(dx, dy);
      for (auto& row : longer.m) {
        for (double& entry : row) entry *= 2;
      }
      for (const Homography& h : {Shift(dx, dy), longer}) {
        std::vector<uint8_t> to(from.pixels.size());
        Mask out_of_view(50, 70);
        WarpPicture(from.view(), h, to.data(), out_of_view);
        for (int y = 0; y < 50; ++y) {
          for (int x = 0; x < 70; ++x) {
            const int from_x = std::clamp(x + dx, 0, 69);
            const int from_y = std::clamp(y + dy, 0, 49);
            for (int c = 0; c < channels; ++c) {
              ASSERT_EQ(to[(y * 70 + x) * channels + c], from.Pixel(from_y, from_x)[c])
                  << dx << " " << dy << " at " << x << " " << y;
            }
            ASSERT_EQ(out_of_view.view().Test(y, x), from_x != x + dx || from_y != y + dy);
          }
        }
      }
    }
  }
}

TEST(TrackerWarpTest, WhatLiesNowhereIsOutOfViewAndNeverACrash) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const TestPicture from = Photograph(World(3), {}, 40, 30);
  std::vector<uint8_t> to(from.pixels.size());
  Mask out_of_view(30, 40);
  for (const Homography& h :
       {Shift(nan, 0), Shift(0, inf), Shift(1e300, -1e300), Homography{{{1, 0, 0}, {0, 1, 0}, {}}},
        Homography{{{1, 0, 0}, {0, 1, 0}, {0, 0, -1}}}, Homography{{{}, {}, {}}},
        Homography{{{nan, nan, nan}, {nan, nan, nan}, {nan, nan, nan}}}}) {
    WarpPicture(from.view(), h, to.data(), out_of_view);
    EXPECT_EQ(CountActive(out_of_view), 30 * 40);
  }
  // The horizon runs through the picture: one side of it is out of view.
  WarpPicture(from.view(), {{{1, 0, 0}, {0, 1, 0}, {-1 / 20.0, 0, 1}}}, to.data(), out_of_view);
  for (int x = 20; x < 40; ++x) EXPECT_TRUE(out_of_view.view().Test(0, x));
  EXPECT_FALSE(out_of_view.view().Test(0, 0));
  for (const auto& [width, height] : {std::pair(1, 1), {1, 9}, {9, 1}, {2, 2}}) {
    const TestPicture small = Photograph(World(3), {}, width, height);
    std::vector<uint8_t> small_to(small.pixels.size());
    Mask small_mask(height, width);
    WarpPicture(small.view(), Shift(0.3, 0.3), small_to.data(), small_mask);
    EXPECT_EQ(CountActive(small_mask), 0);
  }
}

// ------------------------------------------------------------------------------------------------

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
