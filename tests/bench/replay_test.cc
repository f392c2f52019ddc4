// Read this first: modes are measured once, then replayed over other links.
#include "tests/bench/replay.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/bench/mode_checks.h"

namespace cacheinf {
namespace {

constexpr double kFrameMs = 1000 / kFramesPerSecond;

SharedContent Class(int index) {
  return std::make_shared<const AnswerContent>(Classification{{{index, 1.0f}}});
}

// Clips in which each frame has its own class.
std::vector<SharedContent> Classes(int count) {
  std::vector<SharedContent> classes;
  for (int i = 0; i < count; ++i) classes.push_back(Class(i));
  return classes;
}

std::vector<FrameCost> Costs(int count, const FrameCost& each) {
  std::vector<FrameCost> costs(count, each);
  for (int i = 0; i < count; ++i) costs[i].content = Class(i);
  return costs;
}

TEST(ReplayTest, AClipIsShownForwardsAndBackwards) {
  std::vector<size_t> shown;
  for (int64_t i = 0; i < 8; ++i) shown.push_back(FrameOfClip(i, 4));
  EXPECT_EQ(shown, (std::vector<size_t>{0, 1, 2, 3, 2, 1, 0, 1}));
}

TEST(ReplayTest, AMessageTakesItsBytesAndTheDelay) {
  const LinkShape link = ParseLinkShape("1mbit,3ms");
  EXPECT_NEAR(LinkMs(0, link), 3, 1);
  EXPECT_NEAR(LinkMs(125000, link), 1003, 3);  // four chunks with their heads
  EXPECT_NEAR(LinkMs(125000, ParseLinkShape("93mbit,3ms")), 3 + 1000.0 / 93, 0.1);
}

TEST(ReplayTest, AQuickRobotAnswersEveryFrame) {
  const auto answers = Replay(Costs(10, {.robot_ms = 20}), {.answers = 8});
  ASSERT_EQ(answers.size(), 8u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(answers[i].captured, i);
    EXPECT_NEAR(answers[i].latency_ms(), 20, 1e-6);
  }
}

TEST(ReplayTest, ASlowRobotTakesTheNewestFrame) {
  // Two and a half frames each: the next frame taken came half a frame ago.
  const auto answers = Replay(Costs(10, {.robot_ms = kFrameMs}), {.slowdown = 2.5, .answers = 3});
  EXPECT_EQ(answers[1].captured, 2);
  EXPECT_EQ(answers[2].captured, 5);
  EXPECT_NEAR(answers[1].latency_ms(), 3 * kFrameMs, 1e-6);
  EXPECT_NEAR(answers[1].cost.robot_ms, 2.5 * kFrameMs, 1e-6);
}

TEST(ReplayTest, WhatIsRefreshedKeepsTheNextFrameWaiting) {
  const auto answers = Replay(Costs(10, {.robot_ms = 20, .refresh_ms = 20}), {.answers = 2});
  EXPECT_NEAR(answers[0].latency_ms(), 20, 1e-6);
  EXPECT_NEAR(answers[1].latency_ms(), 40 - kFrameMs + 20, 1e-6);
}

TEST(ReplayTest, TheLinkAndTheServerAreNotSlowedDown) {
  const FrameCost cost = {.robot_ms = 10,
                          .server_ms = 7,
                          .bytes_to_server = 10000,
                          .bytes_to_robot = 1000,
                          .has_server = true};
  const LinkShape link = ParseLinkShape("20mbit,3ms");
  const auto answers = Replay(Costs(4, cost), {.link = link, .slowdown = 5, .answers = 1});
  EXPECT_NEAR(answers[0].latency_ms(), 50 + 7 + LinkMs(10000, link) + LinkMs(1000, link), 1e-6);
  EXPECT_NEAR(answers[0].cost.link_ms, 6 + 4.4, 0.1);
}

TEST(ReplayTest, RepeatedAnswersTakeNoTime) {
  const auto answers = Replay(Costs(10, {.robot_ms = 20}), {.every = 3, .answers = 5});
  EXPECT_NEAR(answers[1].latency_ms(), 0, 1e-6);
  EXPECT_EQ(answers[2].cost.content, answers[0].cost.content);
  EXPECT_NEAR(answers[3].latency_ms(), 20, 1e-6);
  EXPECT_NE(answers[3].cost.content, answers[0].cost.content);
}

CameraAnswer At(int64_t captured, double answered_ms) {
  CameraAnswer answer = {captured, CapturedMs(captured), answered_ms, {}};
  answer.cost.content = Class(static_cast<int>(captured));
  return answer;
}

TEST(ReplayTest, ARoundThatTookLongDoesNotCount) {
  std::vector<std::vector<FrameCost>> rounds;
  for (const double ms : {4.0, 90.0, 5.0}) {
    rounds.push_back(
        Costs(2, {.robot_ms = ms, .server_ms = 2 * ms, .link_ms = 3 * ms, .refresh_ms = ms / 2}));
  }
  rounds[1][1].robot_ms = 1;
  const std::vector<FrameCost> costs = MedianCosts(rounds);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].robot_ms, 5);
  EXPECT_EQ(costs[1].robot_ms, 4);
  EXPECT_EQ(costs[0].server_ms, 10);
  EXPECT_EQ(costs[0].link_ms, 15);
  EXPECT_EQ(costs[0].refresh_ms, 2.5);
  EXPECT_EQ(costs[1].content, rounds[0][1].content);
}

