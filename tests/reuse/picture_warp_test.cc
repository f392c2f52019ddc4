#include "common/reuse/picture_warp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sparse_ops/mask/mask.h"
#include "tests/tracker/pictures.h"

namespace cacheinf {
namespace {

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

TEST(PictureWarpTest, IsBilinearToAboutASixteenthOfAPixel) {
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

TEST(PictureWarpTest, ShiftsByWholePixelsCopyBytesAndRepeatTheEdge) {
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

TEST(PictureWarpTest, WhatLiesNowhereIsOutOfViewAndNeverACrash) {
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

}  // namespace
}  // namespace cacheinf
