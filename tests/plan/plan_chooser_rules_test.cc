// What a chooser learns from single frames, and what it does not.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/plan/cost_model.h"
#include "common/plan/curve.h"
#include "common/plan/plan.h"
#include "common/plan/plan_chooser.h"
#include "tests/plan/chooser_frames.h"
#include "tests/plan/profiles.h"

namespace cacheinf {
namespace {

// Begins; from the second frame on it is no longer alone.
Plan Begun(PlanChooser& chooser) {
  chooser.Choose(kFast);
  const Plan plan = chooser.Choose(kFast);
  EXPECT_EQ(plan.kind, Plan::Kind::kRemote) << chooser.Reason();
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
  EXPECT_EQ(ways({20}, {.mbit = .1, .is_guess = true}), Ways(20, 20)) << "a delayed answer's";
  EXPECT_EQ(ways({.mbit = 20, .is_guess = true}, {.mbit = .1, .is_guess = true}), Ways(20, 20));
  EXPECT_EQ(ways({}, {2, /*age_s=*/3, /*is_guess=*/true}), Ways(6, 6));
  EXPECT_EQ(ways({20}, {.mbit = 50, .is_guess = true}), Ways(20, 50));
  EXPECT_EQ(ways({}, {.mbit = .1, .is_guess = true}), Ways(.1, .1)) << "the best guess there is";
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

TEST(PlanChooser, TakesTheFirstLookAtItsWordAndTheMeanOfTheNextOnes) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  const auto look = [&](double share) {
    chooser.Choose(kDown);
    chooser.Note(Took{.executed = Plan::Kind::kLocal, .latency_ms = 60, .share = share});
    return chooser.situation().robot_work;
  };
  EXPECT_DOUBLE_EQ(look(0.9), 0.9);
  EXPECT_DOUBLE_EQ(look(0.4), 0.65);
  EXPECT_DOUBLE_EQ(look(0.35), 0.55);
  for (int i = 0; i < 7; ++i) look(0.5);
  const double before = chooser.situation().robot_work;
  EXPECT_DOUBLE_EQ(look(1), before + 0.2 * (1 - before)) << "it has seen enough to be slow";
}

TEST(PlanChooser, HopesForNoMoreWorkThanItSaw) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  Settled(chooser, kDown, 0.02, 10);
  // Nobody sees what changes in frames for a plan that is not followed.
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

TEST(PlanChooser, WhatFramesWaitSaysNothingOfAnyMachine) {
  for (const PlanChooser::Link& link : {kFast, kDown}) {
    PlanChooser chooser = ChooserOf(Profiles(20));
    PlanChooser waiting = ChooserOf(Profiles(20));
    for (int frame = 0; frame < 20; ++frame) {
      const Plan plan = chooser.Choose(link);
      ASSERT_EQ(waiting.Choose(link), plan);
      Took taken = AsPredicted(chooser, plan, 0.1);
      chooser.Note(taken);
      taken.waited_ms = 500;
      waiting.Note(taken);
    }
    EXPECT_EQ(waiting.Reason(), chooser.Reason());
  }
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

// JPEG makes fewer bytes of this scene than the profile says, or more; and many more of the first
// frames.
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

// Threads that wake, say: for each message the same time.
TEST(PlanChooser, ADelayOfMessagesIsLearntAtOnceAndIsNoSlowLink) {
  constexpr double kMore = 4;
  const PlanChooser::Link link = {.is_up = true, .to_server = {300}, .round_trip_ms = 6};
  PlanChooser chooser = ChooserOf(Profiles(20));
  chooser.Choose(link);
  ASSERT_EQ(chooser.Choose(link).kind, Plan::Kind::kRemote);
  double predicted_ms = 0;
  const double at_first_ms = chooser.prediction().latency_ms;
  for (int frame = 0; frame < 8; ++frame) {
    const Plan plan = chooser.Choose(link);
    ASSERT_EQ(plan.kind, Plan::Kind::kRemote);
    predicted_ms = chooser.prediction().latency_ms;
    Took taken = AsPredicted(chooser, plan, 0.1);
    const double more_ms = at_first_ms + kMore - predicted_ms;
    taken.latency_ms += more_ms;
    taken.waiting_ms += more_ms;
    chooser.Note(taken);
  }
  EXPECT_NEAR(predicted_ms, at_first_ms + kMore, 0.1);
  EXPECT_NEAR(chooser.situation().link_factor, 1, 1e-6);
}

// What it is to begin at a server shows when it has begun there.
TEST(PlanChooser, APlanThatTakesLongToBeginIsBegunLessOften) {
  const auto visits = [](double more_ms) {
    PlanChooser chooser = ChooserOf(Profiles(3));
    int begun = 0;
    bool was_remote = false;
    for (int frame = 0; frame < 1200; ++frame) {
      PlanChooser::Link link = kFast;
      if (frame / 20 % 2 == 1) link.round_trip_ms = 16;
      const Plan plan = chooser.Choose(link);
      const bool is_remote = plan.kind == Plan::Kind::kRemote;
      Took taken = AsPredicted(chooser, plan, 0.5);
      if (is_remote && !was_remote) {
        ++begun;
        taken.latency_ms += more_ms;
        taken.waiting_ms += more_ms;
      }
      was_remote = is_remote;
      chooser.Note(taken);
    }
    return begun;
  };
  EXPECT_GT(visits(0), 2 * visits(300));
}

// It was slow when it was left, and nobody has looked since.
TEST(PlanChooser, TheRobotAloneIsTriedAgain) {
  PlanChooser chooser = ChooserOf(Profiles(3));
  PlanChooser::Link link = kFast;
  link.round_trip_ms = 1000;
  for (int frame = 0; frame < 20; ++frame) {  // a slow beginning
    const Plan plan = chooser.Choose(link);
    Took taken = AsPredicted(chooser, plan, 0.5);
    taken.latency_ms *= 2 / chooser.situation().robot_factor;
    chooser.Note(taken);
  }
  const double alone_ms = chooser.prediction().latency_ms;
  link = kFast;
  for (int frame = 0; frame < 10; ++frame) {
    const Plan plan = chooser.Choose(link);
    Took taken = AsPredicted(chooser, plan, 0.5);
    if (plan.kind == Plan::Kind::kLocal) taken.latency_ms = alone_ms;
    chooser.Note(taken);
  }
  ASSERT_EQ(chooser.Choose(link).kind, Plan::Kind::kRemote) << chooser.Reason();
  link.round_trip_ms += 0.85 * alone_ms - chooser.prediction().latency_ms;
  int frames = 0;
  for (Plan plan; frames < 1000; ++frames) {
    plan = chooser.Choose(link);
    if (plan.kind == Plan::Kind::kLocal) break;
    chooser.Note(AsPredicted(chooser, plan, 0.5));
  }
  EXPECT_GE(frames, 20) << "it was not better at once: a weak test";
  EXPECT_LE(frames, 200);
}

TEST(PlanChooser, KnowsWhatACodecMakesOfAChange) {
  ProfilePair pair = Profiles(20);
  for (ProfiledCodec& codec : pair.robot.codecs) codec.seen = {{{0.0, 0.0}, {1.0, 0.5}}};
  PlanChooser chooser = ChooserOf(pair);
  const Plan plan = Begun(chooser);
  chooser.Note(AsPredicted(chooser, plan, 1));
  EXPECT_NEAR(chooser.situation().server_work, 0.1, 1e-3) << "a server that begins computes all";
  chooser.Choose(kFast);
  chooser.Note(AsPredicted(chooser, plan, 0.2));
  EXPECT_NEAR(chooser.situation().server_work, 0.4, 1e-3);
}

// A server that keeps nothing shows nothing of what changes.
TEST(PlanChooser, SoonLooksAgainWhetherAServerShouldKeepResults) {
  PlanChooser chooser = ChooserOf(Profiles(20));
  // First everything changes, then a fifth.
  int frames = 0;
  Plan plan = chooser.Choose(kFast);
  const auto follow = [&](double changed) {
    chooser.Note(AsPredicted(chooser, plan, changed));
    plan = chooser.Choose(kFast);
  };
  for (int i = 0; i < 30; ++i) follow(1);
  ASSERT_EQ(plan.kind, Plan::Kind::kRemote);
  ASSERT_FALSE(plan.keeps) << chooser.Reason();
  while (!plan.keeps && ++frames < 100) follow(0.2);
  EXPECT_LE(frames, 30);
  for (int i = 0; i < 5; ++i) follow(0.2);
  EXPECT_TRUE(plan.keeps) << chooser.Reason();
  EXPECT_NEAR(chooser.situation().server_work, 0.2, 0.02);
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

TEST(PlanChooser, SplitsNothingWithAServerThatSharesNoRows) {
  const ProfilePair pair = ProfilesWhereSplitsWin();
  const Plan split = {.kind = Plan::Kind::kSplit, .keeps = false, .cuts = {{-1, 0}}};
  PlanChooser chooser(pair.robot, pair.server,
                      [&](const Situation&) { return std::vector<Plan>{split}; });
  Settled(chooser, kFast, 1.0, 10);
  ASSERT_EQ(chooser.Choose(kFast), split) << chooser.Reason();
  PlanChooser::Link unlike = kFast;
  unlike.shares_rows = false;
  for (int frame = 0; frame < 5; ++frame) {
    const Plan plan = chooser.Choose(unlike);
    EXPECT_NE(plan.kind, Plan::Kind::kSplit);
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

TEST(PlanChooser, RowsThatChangeHandsSayNothingOfTheScene) {
  const ProfilePair pair = ProfilesWhereSplitsWin();
  const Plan split = {.kind = Plan::Kind::kSplit, .cuts = {{-1, 0}}};
  PlanChooser chooser(pair.robot, pair.server,
                      [&](const Situation&) { return std::vector<Plan>{split}; });
  ASSERT_EQ(chooser.Choose(kFast), split) << chooser.Reason();
  const double hoped = chooser.situation().robot_work;
  chooser.Note(Took{.executed = Plan::Kind::kSplit, .latency_ms = 100, .share = 1.0});
  EXPECT_EQ(chooser.situation().robot_work, hoped);
  chooser.Note(Took{.executed = Plan::Kind::kSplit, .latency_ms = 100, .share = 1.0});
  EXPECT_EQ(chooser.situation().robot_work, hoped);
  chooser.Note(Took{.executed = Plan::Kind::kSplit, .latency_ms = 100, .share = 0.25});
  EXPECT_EQ(chooser.situation().robot_work, 0.25);
  ASSERT_EQ(chooser.Choose(kDown), Plan());
  chooser.Note(Took{.executed = Plan::Kind::kLocal, .latency_ms = 100, .share = 1.0});
  EXPECT_EQ(chooser.situation().robot_work, 0.25);
  chooser.Note(Took{.executed = Plan::Kind::kLocal, .latency_ms = 100, .share = 0.25});
  EXPECT_EQ(chooser.situation().robot_work, 0.25);
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
