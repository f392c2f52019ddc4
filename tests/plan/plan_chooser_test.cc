// Which plan a robot follows from frame to frame, on an invented link and invented machines.

#include "common/plan/plan_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "tests/plan/chooser_frames.h"
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
  // The frame takes what the model predicts with the true factors.
  void Answer(std::optional<double> mbit, double changed = 0.5) {
    const Plan& plan = chooser_.Choose({mbit.has_value(), {mbit}, {mbit}, 4.0});
    if (plan != last_) ++switches_;
    last_ = plan;
    ExpectReasonFor(plan);
    Situation truth;
    truth.mbit_up = truth.mbit_down = mbit.value_or(0);
    truth.round_trip_ms = 4;
    truth.robot_work = truth.server_work = changed;
    truth.robot_factor = robot_factor_;
    truth.server_factor = server_factor_;
    latency_ms_ = Execute(plan, truth, chooser_);
  }
  void AnswerMany(std::optional<double> mbit, double changed = 0.5) {
    for (int i = 0; i < 60; ++i) Answer(mbit, changed);
  }

  // A plan that another beats is not its own reason.
  void ExpectReasonFor(const Plan& plan) {
    const std::string reason = chooser_.Reason();
    std::smatch found;
    ASSERT_TRUE(
        std::regex_match(reason, found, std::regex("(.*): ([0-9.]+) ms, .*: ([0-9.]+) ms(; .*)?")))
        << reason;
    EXPECT_EQ(found[1], ToText(plan)) << reason;
    EXPECT_TRUE(found[4].matched || std::stod(found[2]) <= std::stod(found[3])) << reason;
    if (found[4].matched) ++reasons_[found[4]];
  }

  // Tells the chooser what a frame took. If the frame is `whole`, its share of work is not known.
  // Returns its latency.
  double Execute(const Plan& plan, const Situation& truth, PlanChooser& chooser,
                 bool whole = false) const {
    const Prediction real = CostModel(pair_.robot, pair_.server, truth).Predict(plan);
    Took taken = {.executed = plan.kind,
                  .latency_ms = real.latency_ms,
                  .server_ms = real.server_ms,
                  .waiting_ms = real.server_ms + real.link_ms + 4,
                  .sent_bytes = real.up_bytes,
                  .share = truth.robot_work};
    if (!plan.keeps || whole) taken.share.reset();
    chooser.Note(taken);
    return real.latency_ms;
  }

  ProfilePair pair_ = SlowRobot();
  PlanChooser chooser_{pair_.robot, pair_.server,
                       [](const Situation&) { return std::vector<Plan>(); }};
  double robot_factor_ = 1;
  double server_factor_ = 1;
  Plan last_;
  int switches_ = 0;
  double latency_ms_ = 0;
  std::map<std::string, int> reasons_;  // why no quicker plan was taken
};

// A robot whose core is busy with something else: the first frames take longer, and later every
// third or so.
struct Busy {
  double mbit;
  double server_factor;  // how much longer the server takes than its profile says
};

class BusyPlanChooserTest : public PlanChooserTest, public testing::WithParamInterface<Busy> {
 protected:
  static constexpr int kFrames = 60;

  // The median over a run that follows the chooser, or always this plan.
  double Run(unsigned seed, const std::optional<Plan>& always = {}) {
    std::mt19937 random(seed);
    std::bernoulli_distribution is_disturbed(0.35);
    PlanChooser chooser(pair_.robot, pair_.server,
                        [](const Situation&) { return std::vector<Plan>(); });
    Situation truth;
    truth.mbit_up = truth.mbit_down = GetParam().mbit;
    truth.round_trip_ms = 4;
    truth.robot_work = truth.server_work = 0.1;
    truth.server_factor = GetParam().server_factor;
    std::optional<Plan> last;
    std::vector<double> latencies;
    for (int frame = 0; frame < kFrames; ++frame) {
      const PlanChooser::OneWay way = {GetParam().mbit};
      const Plan plan = always ? *always : chooser.Choose({true, way, way, truth.round_trip_ms});
      Situation now = truth;
      if (plan != last) now.robot_work = now.server_work = 1;
      last = plan;
      const double slower = is_disturbed(random) || frame < 4 ? 1.6 : 1.0;
      now.robot_factor *= slower;
      now.server_factor *= slower;
      latencies.push_back(Execute(plan, now, chooser, now.robot_work == 1));
    }
    std::ranges::nth_element(latencies, latencies.begin() + kFrames / 2);
    return latencies[kFrames / 2];
  }
};

