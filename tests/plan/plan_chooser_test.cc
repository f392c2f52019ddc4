// Which plan a robot follows from frame to frame, on an invented link and invented machines.

#include "common/plan/plan_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <regex>
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

FrameTimes::Time TimeOf(double ms) {
  return std::chrono::duration_cast<FrameTimes::Time>(
      std::chrono::duration<double, std::milli>(ms));
}

// What a frame took, in milliseconds.
struct Took {
  Plan::Kind executed = Plan::Kind::kLocal;
  double latency_ms = 0;
  double server_ms = 0;
  double waiting_ms = 0;
  double queue_ms = 0;
  double sent_bytes = 0;
  std::optional<double> share = {};

  operator PlanChooser::Taken() const {  // NOLINT(google-explicit-constructor)
    FrameTimes times;
    times.compute = TimeOf(latency_ms);
    times.waiting = TimeOf(waiting_ms);
    times.server_computing = TimeOf(server_ms);
    times.server_queueing = TimeOf(queue_ms);
    return {executed, times, sent_bytes, share};
  }
};

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

  // Tells the chooser what a frame took, whose share of work is not known if it is `whole`. Returns
  // its latency.
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
  EXPECT_LE(switches_, 5) << "it may try at most one plan in vain";
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

// As when a schedule of better figures comes.
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
  EXPECT_EQ(reasons_.size(), 3u);
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

constexpr double kPictureBytes = 40e3;

// Ten operators in a row of `ms` each on the robot; the server is four times as fast.
ProfilePair Profiles(double ms) {
  std::vector<ProfiledOperator> operators;
  for (int id = 0; id < 10; ++id) {
    ProfiledOperator op;
    op.name = std::to_string(id);
    AxisWindow rows;
    rows.in_size = rows.out_size = 32;
    op.inputs = {{id - 1, rows}};
    op.rows = 32;
    op.row_bytes = 1000;
    op.is_output = id == 9;
    SetCosts(op, ms);
    operators.push_back(op);
  }
  return PairOf(operators, 4, kPictureBytes);
}

PlanChooser ChooserOf(const ProfilePair& pair) {
  return {pair.robot, pair.server, [](const Situation&) { return std::vector<Plan>(); }};
}

constexpr PlanChooser::Link kFast = {.is_up = true, .to_server = {300}, .round_trip_ms = 2};
constexpr PlanChooser::Link kDown = {};

// What a frame took if everything is as predicted.
Took AsPredicted(const PlanChooser& chooser, const Plan& plan, double changed) {
  const Prediction& prediction = chooser.prediction();
  Took taken;
  taken.executed = plan.kind;
  taken.latency_ms = prediction.latency_ms;
  taken.server_ms = prediction.server_ms;
  taken.waiting_ms = prediction.latency_ms - prediction.robot_ms;
  taken.sent_bytes = prediction.up_bytes;
  if (plan.keeps) taken.share = changed;
  return taken;
}

// Begins; from the second frame on it is no longer alone.
Plan Begun(PlanChooser& chooser) {
  chooser.Choose(kFast);
  const Plan plan = chooser.Choose(kFast);
  EXPECT_EQ(plan.kind, Plan::Kind::kRemote) << chooser.Reason();
  return plan;
}

Plan Settled(PlanChooser& chooser, const PlanChooser::Link& link, double changed, int frames) {
  Plan plan;
  for (int frame = 0; frame < frames; ++frame) {
    plan = chooser.Choose(link);
    chooser.Note(AsPredicted(chooser, plan, changed));
  }
  return plan;
}

TEST(PlanChooser, KeepsResultsBeforeAnybodyHasLooked) {
  PlanChooser alone = ChooserOf(Profiles(20));
  EXPECT_EQ(alone.Choose(kDown), Plan());
  PlanChooser linked = ChooserOf(Profiles(20));
  EXPECT_TRUE(linked.Choose(kFast).keeps);
  EXPECT_LT(linked.situation().server_work, 0.2);
}

