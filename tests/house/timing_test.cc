#include "tests/bench/timing.h"

#include <gtest/gtest.h>

#include <string>

namespace cacheinf {
namespace {

TEST(SamplesTest, QuantilesInterpolateBetweenSortedSamples) {
  const Samples samples{{5.0, 1.0, 3.0, 2.0, 4.0}};
  EXPECT_DOUBLE_EQ(samples.Median(), 3.0);
  EXPECT_DOUBLE_EQ(samples.Quantile(0.0), 1.0);
  EXPECT_DOUBLE_EQ(samples.Quantile(1.0), 5.0);
  EXPECT_DOUBLE_EQ(samples.Quantile(0.625), 3.5);
  EXPECT_DOUBLE_EQ(Samples{{7.0}}.Quantile(0.9), 7.0);
}

TEST(TimeInterleavedTest, RunsEveryActionOnceARoundInTurn) {
  std::string order;
  const TimingOptions options{
      .warm_up_rounds = 0, .min_rounds = 3, .max_rounds = 3, .min_time_ms = 0.0};
  const Timing timing = TimeInterleaved({[&] { order += 'a'; }, [&] { order += 'b'; }}, options);
  EXPECT_EQ(order, "abbaab");
  ASSERT_EQ(timing.contenders.size(), 2u);
  EXPECT_EQ(timing.contenders[0].ms.size(), 3u);
  EXPECT_EQ(timing.contenders[1].ms.size(), 3u);
}

TEST(TimeInterleavedTest, StopsAtTheMostRoundsHoweverQuickTheyAre) {
  int calls = 0;
  const TimingOptions options{
      .warm_up_rounds = 2, .min_rounds = 1, .max_rounds = 5, .min_time_ms = 1e9};
  TimeInterleaved({[&] { ++calls; }}, options);
  EXPECT_EQ(calls, 2 + 5);
}

}  // namespace
}  // namespace cacheinf