int ClassOf(const SharedContent& content) {
  return std::get<Classification>(*content).best.front().index;
}

std::vector<int> ClassesInHand(const std::vector<CameraAnswer>& answers, int64_t end,
                               double deadline_ms, const Mover& move = {}) {
  std::vector<int> classes;
  for (const SharedContent& content : InHand(answers, {0, end}, deadline_ms, move)) {
    classes.push_back(ClassOf(content));
  }
  return classes;
}

TEST(InHandTest, AnAnswerWithinTheDeadlineIsInHand) {
  const std::vector<CameraAnswer> answers = {At(0, 99), At(1, CapturedMs(1) + 99)};
  EXPECT_EQ(ClassesInHand(answers, 2, 100), (std::vector<int>{0, 1}));
  EXPECT_DOUBLE_EQ(Late(answers, 100), 0);
}

TEST(InHandTest, ALateAnswerLeavesTheOneBeforeInHand) {
  // At 100, 133 and 167 ms the answer to frame 0 is there; at 200 ms that to frame 3.
  const std::vector<CameraAnswer> answers = {At(0, 50), At(3, 180)};
  EXPECT_EQ(ClassesInHand(answers, 4, 100), (std::vector<int>{0, 0, 0, 3}));
  EXPECT_DOUBLE_EQ(Late(answers, 60), 0.5);
}