TEST(PlanChooser, PredictsByTheBandwidthOfEachWay) {
  const ProfilePair pair = Profiles(20);
  const auto situation = [&](const PlanChooser::Link& link) {
    PlanChooser chooser = ChooserOf(pair);
    chooser.Choose(link);
    return chooser.situation();
  };
  using Ways = std::pair<double, double>;
  const auto ways = [&](const PlanChooser::OneWay& to_server, const PlanChooser::OneWay& to_robot) {
    const Situation now = situation({true, to_server, to_robot, 2});
    return Ways(now.mbit_up, now.mbit_down);
  };
  EXPECT_EQ(ways({20}, {300}), Ways(20, 300));
  EXPECT_EQ(ways({300}, {20}), Ways(300, 20));
  EXPECT_EQ(ways({20, /*age_s=*/1}, {10, /*age_s=*/45}), Ways(20, 30)) << "one was not seen lately";
  EXPECT_EQ(ways({20, /*age_s=*/1e4}, {20}).first, 1000) << "no link is that fast";
  EXPECT_EQ(ways({20}, {}), Ways(20, 20)) << "the other way stands in";
  EXPECT_EQ(ways({}, {30}), Ways(30, 30));
  EXPECT_EQ(ways({}, {}).first, ways({}, {}).second);
  EXPECT_EQ(situation({false, {20}, {300}, 2}).mbit_up, 0);
  EXPECT_EQ(situation({false, {20}, {300}, 2}).mbit_down, 0);
}

// A large answer, on a link whose way back is slow.
TEST(PlanChooser, StaysAloneWhereOnlyTheWayBackIsSlow) {
  ProfilePair pair = Profiles(20);
  pair.server.answer_bytes = 100e3;
  PlanChooser fast = ChooserOf(pair);
  PlanChooser slow = ChooserOf(pair);
  Plan with;
  Plan without;
  for (int frame = 0; frame < 3; ++frame) {
    with = fast.Choose({true, {300}, {300}, 2});
    without = slow.Choose({true, {300}, {1}, 2});
  }
  EXPECT_EQ(with.kind, Plan::Kind::kRemote) << fast.Reason();
  EXPECT_EQ(without.kind, Plan::Kind::kLocal) << slow.Reason();
}

TEST(PlanChooser, TakesTheFirstLookAtItsWord) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  chooser.Choose(kDown);
  chooser.Note(Took{.executed = Plan::Kind::kLocal, .latency_ms = 60, .share = 0.9});
  EXPECT_DOUBLE_EQ(chooser.situation().robot_work, 0.9);
  chooser.Note(Took{.executed = Plan::Kind::kLocal, .latency_ms = 60, .share = 0.4});
  EXPECT_DOUBLE_EQ(chooser.situation().robot_work, 0.8);
}

TEST(PlanChooser, HopesForNoMoreWorkThanItSaw) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  Settled(chooser, kDown, 0.02, 10);
  // Nothing looks at what changes in frames whose plan is not followed.
  for (int frame = 0; frame < 150; ++frame)
    chooser.Note(Took{.executed = Plan::Kind::kRemote, .share = std::nullopt});
  EXPECT_DOUBLE_EQ(chooser.situation().robot_work, 0.02);
}

// Every other frame is computed whole although results are kept.
TEST(PlanChooser, WholeFramesNowAndThenSayNothingOfTheWorkOrTheRobot) {
  const ProfilePair pair = Profiles(20);
  const double whole_ms = CostModel(pair.robot, pair.server, {}).Ms({.keeps = false});
  PlanChooser chooser = ChooserOf(pair);
  for (int frame = 0; frame < 21; ++frame) {
    const Plan plan = chooser.Choose(kDown);
    ASSERT_EQ(plan, Plan()) << chooser.Reason();
    Took taken = AsPredicted(chooser, plan, 0.1);
    if (frame % 2 == 1) {
      taken.latency_ms = whole_ms;
      taken.share.reset();
    }
    chooser.Note(taken);
  }
  EXPECT_NEAR(chooser.situation().robot_work, 0.1, 1e-9);
  EXPECT_NEAR(chooser.situation().robot_factor, 1, 1e-9);
}

TEST(PlanChooser, LeavesKeepingWhereFramesAreComputedWhole) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  Plan plan = Begun(chooser);
  for (int frame = 0; frame < 40; ++frame) {
    Took taken = AsPredicted(chooser, plan, 0);
    taken.share.reset();
    if (plan.keeps) taken.server_ms = 50;  // as without
    taken.waiting_ms = taken.server_ms + chooser.prediction().link_ms;
    chooser.Note(taken);
    plan = chooser.Choose(kFast);
  }
  EXPECT_FALSE(plan.keeps);
}