TEST_P(BusyPlanChooserTest, TakesHardlyLongerThanTheBestPlan) {
  constexpr unsigned kRuns = 200;
  unsigned longer = 0;
  double worst = 0;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    const double alone_ms = Run(seed, Plan());
    const double remote_ms = Run(seed, Plan{.kind = Plan::Kind::kRemote, .codec = "jpeg:85"});
    const double ratio = Run(seed) / std::min(alone_ms, remote_ms);
    worst = std::max(worst, ratio);
    if (ratio > 1.1) ++longer;
  }
  EXPECT_LE(longer, kRuns / 10) << "worst " << worst;
}

INSTANTIATE_TEST_SUITE_P(Servers, BusyPlanChooserTest,
                         testing::Values(Busy{5, 0.5}, Busy{5, 1}, Busy{5, 2}, Busy{5, 3},
                                         Busy{5, 6}, Busy{8, 1}, Busy{20, 1}, Busy{20, 3},
                                         Busy{20, 8}));

TEST_F(PlanChooserTest, FollowsTheLink) {
  AnswerMany(std::nullopt);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal);
  AnswerMany(300);
  EXPECT_EQ(last_.kind, Plan::Kind::kRemote);
  AnswerMany(20);
  EXPECT_EQ(last_.codec, "jpeg:85");
  AnswerMany(0.5);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal);
  EXPECT_LE(switches_, 7) << "it may try one plan and the robot alone in vain";
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
  server_factor_ = 20;  // other robots use it, too
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

TEST_F(PlanChooserTest, ALittleBetterForLongIsEnough) {
  AnswerMany(std::nullopt, 0.2);
  const double alone_ms = latency_ms_;
  AnswerMany(5, 0.2);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote);
  // Slow the server down until it is 3 % slower than the robot.
  for (int i = 0; i < 200 && latency_ms_ < 1.03 * alone_ms; ++i) {
    server_factor_ += 0.1;
    for (int j = 0; j < 3; ++j) Answer(5, 0.2);
  }
  ASSERT_LT(latency_ms_, 1.05 * alone_ms);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote);
  for (int i = 0; i < 40; ++i) Answer(5, 0.2);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal) << latency_ms_ << " ms, alone " << alone_ms;
}

// Now and then the machine does something else for two frames.
TEST_F(PlanChooserTest, AFewSlowFramesAreNoReasonToLeave) {
  AnswerMany(5, 0.2);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote);
  switches_ = 0;
  for (int frame = 0; frame < 300; ++frame) {
    server_factor_ = frame % 10 < 2 ? 15 : 1;
    Answer(5, 0.2);
  }
  EXPECT_EQ(switches_, 0);
}

// The link makes the server a tenth slower than the robot for ten frames, then faster.
TEST_F(PlanChooserTest, DoesNotSwitchForLessThanSwitchingCosts) {
  AnswerMany(std::nullopt, 0.2);
  const double alone_ms = latency_ms_;
  AnswerMany(5, 0.2);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote);
  const auto mbit_for = [&](double latency_ms) {
    Situation at = {.mbit_up = 5, .round_trip_ms = 4, .robot_work = 0.2, .server_work = 0.2};
    const auto ms = [&] {
      at.mbit_down = at.mbit_up;
      return CostModel(pair_.robot, pair_.server, at).Ms(last_);
    };
    while (ms() < latency_ms) at.mbit_up *= 0.99;
    return at.mbit_up;
  };
  const double slow = mbit_for(1.1 * alone_ms);
  const double quick = mbit_for(0.9 * alone_ms);
  switches_ = 0;
  for (int frame = 0; frame < 400; ++frame) Answer(frame / 10 % 2 == 0 ? slow : quick, 0.2);
  EXPECT_LE(switches_, 4) << "of 40 occasions";
}

// For how many frames the robot stays with a server that is half as slow again as itself, if its
// own first frame takes such a share of all work.
int FramesUntilAlone(double share_alone, bool tracks = false) {
  const ProfilePair pair = Profiles(3);
  PlanChooser chooser = ChooserOf(pair);
  if (tracks) chooser.NoteMovingTook(TimeOf(0.1));
  EXPECT_EQ(Settled(chooser, kFast, 0.5, 40).kind, Plan::Kind::kRemote) << chooser.Reason();
  chooser.SetShareAlone(share_alone);
  PlanChooser::Link slow = kFast;
  for (int frame = 0; frame < 500; ++frame) {
    slow.round_trip_ms = 20;
    const Plan plan = chooser.Choose(slow);
    if (plan.kind == Plan::Kind::kLocal) return frame;
    chooser.Note(AsPredicted(chooser, plan, 0.5));
  }
  return 500;
}

