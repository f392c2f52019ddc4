// Read this first: which inputs an output reads and which outputs an input touches.

#include "sparse_ops/window.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "sparse_ops/resize_taps.h"

namespace cacheinf {
namespace {

using Kind = AxisWindow::Kind;

class RandomNumbers {
 public:
  explicit RandomNumbers(unsigned seed) : engine_(seed) {}
  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  Range RangeWithin(int size) {
    const int begin = Between(0, size);
    return {begin, Between(begin, size)};
  }

 private:
  std::mt19937 engine_;
};

AxisWindow RandomWindow(Kind kind, RandomNumbers& random) {
  AxisWindow axis;
  axis.kind = kind;
  axis.in_size = random.Between(1, 20);
  axis.out_size = random.Between(1, 24);
  axis.window.kernel = random.Between(1, 5);
  axis.window.stride = random.Between(1, 4);
  axis.window.dilation = random.Between(1, 4);
  axis.window.pad_begin = random.Between(-4, 8);
  axis.window.pad_end = random.Between(-4, 8);
  axis.resize.kind = static_cast<ResizeSpec::Kind>(random.Between(0, 2));
  axis.resize.coordinates = static_cast<ResizeSpec::Coordinates>(random.Between(0, 4));
  axis.resize.rounding = static_cast<ResizeSpec::Rounding>(random.Between(0, 3));
  if (random.Between(0, 1) == 1) {
    const float scale = static_cast<float>(axis.out_size) / static_cast<float>(axis.in_size);
    axis.resize.scale_rows = axis.resize.scale_columns = scale;
  }
  axis.is_rows = random.Between(0, 1) == 1;
  if (random.Between(0, 2) == 0) axis.tile = random.Between(2, 5);
  return axis;
}

Range HullOfReads(const AxisWindow& axis, Range out) {
  Range hull;
  for (int i = 0; i < axis.in_size; ++i) {
    for (int o = out.begin; o < out.end; ++o) {
      if (axis.Reads(o, i)) hull = hull.empty() ? Range{i, i + 1} : Range{hull.begin, i + 1};
    }
  }
  return hull;
}

Range HullOfReaders(const AxisWindow& axis, Range in) {
  Range hull;
  for (int o = 0; o < axis.out_size; ++o) {
    for (int i = in.begin; i < in.end; ++i) {
      if (axis.Reads(o, i)) hull = hull.empty() ? Range{o, o + 1} : Range{hull.begin, o + 1};
    }
  }
  return hull;
}

std::string Describe(const AxisWindow& axis, Range range) {
  return "kind " + std::to_string(static_cast<int>(axis.kind)) + ", sizes " +
         std::to_string(axis.in_size) + " to " + std::to_string(axis.out_size) + ", kernel " +
         std::to_string(axis.window.kernel) + ", stride " + std::to_string(axis.window.stride) +
         ", dilation " + std::to_string(axis.window.dilation) + ", pad " +
         std::to_string(axis.window.pad_begin) + ", range " + std::to_string(range.begin) + ".." +
         std::to_string(range.end);
}

TEST(WindowTest, NeededAndTouchedAreTheHullsOfWhatReadsSays) {
  const unsigned seed = 17;
  RandomNumbers random(seed);
  for (int round = 0; round < 4000; ++round) {
    for (int kind = 0; kind <= static_cast<int>(Kind::kWhole); ++kind) {
      const AxisWindow axis = RandomWindow(static_cast<Kind>(kind), random);
      const Range out = random.RangeWithin(axis.out_size);
      const Range in = random.RangeWithin(axis.in_size);
      ASSERT_EQ(axis.Needed(out), HullOfReads(axis, out))
          << Describe(axis, out) << ", seed " << seed;
      ASSERT_EQ(axis.Touched(in), HullOfReaders(axis, in))
          << Describe(axis, in) << ", seed " << seed;
    }
  }
}

TEST(WindowTest, ReadsOfASlidingWindowAreItsTapsInsideThePicture) {
  AxisWindow axis = AxisWindow::Sliding(6, 3, WindowAxis{3, 2, 1, 0, 1});
  EXPECT_FALSE(axis.Reads(0, 2));
  EXPECT_TRUE(axis.Reads(0, 0));
  EXPECT_TRUE(axis.Reads(0, 1));
  EXPECT_EQ(axis.Needed({0, 1}), (Range{0, 2}));
  EXPECT_EQ(axis.Needed({1, 3}), (Range{1, 6}));
  EXPECT_EQ(axis.Touched({1, 2}), (Range{0, 2}));
}

TEST(WindowTest, AnOutputOfATileReadsWhatAllOfTheTileDo) {
  AxisWindow axis = AxisWindow::Sliding(10, 10, WindowAxis{3, 1, 1, 1, 1});
  axis.tile = 4;
  EXPECT_EQ(axis.Needed({1, 2}), (Range{0, 5}));
  EXPECT_EQ(axis.Needed({4, 5}), (Range{3, 9}));
  EXPECT_EQ(axis.Needed({9, 10}), (Range{7, 10}));
  EXPECT_EQ(axis.Touched({4, 5}), (Range{0, 8}));
  EXPECT_EQ(axis.Touched({9, 10}), (Range{8, 10}));
  // There are two outputs and no padding at the end: the other two of their tile read two more
  // inputs.
  axis = AxisWindow::Sliding(6, 2, WindowAxis{3, 1, 0, -2, 1});
  axis.tile = 4;
  EXPECT_EQ(axis.Needed({0, 1}), (Range{0, 6}));
}

TEST(WindowTest, ReadsOfATransposedWindowAreTheInputsThatAddToTheOutput) {
  AxisWindow axis = AxisWindow::Sliding(3, 6, WindowAxis{4, 2, 1, 1, 1});
  axis.kind = Kind::kTransposed;
  // Input i adds to outputs 2 i - 1 .. 2 i + 2.
  EXPECT_EQ(axis.Needed({0, 1}), (Range{0, 1}));
  EXPECT_EQ(axis.Needed({2, 3}), (Range{0, 2}));
  EXPECT_EQ(axis.Touched({1, 2}), (Range{1, 5}));
}

TEST(WindowTest, EmptyRangesAndRangesOutsideNeedNothing) {
  RandomNumbers random(3);
  for (int kind = 0; kind <= static_cast<int>(Kind::kWhole); ++kind) {
    const AxisWindow axis = RandomWindow(static_cast<Kind>(kind), random);
    EXPECT_EQ(axis.Needed({0, 0}), Range{});
    EXPECT_EQ(axis.Needed({100, 200}), Range{});
    EXPECT_EQ(axis.Touched({3, 2}), Range{});
    EXPECT_EQ(axis.Touched({-5, 0}), Range{});
    EXPECT_EQ(axis.Needed({-5, 500}), axis.Needed({0, axis.out_size}));
  }
}

TEST(ResizeTapsTest, WeightsSumToOneAndIndicesRiseWithTheOutput) {
  const unsigned seed = 23;
  RandomNumbers random(seed);
  for (int round = 0; round < 3000; ++round) {
    const AxisWindow axis = RandomWindow(Kind::kResize, random);
    ResizeTaps before;
    for (int o = 0; o < axis.out_size; ++o) {
      const ResizeTaps taps = TapsOf(axis.resize, axis.is_rows, axis.in_size, axis.out_size, o);
      float sum = 0;
      for (int i = 0; i < taps.count; ++i) {
        sum += taps.weight[i];
        ASSERT_GE(taps.index[i], i == 0 ? 0 : taps.index[i - 1]) << "seed " << seed;
        ASSERT_LT(taps.index[i], axis.in_size) << "seed " << seed;
        ASSERT_GE(taps.index[i], o == 0 ? 0 : before.index[i]) << "seed " << seed;
      }
      ASSERT_NEAR(sum, 1.0f, 1e-6f) << "seed " << seed;
      before = taps;
    }
  }
}

ResizeTaps Taps(const ResizeSpec& spec, int in_size, int out_size, int out) {
  return TapsOf(spec, true, in_size, out_size, out);
}

TEST(ResizeTapsTest, CoordinateModesPlaceTheOutputWhereTheirDefinitionsSay) {
  using Coordinates = ResizeSpec::Coordinates;
  ResizeSpec spec;
  spec.kind = ResizeSpec::Kind::kLinear;
  const auto position = [&](Coordinates coordinates, int in_size, int out_size, int out) {
    spec.coordinates = coordinates;
    const ResizeTaps taps = Taps(spec, in_size, out_size, out);
    return taps.weight[0] * static_cast<float>(taps.index[0]) +
           taps.weight[1] * static_cast<float>(taps.index[1]);
  };
  EXPECT_EQ(position(Coordinates::kHalfPixel, 4, 8, 3), 1.25f);
  EXPECT_EQ(position(Coordinates::kHalfPixel, 4, 8, 0), 0.0f);
  EXPECT_EQ(position(Coordinates::kHalfPixel, 4, 8, 7), 3.0f);
  EXPECT_EQ(position(Coordinates::kHalfPixel, 4, 1, 0), 1.5f);
  EXPECT_EQ(position(Coordinates::kPytorchHalfPixel, 4, 1, 0), 0.0f);
  EXPECT_EQ(position(Coordinates::kAlignCorners, 4, 7, 6), 3.0f);
  EXPECT_EQ(position(Coordinates::kAlignCorners, 4, 7, 1), 0.5f);
  EXPECT_EQ(position(Coordinates::kAsymmetric, 4, 8, 3), 1.5f);
  // The output has 5 pixels where 4 scaled by 1.3 would be 5.2: both ends are cut off equally.
  spec.scale_rows = 1.3f;
  EXPECT_NEAR(position(Coordinates::kHalfPixelSymmetric, 4, 5, 2), 1.5f, 1e-6f);
}

TEST(ResizeTapsTest, NearestRoundsAsItsModeSays) {
  using Rounding = ResizeSpec::Rounding;
  ResizeSpec spec;
  spec.coordinates = ResizeSpec::Coordinates::kHalfPixel;
  const auto index = [&](Rounding rounding, int in_size, int out_size, int out) {
    spec.rounding = rounding;
    return Taps(spec, in_size, out_size, out).index[0];
  };
  // From 4 to 2, output 0 lies at 0.5; from 4 to 8, output 2 at 0.75.
  EXPECT_EQ(index(Rounding::kRoundPreferFloor, 4, 2, 0), 0);
  EXPECT_EQ(index(Rounding::kRoundPreferCeil, 4, 2, 0), 1);
  EXPECT_EQ(index(Rounding::kFloor, 4, 8, 2), 0);
  EXPECT_EQ(index(Rounding::kCeil, 4, 8, 2), 1);
  EXPECT_EQ(index(Rounding::kRoundPreferFloor, 4, 8, 2), 1);
}

TEST(ResizeTapsTest, CubicWeightsAreTheConvolutionKernels) {
  ResizeSpec spec;
  spec.kind = ResizeSpec::Kind::kCubic;
  const ResizeTaps taps = Taps(spec, 8, 16, 7);  // at 3.25
  EXPECT_EQ(taps.index[0], 2);
  EXPECT_EQ(taps.index[3], 5);
  EXPECT_FLOAT_EQ(taps.weight[0], -0.10546875f);
  EXPECT_FLOAT_EQ(taps.weight[1], 0.87890625f);
  EXPECT_FLOAT_EQ(taps.weight[2], 0.26171875f);
  EXPECT_FLOAT_EQ(taps.weight[3], -0.03515625f);
}

}  // namespace
}  // namespace cacheinf