TEST(PlanChooser, LearnsOfACodecNothingAboutOthers) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  const Plan first = Begun(chooser);
  for (int frame = 0; frame < 40; ++frame) {
    const Plan plan = chooser.Choose(kFast);
    Took taken = AsPredicted(chooser, plan, 0.1);
    if (plan.codec == first.codec) taken.latency_ms = taken.waiting_ms + 30;  // to encode it
    chooser.Note(taken);
  }
  const Plan last = chooser.Choose(kFast);
  EXPECT_EQ(last.kind, Plan::Kind::kRemote);
  EXPECT_NE(last.codec, first.codec) << chooser.Reason();
  EXPECT_DOUBLE_EQ(chooser.situation().robot_factor, 1.0);
}

// Ten times as much changes as was predicted.
TEST(PlanChooser, BlamesNoMachineForWhatChanged) {
  const ProfilePair pair = Profiles(20);
  PlanChooser chooser = ChooserOf(pair);
  const Plan plan = chooser.Choose(kDown);
  Situation truth;
  truth.robot_work = truth.server_work = 1;
  const double ms = CostModel(pair.robot, pair.server, truth).Ms(plan);
  ASSERT_GT(ms, 1.5 * chooser.prediction().latency_ms);
  chooser.Note(Took{.executed = plan.kind, .latency_ms = ms, .share = 1.0});
  EXPECT_NEAR(chooser.situation().robot_factor, 1, 1e-9);
}

TEST(PlanChooser, BlamesNoLinkForWhatACodecMakesOfAScene) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  constexpr PlanChooser::Link kLink = {.is_up = true, .to_server = {20}, .round_trip_ms = 2};
  std::string codec;
  for (int frame = 0; frame < 40; ++frame) {
    const Plan plan = chooser.Choose(kLink);
    Took taken = AsPredicted(chooser, plan, 0.5);
    if (plan.kind == Plan::Kind::kRemote) {
      const double more_bytes = 2 * kPictureBytes / 8 - taken.sent_bytes;
      taken.sent_bytes += more_bytes;
      taken.waiting_ms += more_bytes * 8 / 20e3;
      taken.latency_ms += more_bytes * 8 / 20e3;
      codec = plan.codec;
    }
    chooser.Note(taken);
  }
  EXPECT_EQ(codec, "jpeg:85");
  EXPECT_NEAR(chooser.situation().link_factor, 1, 0.02);
  chooser.Choose(kLink);
  EXPECT_NEAR(chooser.prediction().up_bytes, 2 * kPictureBytes / 8, 1e-3 * kPictureBytes);
}

TEST(PlanChooser, LeavesAServerThatIsBusyWithOthersAndComesBack) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  Begun(chooser);
  double queue_ms = 0;
  const auto answer = [&] {
    const Plan plan = chooser.Choose(kFast);
    Took taken = AsPredicted(chooser, plan, 0.1);
    if (plan.kind == Plan::Kind::kRemote) {
      const double more_ms = queue_ms - chooser.situation().server_queue_ms;
      taken.latency_ms += more_ms;
      taken.waiting_ms += more_ms;
      taken.queue_ms = queue_ms;
    }
    chooser.Note(taken);
    return plan.kind;
  };
  for (int frame = 0; frame < 5; ++frame) EXPECT_EQ(answer(), Plan::Kind::kRemote);
  queue_ms = 3;
  for (int frame = 0; frame < 10; ++frame) EXPECT_EQ(answer(), Plan::Kind::kRemote);
  EXPECT_DOUBLE_EQ(chooser.situation().server_queue_ms, 3);
  EXPECT_NEAR(chooser.situation().link_factor, 1, 1e-6) << "the link is not to blame";
  queue_ms = 300;
  for (int frame = 0; frame < 30; ++frame) answer();
  EXPECT_EQ(answer(), Plan::Kind::kLocal);
  EXPECT_NEAR(chooser.situation().link_factor, 1, 1e-6);
  queue_ms = 0;
  for (int frame = 0; frame < 3000; ++frame) answer();
  EXPECT_EQ(answer(), Plan::Kind::kRemote);
}

