// Which plan is the best: the one with the most agreement in hand at the deadline, or the quickest.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/objective.h"
#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "common/plan/plan_chooser.h"
#include "tests/plan/chooser_frames.h"
#include "tests/plan/profiles.h"

namespace cacheinf {
namespace {

constexpr PlanChooser::Goal kOnTime = {.objective = Objective::kOnTime, .deadline_ms = 100};
constexpr PlanChooser::Goal kQuickest = {.objective = Objective::kLatency, .least_agreement = 0.9};

Plan Dense() { return {.keeps = false}; }
Plan Cache() { return {}; }
Plan Small(bool keeps) { return {.keeps = keeps, .model = "small"}; }
Plan Jpeg(bool keeps) { return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = "jpeg:85"}; }

ProfilePair WithoutRaw(ProfilePair pair) {
  std::erase_if(pair.robot.codecs, [](const auto& codec) { return codec.codec == "raw"; });
  return pair;
}

// A dense frame takes 24 ms, with a fifth of the work 13, by JPEG on the server 10.
ProfilePair QuickRobot() { return WithoutRaw(Profiles(2.3)); }

// A dense frame takes 122 ms, with a fifth of the work 58, by JPEG on the server 35.
ProfilePair SlowerRobot() { return WithoutRaw(Profiles(12)); }

class PlanObjectiveTest : public testing::Test {
 protected:
  // Frames that take what is predicted and `more_ms`; before each, `before` is called.
  Plan Follow(PlanChooser& chooser, const PlanChooser::Link& link, int frames,
              const std::function<double(const Plan& plan)>& more_ms = {}) {
    Plan plan;
    for (int i = 0; i < frames; ++i) {
      if (before_) before_(chooser);
      const Plan last = plan;
      plan = chooser.Choose(link);
      if (i > 0 && plan != last) ++switches_;
      Took took = AsPredicted(chooser, plan, 0.2);
      const double more = more_ms ? more_ms(plan) : 0;
      took.latency_ms += more;
      if (plan.kind == Plan::Kind::kRemote) took.waiting_ms += more;
      chooser.Note(took);
    }
    return plan;
  }

