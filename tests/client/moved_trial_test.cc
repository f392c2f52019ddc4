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
  EXPECT_NEAR(result->agreement, (1.0 / 2 + 2.0 / 3) / 2, 1e-9);
  EXPECT_EQ(result->weight, 1);
  EXPECT_FALSE(result->took);
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
