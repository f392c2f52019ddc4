// What frames show about plans, and for how long.

#include "common/plan/plan_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/plan/plan.h"

namespace cacheinf {
namespace {

Plan Remote(const std::string& codec, bool keeps) {
  return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec};
}

Plan Split(int after, bool keeps) {
  return {.kind = Plan::Kind::kSplit, .keeps = keeps, .cuts = {{after, 0}}};
}

Plan Local(bool keeps) { return {.keeps = keeps}; }

void NoteMany(PlanEvidence& evidence, Plan::Kind kind, double ratio, double of_known_work) {
  for (int i = 0; i < 100; ++i) evidence.NoteTaken(kind, ratio, of_known_work);
}

// Losses add by their squares.
double WithLosses(double one, double other) {
  return std::exp(-std::hypot(std::log(one), std::log(other)));
}

constexpr PlanEvidence::Pace kPace = {.deadline_ms = 100, .period_ms = 1000};

TEST(PlanEvidenceTest, AnAnswerInTimeIsInHandAndALateOneIsAsOldAsItTakes) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  constexpr PlanEvidence::Pace kSlow = {.deadline_ms = 100, .period_ms = 200};
  EXPECT_DOUBLE_EQ(evidence.InHand(Local(false), 100, kSlow), 1);
  EXPECT_NEAR(evidence.InHand(Local(true), 99, kSlow), 0.95, 1e-9);
  EXPECT_DOUBLE_EQ(evidence.InHand(Local(false), 101, kSlow), 0.75) << "the frame before";
  for (int i = 0; i < 30; ++i) evidence.NoteTaken(Plan::Kind::kLocal, 2, 2);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 60, kSlow), 0.3);
  EXPECT_NEAR(evidence.InHand(Local(false), 60, kSlow), 0.7 + 0.3 * 0.75, 1e-9);
  for (int i = 0; i < 30; ++i) evidence.NoteMoved(0.5, 1, 1);
  EXPECT_NEAR(evidence.InHand(Local(false), 60, kSlow), 0.7 + 0.3 * evidence.Moved(1, 1), 1e-9);
  EXPECT_NEAR(evidence.moved(), 0.5, 0.01);
}

// The robot skips the frames that come while it is busy; what they have in hand is older.
TEST(PlanEvidenceTest, APlanThatTakesLongerThanTheCamerasPeriodHasOlderAnswersInHand) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  const double moved = evidence.moved();
  const auto in_hand = [&](double takes_ms, double period_ms) {
    return evidence.InHand(Local(false), takes_ms, {.deadline_ms = 200, .period_ms = period_ms});
  };
  EXPECT_DOUBLE_EQ(in_hand(30, 30), 1);
  EXPECT_NEAR(in_hand(60, 30), (1 + moved) / 2, 1e-9) << "every second frame";
  EXPECT_NEAR(in_hand(45, 30), (1 + moved / 2) / 1.5, 1e-9) << "two of three";
  EXPECT_NEAR(in_hand(90, 30), (1 + moved + std::pow(moved, std::sqrt(2))) / 3, 1e-9);
  // The first of its ten is late, and has the answer before.
  EXPECT_LT(in_hand(300, 30), 0.6);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 190, {.deadline_ms = 200, .period_ms = 200}), 0);
}

// A busy robot begins some frames that have just come, and others that came almost a period ago.
TEST(PlanEvidenceTest, AFrameWaitsForABusyRobotAnyTimeUpToThePeriod) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  const auto late = [&](double takes_ms) {
    return evidence.Late(Local(false), takes_ms, {.deadline_ms = 200, .period_ms = 40});
  };
  EXPECT_DOUBLE_EQ(late(160), 0);
  EXPECT_DOUBLE_EQ(late(170), 0.25);
  EXPECT_DOUBLE_EQ(late(190), 0.75);
  EXPECT_DOUBLE_EQ(late(200), 1);
}

// Otherwise it would begin frames that have waited.
TEST(PlanEvidenceTest, ARobotThatTracksBeginsFramesAsTheyCome) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  constexpr PlanEvidence::Pace kTight = {.deadline_ms = 52, .period_ms = 30};
  const Plan second = {.keeps = false, .every = 2};
  EXPECT_DOUBLE_EQ(evidence.Late(second, 50, kTight), 0);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 50, kTight), 1);
  EXPECT_NEAR(evidence.InHand(second, 50, kTight), (1 + 0.75) / 2, 1e-9);
  // Three periods and a half: one of four frames is computed.
  const double old = std::pow(0.75, std::sqrt(2)) + std::pow(0.75, std::sqrt(3));
  EXPECT_NEAR(evidence.InHand(second, 105, {.deadline_ms = 120, .period_ms = 30}),
              (1 + 0.75 + old) / 4, 1e-9);
}