  std::function<void(PlanChooser& chooser)> before_;
  int switches_ = 0;
  Plan last_;
};

TEST_F(PlanObjectiveTest, ABetterAnswerInTimeGoesBeforeAQuickerOne) {
  const ProfilePair pair = QuickRobot();
  PlanChooser quickest = ChooserOf(pair);
  quickest.Pursue(kQuickest);
  EXPECT_EQ(Follow(quickest, kDown, 30), Cache());
  EXPECT_LT(quickest.prediction().latency_ms, 14);
  for (const PlanChooser::Link& link : {kDown, kFast}) {
    PlanChooser on_time = ChooserOf(pair);
    on_time.Pursue(kOnTime);
    EXPECT_EQ(Follow(on_time, link, 60), Dense()) << on_time.Reason();
    EXPECT_NEAR(on_time.prediction().latency_ms, 24, 1);
    EXPECT_EQ(switches_, 0);
  }
}

// The real times of the robot's encoder and link for one quality hold for the others.
TEST_F(PlanObjectiveTest, AQualityOfACodecThatWasFollowedIsNoGuess) {
  ProfilePair pair = SlowerRobot();
  for (Profile* const side : {&pair.robot, &pair.server}) {
    ProfiledCodec lower = side->codecs.front();
    lower.codec = "jpeg:70";
    lower.bytes = Curve::Constant(kPictureBytes / 40);
    lower.encode_ms += 0.5;
    side->codecs.push_back(lower);
  }
  PlanChooser chooser = ChooserOf(pair);
  chooser.Pursue(kQuickest);
  const auto follow_slow = [&](const PlanChooser::Link& link, int frames) {
    Plan plan;
    for (int i = 0; i < frames; ++i) {
      plan = chooser.Choose(link);
      Took took = AsPredicted(chooser, plan, 0.2);
      constexpr double kMoreThanPredicted = 15;
      if (IsAlone(plan)) ADD_FAILURE() << chooser.Reason();
      took.latency_ms = took.waiting_ms + kMoreThanPredicted;
      if (plan.codec == "jpeg:70") {
        EXPECT_NEAR(chooser.prediction().latency_ms, took.latency_ms, 7);
      }
      chooser.Note(took);
      if (i > 0 && plan != last_) ++switches_;
      last_ = plan;
    }
    return plan;
  };
  constexpr PlanChooser::Link kFastLink = {
      .is_up = true, .to_server = {3000}, .to_robot = {3000}, .round_trip_ms = 2};
  const Plan first = follow_slow(kFastLink, 6);
  EXPECT_EQ(first.codec, "jpeg:85") << chooser.Reason();
  EXPECT_EQ(switches_, 0) << "by the other, 15 ms less are predicted";
  PlanChooser::Link slow = kFastLink;
  slow.to_server = {3};
  EXPECT_EQ(follow_slow(slow, 10).codec, "jpeg:70") << chooser.Reason();
}

TEST_F(PlanObjectiveTest, OfPlansThatAreAsGoodTheOneOfTheLeastWorkOfTheRobotIsFollowed) {
  for (const double agreement : {1.0, 0.99}) {
    PlanChooser chooser = ChooserOf(QuickRobot());
    chooser.Pursue(kOnTime);
    before_ = [&](PlanChooser& at) { at.NoteAgreement(Cache(), agreement, 1); };
    EXPECT_EQ(Follow(chooser, kDown, 100), agreement == 1 ? Cache() : Dense()) << agreement;
  }
  PlanChooser exact = ChooserOf(QuickRobot());
  before_ = {};
  PlanChooser::Goal goal = kOnTime;
  goal.is_exact = true;
  exact.Pursue(goal);
  EXPECT_EQ(Follow(exact, kDown, 5), Cache());
}

// Where nothing moves, a late answer costs nothing, and a server's answer costs the robot hardly
// any work.
TEST_F(PlanObjectiveTest, OfPlansThatAreAsGoodNoneIsFollowedThatIsAlwaysLate) {
  PlanChooser chooser = ChooserOf(SlowerRobot());
  PlanChooser::Goal goal = kOnTime;
  goal.is_exact = true;
  chooser.Pursue(goal);
  before_ = [](PlanChooser& at) { at.NoteMoved(1, 1, 1); };
  const PlanChooser::Link narrow = {.is_up = true, .to_server = {0.4}, .round_trip_ms = 2};
  EXPECT_EQ(Follow(chooser, narrow, 200), Cache()) << chooser.Reason();
}

// By JPEG .95 of a dense answer, by the robot's cache .85; the former takes 200 ms more in one of
// ten frames, or in two of five.
TEST_F(PlanObjectiveTest, APlanThatIsLateAtRandomLosesByHowOftenItIs) {
  for (const bool is_often : {false, true}) {
    PlanChooser chooser = ChooserOf(SlowerRobot());
    chooser.Pursue(kOnTime);
    before_ = [](PlanChooser& at) {
      at.NoteAgreement(Jpeg(false), 0.95, 1);
      at.NoteAgreement(Jpeg(true), 0.85, 1);
      at.NoteAgreement(Cache(), 0.85, 1);
    };
    int frame = 0;
    const Plan plan = Follow(chooser, kFast, 200, [&](const Plan& followed) {
      ++frame;
      const bool is_late = is_often ? frame % 5 == 0 || frame % 5 == 2 : frame % 10 == 0;
      return followed.kind == Plan::Kind::kRemote && is_late ? 200 : 0;
    });
    EXPECT_EQ(plan, is_often ? Cache() : Jpeg(false)) << chooser.Reason();
  }
}

TEST_F(PlanObjectiveTest, OneBadSampleMakesItLeaveAndItComesBack) {
  PlanChooser chooser = ChooserOf(SlowerRobot());
  chooser.Pursue(kOnTime);
  before_ = [](PlanChooser& at) {
    for (const bool keeps : {true, false}) at.NoteAgreement(Jpeg(keeps), 0.88, 1);
  };
  ASSERT_EQ(Follow(chooser, kFast, 50), Cache()) << chooser.Reason();
  for (int i = 0; i < 5; ++i) chooser.NoteAgreement(Cache(), 0.98, 1);
  ASSERT_EQ(Follow(chooser, kFast, 50), Cache()) << chooser.Reason();
  chooser.NoteAgreement(Cache(), 0.2, 1);
  EXPECT_EQ(Follow(chooser, kFast, 10).kind, Plan::Kind::kRemote) << chooser.Reason();
  EXPECT_EQ(Follow(chooser, kFast, 200).kind, Plan::Kind::kRemote) << chooser.Reason();
  EXPECT_EQ(Follow(chooser, kFast, 1500), Cache()) << chooser.Reason();
}

// An answer that is moved by a frame agrees well, or hardly, and takes two milliseconds.
TEST_F(PlanObjectiveTest, FramesAreTrackedWhereThatIsQuickerAndAgreesWellEnough) {
  for (const double moved : {0.98, 0.75}) {
    PlanChooser chooser = ChooserOf(QuickRobot());
    chooser.Pursue(kQuickest);
    EXPECT_EQ(Follow(chooser, kDown, 30), Cache()) << "nothing is known of moved answers";
    before_ = [&](PlanChooser& at) {
      at.NoteMoved(std::pow(moved, std::sqrt(2)), 1, /*frames=*/2);
      at.NoteMovingTook(std::chrono::milliseconds(2));
    };
    const Plan plan = Follow(chooser, kDown, 30);
    before_ = {};
    const std::string reason = chooser.Reason();
    if (moved > 0.9) {
      EXPECT_EQ(ToText(plan), "track:3 local cache");
      EXPECT_TRUE(reason.starts_with("track:3 local cache: 5.5 ms, track:2 ")) << reason;
      EXPECT_NEAR(chooser.prediction().latency_ms, 13, 1) << "of a computed frame";
    } else {
      EXPECT_EQ(plan, Cache());
      EXPECT_NE(reason.find("; track:3 local cache agrees too little (.81)"), reason.npos)
          << reason;
    }
    // Tracking costs nothing to begin, so little is enough to stop it.
    for (int i = 0; i < 20; ++i) chooser.NoteMoved(0.5, 1, 1);
    EXPECT_EQ(chooser.Choose(kDown), Cache());
  }
}

TEST_F(PlanObjectiveTest, OnTimeFramesAreTrackedOnlyForHardlyAnyAgreement) {
  before_ = [&](PlanChooser& at) { at.NoteMovingTook(std::chrono::milliseconds(2)); };
  for (const double moved : {1.0, 0.98}) {
    PlanChooser chooser = ChooserOf(QuickRobot());
    chooser.Pursue(kOnTime);
    for (int i = 0; i < 50; ++i) chooser.NoteMoved(moved, 1, 1);
    const Plan plan = Follow(chooser, kFast, 100);
    EXPECT_EQ(ToText(plan), moved == 1 ? "track:3 local dense" : "local dense");
  }
}

// A dense frame takes 24 ms. If a frame comes every 20 ms, frames that have waited would be late,
// but the next ones are not.
TEST_F(PlanObjectiveTest, OnTimeEverySecondFrameIsComputedWhereTheOthersWouldBeLate) {
  before_ = [](PlanChooser& at) { at.NoteAgreement(Cache(), 0.5, 1); };
  for (const double period_ms : {20.0, 30.0}) {
    PlanChooser chooser = ChooserOf(QuickRobot());
    chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 30});
    chooser.SetPeriod(period_ms);
    EXPECT_EQ(ToText(Follow(chooser, kDown, 100)),
              period_ms == 20 ? "track:2 local dense" : "local dense")
        << chooser.Reason();
  }
  PlanChooser exact = ChooserOf(QuickRobot());
  exact.Pursue({.objective = Objective::kOnTime, .deadline_ms = 15, .is_exact = true});
  exact.SetPeriod(10);
  EXPECT_EQ(Follow(exact, kDown, 100).every, 1) << exact.Reason();
}