TEST(PlanChooser, AServerIsLeftTheSoonerTheLessTheRobotsOwnResultsLack) {
  const int warm = FramesUntilAlone(0.5);
  const int cold = FramesUntilAlone(1);
  EXPECT_LT(warm, cold);
  EXPECT_LT(cold, 500);
}

// Its computed frames, of which there is one in three, lose as much as without tracking.
TEST(PlanChooser, ATrackedPlanIsLeftAfterAsManyComputedFrames) {
  EXPECT_LE(FramesUntilAlone(1, /*tracks=*/true), FramesUntilAlone(1) + 1);
}

TEST(PlanChooser, WhatIsKeptWarmShowsHowMuchChangesWhereFramesDoNot) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  const auto work = [&](double share) {
    chooser.SetShareAlone(share);
    chooser.Choose(kFast);
    return chooser.situation().robot_work;
  };
  // The robot computes a frame in place of a server that is late.
  const auto note = [&](std::optional<double> share) {
    const Plan plan = chooser.Choose(kFast);
    ASSERT_EQ(plan.kind, Plan::Kind::kRemote);
    Took taken = AsPredicted(chooser, plan, 0);
    taken.executed = Plan::Kind::kLocal;
    taken.share = share;
    chooser.Note(taken);
  };
  EXPECT_EQ(work(0.7), 0.7) << "the robot's frames before there were plans";
  note(0.5);
  EXPECT_EQ(work(0.7), 0.5) << "seen";
  for (int frame = 0; frame < 40; ++frame) note(std::nullopt);
  EXPECT_EQ(work(0.7), 0.5) << "more changes in a second";
  EXPECT_EQ(work(0.3), 0.3);
  EXPECT_EQ(work(0), 0.1) << "as hoped for where nothing is known";
}

// As when a schedule from better figures comes.
TEST_F(PlanChooserTest, ANewChooserGoesOnWhereTheOneBeforeItWas) {
  AnswerMany(std::nullopt, 0.1);
  const auto nearby = [](const Situation&) { return std::vector<Plan>(); };
  const PlanChooser::Link link = {true, {20}, {20}, 4.0};
  PlanChooser afresh(pair_.robot, pair_.server, nearby);
  EXPECT_EQ(afresh.Choose(link).kind, Plan::Kind::kRemote) << afresh.Reason();
  PlanChooser next(pair_.robot, pair_.server, nearby);
  next.GoOnFrom(chooser_);
  EXPECT_EQ(next.Choose(link), Plan()) << next.Reason();
  EXPECT_EQ(next.situation().robot_work, chooser_.situation().robot_work);
}

TEST_F(PlanChooserTest, WhatFramesTookWhileAServerWasMetIsForgotten) {
  robot_factor_ = 5;
  AnswerMany(std::nullopt);
  robot_factor_ = 1;
  Answer(1);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal) << chooser_.Reason();
}

TEST_F(PlanChooserTest, ASlowBeginningIsNoSlowRobot) {
  robot_factor_ = 3;
  Answer(1);
  ASSERT_EQ(last_.kind, Plan::Kind::kLocal) << chooser_.Reason();
  Answer(1);
  Answer(1);
  robot_factor_ = 1;
  AnswerMany(1);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal) << chooser_.Reason();
}

TEST_F(PlanChooserTest, AFastFrameAloneIsBelievedAtOnce) {
  robot_factor_ = 0.3;
  for (int frame = 0; frame < 3; ++frame) Answer(1);
  EXPECT_NEAR(chooser_.situation().robot_factor, 0.3, 0.01);
}

TEST_F(PlanChooserTest, ARobotThatWasSlowForAWhileIsTriedAgain) {
  AnswerMany(1);
  ASSERT_EQ(last_.kind, Plan::Kind::kLocal) << chooser_.Reason();
  robot_factor_ = 5;
  AnswerMany(1);
  ASSERT_EQ(last_.kind, Plan::Kind::kRemote) << chooser_.Reason();
  robot_factor_ = 1;
  for (int i = 0; i < 20; ++i) AnswerMany(1);
  EXPECT_EQ(last_.kind, Plan::Kind::kLocal) << chooser_.Reason();
}