// Moving an answer at 50 ms lasts until 95, when the frame of 90 has waited.
TEST(PlanEvidenceTest, ARobotThatIsSlowToMoveAnswersDoesNotBeginFramesAsTheyCome) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  const PlanEvidence::Pace slow = {.deadline_ms = 52, .period_ms = 30, .moving_ms = 45};
  EXPECT_DOUBLE_EQ(evidence.Late({.keeps = false, .every = 2}, 50, slow), 1);
}

// Moved by four frames, an answer has lost what one that is moved by a frame loses twice.
TEST(PlanEvidenceTest, AnswersAgeLessAndLess) {
  PlanEvidence evidence;
  for (int i = 0; i < 200; ++i) evidence.NoteMoved(0.64, 1, /*frames=*/4);
  EXPECT_NEAR(evidence.moved(), 0.8, 1e-3);
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  constexpr PlanEvidence::Pace kLate = {.deadline_ms = 5, .period_ms = 10};
  EXPECT_NEAR(evidence.InHand(Local(false), 10, kLate), 0.8, 1e-3);
}

TEST(PlanEvidenceTest, WhereWhatMovesComesBackAnOldAnswerMayBeBetterThanAYoungOne) {
  PlanEvidence evidence;
  for (int i = 0; i < 50; ++i) {
    evidence.NoteMoved(0.6, 1, /*frames=*/5);
    evidence.NoteMoved(0.8, 1, /*frames=*/12);
  }
  EXPECT_NEAR(evidence.Moved(1, 5), 0.6, 0.01);
  EXPECT_NEAR(evidence.Moved(1, 12), 0.8, 0.01);
  EXPECT_LT(evidence.Moved(1, 7), evidence.Moved(1, 5)) << "of one age";
  EXPECT_LT(evidence.Moved(0.9, 12), 0.8);
}

// Where a frame has one box, it is found or not.
TEST(PlanEvidenceTest, MovedAnswersThatAgreeByAllOrNothingAgreeAsInTheMean) {
  PlanEvidence evidence;
  for (int i = 0; i < 200; ++i) evidence.NoteMoved(i % 2, 1, /*frames=*/4);
  EXPECT_NEAR(evidence.Moved(1, 4), 0.5, 0.05);
}

// A robot that computes the newest frame, over and over, beside a camera.
struct BusyRobot {
  double takes_ms = 0;
  PlanEvidence::Pace pace = {};

  // The mean agreement of what is in hand at the frames' deadlines, each counted.
  double InHand(double moved) const {
    constexpr int kFrames = 3000;
    std::vector<std::pair<int, double>> answers;  // of a frame, there at a time
    double now_ms = 0;
    for (int last = -1; last < kFrames;) {
      last = std::max(last + 1, static_cast<int>(std::floor(now_ms / pace.period_ms)));
      now_ms = std::max(now_ms, last * pace.period_ms) + takes_ms;
      answers.emplace_back(last, now_ms);
      now_ms += pace.between_ms;
    }
    double sum = 0;
    constexpr int kFirst = 100;
    for (int frame = kFirst; frame < kFrames; ++frame) {
      const double deadline_ms = frame * pace.period_ms + pace.deadline_ms;
      int from = 0;
      for (const auto& [of, at_ms] : answers) {
        if (of > frame) break;
        if (at_ms <= deadline_ms - (of == frame ? 0 : pace.lead_ms)) from = of;
      }
      sum += std::pow(moved, std::sqrt(frame - from));
    }
    return sum / (kFrames - kFirst);
  }
};

TEST(PlanEvidenceTest, WhatASlowRobotHasInHandIsWhatItIsPromised) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kLocal, 1, 1);
  for (int i = 0; i < 200; ++i) evidence.NoteMoved(0.85, 1, 1);
  for (const double takes_ms : {27.0, 61.0, 98.0, 151.0}) {
    for (const double deadline_ms : {33.0, 100.0, 200.0}) {
      for (const double lead_ms : {0.0, 25.0}) {
        for (const double between_ms : {0.0, 35.0}) {
          const BusyRobot robot = {takes_ms,
                                   {.deadline_ms = deadline_ms,
                                    .period_ms = 33.3,
                                    .lead_ms = lead_ms,
                                    .between_ms = between_ms}};
          EXPECT_NEAR(evidence.InHand(Local(false), takes_ms, robot.pace),
                      robot.InHand(evidence.moved()), 0.02)
              << takes_ms << " ms, within " << deadline_ms << ", lead " << lead_ms << ", between "
              << between_ms;
        }
      }
    }
  }
}