// The camera slows down and speeds up, so every second frame is computed, or all are, in turn.
TEST_F(PlanObjectiveTest, ARobotThatTracksNowAndThenLearnsWhatItsFramesTake) {
  PlanChooser chooser = ChooserOf(QuickRobot());
  chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 30});
  for (int i = 0; i < 20; ++i) {
    chooser.NoteAgreement(Cache(), 0, 1);
    chooser.NoteMoved(0.6, 1, 1);
  }
  int changes = 0;
  int every = 0;
  for (int i = 0; i < 40; ++i) {
    chooser.SetPeriod(i % 10 < 5 ? 20 : 200);
    const Plan plan = chooser.Choose(kDown);
    ASSERT_EQ(BaseOf(plan), Dense()) << chooser.Reason();
    changes += std::exchange(every, plan.every) != plan.every ? 1 : 0;
    Took took = AsPredicted(chooser, plan, 1);
    took.latency_ms = 150;
    chooser.Note(took);
  }
  EXPECT_GT(changes, 2);
  EXPECT_GT(chooser.situation().robot_factor, 4);
}

// By JPEG .93 are in hand. A dense frame here takes 24 of 30 ms, if it takes no longer than that.
TEST_F(PlanObjectiveTest, OnTimeTheRobotAloneIsTriedAsCodecsAre) {
  PlanChooser chooser = ChooserOf(QuickRobot());
  chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 30});
  before_ = [](PlanChooser& at) {
    at.NoteAgreement(Cache(), 0.8, 1);
    at.NoteAgreement(Jpeg(true), 0.8, 1);
    at.NoteAgreement(Jpeg(false), 0.93, 5);
  };
  EXPECT_EQ(Follow(chooser, kFast, 1), Dense());
  EXPECT_EQ(chooser.Reason(),
            "local dense: .91 in hand at 30 ms (p95 40); remote jpeg:85 dense .93 (late .00); the "
            "first is being tried");
  EXPECT_EQ(Follow(chooser, kFast, 200), Dense()) << chooser.Reason();
}

