// Trials of answers that are moved, or repeated.

#include "client/moved_trial.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "common/answer/answers.h"
#include "common/base/clock.h"

namespace cacheinf {
namespace {

AnswerContent Map(std::vector<int32_t> classes) { return ClassMap{2, 2, std::move(classes)}; }

TEST(MovedTrialTest, AMapIsComparedAsItIsRepeatedAndMovingItTakesNothing) {
  const SteadyClock clock;
  MovedTrial trial(clock);
  const AnswerContent first = Map({1, 1, 2, 2});
  const AnswerContent second = Map({1, 2, 2, 2});
  EXPECT_FALSE(trial.Offer(0, &first, {}));
  EXPECT_FALSE(trial.Offer(1, nullptr, {})) << "not computed";
  const auto result = trial.Offer(3, &second, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->frames, 3);
  EXPECT_NEAR(result->agreement, (1.0 / 2 + 2.0 / 3) / 2, 0.01);
  EXPECT_EQ(result->weight, 1);
  EXPECT_FALSE(result->took);
}

TEST(MovedTrialTest, OnceYoungAnswersAreKnownOlderOnesAreTried) {
  const SteadyClock clock;
  MovedTrial trial(clock);
  const AnswerContent map = Map({1, 1, 2, 2});
  std::vector<int> frames;  // of results
  for (int64_t frame = 0; frame < 100; ++frame) {
    const auto result = trial.Offer(frame, frame % 4 == 0 ? &map : nullptr, {});
    if (result) frames.push_back(result->frames);
  }
  ASSERT_GE(frames.size(), 8u);
  EXPECT_EQ(std::vector(frames.begin(), frames.begin() + 3), (std::vector{4, 4, 4}));
  EXPECT_EQ(std::vector(frames.begin() + 3, frames.begin() + 7), (std::vector{4, 8, 12, 16}));
}

TEST(MovedTrialTest, WhatIsComparedAnywayNeedsNoTrials) {
  const SteadyClock clock;
  MovedTrial trial(clock);
  const AnswerContent map = Map({1, 1, 2, 2});
  for (int64_t frame = 0; frame < 40; ++frame) {
    trial.NoteCompared(1);
    EXPECT_FALSE(trial.Offer(frame, &map, {})) << frame;
  }
  EXPECT_FALSE(trial.Offer(40, &map, {}));
  EXPECT_TRUE(trial.Offer(41, &map, {}));
}

TEST(MovedTrialTest, WhatIsNothingButNumbersGivesNoResult) {
  const SteadyClock clock;
  MovedTrial trial(clock);
  const AnswerContent raw = RawOutputs();
  EXPECT_FALSE(trial.Offer(0, &raw, {}));
  EXPECT_FALSE(trial.Offer(1, &raw, {}));
}

}  // namespace
}  // namespace cacheinf
