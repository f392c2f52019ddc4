// What is computed in a session: answers with the bits of a dense run, whatever is cut, late or
// lost.

#include "common/pair/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/forwarding_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/pair/say.h"
#include "common/pair/server_connection.h"
#include "common/pair/split_robot.h"
#include "tests/pair/busy_clock.h"
#include "tests/pair/cuts.h"
#include "tests/pair/session_world.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/sanitized.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

class Sessions : public FolderTest, public testing::WithParamInterface<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, Sessions, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Sessions, WhereRowsStayWhatChangedCrossesAndLittleMore) {
  SessionWorld world(GetParam(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  std::mt19937 random(8);
  std::vector<std::vector<Cut>> all_cuts;
  for (const int place : world.places()) all_cuts.push_back({{place, 500}});
  for (int i = 0; i < 60; ++i) all_cuts.push_back(RandomCuts(world.places(), random));
  uint64_t in_all = 0;
  for (const std::vector<Cut>& cuts : all_cuts) {
    world.robot().SetCuts(cuts);
    SCOPED_TRACE(ToText({.kind = Plan::Kind::kSplit, .cuts = cuts}));
    const int rows = 1 + static_cast<int>(random() % kHeight);
    const int columns = 1 + static_cast<int>(random() % kWidth);
    for (int i = 0; i < 4; ++i) {
      const auto [bytes, slices] = world.AnswerChange(rows, columns, cuts);
      ASSERT_TRUE(world.robot().part());
      const ServerPart& part = *world.robot().part();
      if (i < 2) continue;  // the rows differ from those before
      in_all += bytes;
      ASSERT_LE(part.sent_bytes + part.received_bytes, bytes + bytes / 50 + 128 * slices);
    }
  }
  EXPECT_GT(in_all, 100'000U);
}

TEST_P(Sessions, WhateverIsLateOrLostTheAnswerHasTheBitsOfADenseRun) {
  SessionWorld world(GetParam(), folder_);
  std::mt19937 random(6);
  int64_t together = 0;
  int64_t given_up = 0;
  for (int round = 0; round < 4; ++round) {
    world.Connect("20mbit,1ms");
    world.AnswerUntilReady();
    for (int i = 0; i < 60; ++i) {
      const int place = world.places()[random() % world.places().size()];
      if (random() % 4 == 0) world.robot().SetCuts({{place, random() % 2 == 0 ? 0 : 500}});
      const bool hurries = random() % 3 == 0;
      world.Answer(hurries ? milliseconds(random() % 8) : SplitRobot::kNever);
      world.TakeTurns(static_cast<int>(random() % 50));
    }
    EXPECT_EQ(world.connection().fault(), "");
    together += world.robot().counts().together;
    given_up += world.robot().counts().given_up;
  }
  EXPECT_GT(together, 60);
  EXPECT_GT(given_up, 5);
}

TEST_F(SessionTest, TheServerSaysHowLongStagesWaitedForOthers) {
  SessionWorld& world = Ready();
  const auto queueing_ms = [&](int others_ms) {
    world.SetOthersTime(milliseconds(others_ms));
    world.Answer();
    return Milliseconds(world.robot().times().server_queueing);
  };
  world.robot().SetCuts({{-1, 0}});
  queueing_ms(1);
  const double at_2 = queueing_ms(2);
  const double at_5 = queueing_ms(5);
  EXPECT_GT(at_2, 2 * 2) << "there are more than two stages";
  const double stages = (at_5 - at_2) / 3;
  EXPECT_NEAR(stages, std::round(stages), 0.1);
  EXPECT_NEAR(at_2, 2 * stages, 0.5);

  // Between them the server waits for the robot, not for others.
  world.robot().SetCuts({{-1, 0}, {world.places()[1], 1000}, {world.places()[4], 0}});
  queueing_ms(1);
  EXPECT_NEAR(queueing_ms(5), 5 * (stages - 1), 0.5);
}

TEST_F(SessionTest, AGivenUpFrameIsNoReasonToThinkTheServerIdle) {
  SessionWorld& world = Ready();
  world.robot().SetCuts({{-1, 0}});
  world.SetOthersTime(milliseconds(5));
  world.Answer(world.Change(1, 1));
  world.Answer(world.Change(1, 1), milliseconds(0));
  EXPECT_EQ(world.robot().counts().given_up, 1);
  EXPECT_GT(world.robot().times().server_queueing, milliseconds(5));
}

// States of one model share a backend, which takes one thread at a time.
TEST_F(SessionTest, AStateIsMadeOnTheThreadThatComputes) {
  struct Watched : ForwardingBackend {
    using ForwardingBackend::ForwardingBackend;
    std::unique_ptr<PixelSets> MakeSets() override {
      EXPECT_EQ(std::this_thread::get_id(), computing);
      ++*made;
      return ForwardingBackend::MakeSets();
    }
    std::thread::id computing;
    std::shared_ptr<int> made;
  };
  const auto made = std::make_shared<int>(0);
  Ready("", ChangePolicy(), [made, computing = std::this_thread::get_id()] {
    auto backend = std::make_unique<Watched>(std::make_unique<CpuBackend>());
    backend->computing = computing;
    backend->made = made;
    return backend;
  });
  EXPECT_GT(*made, 0);
}

TEST_F(SessionTest, SettingsOfAnotherPolicyHoldFromTheNextFrameOn) {
  SessionWorld& world =
      Ready("", ChangePolicy{.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
  world.robot().SetCuts({{world.places()[3], 500}});
  for (int i = 0; i < 60; ++i) {
    world.Answer();
    if (world.decision().kind == FrameDecision::Kind::kWhole) world.ExpectDenseAnswer();
    EXPECT_FALSE(InsideState::CheckStored(world.state(), 50, static_cast<uint32_t>(i)));
  }
  EXPECT_GT(world.robot().counts().together, 60);
}

TEST_F(SessionTest, OneLateFrameDoesNotMakeTheNextLate) {
  SessionWorld world(Yolo(), folder_);
  world.Connect("1500kbit,3ms");
  world.robot().SetCuts({{world.places()[1], 0}});
  world.AnswerUntilReady();
  // The first map, whole, takes longer than a frame has.
  const auto before = world.robot().counts();
  int64_t behind = 0;
  for (int i = 0; i < 200; ++i) {
    const auto counts = world.robot().counts();
    world.Answer(milliseconds(40));
    const bool is_refresh = world.decision().kind == FrameDecision::Kind::kRefresh;
    EXPECT_LE(world.robot().counts().waited - counts.waited, milliseconds(is_refresh ? 999 : 41));
    if (world.robot().counts().alone > counts.alone) {
      ++behind;
      EXPECT_EQ(world.robot().counts().waited, counts.waited);
    }
    world.TakeTurns(300);
  }
  EXPECT_GT(world.robot().counts().together, before.together + 20) << "it catches up";
  EXPECT_GT(behind, 0);
}

TEST_F(SessionTest, WhereTheServerHasNothingYetTheRobotDoesNotWaitForIt) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer makes computing alone slower than any wait";
  SessionWorld world(Yolo(), folder_);
  world.Connect("1500kbit,3ms");
  world.robot().SetCuts({{world.places()[1], 0}});
  while (world.robot().counts().given_up == 0) {
    world.Answer(milliseconds(40));
    world.TakeTurns(20);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(world.robot().counts().waited, milliseconds(0));
}

TEST_F(SessionTest, TheServerIsBehindUntilItAnswersThatVeryFrame) {
  SessionWorld& world = Ready("1500kbit,3ms");
  world.robot().SetCuts({{world.places()[1], 0}, {world.places()[4], 1000}});
  for (int i = 0; i < 3; ++i) world.Answer();
  world.TakeTurns(1000);
  world.Answer(world.Change(1, 1));  // the answer is still on its way
  world.Answer(world.Change(kHeight, kWidth), milliseconds(0));
  world.TakeTurns(100);
  const auto before = world.robot().counts();
  world.Answer(world.Change(1, 1));
  EXPECT_EQ(world.robot().counts().alone, before.alone + 1);
  world.TakeTurns(5000);
  world.Answer(world.Change(1, 1));
  EXPECT_EQ(world.robot().counts().together, before.together + 1);
}

TEST_F(SessionTest, AFrameThatIsGivenUpShowsHowLongTheServerTakes) {
  SessionWorld& world = Ready("1000mbit,20ms");
  world.robot().SetCuts({{-1, 0}});
  world.Answer(world.Change(1, 1));
  EXPECT_EQ(world.robot().alone_since(), std::nullopt);
  world.TakeTurns(1000);
  const auto begin = world.now();
  world.Answer(world.Change(1, 1), milliseconds(7));
  ASSERT_EQ(world.robot().counts().given_up, 1);
  ASSERT_TRUE(world.robot().alone_since());
  EXPECT_NEAR(Milliseconds(*world.robot().alone_since() - begin), 7, 0.2);
  EXPECT_EQ(world.robot().TakeLateDone(), std::nullopt);
  world.TakeTurns(1000);
  world.Answer(world.Change(1, 1));
  const auto took = world.robot().TakeLateDone();
  ASSERT_TRUE(took);
  EXPECT_NEAR(Milliseconds(*took), 45, 5);
  EXPECT_EQ(world.robot().TakeLateDone(), std::nullopt);
}

TEST_F(SessionTest, WhatTheRobotFindsUnchangedInAWholeFrameIsNotSentAgain) {
  SessionWorld& world = Ready();
  world.robot().SetCuts({{world.places()[1], 0}});
  for (int i = 0; i < 3; ++i) world.Answer(world.Change(1, 1));
  const uint64_t little = world.robot().part()->sent_bytes;
  FrameDecision whole = world.Change(1, 1);
  whole.kind = FrameDecision::Kind::kWhole;
  SetAll(whole.changed);
  world.robot().ComputeNextAlone();
  world.Answer(whole);
  EXPECT_FALSE(world.robot().part());
  world.Answer(world.Change(1, 1));
  ASSERT_TRUE(world.robot().part());
  EXPECT_LE(world.robot().part()->sent_bytes, 2 * little);
}

TEST_F(SessionTest, AStepWaitsForNothing) {
  SessionWorld& world = Ready();
  world.robot().SetCuts({{world.places()[4], 0}});
  const auto& decision = world.Change(kHeight, kWidth);
  const auto begin = world.now();
  ASSERT_TRUE(world.Begin(decision));
  size_t stages = 0;
  while (world.robot().Step() == Progress::kStepped)
    EXPECT_EQ(world.state().next_stage(), ++stages);
  EXPECT_GT(stages, 3u);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(world.robot().Step(), Progress::kWaits);
  EXPECT_EQ(world.now(), begin);
  world.channels().clock.Advance(ServerConnection::kPatience);
  EXPECT_EQ(world.robot().Step(), Progress::kRefused);
  EXPECT_EQ(world.connection().fault(), "the server is too slow");
  world.TakeSteps();
  world.ExpectDenseAnswer();
}

TEST_F(SessionTest, WhatTheRobotDidNotWaitForIsSentAgain) {
  SessionWorld& world = Ready();
  world.robot().SetCuts({{world.places()[1], 0}, {world.places()[4], 1000}});
  for (int i = 0; i < 3; ++i) world.Answer();
  world.Answer(world.Change(1, 1));
  const uint64_t little = world.robot().part()->received_bytes;
  world.Answer(world.Change(kHeight, kWidth), milliseconds(0));
  EXPECT_EQ(world.robot().counts().given_up, 1);
  world.TakeTurns(1000);
  world.Answer(world.Change(1, 1));
  ASSERT_TRUE(world.robot().part());
  EXPECT_GT(world.robot().part()->received_bytes, 4 * little);
}

TEST_F(SessionTest, ASlowSideSleepsBeforeWhatItComputedLeaves) {
  struct Nap {
    size_t after_stages = 0;
    uint64_t said = 0;
  };
  SessionWorld world(Yolo(), folder_);
  std::vector<Nap> robot;
  std::vector<Nap> server;
  world.SlowDown(
      [&] {
        robot.push_back({world.state().next_stage(), BytesSaid(world.channels().robot)});
      },
      [&] {
        server.push_back({0, BytesSaid(world.channels().server)});
      });
  world.Connect();
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.places()[8], 0}});
  world.Answer();
  world.TakeTurns(5);
  robot.clear();
  server.clear();
  const uint64_t server_before = BytesSaid(world.channels().server);
  world.Answer();
  ASSERT_EQ(world.robot().counts().together, 3);

  const uint64_t robot_after = BytesSaid(world.channels().robot);
  const auto is_after_slice = [&](const Nap& nap) { return nap.said == robot_after; };
  const auto after_slice = std::find_if(robot.begin(), robot.end(), is_after_slice);
  ASSERT_NE(after_slice, robot.end());
  ASSERT_NE(after_slice, robot.begin());
  EXPECT_EQ(std::prev(after_slice)->after_stages, after_slice->after_stages);
  EXPECT_GT(after_slice->after_stages, 1u);

  const auto is_before_slices = [&](const Nap& nap) { return nap.said == server_before; };
  EXPECT_GT(std::count_if(server.begin(), server.end(), is_before_slices), 3);
  world.TakeTurns(5);
  const auto is_before_answer = [&](const Nap& nap) {
    return nap.said > server_before && nap.said < BytesSaid(world.channels().server);
  };
  EXPECT_TRUE(std::any_of(server.begin(), server.end(), is_before_answer));
}

TEST_F(SessionTest, ARobotHearsWhatTheServerDid) {
  SessionWorld world(Yolo(), folder_);
  world.SlowDown([] {}, [] {});
  world.Connect();
  world.AnswerUntilReady();
  const std::vector<Cut> to_the_end = {{-1, 0}};
  const std::vector<Cut> and_back = {{-1, 0}, {world.places()[4], 1000}};
  for (const std::vector<Cut>& cuts : {to_the_end, and_back}) {
    world.robot().SetCuts(cuts);
    for (int i = 0; i < 3; ++i) world.Answer();  // a frame's work is known only later
    double most_work = 0;
    int with_work = 0;
    for (int i = 0; i < 60; ++i) {
      world.Answer();
      ASSERT_TRUE(world.robot().part());
      const ServerPart& part = *world.robot().part();
      const FrameTimes& times = world.robot().times();
      EXPECT_GT(times.server_computing, milliseconds(3));
      EXPECT_EQ(times.encoding > milliseconds(0), part.sent_bytes > 0);
      EXPECT_EQ(times.server_decoding > milliseconds(0), part.sent_bytes > 0);
      most_work = std::max(most_work, part.work.share);
      with_work += part.work.share > 0 ? 1 : 0;
    }
    EXPECT_GT(with_work, 20);
    EXPECT_LT(with_work, 60) << "where nothing changes nothing is done";
    EXPECT_GT(most_work, 0);
    EXPECT_LE(most_work, cuts.size() == 1 ? 1 : 0.9);
  }
}

std::unique_ptr<Backend> MakeTf32Backend() {
  return MakeEmulatedCudaBackend(1, {cuda::Precision::kTf32});
}

TEST_F(SessionTest, UnderThePolicyExactNoRowsAreSharedBetweenTwoPrecisions) {
  SessionWorld& world = Ready("", ChangePolicy(), MakeTf32Backend);
  EXPECT_EQ(world.connection().fault(),
            "the policy exact does not share rows between two arithmetics, and the robot computes "
            "in exact FP32, arithmetic 1, the server in cuda-emulated-tf32 of compute capability "
            "8.0, arithmetic 1: give both the same CacheInf and precision");
  for (int i = 0; i < 5; ++i) world.Answer();  // alone
  // The server may still be preparing what it was asked for before.
  for (int turn = 0; turn < 10000 && !world.session().is_over(); ++turn) {
    world.Turn();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(world.session().end(), world.connection().fault());
  EXPECT_EQ(world.robot().counts().together, 0);
}

TEST_F(SessionTest, UnderOtherPoliciesEachSideTakesItsOwnPrecision) {
  SessionWorld& world =
      Ready("", ChangePolicy{.kind = ChangePolicy::Kind::kFixed}, MakeTf32Backend);
  world.robot().SetCuts({{world.places()[3], 500}});
  for (int i = 0; i < 3; ++i) world.Answer();
  EXPECT_EQ(world.connection().fault(), "");
  EXPECT_GT(world.robot().counts().together, 3);
}

// The server has already computed what it is asked for now, but this robot does not have it.
TEST_F(SessionTest, ARobotThatBeginsAgainIsSentEverything) {
  SessionWorld world(Yolo(), folder_);
  const std::vector<Cut> cuts = {{world.places()[1], 0}};
  world.Connect();
  world.robot().SetCuts(cuts);
  world.AnswerUntilReady();
  for (int i = 0; i < 2; ++i) world.Answer(world.Change(20, 20));
  world.AnswerChangeInSilence(20, 20);
  world.MakeRobot();
  world.robot().SetCuts(cuts);
  world.Answer(world.Undo());
  EXPECT_EQ(world.robot().counts().together, 1);
}

TEST_F(SessionTest, AfterARefusalTheServerBeginsAgain) {
  SessionWorld& world = Ready();
  world.robot().SetCuts({{world.places()[3], 500}});
  // Tell the server of a frame that the robot knows nothing of.
  message::Decided stray{.decision = world.decision(), .follows = world.decision().number - 1};
  stray.decision.number += 1;
  Say(world.channels().robot, stray);
  for (int i = 0; i < 10; ++i) world.Answer();
  EXPECT_EQ(world.robot().counts().refusals, 1);
  EXPECT_EQ(world.connection().fault(), "");
  EXPECT_GE(world.robot().counts().together, 8);

  // Send slices that belong nowhere, between frames and in the midst of one.
  Say(world.channels().robot, message::Slice{world.decision().number + 1, 77});
  for (int i = 0; i < 10; ++i) world.Answer();
  ASSERT_TRUE(world.Begin(world.Change(20, 20)));
  Say(world.channels().robot, message::Slice{world.decision().number + 1, 77});
  world.TakeSteps();
  world.ExpectDenseAnswer();
  world.Answer();
  EXPECT_EQ(world.robot().counts().refusals, 1);
  EXPECT_EQ(world.connection().fault(), "");
}

TEST_F(SessionTest, WhenTheLinkDiesTheRobotAnswersAlone) {
  SessionWorld world(Yolo(), folder_);
  for (int round = 0; round < 10; ++round) {
    world.Connect("20mbit,3ms", kWire, milliseconds(200 + 7 * round));
    world.AnswerUntilReady();
    if (!world.connection().fault().empty()) continue;
    world.robot().SetCuts({{world.places()[3], 500}});
    while (world.connection().fault().empty()) world.Answer();
    world.Answer();
    EXPECT_GT(world.robot().counts().together, 1);
    world.TakeTurns(30000);
    EXPECT_TRUE(world.session().is_over());
  }
}

TEST_F(SessionTest, TwoThreadsAndASteadyClockDoAsWell) {
  const SteadyClock clock;
  auto [robot_link, server_link] = MakeLoopback({}, clock);
  Channel robot_channel(std::move(robot_link), clock);
  Channel server_channel(std::move(server_link), clock);
  robot_channel.StartPumping();
  server_channel.StartPumping();
  std::string end;
  std::thread server([&] {
    ModelStore store(folder_, [] { return std::make_unique<CpuBackend>(); });
    SlowWork slow_work;
    Session session(server_channel, store, slow_work, clock);
    while (!session.is_over()) {
      if (!session.Advance()) server_channel.WaitForMessage(clock.Now() + milliseconds(10));
    }
    end = session.end();
  });

  const auto graph = MakeNetwork(Yolo(), kHeight, kWidth);
  const auto model = std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>());
  ModelState state(model, {{}, Keep::kAll, false, true});
  ModelState dense(model);
  ServerConnection connection(robot_channel, {.robot = "rover"}, PackForServers(*graph));
  message::Settings settings;
  settings.cuts = {{graph->operators[2].outputs[0], 500}};
  SplitRobot robot(connection, state, clock, settings);
  Clip clip(kHeight, kWidth, ShiftStep(*graph, kHeight / 2), 7);
  for (int i = 0; i < 1000 && robot.counts().together < 100; ++i) {
    const FrameDecision& decision = clip.Next();
    if (robot.Begin(decision, clip.picture(), {})) {
      while (robot.Step() != Progress::kDone) continue;
    } else {
      state.Apply(decision, clip.picture(), {});
    }
    ASSERT_EQ(DenseOutputs(dense, clip.picture()), Outputs(state)) << "frame " << i;
    if (robot.counts().together == 0) std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(robot.counts().together, 100);
  connection.Leave("it is enough");
  server.join();
  EXPECT_EQ(end, "it is enough");
}

}  // namespace
}  // namespace cacheinf