// A server that gets ready late, and a codec whose first picture stands alone.
TEST(PlanChooser, LearnsNothingOfTheFirstFrameThatAServerAnswers) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  Begun(chooser);
  for (int frame = 0; frame < 10; ++frame) {
    chooser.Choose(kFast);
    chooser.Note(Took{.executed = Plan::Kind::kLocal, .latency_ms = 200, .share = 0.1});
  }
  const Plan plan = chooser.Choose(kFast);
  ASSERT_EQ(plan.kind, Plan::Kind::kRemote);
  const Prediction before = chooser.prediction();
  Took taken = AsPredicted(chooser, plan, 0.1);
  taken.sent_bytes *= 20;
  taken.server_ms *= 5;
  taken.waiting_ms *= 5;
  taken.latency_ms *= 5;
  chooser.Note(taken);
  EXPECT_EQ(chooser.Choose(kFast), plan);
  EXPECT_NEAR(chooser.prediction().latency_ms, before.latency_ms, 1e-4 * before.latency_ms);
}

// Raw pictures and JPEG take nearly the same time.
ProfilePair ProfilesOfCodecsAlike() {
  ProfilePair pair = Profiles(4);
  pair.robot.codecs[0].encode_ms = pair.robot.codecs[1].encode_ms = 0.1;
  pair.robot.codecs[1].bytes = Curve::Constant(1.1 * kPictureBytes);
  return pair;
}

TEST(PlanChooser, TriesOneCodecAtATimeAndNoneWithoutALink) {
  constexpr PlanChooser::Link kLink = {.is_up = true, .to_server = {100}, .round_trip_ms = 2};
  ProfilePair pair = ProfilesOfCodecsAlike();
  pair.robot.codecs.push_back(pair.robot.codecs[1]);
  pair.robot.codecs.back().codec = "png";
  PlanChooser chooser = ChooserOf(pair);
  ASSERT_EQ(Settled(chooser, kLink, 0.5, 3).codec, "raw");
  const auto next_tried = [&] {
    for (int frame = 0; frame < 1000; ++frame) {
      const Plan plan = Settled(chooser, kLink, 0.5, 1);
      if (plan.codec != "raw") return plan.codec;
    }
    return std::string("none");
  };
  const std::string first = next_tried();
  EXPECT_EQ(Settled(chooser, kLink, 0.5, 1).codec, first);
  EXPECT_EQ(Settled(chooser, kLink, 0.5, 1).codec, "raw") << "another try has to be paid for";
  EXPECT_NE(next_tried(), first);
  EXPECT_EQ(chooser.Choose(kDown).kind, Plan::Kind::kLocal);
}

// JPEG makes fewer bytes of this scene than the profile says, or more; of the first frames many
// more.
class TryingTest : public testing::TestWithParam<double> {};

TEST_P(TryingTest, ACodecThatMayBeBetterIsTried) {
  constexpr PlanChooser::Link kLink = {.is_up = true, .to_server = {100}, .round_trip_ms = 2};
  PlanChooser chooser = ChooserOf(ProfilesOfCodecsAlike());
  constexpr int kFrames = 2000;
  int by_jpeg = 0;
  std::string last;
  for (int frame = 0; frame < kFrames; ++frame) {
    const Plan plan = chooser.Choose(kLink);
    last = plan.codec;
    Took taken = AsPredicted(chooser, plan, 0.5);
    if (plan.codec == "jpeg:85") {
      ++by_jpeg;
      const double factor = frame < 100 ? 4 : GetParam();
      const double more_bytes = factor * 1.1 * kPictureBytes - taken.sent_bytes;
      taken.sent_bytes += more_bytes;
      taken.waiting_ms += more_bytes * 8 / 100e3;
      taken.latency_ms += more_bytes * 8 / 100e3;
    }
    chooser.Note(taken);
  }
  if (GetParam() < 1) {
    EXPECT_EQ(last, "jpeg:85") << chooser.Reason();
    EXPECT_GT(by_jpeg, kFrames / 2);
  } else {
    EXPECT_EQ(last, "raw") << chooser.Reason();
    EXPECT_GE(by_jpeg, 2);
    EXPECT_LE(by_jpeg, 16);
  }
}

INSTANTIATE_TEST_SUITE_P(PlanChooser, TryingTest, testing::Values(0.3, 1.1));

TEST(PlanChooser, ComputesWholeAloneWhereMuchChanges) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  EXPECT_EQ(Settled(chooser, kDown, 1.0, 10), Plan{.keeps = false});
}