// By JPEG .6 are in hand. Eight other codecs are too slow by a little, so each looks worth a try
// every 300 frames, and leaves next to nothing in hand.
TEST_F(PlanObjectiveTest, OnTimeTriesCostASmallShareOfWhatIsInHand) {
  ProfilePair pair = SlowerRobot();
  for (int quality = 10; quality < 50; quality += 5) {
    ProfiledCodec slow = pair.robot.codecs.front();
    slow.codec = "jpeg:" + std::to_string(quality);
    slow.encode_ms += 10;
    pair.robot.codecs.push_back(slow);
  }
  PlanChooser chooser = ChooserOf(pair);
  chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 40});
  chooser.SetPeriod(1000);
  for (int i = 0; i < 200; ++i) chooser.NoteMoved(0.01, 1, 1);
  before_ = [](PlanChooser& at) {
    at.NoteAgreement(Cache(), 0.1, 1);
    at.NoteAgreement(Jpeg(true), 0.1, 1);
    at.NoteAgreement(Jpeg(false), 0.6, 5);
  };
  ASSERT_EQ(Follow(chooser, kFast, 1500), Jpeg(false)) << chooser.Reason();
  constexpr int kFrames = 6000;
  int tried = 0;
  for (int frame = 0; frame < kFrames; ++frame) {
    if (Follow(chooser, kFast, 1) != Jpeg(false)) ++tried;
  }
  const double lost = tried * 0.6 / kFrames;
  EXPECT_LE(lost, 0.0055) << tried << " frames";
  EXPECT_GE(lost, 0.004) << tried << " frames";
}

// An answer by JPEG takes 35 ms, by the other quality too long by a little.
TEST_F(PlanObjectiveTest, OnTimePlansAreTriedTheMoreOftenTheMoreFramesTheCameraGives) {
  const auto tries = [this](double period_ms) {
    ProfilePair pair = SlowerRobot();
    ProfiledCodec other = pair.robot.codecs.front();
    other.codec = "jpeg:50";
    other.encode_ms += 10;
    pair.robot.codecs.push_back(other);
    PlanChooser chooser = ChooserOf(pair);
    chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 40});
    chooser.SetPeriod(period_ms);
    for (int i = 0; i < 200; ++i) chooser.NoteMoved(0.01, 1, 1);
    before_ = [](PlanChooser& at) {
      for (const Plan& plan : {Cache(), Jpeg(true)}) at.NoteAgreement(plan, 0.1, 1);
      at.NoteAgreement(Jpeg(false), 0.6, 5);
    };
    int count = 0;
    for (int frame = 0; frame < 1200; ++frame) {
      count += Follow(chooser, kFast, 1).codec == other.codec ? 1 : 0;
    }
    return count;
  };
  const int seldom = tries(1000);
  EXPECT_GT(seldom, 0);
  EXPECT_GE(tries(10), seldom * 3 / 2);
}