TEST(PlanEvidenceTest, AnAnswerAgreesLessTheFartherItIsMoved) {
  PlanEvidence evidence;
  for (int i = 0; i < 50; ++i) evidence.NoteMoved(0.9, 1, 1);
  const double all = (1 + 0.9 + std::pow(0.9, std::sqrt(2))) / 3;
  EXPECT_NEAR(evidence.MeanMoved(1, 3), all, 1e-3);
  const double of_cache =
      (0.95 + WithLosses(0.95, 0.9) + WithLosses(0.95, std::pow(0.9, std::sqrt(2)))) / 3;
  EXPECT_NEAR(evidence.Agreement({.every = 3}), of_cache, 1e-3);
  EXPECT_NEAR(evidence.HopedAgreement({.every = 3}), all, 1e-3);
  evidence.NoteAgreement({.every = 3}, 0.5, 1000);
  EXPECT_NEAR(evidence.Agreement(Local(true)), 0.5, 1e-3) << "what is computed is the same";
}

TEST(PlanEvidenceTest, FiveOfAHundredFramesTakeLonger) {
  PlanEvidence evidence;
  for (int i = 1; i <= 100; ++i) evidence.NoteTaken(Plan::Kind::kSplit, i, i);
  EXPECT_DOUBLE_EQ(evidence.PercentileMs(Split(3, true), 10, 95), 950);
}

TEST(PlanEvidenceTest, APlanThatWasNeverFollowedHasTheTimesOfItsKind) {
  PlanEvidence evidence;
  const Plan plan = Remote("jpeg:85", false);
  EXPECT_DOUBLE_EQ(evidence.Late(plan, 50, kPace), 0.1) << "not known";
  EXPECT_DOUBLE_EQ(evidence.Late(plan, 110, kPace), 0.8);
  NoteMany(evidence, Plan::Kind::kRemote, 3, 1);
  EXPECT_DOUBLE_EQ(evidence.Late(plan, 50, kPace), 0) << "a whole frame is not longer by accident";
  EXPECT_DOUBLE_EQ(evidence.Late(Remote("raw", true), 50, kPace), 1);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(true), 50, kPace), 0.1) << "another kind";
}

TEST(PlanEvidenceTest, TenFramesShowTheTimesOfAKind) {
  PlanEvidence evidence;
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 50, kPace), 0.1);
  evidence.NoteTaken(Plan::Kind::kLocal, 1, 1);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 50, kPace), 0) << "the longest is replaced first";
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 60, kPace), 0.1);
  for (int i = 0; i < 9; ++i) evidence.NoteTaken(Plan::Kind::kLocal, 1, 1);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 100, kPace), 0);
  for (int i = 0; i < 90; ++i) evidence.NoteTaken(Plan::Kind::kLocal, 2, 2);
  EXPECT_DOUBLE_EQ(evidence.Late(Local(false), 60, kPace), 0.9);
}

TEST(PlanEvidenceTest, TimesOfAKindThatIsNotUsedAreForgotten) {
  PlanEvidence evidence;
  NoteMany(evidence, Plan::Kind::kRemote, 3, 3);
  for (int i = 0; i < 100; ++i) evidence.NoteFollowed(Local(true));
  evidence.NoteFollowed(Local(true), /*frames=*/199);
  EXPECT_DOUBLE_EQ(evidence.Late(Remote("raw", true), 50, kPace), 1);
  evidence.NoteFollowed(Local(true));
  EXPECT_DOUBLE_EQ(evidence.Late(Remote("raw", true), 50, kPace), 0.1);
}

TEST(PlanEvidenceTest, WhatIsNotKnownLacksALittleForEveryThingThatMayErr) {
  const PlanEvidence evidence;
  EXPECT_EQ(evidence.Agreement(Local(false)), 1);
  EXPECT_EQ(evidence.Agreement(Local(true)), 0.95);
  EXPECT_EQ(evidence.Agreement(Remote("jpeg:85", false)), 0.95);
  EXPECT_EQ(evidence.Agreement(Remote("jpeg:85", true)), WithLosses(0.95, 0.95));
  EXPECT_EQ(evidence.Agreement(Remote("png", false)), 1);
  EXPECT_EQ(evidence.Agreement(Remote("png", true)), 0.95);
  EXPECT_EQ(evidence.Agreement(Split(2, false)), 1);
  EXPECT_EQ(evidence.HopedAgreement(Remote("jpeg:85", true)), 1);
  EXPECT_EQ(evidence.moved(), 0.75);
}