TEST(InHandTest, AnAnswerToALaterFrameDoesNotCount) {
  std::vector<CameraAnswer> answers;
  for (int frame = 0; frame < 6; ++frame) answers.push_back(At(frame, CapturedMs(frame) + 20));
  EXPECT_EQ(ClassesInHand(answers, 6, 100), (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(InHandTest, TheFirstAnswerCountsWhereNoneIsThereYet) {
  EXPECT_EQ(ClassesInHand({At(1, 250), At(6, 280)}, 7, 100),
            (std::vector<int>{1, 1, 1, 1, 1, 1, 6}));
}

TEST(InHandTest, AnOlderAnswerIsMovedToTheFrame) {
  const Mover move = [](const SharedContent& answer, int64_t from, int64_t to) {
    return Class(ClassOf(answer) + 100 * static_cast<int>(to - from));
  };
  EXPECT_EQ(ClassesInHand({At(0, 50), At(3, 180)}, 4, 100, move),
            (std::vector<int>{0, 100, 200, 3}));
}

// Frame 1 has the answer to frame 0 at first, moved.
TEST(InHandTest, OfTwoAnswersToAFrameTheLaterOneCounts) {
  std::vector<CameraAnswer> answers = {At(0, 50), At(1, 100), At(1, 150)};
  answers[1].cost.content = Class(7);
  EXPECT_EQ(ClassesInHand(answers, 2, 100), (std::vector<int>{0, 7}));
  EXPECT_EQ(ClassesInHand(answers, 2, 120), (std::vector<int>{0, 1}));
}

TEST(OnTimeTest, WhatIsInHandAgreesWithTheFramesDenseAnswers) {
  // The camera's frames 6 to 9 are the clip's 6, 7, 6, 5.
  const std::vector<SharedContent> in_hand = {Class(6), Class(7), Class(7), Class(5)};
  EXPECT_DOUBLE_EQ(*OnTime(in_hand, {6, 10}, Classes(8)), 0.75);
}

TEST(OnTimeTest, EveryFrameCountsByWhatItHasToCompare) {
  const auto content = [](const AnswerContent& answer) {
    return std::make_shared<const AnswerContent>(answer);
  };
  // A class that one of two frames has once.
  const std::vector<SharedContent> maps = {content(ClassMap{2, 1, {1, 2}}),
                                           content(ClassMap{2, 1, {2, 1}})};
  const std::vector<SharedContent> in_hand = {content(ClassMap{2, 1, {1, 1}}), maps[1]};
  EXPECT_DOUBLE_EQ(*OnTime(in_hand, {0, 2}, maps), (0.25 + 1) / 2);
  EXPECT_DOUBLE_EQ(WeightOf(Detections{{{}, {}}}, Detections{{{}, {}}}), 0.5);
}

TEST(ContentAgreementTest, ASmallerMapIsComparedInTheLargeOnesPixels) {
  ContentAgreement agreement;
  const ClassMap small = {2, 1, {3, 4}};
  agreement.Add(small, ClassMap{4, 2, {3, 3, 4, 4, 3, 3, 4, 4}});
  EXPECT_DOUBLE_EQ(*agreement.value(), 1);
}

nlohmann::ordered_json Row(const std::string& mode, const std::string& measured, double median_ms,
                           double server_ms, double work) {
  return {{"model", "net"},         {"clip", "clip"},         {"mode", mode},
          {"mbit", 20.0},           {"speedup", 5.0},         {"measured", measured},
          {"median_ms", median_ms}, {"server_ms", server_ms}, {"active_server", work},
          {"deadline_ms", nullptr}, {"again_ms", nullptr}};
}

TEST(ModeChecksTest, WhatIsWorstComesFirst) {
  ModeChecks checks;
  checks.Add(Row("plain-video", "replayed", 100, 20, 1));
  checks.Add(Row("remote-video/dense", "replayed", 50, 10, 1));
  checks.Add(Row("remote-video/cache", "replayed", 60, 18, 0.4));
  BenchReport report;
  checks.AddTo(&report);
  const std::string text = report.Table();
  const size_t cached =
      text.find("1.80 at worst (net, clip, 20 Mbit/s, 5×, replayed, remote-video)");
  const size_t video = text.find("0.50 at worst");
  ASSERT_NE(cached, std::string::npos) << text;
  ASSERT_NE(video, std::string::npos) << text;
  EXPECT_LT(cached, video);
}

nlohmann::ordered_json ChoiceRow(const std::string& mode, double median_ms, double agreement = 1) {
  nlohmann::ordered_json row = Row(mode, "live", median_ms, 0, 1);
  row["robot_ms"] = median_ms;
  row["link_ms"] = 0.0;
  row["agreement"] = agreement;
  row["plan"] = row["predicted_ms"] = nullptr;
  row["why"] = "";
  return row;
}

// The quickest of all agrees too little.
TEST(ModeChecksTest, WhatTakesTooMuchIsRepeated) {
  ModeChecks checks;
  checks.Add(ChoiceRow("local", 80, 0.5));
  checks.Add(ChoiceRow("cache", 100));
  checks.Add(ChoiceRow("remote-video/dense", 90));
  checks.Add(ChoiceRow("cacheinf", 94, 0.9));
  EXPECT_TRUE(checks.ToRepeat("net", "clip", 20, 5).empty());
  ModeChecks slow;
  slow.Add(ChoiceRow("local", 80, 0.5));
  slow.Add(ChoiceRow("cache", 100));
  slow.Add(ChoiceRow("remote-video/dense", 90));
  slow.Add(ChoiceRow("cacheinf", 96, 0.9));
  EXPECT_EQ(slow.ToRepeat("net", "clip", 20, 5),
            (std::vector<std::string>{"cacheinf", "remote-video/dense"}));
  EXPECT_TRUE(slow.ToRepeat("net", "clip", 1, 5).empty());
  slow.Add(ChoiceRow("plain-video", 89, 0.5));
  EXPECT_EQ(slow.ToRepeat("net", "clip", 20, 5),
            (std::vector<std::string>{"cacheinf", "remote-video/dense", "remote-video/dense",
                                      "plain-video"}));
}

// Means of 108 ms, 24 apart, and 116 ms, 8 apart.
TEST(ModeChecksTest, TwoRepetitionsSpreadCounts) {
  for (const double again_ms : {96.0, 112.0}) {
    ModeChecks checks;
    checks.Add(ChoiceRow("cache", 100));
    checks.Add(ChoiceRow("cacheinf", 120));
    checks.Add(ChoiceRow("cache", 100));
    checks.Add(ChoiceRow("cacheinf", again_ms));
    BenchReport report;
    checks.AddTo(&report);
    const std::string text = report.Table();
    EXPECT_NE(text.find(again_ms == 96 ? "1.08 at worst" : "1.16 at worst"), std::string::npos)
        << text;
    EXPECT_NE(text.find("above 1.05 in 1 of 1 cells"), std::string::npos) << text;
    EXPECT_EQ(text.find("1 of which within two repetitions' spread") != std::string::npos,
              again_ms == 96)
        << text;
  }
}

nlohmann::ordered_json OnTimeRow(const std::string& mode, double deadline_ms, double on_time) {
  nlohmann::ordered_json row = ChoiceRow(mode, 50);
  if (mode == "cacheinf") row["deadline_ms"] = deadline_ms;
  row[OnTimeKey(deadline_ms)] = on_time;
  row["late"] = 0.25;
  return row;
}

// One of two deadlines is missed by .05; a planner's plan does not count.
TEST(ModeChecksTest, WhatIsInHandIsComparedWithTheBestFixedMode) {
  ModeChecks checks;
  for (const char* const mode : {"local", "cache", "hp"}) {
    nlohmann::ordered_json row = OnTimeRow(mode, 33, mode == std::string("cache") ? 0.75 : 0.5);
    row[OnTimeKey(200)] = mode == std::string("hp") ? 1.0 : 0.9;
    checks.Add(row);
  }
  checks.Add(OnTimeRow("cacheinf", 33, 0.7));
  checks.Add(OnTimeRow("cacheinf", 200, 0.95));
  BenchReport report;
  checks.AddTo(&report);
  const std::string text = report.Table();
  EXPECT_NE(text.find("on time, live, all deadlines: cacheinf is within 0.03 of the best mode in "
                      "50.0 % of 2 cells, 0.050 below at worst"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("33 ms: 0.050 below: 0.700 in hand (0.25 late)"), std::string::npos) << text;
  EXPECT_NE(text.find("200 ms: cacheinf is within 0.03 of the best mode in 100.0 %"),
            std::string::npos)
      << text;
}

// The profile says 80 of 100; the robot 90 of 100.
TEST(ModeChecksTest, PredictionsOfPlansAndOfTheRobotAreApart) {
  ModeChecks checks;
  for (const char* const mode : {"cache", "cacheinf"}) {
    nlohmann::ordered_json row = ChoiceRow(mode, 100);
    row["predicted_ms"] = std::string(mode) == "cache" ? 80.0 : 90.0;
    checks.Add(row);
  }
  BenchReport report;
  checks.AddTo(&report);
  const std::string text = report.Table();
  EXPECT_NE(text.find("of modes that are plans, by profiles, live: 0.20 in the"), text.npos)
      << text;
  EXPECT_NE(text.find("of cacheinf, by the robot as it goes, live: 0.10 in the"), text.npos)
      << text;
}

}  // namespace
}  // namespace cacheinf