TEST(PlanChooser, LearnsOfShortMessagesNothingAboutTheBandwidth) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  Begun(chooser);
  for (int frame = 0; frame < 20; ++frame) {
    const Plan plan = chooser.Choose(kFast);
    ASSERT_EQ(plan.kind, Plan::Kind::kRemote);
    Took taken = AsPredicted(chooser, plan, 0.1);
    ASSERT_GT(taken.waiting_ms - taken.server_ms, 2 * chooser.prediction().link_ms);
    chooser.Note(taken);
  }
  EXPECT_NEAR(chooser.situation().link_factor, 1, 1e-5);  // of whole nanoseconds
}

TEST(PlanChooser, KnowsWhatACodecMakesOfAChange) {
  ProfilePair pair = Profiles(20);
  for (ProfiledCodec& codec : pair.robot.codecs) codec.seen = {{{0.0, 0.0}, {1.0, 0.5}}};
  PlanChooser chooser = ChooserOf(pair);
  const Plan plan = Begun(chooser);
  chooser.Note(AsPredicted(chooser, plan, 0.2));
  EXPECT_NEAR(chooser.situation().server_work, 0.4, 1e-3);
}

// There is no codec, and the picture takes few bytes as a slice.
ProfilePair ProfilesWhereSplitsWin() {
  ProfilePair pair = Profiles(20);
  pair.robot.picture_slice_bytes = Curve::Constant(10);
  pair.robot.codecs.clear();
  return pair;
}

TEST(PlanChooser, SplitsNothingWhereRowsAreNotShared) {
  const ProfilePair pair = ProfilesWhereSplitsWin();
  const Plan split = {.kind = Plan::Kind::kSplit, .keeps = false, .cuts = {{-1, 0}}};
  bool is_near = true;
  PlanChooser chooser(pair.robot, pair.server, [&](const Situation&) {
    return is_near ? std::vector<Plan>{split} : std::vector<Plan>();
  });
  Settled(chooser, kFast, 1.0, 10);
  ASSERT_EQ(chooser.Choose(kFast), split) << chooser.Reason();
  is_near = false;
  ASSERT_EQ(chooser.Choose(kFast), split) << "it is the schedule's no more, but not yet worse";
  for (int frame = 0; frame < 5; ++frame) {
    const Plan plan = chooser.Choose({});
    EXPECT_EQ(plan.kind, Plan::Kind::kLocal);
    chooser.Note(AsPredicted(chooser, plan, 1.0));
  }
}

TEST(PlanChooser, ASplitThatDoesNotSayWhatChangedIsNotWhole) {
  const ProfilePair pair = ProfilesWhereSplitsWin();
  const Plan split = {.kind = Plan::Kind::kSplit, .cuts = {{-1, 0}}};
  PlanChooser chooser(pair.robot, pair.server,
                      [&](const Situation&) { return std::vector<Plan>{split}; });
  ASSERT_EQ(Settled(chooser, kFast, 0.5, 10), split) << chooser.Reason();
  for (int frame = 0; frame < 5; ++frame) {
    chooser.Note(Took{.executed = Plan::Kind::kSplit, .latency_ms = 100, .share = std::nullopt});
  }
  EXPECT_DOUBLE_EQ(chooser.situation().robot_work, 0.5);
}

TEST(PlanChooser, LeavesAPlanThatTakesLongerThanPredicted) {
  const ProfilePair pair = ProfilesWhereSplitsWin();
  const Plan split = {.kind = Plan::Kind::kSplit, .keeps = false, .cuts = {{-1, 0}}};
  PlanChooser chooser(pair.robot, pair.server,
                      [&](const Situation&) { return std::vector<Plan>{split}; });
  Settled(chooser, kFast, 1.0, 10);
  ASSERT_EQ(chooser.Choose(kFast), split) << chooser.Reason();
  for (int frame = 0; frame < 30; ++frame) {
    const Plan plan = chooser.Choose(kFast);
    Took taken = AsPredicted(chooser, plan, 1.0);
    if (plan == split) taken.latency_ms = 2000;
    chooser.Note(taken);
  }
  EXPECT_EQ(chooser.Choose(kFast).kind, Plan::Kind::kLocal);
}

}  // namespace
}  // namespace cacheinf