// Work that is left once a frame's answer is there delays the next frame, and answers that are
// moved long before they are due are older.
TEST_F(PlanObjectiveTest, OnTimeAPromiseCountsWhatKeepsTheRobotAndHowEarlyAnswersAreMoved) {
  for (const bool is_between : {true, false}) {
    PlanChooser chooser = ChooserOf(SlowerRobot());
    chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 30});
    chooser.SetPeriod(30);
    const auto promised = [&] {
      (void)Follow(chooser, kDown, 60);
      const std::string reason = chooser.Reason();
      return std::stod(reason.substr(reason.find(": ") + 2));
    };
    const double before = promised();
    before_ = [&](PlanChooser& at) { is_between ? at.NoteBetween(60) : at.NoteLead(25); };
    EXPECT_LT(promised(), before - 0.015) << chooser.Reason();
    before_ = {};
  }
}

TEST_F(PlanObjectiveTest, NoFrameIsTrackedThatWouldBeQuickerComputedNorByAnExactRobot) {
  for (const bool is_exact : {false, true}) {
    PlanChooser chooser = ChooserOf(QuickRobot());
    PlanChooser::Goal goal = kQuickest;
    goal.is_exact = is_exact;
    chooser.Pursue(goal);
    before_ = [&](PlanChooser& at) {
      at.NoteMoved(1, 1, 1);
      at.NoteMovingTook(std::chrono::milliseconds(is_exact ? 2 : 40));
    };
    EXPECT_EQ(Follow(chooser, kDown, 30), Cache());
  }
}

// All answers agree, moved ones too, so plans differ by the robot's work alone.
TEST_F(PlanObjectiveTest, ARobotReturnsToAServerTheSoonerTheMoreOfTheCamerasFramesItsOwnTake) {
  const auto frames_alone = [this](double period_ms) {
    PlanChooser chooser = ChooserOf(SlowerRobot());
    chooser.Pursue(kOnTime);
    chooser.SetPeriod(period_ms);
    before_ = [](PlanChooser& at) {
      at.NoteMoved(1, 1, 1);
      for (const Plan& plan : {Cache(), Jpeg(true), Jpeg(false)}) at.NoteAgreement(plan, 1, 1);
    };
    EXPECT_EQ(Follow(chooser, kDown, 50).kind, Plan::Kind::kLocal);
    constexpr int kMoreThanATry = 5;
    int frames = 0;
    for (int with_server = 0; with_server < kMoreThanATry && frames < 1000; ++frames) {
      const bool has_server = Follow(chooser, kFast, 1).kind != Plan::Kind::kLocal;
      with_server = has_server ? with_server + 1 : 0;
    }
    return frames - kMoreThanATry;
  };
  const int slow = frames_alone(1000);
  const int quick = frames_alone(10);
  EXPECT_LE(quick, slow / 2);
  EXPECT_GT(slow, 10);
}

// A plan wins or loses .02 for ten frames in turn; its rival's first frame is late.
TEST_F(PlanObjectiveTest, DoesNotSwitchForLessAgreementThanSwitchingCosts) {
  PlanChooser chooser = ChooserOf(SlowerRobot());
  chooser.Pursue(kOnTime);
  double by_jpeg = 0.8;
  before_ = [&](PlanChooser& at) {
    at.NoteAgreement(Jpeg(false), by_jpeg, 20);
    at.NoteAgreement(Jpeg(true), 0.5, 20);
    at.NoteAgreement(Cache(), 0.9, 20);
  };
  ASSERT_EQ(Follow(chooser, kFast, 150), Cache()) << chooser.Reason();
  by_jpeg = 1;
  ASSERT_EQ(Follow(chooser, kFast, 150), Jpeg(false)) << chooser.Reason();
  switches_ = 0;
  for (int turn = 0; turn < 40; ++turn) {
    by_jpeg = turn % 2 == 0 ? 0.88 : 0.92;
    Follow(chooser, kFast, 10);
  }
  EXPECT_LE(switches_, 2) << "of 40 occasions";
}

