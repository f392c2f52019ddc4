// Which plan a robot follows from frame to frame, on a link and machines that are made up.

#include "common/plan/plan_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/plan/profiles.h"

namespace cacheinf {
namespace {

// A robot that takes 100 ms for a whole frame, and a server ten times as fast.
ProfilePair SlowRobot() {
  ProfiledOperator op;
  op.name = "map";
  op.kind = "conv 3x3";
  op.rows = 8;
  op.row_bytes = 4000;
  op.inputs = {{-1, AxisWindow::Identity(8)}};
  op.is_output = true;
  SetCosts(op, 100);
  return PairOf({op}, /*speedup=*/10, /*picture_bytes=*/80'000);
}

class PlanChooserTest : public testing::Test {
 protected:
  // The frame takes what was predicted for these true factors.
  void Answer(std::optional<double> mbit, double changed = 0.5) {
    const Plan& plan = chooser_.Choose({mbit.has_value(), mbit, 0.0, 4.0});
    if (plan != last_) ++switches_;
    last_ = plan;
    Situation truth;
    truth.mbit_up = truth.mbit_down = mbit.value_or(0);
    truth.round_trip_ms = 4;
    truth.robot_changed = truth.server_changed = changed;
    truth.robot_factor = robot_factor_;
    truth.server_factor = server_factor_;
    const Prediction real = CostModel(pair_.robot, pair_.server, truth).Predict(plan);
    PlanChooser::Taken taken = {.executed = plan.kind,
                                .latency_ms = real.latency_ms,
                                .server_ms = real.server_ms,
                                .waiting_ms = real.server_ms + real.link_ms + 4,
                                .changed = changed};
    if (!plan.keeps) taken.changed.reset();
    chooser_.Note(taken);
    latency_ms_ = real.latency_ms;
  }
  void AnswerMany(std::optional<double> mbit, double changed = 0.5) {
    for (int i = 0; i < 60; ++i) Answer(mbit, changed);
  }

  ProfilePair pair_ = SlowRobot();
  PlanChooser chooser_{pair_.robot, pair_.server,
                       [](const Situation&) { return std::vector<Plan>(); }};
  double robot_factor_ = 1;
  double server_factor_ = 1;
  Plan last_;
  int switches_ = 0;
  double latency_ms_ = 0;
};

TEST_F(PlanChooserTest, FollowsTheLink) {
  AnswerMany(std::nullopt);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal);
  AnswerMany(300);
  EXPECT_EQ(last_.kind, Plan::Kind::kRemote);
  AnswerMany(20);
  EXPECT_EQ(last_.codec, "jpeg:85");
  AnswerMany(0.5);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal);
  EXPECT_EQ(switches_, 2) << "no plan is taken that does not stay";
}

TEST_F(PlanChooserTest, TheRobotAnswersAloneFromTheFrameOnInWhichTheLinkIsGone) {
  AnswerMany(300);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote);
  Answer(std::nullopt);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal);
}

TEST_F(PlanChooserTest, LearnsWhatFramesReallyTake) {
  AnswerMany(20);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote);
  server_factor_ = 20;  // others are there, too
  AnswerMany(20);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal);
  EXPECT_GT(chooser_.situation().server_factor, 8);
  EXPECT_NEAR(chooser_.prediction().latency_ms, latency_ms_, 0.05 * latency_ms_);
  robot_factor_ = 20;  // it is hot
  AnswerMany(20);
  EXPECT_EQ(last_.kind, Plan::Kind::kRemote);
}

TEST_F(PlanChooserTest, PredictsWhatItSees) {
  for (const double changed : {0.05, 0.4, 1.0}) {
    AnswerMany(20, changed);
    EXPECT_NEAR(chooser_.prediction().latency_ms, latency_ms_, 0.03 * latency_ms_) << changed;
  }
}

TEST_F(PlanChooserTest, ALittleBetterIsNotEnough) {
  for (int i = 0; i < 4; ++i) AnswerMany(20, 0.05);
  const int before = switches_;
  for (int i = 0; i < 60; ++i) Answer(i % 2 == 0 ? 20.0 : 20.4, 0.05);
  EXPECT_EQ(switches_, before);
}

TEST_F(PlanChooserTest, WhereNobodyLooksWhatChangesItIsLookedAtNowAndThen) {
  AnswerMany(20, 0.9);
  ASSERT_FALSE(last_.keeps);
  for (int i = 0; i < 3; ++i) AnswerMany(20, 0.01);
  EXPECT_TRUE(last_.keeps) << "it never notices that little changes by now";
}

TEST_F(PlanChooserTest, ALinkThatWasBadOnceIsTriedAgain) {
  AnswerMany(0.5);
  ASSERT_EQ(last_.kind, Plan::Kind::kLocal);
  for (int i = 0; i < 3; ++i) last_ = chooser_.Choose({true, 0.5, /*mbit_age_s=*/1000, 4});
  EXPECT_EQ(last_.kind, Plan::Kind::kRemote);
}

TEST_F(PlanChooserTest, ASchedulesPlansAreAmongTheCandidates) {
  const Plan split = {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}};
  PlanChooser chooser(pair_.robot, pair_.server,
                      [&](const Situation&) { return std::vector<Plan>{split}; });
  const CostModel model(pair_.robot, pair_.server, {.mbit_up = 93, .mbit_down = 93});
  Plan plan;
  for (int i = 0; i < 5; ++i) plan = chooser.Choose({true, 93, 0.0, 0.0});
  double best = model.Ms({});
  for (const char* const codec : {"raw", "jpeg:85"}) {
    for (const bool keeps : {true, false}) {
      best =
          std::min(best, model.Ms({.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec}));
    }
  }
  EXPECT_EQ(plan == split, model.Ms(split) < 0.95 * best);
  EXPECT_NE(chooser.Reason().find(" ms, "), std::string::npos) << chooser.Reason();
}

}  // namespace
}  // namespace cacheinf
