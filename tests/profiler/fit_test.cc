#include "profiler/fit.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "common/base/median.h"

namespace cacheinf {
namespace {

TEST(FitTest, PercentilesAreSamples) {
  EXPECT_EQ(PercentileOf({}, 0.5), 0.0);
  EXPECT_EQ(MedianOf({3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(PercentileOf({5.0, 1.0, 2.0, 4.0, 3.0}, 0.95), 5.0);
}

TEST(FitTest, RoundsToFiveDigits) {
  EXPECT_EQ(Rounded(0.0), 0.0);
  EXPECT_EQ(Rounded(1234567.0), 1234600.0);
  EXPECT_EQ(Rounded(0.00123456), 0.0012346);
  EXPECT_EQ(Rounded(1.0), 1.0);
  EXPECT_EQ(Rounded(0.0625), 0.0625);
}

TEST(FitTest, OutliersDoNotCount) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(0.0, 1.0);
  std::vector<Curve::Point> samples;
  for (int i = 0; i < 2000; ++i) {
    const double x = number(random);
    const double busy = number(random) < 0.1 ? 50.0 : 1.0;
    samples.push_back({x, busy * (0.5 + 4.0 * x)});
  }
  const Curve fit = FitByMedians(samples);
  EXPECT_LE(fit.points.size(), 20u);
  for (const double x : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    EXPECT_NEAR(fit.At(x), 0.5 + 4.0 * x, 0.1 * (0.5 + 4.0 * x)) << x;
  }
}

// No work is not mixed with a little work, nor all of it with nearly all.
TEST(FitTest, NothingAndAllStandAlone) {
  const Curve fit = FitByMedians({{0.0, 1.0}, {0.001, 3.0}, {0.998, 5.0}, {1.0, 9.0}});
  ASSERT_EQ(fit.points.size(), 4u);
  EXPECT_EQ(fit.At(0.0), 1.0);
  EXPECT_EQ(fit.At(1.0), 9.0);
}

TEST(FitTest, MeansCountHowOften) {
  const Curve fit = FitByMeans({{0.31, 0.0}, {0.35, 0.0}, {0.39, 1.0}, {0.35, 1.0}, {0.35, 1.0}});
  ASSERT_EQ(fit.points.size(), 1u);
  EXPECT_EQ(fit.points[0], (Curve::Point{0.35, 0.6}));
}

TEST(FitTest, ComposesCurves) {
  const Curve inner = {{{0.0, 0.0}, {0.5, 0.2}, {1.0, 1.0}}};
  const Curve outer = {{{0.0, 10.0}, {1.0, 20.0}}};
  EXPECT_EQ(Composed(outer, inner).points,
            (std::vector<Curve::Point>{{0.0, 10.0}, {0.5, 12.0}, {1.0, 20.0}}));
}

}  // namespace
}  // namespace cacheinf