TEST_F(PlanObjectiveTest, FramesThatTheServerDidNotAnswerInTimeCountAsThePlans) {
  for (const bool gave_up : {true, false}) {
    PlanChooser chooser = ChooserOf(SlowerRobot());
    chooser.Pursue(kOnTime);
    before_ = [](PlanChooser& at) { at.NoteAgreement(Cache(), 0.85, 1); };
    ASSERT_EQ(Follow(chooser, kFast, 150).kind, Plan::Kind::kRemote) << chooser.Reason();
    Plan plan;
    for (int frame = 0; frame < 60; ++frame) {
      before_(chooser);
      plan = chooser.Choose(kFast);
      Took took = AsPredicted(chooser, plan, 0.2);
      if (plan.kind == Plan::Kind::kRemote) {
        took = {.latency_ms = 190, .share = 0.2, .gave_up = gave_up};
      }
      chooser.Note(took);
    }
    EXPECT_EQ(plan.kind, gave_up ? Plan::Kind::kLocal : Plan::Kind::kRemote) << chooser.Reason();
  }
}

// Its first frame is another one than those to come.
TEST_F(PlanObjectiveTest, APlansFirstFrameMayCostTheServersAnswer) {
  PlanChooser chooser = ChooserOf(SlowerRobot());
  chooser.Pursue(kOnTime);
  before_ = [](PlanChooser& at) { at.NoteAgreement(Cache(), 0.78, 1); };
  ASSERT_EQ(Follow(chooser, kDown, 20), Cache());
  const Plan& plan = chooser.Choose(kFast);
  ASSERT_EQ(plan.kind, Plan::Kind::kRemote) << chooser.Reason();
  EXPECT_GE(chooser.FirstFrameMs(), chooser.prediction().latency_ms);
  const PlanEvidence::Pace pace = {.deadline_ms = 100, .period_ms = 33};
  const double late = chooser.evidence().Late(plan, 20, pace);
  const Took took = {.latency_ms = 190, .share = 0.2, .gave_up = true};
  chooser.Note(took);
  EXPECT_EQ(chooser.evidence().Late(plan, 20, pace), late);
  ASSERT_EQ(chooser.Choose(kFast), plan);
  chooser.Note(took);
  EXPECT_GT(chooser.evidence().Late(plan, 20, pace), late);
}

TEST_F(PlanObjectiveTest, TheQuickestPlanHasToAgreeWellEnough) {
  PlanChooser chooser = ChooserOf(QuickRobot());
  chooser.Pursue(kQuickest);
  ASSERT_EQ(Follow(chooser, kDown, 20), Cache());
  chooser.NoteAgreement(Cache(), 0.95, 1);
  ASSERT_EQ(Follow(chooser, kDown, 20), Cache());
  chooser.NoteAgreement(Cache(), 0.6, 1);
  EXPECT_EQ(Follow(chooser, kDown, 1), Dense());
  EXPECT_NE(chooser.Reason().find("; local cache agrees too little (.8"), std::string::npos)
      << chooser.Reason();
  EXPECT_EQ(Follow(chooser, kDown, 100), Dense());
  EXPECT_EQ(Follow(chooser, kDown, 900), Cache()) << "worth another look";
}

TEST_F(PlanObjectiveTest, IfNoPlanAgreesWellEnoughTheBestIsFollowedAndTheLogSaysSoOnce) {
  const ProfilePair pair = Profiles(20);
  PlanChooser chooser(
      pair.robot, pair.server,
      [](const Situation&) {
        return std::vector<Plan>{Jpeg(true), Jpeg(false)};
      },
      /*keeps_to_nearby=*/true);
  chooser.Pursue(kQuickest);
  before_ = [](PlanChooser& at) {
    at.NoteAgreement(Jpeg(true), 0.5, 1);
    at.NoteAgreement(Jpeg(false), 0.7, 1);
  };
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Follow(chooser, kFast, 60), Jpeg(false)) << chooser.Reason();
  const std::string log = testing::internal::GetCapturedStderr();
  SetLogLevel(LogLevel::kOff);
  const size_t at = log.find("no plan agrees with dense answers as well as .90; the robot follows");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("no plan", at + 1), std::string::npos) << log;
}

