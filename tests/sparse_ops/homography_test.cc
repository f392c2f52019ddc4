#include "sparse_ops/homography.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

namespace cacheinf {
namespace {

struct Point {
  double x;
  double y;
};

Point Map(const Homography& h, Point p) {
  const auto along = [&](int i) { return h.m[i][0] * p.x + h.m[i][1] * p.y + h.m[i][2]; };
  return {along(0) / along(2), along(1) / along(2)};
}

constexpr unsigned kSeed = 20260411;

// Near the identity, like that between two frames of a moving camera.
Homography AnyMotion(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  return {{{between(0.8, 1.2), between(-0.2, 0.2), between(-50, 50)},
           {between(-0.2, 0.2), between(0.8, 1.2), between(-50, 50)},
           {between(-2e-4, 2e-4), between(-2e-4, 2e-4), 1.0}}};
}

void ExpectSame(const Homography& expected, const Homography& actual) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(expected.m[i][j], actual.m[i][j]) << i << ", " << j;
  }
}

TEST(HomographyTest, OnlyTheExactIdentityIsOne) {
  EXPECT_TRUE(Homography().IsIdentity());
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      Homography other;
      other.m[i][j] += 1e-15;
      EXPECT_FALSE(other.IsIdentity()) << i << ", " << j;
      other.m[i][j] = std::nan("");
      EXPECT_FALSE(other.IsIdentity()) << i << ", " << j;
    }
  }
}

TEST(HomographyTest, InverseLeadsBack) {
  std::mt19937 random(kSeed);
  std::cout << "seed " << kSeed << "\n";
  EXPECT_TRUE(Inverse(Homography()).IsIdentity());
  for (int i = 0; i < 100; ++i) {
    const Homography there = AnyMotion(random);
    const Homography back = Inverse(there);
    const Point p = {static_cast<double>(random() % 640), static_cast<double>(random() % 480)};
    const Point q = Map(back, Map(there, p));
    EXPECT_NEAR(p.x, q.x, 1e-8);
    EXPECT_NEAR(p.y, q.y, 1e-8);
    // The sign of W, which says what lies before the camera, stays.
    const Point there_p = Map(there, p);
    EXPECT_GT(back.m[2][0] * there_p.x + back.m[2][1] * there_p.y + back.m[2][2], 0.0);
  }
}

