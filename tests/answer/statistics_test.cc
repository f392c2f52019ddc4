#include "common/answer/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace cacheinf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(LatencyHistogramTest, IsZeroBeforeTheFirstFrame) {
  const LatencyHistogram latency;
  EXPECT_EQ(latency.count(), 0);
  EXPECT_EQ(latency.mean_ms(), 0);
  EXPECT_EQ(latency.max_ms(), 0);
  EXPECT_EQ(latency.PercentileMs(0.5), 0);
}

TEST(LatencyHistogramTest, PercentilesAreWithinTheirPrecisionOfSortedTimes) {
  const uint32_t seed = 3;
  std::mt19937 random(seed);
  std::lognormal_distribution<double> distribution(17, 3);  // from microseconds to minutes
  LatencyHistogram latency;
  std::vector<double> sorted_ms;
  for (int i = 0; i < 10000; ++i) {
    const nanoseconds time(static_cast<int64_t>(distribution(random)));
    latency.Add(time);
    sorted_ms.push_back(static_cast<double>(time.count()) / 1e6);
  }
  std::sort(sorted_ms.begin(), sorted_ms.end());
  for (const double share : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    const double exact = sorted_ms[static_cast<size_t>(std::ceil(share * 10000)) - 1];
    EXPECT_NEAR(latency.PercentileMs(share), exact, 0.004 * exact) << share << " seed " << seed;
  }
  EXPECT_EQ(latency.max_ms(), sorted_ms.back());
}

TEST(LatencyHistogramTest, TakesExtremes) {
  LatencyHistogram latency;
  latency.Add(nanoseconds(0));
  latency.Add(nanoseconds(-5));
  latency.Add(nanoseconds(255));
  latency.Add(nanoseconds(256));
  latency.Add(nanoseconds::max());
  EXPECT_EQ(latency.count(), 5);
  EXPECT_EQ(latency.PercentileMs(0.1), 0);
  EXPECT_DOUBLE_EQ(latency.PercentileMs(0.6), 255e-6);
  EXPECT_DOUBLE_EQ(latency.PercentileMs(0.8), 256e-6);
  EXPECT_NEAR(latency.PercentileMs(1.0), 9.22e12, 0.04e12);
}

TEST(SegmentationScoreTest, DividesIntersectionsByUnions) {
  SegmentationScore score;
  EXPECT_TRUE(score.empty());
  score.Add(0, 0);
  score.Add(0, 0);
  score.Add(0, 3);
  score.Add(3, 3);
  const std::vector<double> iou = score.ClassIou();
  ASSERT_EQ(iou.size(), 4u);
  EXPECT_DOUBLE_EQ(iou[0], 2.0 / 3.0);
  EXPECT_EQ(iou[1], -1.0);  // neither seen nor predicted
  EXPECT_DOUBLE_EQ(iou[3], 0.5);
  EXPECT_DOUBLE_EQ(score.MeanIou(), (2.0 / 3.0 + 0.5) / 2);
}

TEST(SegmentationScoreTest, CountsClassesThatAreOnlyPredicted) {
  SegmentationScore score;
  score.Add(5, 0);
  EXPECT_DOUBLE_EQ(score.MeanIou(), 0.0);
}

}  // namespace
}  // namespace cacheinf