TEST_F(PlanObjectiveTest, SaysWhatIsInHandAndWhatElseWouldBe) {
  PlanChooser quick = ChooserOf(QuickRobot());
  quick.Pursue(kOnTime);
  Follow(quick, kDown, 120);
  EXPECT_EQ(quick.Reason(),
            "local dense: 1.00 in hand at 100 ms (p95 24); local cache .95 (late .00, agreement "
            "assumed)");
  PlanChooser slow = ChooserOf(SlowerRobot());
  slow.Pursue(kOnTime);
  Follow(slow, kDown, 120);
  EXPECT_EQ(slow.Reason(),
            "local cache: .95 in hand at 100 ms (p95 58, agreement assumed); local dense .75 (late "
            "1.00)");
  before_ = [](PlanChooser& at) { at.NoteAgreement(Cache(), 1, 1); };
  Follow(quick, kDown, 120);
  EXPECT_EQ(quick.Reason(),
            "local cache: 1.00 in hand at 100 ms (p95 13); local dense 1.00 (late .00); the second "
            "is hardly better, for more of the robot's work");
}

// Without a server, and beside one that is too far away for the shorter deadline. A dense frame of
// the smaller model takes 7 ms.
TEST_F(PlanObjectiveTest, ASmallerModelAnswersWhereTheFirstIsTooSlow) {
  const ProfilePair pair = QuickRobot();
  const PlanChooser::Link far = {.is_up = true, .to_server = {300}, .round_trip_ms = 40};
  for (const bool has_server : {false, true}) {
    for (const double deadline_ms : {12.0, 100.0}) {
      PlanChooser chooser = has_server ? ChooserOf(pair) : PlanChooser(pair.robot);
      chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = deadline_ms});
      chooser.AddModel("small", Profiles(0.5).robot);
      before_ = [](PlanChooser& at) {
        at.NoteAgreement(Small(false), 0.8, 1);
        at.NoteAgreement(Small(true), 0.75, 1);
      };
      EXPECT_EQ(Follow(chooser, has_server ? far : kDown, 100),
                deadline_ms < 100 ? Small(false) : Dense())
          << chooser.Reason();
      EXPECT_NEAR(chooser.prediction().latency_ms, deadline_ms < 100 ? 6 : 24, 1);
    }
  }
  PlanChooser quickest(pair.robot);
  quickest.Pursue(kQuickest);
  quickest.AddModel("small", Profiles(0.5).robot);
  EXPECT_EQ(Follow(quickest, kDown, 50), Cache()) << "it agrees too little";
  EXPECT_NE(quickest.Reason().find("local small cache agrees too little"), std::string::npos)
      << quickest.Reason();
}

TEST_F(PlanObjectiveTest, AScheduleKeptToHasNoSmallerModel) {
  const ProfilePair pair = QuickRobot();
  PlanChooser chooser(
      pair.robot, pair.server, [](const Situation&) { return std::vector<Plan>(); },
      /*keeps_to_nearby=*/true);
  chooser.Pursue({.objective = Objective::kOnTime, .deadline_ms = 10});
  chooser.AddModel("small", Profiles(0.5).robot);
  EXPECT_TRUE(IsAlone(Follow(chooser, kDown, 60))) << chooser.Reason();
}

TEST_F(PlanObjectiveTest, ANewChooserPursuesTheSameByTheSameEvidence) {
  const ProfilePair pair = QuickRobot();
  PlanChooser chooser = ChooserOf(pair);
  chooser.Pursue(kOnTime);
  chooser.AddModel("small", Profiles(0.5).robot);
  chooser.NoteAgreement(Cache(), 0.3, 1);
  chooser.NoteAgreement(Small(false), 0.6, 1);
  Follow(chooser, kDown, 5);
  PlanChooser next = ChooserOf(pair);
  next.GoOnFrom(chooser);
  EXPECT_EQ(next.evidence().Agreement(Small(false)), chooser.evidence().Agreement(Small(false)));
  EXPECT_EQ(next.evidence().Agreement(Cache()), chooser.evidence().Agreement(Cache()));
  EXPECT_EQ(Follow(next, kDown, 20), Dense());
  EXPECT_NE(next.Reason().find(" in hand at 100 ms"), std::string::npos) << next.Reason();
  EXPECT_NE(next.Reason().find("local small"), std::string::npos) << next.Reason();
}

}  // namespace
}  // namespace cacheinf