TEST(PlanEvidenceTest, ALowerQualityBeginsLower) {
  const PlanEvidence evidence;
  for (const auto& [codec, agreement] :
       {std::pair("jpeg:95", 0.97), std::pair("jpeg:85", 0.95), std::pair("jpeg:70", 0.92),
        std::pair("blocks:90", 0.95), std::pair("video:crf=18", 0.96), std::pair("video", 0.91),
        std::pair("video:crf=28", 0.88)}) {
    EXPECT_EQ(evidence.Agreement(Remote(codec, false)), agreement) << codec;
    EXPECT_EQ(evidence.HopedAgreement(Remote(codec, false)), 1) << codec;
  }
}

TEST(PlanEvidenceTest, AWayThatAClipHasShownGetsBackToThat) {
  PlanEvidence evidence;
  const Plan jpeg = Remote("jpeg:85", false);
  evidence.Assume(jpeg, 0.8, 9);
  evidence.Assume(Local(true), 0.9, 0);
  EXPECT_DOUBLE_EQ(evidence.Agreement(jpeg), 0.1 * 0.95 + 0.9 * 0.8);
  EXPECT_DOUBLE_EQ(evidence.Agreement(Local(true)), 0.95) << "of no weight";
  const double begun = evidence.Agreement(jpeg);
  for (int i = 0; i < 20; ++i) evidence.NoteAgreement(jpeg, 0.5, 1);
  EXPECT_LT(evidence.Agreement(jpeg), 0.55);
  PlanEvidence next;
  next.GoOnFrom(evidence);
  EXPECT_EQ(next.Agreement(jpeg), evidence.Agreement(jpeg));
  for (int i = 0; i < 30; ++i) next.NoteFollowed(Local(false), /*frames=*/100);
  EXPECT_NEAR(next.Agreement(jpeg), begun, 1e-3);
}

TEST(PlanEvidenceTest, TheLastTrialsCountHoweverOldTheyAre) {
  PlanEvidence evidence;
  const Plan jpeg = Remote("jpeg:85", false);
  EXPECT_FALSE(evidence.IsAgreementKnown(jpeg));
  evidence.NoteTrial(jpeg, 0.9, 1);
  evidence.NoteTrial(jpeg, 0.6, 2);
  EXPECT_DOUBLE_EQ(evidence.Agreement(jpeg), (0.95 + 0.9 + 2 * 0.6) / 4);
  EXPECT_TRUE(evidence.IsAgreementKnown(jpeg));
  EXPECT_FALSE(evidence.IsAgreementKnown(Local(true))) << "nor is the cache's";
  for (int i = 0; i < 3000; ++i) evidence.NoteFollowed(Local(false));
  PlanEvidence next;
  next.Assume(jpeg, 0.8, 4);
  next.GoOnFrom(evidence);
  EXPECT_DOUBLE_EQ(next.Agreement(jpeg), (0.95 + 0.9 + 2 * 0.6 + 4 * 0.8) / 8);
  for (int i = 0; i < 100; ++i) next.NoteTrial(jpeg, 0.2, 1);
  EXPECT_NEAR(next.Agreement(jpeg), (0.95 + 4 * 0.8 + 16 * 0.2) / 21, 1e-3) << "scenes change";
}

// One frame with a flickering box says less than a clip.
TEST(PlanEvidenceTest, WhatAClipHasShownOutweighsAFrame) {
  PlanEvidence evidence;
  const Plan jpeg = Remote("jpeg:85", false);
  const Plan blocks = Remote("blocks:90", false);
  evidence.Assume(jpeg, 0.95, 8);
  for (const Plan& plan : {jpeg, blocks}) evidence.NoteAgreement(plan, 0.75, 1);
  EXPECT_NEAR(evidence.Agreement(jpeg), (4 * 0.85 * 0.95 + 0.75) / (4 * 0.85 + 1), 1e-9);
  EXPECT_NEAR(evidence.Agreement(blocks), (0.85 * 0.95 + 0.75) / (0.85 + 1), 1e-9);
  for (int i = 0; i < 30; ++i) evidence.NoteAgreement(jpeg, 0.75, 1);
  EXPECT_NEAR(evidence.Agreement(jpeg), 0.75, 0.01) << "scenes change";
}

TEST(PlanEvidenceTest, ANewBeginningReplacesTheOldOneAndOthersStay) {
  PlanEvidence before;
  before.Assume(Remote("jpeg:85", false), 0.5, 1e6);
  before.Assume(Remote("jpeg:70", false), 0.6, 1e6);
  PlanEvidence next;
  next.Assume(Remote("jpeg:85", false), 0.8, 1e6);
  next.GoOnFrom(before);
  EXPECT_NEAR(next.Agreement(Remote("jpeg:85", false)), 0.8, 1e-3);
  EXPECT_NEAR(next.Agreement(Remote("jpeg:70", false)), 0.6, 1e-3);
}