TEST_F(PlanChooserTest, SaysWhyItTakesNoQuickerPlan) {
  AnswerMany(1);
  robot_factor_ = 5;
  AnswerMany(1);
  for (int i = 0; i < 20; ++i) AnswerMany(300);
  EXPECT_EQ(reasons_.size(), 2u);
  for (const auto& [reason, frames] : reasons_) EXPECT_LT(frames, 100) << reason;
}

TEST_F(PlanChooserTest, LooksNowAndThenHowMuchChanges) {
  AnswerMany(20, 0.9);
  ASSERT_FALSE(last_.keeps);
  for (int i = 0; i < 3; ++i) AnswerMany(20, 0.01);
  EXPECT_TRUE(last_.keeps) << "it never notices that little changes by now";
}

TEST_F(PlanChooserTest, ALinkThatWasBadOnceIsTriedAgain) {
  AnswerMany(0.5);
  ASSERT_EQ(last_.kind, Plan::Kind::kLocal);
  for (int i = 0; i < 3; ++i) last_ = chooser_.Choose({true, {0.5, /*age_s=*/1000}, {}, 4});
  EXPECT_EQ(last_.kind, Plan::Kind::kRemote);
}

TEST_F(PlanChooserTest, ASchedulesPlansAreAmongTheCandidates) {
  const Plan split = {.kind = Plan::Kind::kSplit, .cuts = {{-1, 500}}};
  PlanChooser chooser(pair_.robot, pair_.server,
                      [&](const Situation&) { return std::vector<Plan>{split}; });
  const CostModel model(pair_.robot, pair_.server, {.mbit_up = 93, .mbit_down = 93});
  Plan plan;
  for (int i = 0; i < 5; ++i) plan = chooser.Choose({true, {93}, {93}, 0.0});
  double best = model.Ms({});
  for (const char* const codec : {"raw", "jpeg:85"}) {
    for (const bool keeps : {true, false}) {
      best =
          std::min(best, model.Ms({.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec}));
    }
  }
  EXPECT_EQ(plan == split, model.Ms(split) < 0.95 * best);
}

TEST_F(PlanChooserTest, KeepsToASchedulesPlansIfTold) {
  // All are worse than what it would choose otherwise.
  const std::vector<Plan> plans = {
      {.kind = Plan::Kind::kRemote, .keeps = false, .codec = "raw"},
      {.kind = Plan::Kind::kSplit, .keeps = false, .cuts = {{-1, 900}}}};
  PlanChooser chooser(
      pair_.robot, pair_.server,
      [&](const Situation& situation) {
        return situation.mbit_up > 0 ? plans : std::vector<Plan>{{.keeps = false}};
      },
      /*keeps_to_nearby=*/true);
  const auto expect_one_of = [&](const PlanChooser::Link& link, const std::vector<Plan>& allowed) {
    for (int frame = 0; frame < 400; ++frame) {
      const Plan plan = chooser.Choose(link);
      ASSERT_NE(std::ranges::find(allowed, plan), allowed.end()) << ToText(plan);
      chooser.Note(Took{.executed = plan.kind,
                        .latency_ms = chooser.prediction().latency_ms,
                        .server_ms = chooser.prediction().server_ms,
                        .waiting_ms = 1.0 + chooser.prediction().server_ms,
                        .sent_bytes = chooser.prediction().up_bytes,
                        .share = std::nullopt});
    }
  };
  expect_one_of({true, {20}, {20}, 4}, plans);
  expect_one_of({}, {{.keeps = false}});
  expect_one_of({true, {20}, {20}, 4}, plans);
}

TEST_F(PlanChooserTest, IfToldToKeepToPlansOfWhichNoneCanBeFollowedTheRobotIsAlone) {
  const auto first = [&](const PlanChooser::Link& link, const std::vector<Plan>& plans) {
    PlanChooser chooser(
        pair_.robot, pair_.server, [plans](const Situation&) { return plans; },
        /*keeps_to_nearby=*/true);
    return chooser.Choose(link).kind;
  };
  EXPECT_EQ(first({}, {{.kind = Plan::Kind::kSplit, .cuts = {{-1, 0}}}}), Plan::Kind::kLocal);
  EXPECT_EQ(first({true, {300}, {300}, 1}, {}), Plan::Kind::kLocal);
}

}  // namespace
}  // namespace cacheinf
