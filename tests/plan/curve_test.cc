#include "common/plan/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace cacheinf {
namespace {

TEST(CurveTest, IsStraightBetweenItsPointsAndConstantBeyond) {
  const Curve curve = {{{0.2, 1.0}, {0.4, 3.0}, {0.8, 5.0}}};
  EXPECT_EQ(curve.At(0.0), 1.0);
  EXPECT_EQ(curve.At(0.2), 1.0);
  EXPECT_DOUBLE_EQ(curve.At(0.3), 2.0);
  EXPECT_DOUBLE_EQ(curve.At(0.6), 4.0);
  EXPECT_EQ(curve.At(0.8), 5.0);
  EXPECT_EQ(curve.At(1.0), 5.0);
  EXPECT_EQ(Curve().At(0.5), 0.0);
  EXPECT_EQ(Curve::Constant(7.0).At(0.9), 7.0);
}

TEST(FitRisingTest, LeavesWhatRisesAsItIs) {
  const std::vector<Curve::Point> samples = {{0.5, 2.0}, {0.0, 1.0}, {1.0, 4.0}};
  EXPECT_EQ(FitRising(samples).points,
            (std::vector<Curve::Point>{{0.0, 1.0}, {0.5, 2.0}, {1.0, 4.0}}));
}

TEST(FitRisingTest, TakesTheMeanOfWhatFallsAndOfEqualShares) {
  const std::vector<Curve::Point> samples = {{0.0, 1.0}, {0.2, 5.0}, {0.4, 3.0},
                                             {0.4, 1.0}, {0.6, 9.0}, {0.6, 11.0}};
  EXPECT_EQ(FitRising(samples).points,
            (std::vector<Curve::Point>{{0.0, 1.0}, {0.2, 3.0}, {0.4, 3.0}, {0.6, 10.0}}));
}

double SquaredError(const Curve& curve, const std::vector<Curve::Point>& samples) {
  double sum = 0;
  for (const Curve::Point& sample : samples) {
    sum += (curve.At(sample.x) - sample.y) * (curve.At(sample.x) - sample.y);
  }
  return sum;
}

// No other rising curve through the same shares lies nearer: none of a thousand near it does.
TEST(FitRisingTest, NeverFallsAndLiesNearest) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0.0, 1.0);
  std::vector<Curve::Point> samples;
  for (int i = 0; i < 40; ++i) samples.push_back({(i - i % 2) / 40.0, number(random) + i / 40.0});
  const Curve fit = FitRising(samples);
  ASSERT_EQ(fit.points.size(), 20u);
  for (size_t i = 1; i < fit.points.size(); ++i) {
    EXPECT_LT(fit.points[i - 1].x, fit.points[i].x);
    EXPECT_LE(fit.points[i - 1].y, fit.points[i].y);
  }
  for (int trial = 0; trial < 1000; ++trial) {
    Curve other = fit;
    for (Curve::Point& point : other.points) point.y += 0.2 * (number(random) - 0.5);
    for (size_t i = 1; i < other.points.size(); ++i) {
      other.points[i].y = std::max(other.points[i].y, other.points[i - 1].y);
    }
    ASSERT_GE(SquaredError(other, samples), SquaredError(fit, samples));
  }
}

}  // namespace
}  // namespace cacheinf