TEST(PlanEvidenceTest, AServersCacheIsAsGoodAsTheRobotsOwn) {
  PlanEvidence evidence;
  evidence.Assume(Local(true), 0.8, 1e6);
  EXPECT_NEAR(evidence.Agreement(Remote("png", true)), 0.8, 1e-3);
  EXPECT_NEAR(evidence.Agreement(Split(2, true)), 0.8, 1e-3);
  EXPECT_NEAR(evidence.Agreement(Remote("jpeg:85", true)), WithLosses(0.95, 0.8), 1e-3);
}

TEST(PlanEvidenceTest, ASmallerModelIsNotTheFirst) {
  PlanEvidence evidence;
  const Plan dense = {.keeps = false, .model = "small"};
  const Plan cache = {.model = "small"};
  EXPECT_EQ(evidence.Agreement(dense), 0.75) << "lower than any codec";
  EXPECT_EQ(evidence.HopedAgreement(dense), 1);
  evidence.Assume(Local(true), 0.8, 1e6);
  for (int i = 0; i < 40; ++i) evidence.NoteAgreement(dense, 0.7, 1);
  EXPECT_NEAR(evidence.Agreement(dense), 0.7, 1e-3);
  EXPECT_NEAR(evidence.Agreement(cache), WithLosses(0.7, 0.8), 1e-3);
  EXPECT_EQ(evidence.Agreement({.keeps = false, .model = "smaller"}), 0.75);
  EXPECT_EQ(evidence.Agreement(Local(false)), 1);
}

TEST(PlanEvidenceTest, SamplesAreOfAWayOfComputing) {
  PlanEvidence evidence;
  for (int i = 0; i < 40; ++i) {
    evidence.NoteAgreement(Remote("jpeg:85", false), 0.8, 1);
    evidence.NoteAgreement(Split(2, true), 0.7, 1);
    evidence.NoteAgreement(Local(false), 0.3, 1);
  }
  EXPECT_NEAR(evidence.Agreement(Remote("jpeg:85", false)), 0.8, 1e-3);
  EXPECT_NEAR(evidence.Agreement(Remote("jpeg:85", true)), WithLosses(0.95, 0.8), 1e-3)
      << "no better";
  EXPECT_NEAR(evidence.HopedAgreement(Remote("jpeg:85", true)), 0.8, 1e-3);
  EXPECT_EQ(evidence.Agreement(Remote("blocks:90", false)), 0.95);
  EXPECT_NEAR(evidence.Agreement(Split(5, true)), 0.7, 1e-3);
  EXPECT_EQ(evidence.Agreement(Local(false)), 1) << "by definition";
  evidence.TakeAsExact();
  EXPECT_EQ(evidence.Agreement(Split(5, true)), 1);
}

TEST(PlanEvidenceTest, RecentSamplesCountMoreAndThoseOfMoreWeight) {
  const auto agreement = [](double first, double second, double weight) {
    PlanEvidence evidence;
    evidence.NoteAgreement(Local(true), first, 1);
    evidence.NoteAgreement(Local(true), second, weight);
    return evidence.Agreement(Local(true));
  };
  EXPECT_LT(agreement(1, 0.5, 1), agreement(0.5, 1, 1));
  EXPECT_LT(agreement(1, 0.5, 1), agreement(1, 0.5, 0.2));
  EXPECT_GT(agreement(1, 0.5, 0.2), 0.9);
  EXPECT_LT(agreement(1, 0.5, 10), 0.6);
}

TEST(PlanEvidenceTest, WhatIsKnownOfAWayThatIsNotFollowedFades) {
  PlanEvidence evidence;
  for (int i = 0; i < 20; ++i) evidence.NoteAgreement(Local(true), 0.5, 1);
  const double known = evidence.Agreement(Local(true));
  for (int i = 0; i < 1000; ++i) evidence.NoteFollowed(Local(true));
  EXPECT_EQ(evidence.Agreement(Local(true)), known);
  for (int i = 0; i < 300; ++i) evidence.NoteFollowed(Local(false));
  EXPECT_GT(evidence.Agreement(Local(true)), known + 0.02);
  for (int i = 0; i < 3000; ++i) evidence.NoteFollowed(Local(false));
  EXPECT_NEAR(evidence.Agreement(Local(true)), 0.95, 1e-3);
}

}  // namespace
}  // namespace cacheinf