TEST(HomographyTest, WhatHasNoInverseHasNoFiniteEntry) {
  for (const Homography& singular : {Homography{{{1, 2, 3}, {2, 4, 6}, {0, 0, 1}}},  //
                                     Homography{{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
                                     Homography{{{1, 0, 0}, {0, 1, 0}, {0, 0, std::nan("")}}}}) {
    for (const auto& row : Inverse(singular).m) {
      for (const double entry : row) EXPECT_FALSE(std::isfinite(entry));
    }
  }
}

TEST(HomographyTest, OfMapIsThatOfThePictureBetweenPlacedPixels) {
  std::mt19937 random(kSeed);
  std::cout << "seed " << kSeed << "\n";
  for (int i = 0; i < 100; ++i) {
    const Homography picture = AnyMotion(random);
    const AxisPlacement rows = {static_cast<double>(1 << (random() % 6)),
                                static_cast<double>(random() % 31) / 2 - 7};
    const AxisPlacement columns = {static_cast<double>(1 << (random() % 6)),
                                   static_cast<double>(random() % 31) / 2 - 7};
    const Homography map = OfMap(picture, rows, columns);
    const Point p = {static_cast<double>(random() % 40), static_cast<double>(random() % 30)};
    const Point in_picture =
        Map(picture, {p.x * columns.stride + columns.offset, p.y * rows.stride + rows.offset});
    const Point in_map = Map(map, p);
    EXPECT_NEAR(in_picture.x, in_map.x * columns.stride + columns.offset, 1e-8);
    EXPECT_NEAR(in_picture.y, in_map.y * rows.stride + rows.offset, 1e-8);
  }
}

TEST(HomographyTest, OfMapIsExactForTheIdentityAndWholeStrides) {
  for (const double stride : {1.0, 2.0, 8.0, 32.0}) {
    for (const double offset : {0.0, -0.5, 0.5, 3.5, 15.5}) {
      const AxisPlacement rows = {stride, offset};
      const AxisPlacement columns = {stride * 2, offset + 1};
      EXPECT_TRUE(OfMap(Homography(), rows, columns).IsIdentity());
      const Homography shift = {{{1, 0, 6 * stride}, {0, 1, -5 * stride}, {0, 0, 1}}};
      ExpectSame({{{1, 0, 3}, {0, 1, -5}, {0, 0, 1}}}, OfMap(shift, rows, columns));
    }
  }
}

// The mean of the input indices that an output index reads.
double MiddleOfReads(const AxisWindow& window, int out) {
  double sum = 0;
  int count = 0;
  for (int in = 0; in < window.in_size; ++in) {
    if (!window.Reads(out, in)) continue;
    sum += in;
    ++count;
  }
  return sum / count;
}

TEST(HomographyTest, OutputsStandInTheMiddleOfWhatTheyRead) {
  std::mt19937 random(kSeed);
  std::cout << "seed " << kSeed << "\n";
  for (int i = 0; i < 200; ++i) {
    WindowAxis axis;
    axis.kernel = 1 + static_cast<int>(random() % 5);
    axis.stride = 1 + static_cast<int>(random() % 4);
    axis.dilation = 1 + static_cast<int>(random() % 3);
    axis.pad_begin = static_cast<int>(random() % 4);
    const AxisPlacement placed = PlaceOutput(AxisPlacement(), AxisWindow::Sliding(200, 40, axis));
    // Far from the border, where no window is cut off.
    for (int out = 10; out < 20; ++out) {
      EXPECT_DOUBLE_EQ(MiddleOfReads(AxisWindow::Sliding(200, 40, axis), out),
                       out * placed.stride + placed.offset)
          << "kernel " << axis.kernel << " stride " << axis.stride << " dilation " << axis.dilation
          << " padding " << axis.pad_begin;
    }
  }
}

TEST(HomographyTest, ATransposedWindowPlacesWhatTheOrdinaryOneReads) {
  for (int kernel = 1; kernel <= 5; ++kernel) {
    for (int stride = 1; stride <= 4; ++stride) {
      for (int padding = 0; padding < 3; ++padding) {
        const WindowAxis axis = {kernel, stride, padding, padding, 1};
        AxisWindow down = AxisWindow::Sliding(100, 50, axis);
        AxisWindow up = AxisWindow::Sliding(50, 100, axis);
        up.kind = AxisWindow::Kind::kTransposed;
        const AxisPlacement input = {4.0, 1.5};
        const AxisPlacement output = PlaceOutput(PlaceOutput(input, down), up);
        EXPECT_NEAR(input.stride, output.stride, 1e-12);
        EXPECT_NEAR(input.offset, output.offset, 1e-12);
      }
    }
  }
}

TEST(HomographyTest, OutputsOfAResizeStandWhereTheirTapsDo) {
  using Coordinates = ResizeSpec::Coordinates;
  for (const Coordinates coordinates :
       {Coordinates::kHalfPixel, Coordinates::kPytorchHalfPixel, Coordinates::kAlignCorners,
        Coordinates::kAsymmetric, Coordinates::kHalfPixelSymmetric}) {
    for (const int out_size : {41, 64, 128, 150}) {
      AxisWindow window;
      window.kind = AxisWindow::Kind::kResize;
      window.in_size = 64;
      window.out_size = out_size;
      window.resize.kind = ResizeSpec::Kind::kLinear;
      window.resize.coordinates = coordinates;
      const AxisPlacement placed = PlaceOutput(AxisPlacement(), window);
      for (int out = out_size / 4; out < out_size / 2; ++out) {
        // Two neighbouring pixels are read, or one, and the output stands between them.
        const double at = out * placed.stride + placed.offset;
        EXPECT_LE(std::fabs(at - MiddleOfReads(window, out)), 0.5 + 1e-4)
            << "to " << out_size << ", output " << out;
      }
    }
  }
}

TEST(HomographyTest, CopiesOfANearestResizeStandAroundTheirPixel) {
  AxisWindow window;
  window.kind = AxisWindow::Kind::kResize;
  window.in_size = 20;
  window.out_size = 60;
  window.resize.kind = ResizeSpec::Kind::kNearest;
  window.resize.coordinates = ResizeSpec::Coordinates::kAsymmetric;
  const AxisPlacement placed = PlaceOutput({8.0, 3.5}, window);
  for (int in = 0; in < window.in_size; ++in) {
    EXPECT_NEAR(in * 8.0 + 3.5, (3 * in + 1) * placed.stride + placed.offset, 1e-12);
  }
}

}  // namespace
}  // namespace cacheinf
