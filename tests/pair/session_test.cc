// Robot and server over a link within the process, on a clock that stands still between steps: from
// the first greeting to answers with the bits of a dense run, whatever is cut, late, lost or
// damaged.

#include "common/pair/session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/codec/compressed_text.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/cuda_backend.h"
#include "common/exec/spreads.h"
#include "common/model/graph/pack.h"
#include "common/pair/say.h"
#include "common/pair/server_connection.h"
#include "common/pair/split_robot.h"
#include "tests/fuzz/mutate.h"
#include "tests/link/channel_pair.h"
#include "tests/pair/busy_clock.h"
#include "tests/pair/clip.h"
#include "tests/pair/cuts.h"
#include "tests/pair/message_seeds.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

using std::chrono::milliseconds;

// A server in a folder, with a session at a time.
class World {
 public:
  World(const Network& network, std::filesystem::path folder, ChangePolicy policy = {},
        ModelStore::MakeBackend make_server_backend = std::make_unique<CpuBackend>,
        ModelStore::Tune tune = nullptr)
      : graph_(MakeNetwork(network, kHeight, kWidth)),
        model_(std::make_shared<const CompiledModel>(graph_, std::make_unique<CpuBackend>())),
        policy_(std::move(policy)),
        store_(std::move(folder), std::move(make_server_backend), std::move(tune)),
        clip_(kHeight, kWidth, ShiftStep(*graph_, kHeight / 2), 7),
        dense_(model_, {{}, Keep::kAll}),
        state_(model_, {{}, Keep::kAll, false, true}),
        pack_(PackForServers(*graph_)),
        values_(ValuesToCut(state_)) {}

  // Makes a new link, with a new session behind it.
  void Connect(const std::string& shape = "", const std::string& build = kBuild,
               std::optional<std::chrono::nanoseconds> death = {}) {
    robot_.reset();
    connection_.reset();
    session_.reset();
    channels_.reset();
    LoopbackScript script;
    if (!shape.empty()) script.shape = ParseLinkShape(shape);
    script.death = death;
    channels_ = std::make_unique<ChannelPair>(script);
    session_ = std::make_unique<Session>(channels_->server, store_, channels_->clock, kBuild,
                                         RemoteServer::OnPicture(), server_slowdown_, solve_);
    connection_ = std::make_unique<ServerConnection>(channels_->robot, build, "rover", pack_);
    MakeRobot();
  }

  // Replaces the robot on the same connection. The new one knows nothing of what the old one said.
  void MakeRobot() {
    robot_.reset();
    robot_ = std::make_unique<SplitRobot>(
        *connection_, state_, channels_->clock, message::Settings(),
        [this](auto deadline) {
          Turn();
          return channels_->clock.Now() < deadline;
        },
        robot_slowdown_);
  }

  // Takes effect at the next Connect.
  void SlowDown(Slowdown robot, Slowdown server) {
    robot_slowdown_ = std::move(robot);
    server_slowdown_ = std::move(server);
  }

  // Takes effect at the next Connect, too.
  void SolveBy(Session::Solve solve) { solve_ = std::move(solve); }

  // Lets everything but the robot go on for a moment.
  void Turn() {
    while (session_->Advance() && others_time_ > std::chrono::nanoseconds(0)) {
      channels_->RunFor(others_time_);
    }
    channels_->RunFor(std::chrono::microseconds(100));
  }

  // Other robots take so long after each of the server's stages for this one.
  void SetOthersTime(std::chrono::nanoseconds time) { others_time_ = time; }
  void TakeTurns(int count) {
    for (int i = 0; i < count; ++i) Turn();
  }

  // Answers frames until the server takes part or refuses. Returns how many it took.
  int AnswerUntilReady() {
    int frames = 0;
    while (connection_->fault().empty() && robot_->counts().together == 0) {
      Answer();
      ++frames;
      TakeTurns(20);
      std::this_thread::sleep_for(milliseconds(1));
    }
    return frames;
  }

  void Answer(std::chrono::nanoseconds time = SplitRobot::kNever) { Answer(clip_.Next(), time); }
  void Answer(const FrameDecision& decision, std::chrono::nanoseconds time = SplitRobot::kNever) {
    const bool waits = time == SplitRobot::kNever || decision.kind == FrameDecision::Kind::kRefresh;
    robot_->Execute(decision, clip_.picture(), policy_, waits ? SplitRobot::kNever : now() + time);
    if (policy_.threshold > 0.0f && !policy_.spreads && robot_->computed_all()) {
      policy_.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(state_));
    }
    if (policy_.kind == ChangePolicy::Kind::kExact) ExpectDenseAnswer();
  }

  void ExpectDenseAnswer() {
    dense_.SetPicture(clip_.picture());
    dense_.Run();
    const auto expected = Outputs(dense_);
    const auto actual = Outputs(state_);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(FirstDifference(expected[i], actual[i]), "")
          << "output " << i << " of frame " << clip_.decision().number;
    }
  }

  // The next frame, whose upper left changes.
  const FrameDecision& Change(int rows, int columns) { return clip_.Change(rows, columns); }

  // The next frame, as it was before that change.
  const FrameDecision& Undo() { return clip_.Undo(); }

  // Answers a frame of Change without telling the server.
  void AnswerChangeInSilence(int rows, int columns) {
    state_.Apply(clip_.Change(rows, columns), clip_.picture(), policy_);
    ExpectDenseAnswer();
  }

  // Answers a frame of Change. Returns the bytes that have to cross, and how many slices.
  std::pair<uint64_t, size_t> AnswerChange(int rows, int columns, const std::vector<Cut>& cuts) {
    const FrameDecision& decision = clip_.Change(rows, columns);
    const std::vector<int> robot_rows = RobotRowsOf(cuts, std::as_const(decision.changed));
    const std::vector<Transfer> transfers =
        CompileRows(*graph_, state_.layout(),
                    OwnershipOf(*graph_, state_.layout(), cuts, robot_rows, kHeight))
            .transfers;
    std::vector<std::vector<float>> before;
    for (const Transfer& transfer : transfers) {
      before.push_back(Numbers(dense_, transfer.value));
    }
    Answer(decision);
    uint64_t bytes = 0;
    for (size_t i = 0; i < transfers.size(); ++i) {
      bytes += ChangedBytes(*graph_, transfers[i], before[i], Numbers(dense_, transfers[i].value));
    }
    return {bytes, transfers.size()};
  }

  std::chrono::nanoseconds now() const { return channels_->clock.Now(); }
  const Graph& graph() const { return *graph_; }
  const std::vector<ValueId>& values() const { return values_; }
  const FrameDecision& decision() const { return clip_.decision(); }
  ModelState& state() { return state_; }
  SplitRobot& robot() { return *robot_; }
  ServerConnection& connection() { return *connection_; }
  Session& session() { return *session_; }
  ChannelPair& channels() { return *channels_; }
  ModelStore& store() { return store_; }
  const MappedFile& pack() const { return pack_; }

 private:
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const CompiledModel> model_;
  ChangePolicy policy_;
  ModelStore store_;
  Clip clip_;
  ModelState dense_;
  ModelState state_;
  MappedFile pack_;
  Slowdown robot_slowdown_;
  Slowdown server_slowdown_;
  Session::Solve solve_;
  std::chrono::nanoseconds others_time_{0};
  const std::vector<ValueId> values_;
  std::unique_ptr<ChannelPair> channels_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<ServerConnection> connection_;
  std::unique_ptr<SplitRobot> robot_;
};

class Sessions : public FolderTest, public testing::WithParamInterface<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, Sessions, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Sessions, AtEveryCutTheAnswerHasTheBitsOfADenseRun) {
  World world(GetParam(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  int64_t frames = world.robot().counts().together;
  const auto answer = [&](std::vector<Cut> cuts) {
    world.robot().SetCuts(std::move(cuts));
    world.Answer();
    ++frames;
    ASSERT_EQ(world.robot().counts().together, frames);
  };
  for (const ValueId value : world.values()) {
    for (const int thousandths : {0, 500}) {
      SCOPED_TRACE(testing::Message()
                   << "cut at '" << world.graph().value(value).name << "', " << thousandths);
      ASSERT_NO_FATAL_FAILURE(answer({{value, thousandths}}));
    }
  }
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    ASSERT_NO_FATAL_FAILURE(answer(RandomCuts(world.values(), random)));
  }
}

TEST_P(Sessions, WhereRowsStayWhatChangedCrossesAndLittleMore) {
  World world(GetParam(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  std::mt19937 random(8);
  std::vector<std::vector<Cut>> all_cuts;
  for (const ValueId value : world.values()) all_cuts.push_back({{value, 500}});
  for (int i = 0; i < 60; ++i) all_cuts.push_back(RandomCuts(world.values(), random));
  uint64_t in_all = 0;
  for (const std::vector<Cut>& cuts : all_cuts) {
    world.robot().SetCuts(cuts);
    std::string names;
    for (const Cut& cut : cuts) {
      names +=
          world.graph().value(cut.value).name + ":" + std::to_string(cut.robot_thousandths) + " ";
    }
    SCOPED_TRACE(names);
    const int rows = 1 + static_cast<int>(random() % kHeight);
    const int columns = 1 + static_cast<int>(random() % kWidth);
    for (int i = 0; i < 4; ++i) {
      const auto [bytes, slices] = world.AnswerChange(rows, columns, cuts);
      ASSERT_TRUE(world.robot().part());
      const ServerPart& part = *world.robot().part();
      if (i < 2) continue;  // the rows differ from those before
      in_all += bytes;
      ASSERT_LE(part.sent_bytes + part.received_bytes, bytes + bytes / 50 + 512 * slices);
    }
  }
  EXPECT_GT(in_all, 100'000U);
}

TEST_P(Sessions, WhateverIsLateOrLostTheAnswerHasTheBitsOfADenseRun) {
  World world(GetParam(), folder_);
  std::mt19937 random(6);
  int64_t together = 0;
  int64_t given_up = 0;
  for (int round = 0; round < 4; ++round) {
    world.Connect("20mbit,1ms");
    world.AnswerUntilReady();
    for (int i = 0; i < 60; ++i) {
      const ValueId value = world.values()[random() % world.values().size()];
      if (random() % 4 == 0) world.robot().SetCuts({{value, random() % 2 == 0 ? 0 : 500}});
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

class SessionTest : public FolderTest {
 protected:
  static const Network& Yolo() { return TenNetworks().front(); }
};

TEST_F(SessionTest, AServerNeedsNothingButAModelOnTheRobot) {
  World world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  const int frames = world.AnswerUntilReady();
  EXPECT_GT(frames, 2) << "the robot answers alone meanwhile";
  EXPECT_EQ(world.session().robot(), "rover");
  const uint64_t bytes = world.channels().robot.statistics().sent.payload;
  EXPECT_GT(bytes, world.pack().size);

  // The server keeps the model.
  world.Connect("20mbit,3ms");
  world.AnswerUntilReady();
  EXPECT_LT(world.channels().robot.statistics().sent.payload, bytes - world.pack().size / 2);
}

TEST_F(SessionTest, TheServerSaysHowLongStagesWaitedForOthers) {
  World world(Yolo(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  const auto queueing_ms = [&](int others_ms) {
    world.SetOthersTime(milliseconds(others_ms));
    world.Answer();
    return Milliseconds(world.robot().part()->queueing);
  };
  world.robot().SetCuts({{world.graph().inputs.front(), 0}});
  queueing_ms(1);
  const double at_2 = queueing_ms(2);
  const double at_5 = queueing_ms(5);
  EXPECT_GT(at_2, 2 * 2) << "there are more than two stages";
  const double stages = (at_5 - at_2) / 3;
  EXPECT_NEAR(stages, std::round(stages), 0.1);
  EXPECT_NEAR(at_2, 2 * stages, 0.5);

  // Between them the server waits for the robot, not for others.
  world.robot().SetCuts(
      {{world.graph().inputs.front(), 0}, {world.values()[1], 1000}, {world.values()[4], 0}});
  queueing_ms(1);
  EXPECT_NEAR(queueing_ms(5), 5 * (stages - 1), 0.5);
}

TEST_F(SessionTest, OnlyTheModelThatWasNamedIsKept) {
  World world(Yolo(), folder_);
  const MappedFile& pack = world.pack();
  const auto* const begin = reinterpret_cast<const uint8_t*>(pack.data.get());
  const message::ModelPiece all = {0, {begin, begin + pack.size}};
  const message::Fingerprint named = {PackChecksum({pack.data.get(), pack.size}), pack.size};
  const message::Fingerprint another = {named.checksum + 1, pack.size};
  EXPECT_THROW(ModelStore::Incoming(world.store(), another).Take(all), InputError);
  EXPECT_FALSE(world.store().Has(another));
  EXPECT_TRUE(ModelStore::Incoming(world.store(), named).Take(all));
  EXPECT_TRUE(world.store().Has(named));
}

TEST_F(SessionTest, AKilledServerLeavesNoHalfModel) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  ASSERT_EQ(waitpid(dead, nullptr, 0), dead);
  const auto part_of = [&](pid_t process) {
    return folder_ / ("0123-9.cacheinf." + std::to_string(process) + "-0.part");
  };
  for (const pid_t process : {dead, getpid()}) std::ofstream(part_of(process)) << "half";
  const ModelStore store(folder_, [] { return std::make_unique<CpuBackend>(); });
  EXPECT_FALSE(std::filesystem::exists(part_of(dead)));
  EXPECT_TRUE(std::filesystem::exists(part_of(getpid()))) << "another server's";
}

TEST_F(SessionTest, SettingsOfAnotherPolicyHoldFromTheNextFrameOn) {
  World world(Yolo(), folder_, {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
  world.Connect();
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.values()[3], 500}});
  for (int i = 0; i < 60; ++i) {
    world.Answer();
    if (world.decision().kind == FrameDecision::Kind::kWhole) world.ExpectDenseAnswer();
    EXPECT_FALSE(world.state().CheckStored(50, static_cast<uint32_t>(i)));
  }
  EXPECT_GT(world.robot().counts().together, 60);
}

TEST_F(SessionTest, OneLateFrameDoesNotMakeTheNextLate) {
  World world(Yolo(), folder_);
  world.Connect("1500kbit,3ms");
  world.robot().SetCuts({{world.values()[1], 0}});
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
  World world(Yolo(), folder_);
  world.Connect("1500kbit,3ms");
  world.robot().SetCuts({{world.values()[1], 0}});
  while (world.robot().counts().given_up == 0) {
    world.Answer(milliseconds(40));
    world.TakeTurns(20);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(world.robot().counts().waited, milliseconds(0));
}

TEST_F(SessionTest, TheServerIsBehindUntilItAnswersThatVeryFrame) {
  World world(Yolo(), folder_);
  world.Connect("1500kbit,3ms");
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.values()[1], 0}, {world.values()[4], 1000}});
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

TEST_F(SessionTest, WhatTheRobotDidNotWaitForIsSentAgain) {
  World world(Yolo(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.values()[1], 0}, {world.values()[4], 1000}});
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

TEST_F(SessionTest, ASlowSideSleepsAfterEachStageAndBeforeWhatItComputedLeaves) {
  struct Nap {
    size_t after_stages = 0;
    uint64_t said = 0;
  };
  World world(Yolo(), folder_);
  const BusyClock busy;
  std::vector<Nap> robot;
  std::vector<Nap> server;
  world.SlowDown(
      {2, busy,
       [&](auto) {
         robot.push_back({world.state().next_stage(), BytesSaid(world.channels().robot)});
       }},
      {2, busy, [&](auto) {
         server.push_back({0, BytesSaid(world.channels().server)});
       }});
  world.Connect();
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.values()[8], 0}});
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
  ASSERT_GT(after_slice - robot.begin(), 3);
  EXPECT_EQ(std::prev(after_slice)->after_stages, after_slice->after_stages);
  EXPECT_GT(after_slice->after_stages, 1u);

  const auto is_before_slices = [&](const Nap& nap) { return nap.said == server_before; };
  EXPECT_GT(std::count_if(server.begin(), server.end(), is_before_slices), 3);
  world.TakeTurns(5);
  EXPECT_LT(server.back().said, BytesSaid(world.channels().server)) << "the answer comes last";
}

TEST_F(SessionTest, ARobotHearsWhatTheServerDid) {
  World world(Yolo(), folder_);
  const BusyClock busy;
  const auto advance = [&](auto) { world.channels().clock.Advance(milliseconds(1)); };
  world.SlowDown({2, busy, advance}, {2, busy, advance});
  world.Connect();
  world.AnswerUntilReady();
  const ValueId input = world.graph().inputs[0];
  const std::vector<Cut> to_the_end = {{input, 0}};
  const std::vector<Cut> and_back = {{input, 0}, {world.values()[4], 1000}};
  for (const std::vector<Cut>& cuts : {to_the_end, and_back}) {
    world.robot().SetCuts(cuts);
    for (int i = 0; i < 3; ++i) world.Answer();  // a frame's work is known only later
    double most_work = 0;
    int with_work = 0;
    for (int i = 0; i < 60; ++i) {
      world.Answer();
      ASSERT_TRUE(world.robot().part());
      const ServerPart& part = *world.robot().part();
      EXPECT_GT(part.computing, milliseconds(3));
      EXPECT_EQ(part.encoding > milliseconds(0), part.sent_bytes > 0);
      EXPECT_EQ(part.decoding > milliseconds(0), part.sent_bytes > 0);
      most_work = std::max(most_work, part.work);
      with_work += part.work > 0 ? 1 : 0;
    }
    EXPECT_GT(with_work, 20);
    EXPECT_LT(with_work, 60) << "where nothing changes nothing is done";
    EXPECT_GT(most_work, 0);
    EXPECT_LE(most_work, cuts.size() == 1 ? 1 : 0.9);
  }
}

TEST_F(SessionTest, AScheduleIsSentWhileFramesAreServed) {
  World world(Yolo(), folder_);
  std::atomic<bool> may_end = false;
  const std::string profile(100'000, 'p');
  world.SolveBy([&](const auto& model, const message::Settings& settings, const std::string& robot,
                    const std::atomic<bool>& stop) {
    while (!may_end && !stop) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(model->graph().operators.size(), world.graph().operators.size());
    EXPECT_EQ(settings.change_threshold, 0.25);
    if (robot.starts_with("bad")) throw std::runtime_error("it is bad");
    return "solved: " + robot;
  });
  world.Connect();
  message::Settings settings;
  settings.change_threshold = 0.25;
  world.connection().AskForSchedule(settings, profile);
  world.AnswerUntilReady();
  EXPECT_EQ(world.connection().TakeSchedule(), std::nullopt);
  may_end = true;
  std::optional<std::vector<uint8_t>> schedule;
  for (int i = 0; i < 2000 && !schedule; ++i) {
    world.Answer();
    world.TakeTurns(5);
    std::this_thread::sleep_for(milliseconds(1));
    schedule = world.connection().TakeSchedule();
  }
  EXPECT_EQ(schedule, CompressText("solved: " + profile));
  EXPECT_EQ(world.connection().TakeSchedule(), std::nullopt) << "only once";

  world.connection().AskForSchedule(settings, "bad");
  for (int i = 0; i < 50; ++i) {
    world.Answer();
    world.TakeTurns(5);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(world.connection().TakeSchedule(), std::nullopt);
  EXPECT_EQ(world.connection().fault(), "");

  may_end = false;
  world.connection().AskForSchedule(settings, profile);
  world.TakeTurns(50);
  world.Connect();  // leaving does not wait for the solver
}

TEST_F(SessionTest, LeavingDoesNotWaitForTheServerToTune) {
  std::atomic<int> begun = 0;
  std::atomic<int> stopped = 0;
  World world(Yolo(), folder_, {}, std::make_unique<CpuBackend>,
              [&](Graph&, bool takes_fastest, const std::atomic<bool>& stop) {
                EXPECT_FALSE(takes_fastest);
                ++begun;
                for (int i = 0; i < 10'000 && !stop; ++i) {
                  std::this_thread::sleep_for(milliseconds(1));
                }
                if (stop) ++stopped;
              });
  for (int sessions = 1; sessions <= 2; ++sessions) {  // nothing half tuned is kept
    world.Connect();
    while (begun < sessions) {
      world.Answer();
      world.TakeTurns(20);
    }
  }
  world.Connect();
  EXPECT_EQ(stopped, 2);
}

TEST_F(SessionTest, TheLinkIsKnownBeforeTheFirstFrame) {
  World world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  world.AnswerUntilReady();  // the server has the model from now on
  for (const bool probes : {false, true}) {
    world.Connect("20mbit,3ms");
    if (probes) world.connection().ProbeLink();
    for (int i = 0; i < 5000; ++i) {
      world.Turn();
      EXPECT_EQ(world.connection().Receive(), std::nullopt);
    }
    EXPECT_TRUE(world.connection().has_model());
    const ChannelStatistics statistics = world.channels().robot.statistics();
    ASSERT_EQ(statistics.bandwidth.has_value(), probes);
    ASSERT_EQ(statistics.bandwidth_back.has_value(), probes);
    if (!probes) continue;
    EXPECT_NEAR(statistics.bandwidth->bits_per_second, 20e6, 2e6);
    EXPECT_NEAR(statistics.bandwidth_back->bits_per_second, 20e6, 2e6);
  }
}

TEST_F(SessionTest, AnIdleLinkStaysKnownByProbesOfAFewBytes) {
  World world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  world.AnswerUntilReady();
  constexpr std::chrono::seconds kMeanwhile(30);
  const auto begin = world.channels().clock.Now();
  const uint64_t sent = world.channels().robot.statistics().sent.payload;
  std::chrono::nanoseconds oldest{0};
  while (world.channels().clock.Now() < begin + kMeanwhile) {
    world.connection().KeepLinkKnown(world.channels().clock.Now());
    world.TakeTurns(100);
    (void)world.connection().Receive();
    const auto& known = world.channels().robot.statistics().bandwidth;
    if (known) oldest = std::max(oldest, known->age);
  }
  EXPECT_GT(oldest, std::chrono::seconds(4));
  EXPECT_LT(oldest, std::chrono::seconds(6));
  EXPECT_LT(world.channels().robot.statistics().sent.payload - sent, 7 * (20u << 10));
}

// A probe of the first size takes less time than the round trip's uncertainty.
TEST_F(SessionTest, AnIdleLinkThatIsFastStaysKnownToo) {
  World world(Yolo(), folder_);
  world.Connect("400mbit,3ms");
  world.AnswerUntilReady();
  const auto end = world.channels().clock.Now() + std::chrono::seconds(20);
  while (world.channels().clock.Now() < end) {
    world.connection().KeepLinkKnown(world.channels().clock.Now());
    world.TakeTurns(100);
    (void)world.connection().Receive();
  }
  const ChannelStatistics statistics = world.channels().robot.statistics();
  ASSERT_TRUE(statistics.bandwidth);
  EXPECT_LT(statistics.bandwidth->age, std::chrono::seconds(8));
  EXPECT_NEAR(statistics.bandwidth->bits_per_second, 400e6, 80e6);
}

TEST_F(SessionTest, ProbingNeedsNoHello) {
  World world(Yolo(), folder_);
  world.Connect("20mbit,3ms");
  ChannelPair channels(Shaped("20mbit,3ms"));
  Session session(channels.server, world.store(), channels.clock, "these bits");
  Say(channels.robot, message::Probe{1000, {1, 2, 3}});
  const bool has_come = channels.RunUntil([&] {
    session.Advance();
    return channels.robot.statistics().received.payload > 1000;
  });
  ASSERT_TRUE(has_come) << session.end();
  EXPECT_EQ(MessageOf(message::Probe{0, std::vector<uint8_t>(1000)}).bytes,
            channels.robot.Receive()->bytes);
  EXPECT_FALSE(session.has_robot());
  Say(channels.robot, message::Ready{});
  channels.RunUntil([&] { return !session.Advance() && session.is_over(); });
  EXPECT_EQ(session.end(), "the robot has not said hello");
}

TEST_F(SessionTest, ServersOfOtherBitsAreRefused) {
  World world(Yolo(), folder_);
  world.Connect("", "other bits");
  world.AnswerUntilReady();
  EXPECT_EQ(world.connection().fault(),
            "the server is of build 'these bits' and the robot of 'other bits', whose bits may "
            "differ: install the same on both");
  EXPECT_TRUE(world.session().is_over());
  world.Answer();  // alone
  EXPECT_EQ(world.robot().counts().together, 0);
}

std::unique_ptr<Backend> MakeTf32Backend() {
  return MakeEmulatedCudaBackend(1, {cuda::Precision::kTf32});
}

TEST_F(SessionTest, UnderThePolicyExactNoRowsAreSharedBetweenTwoPrecisions) {
  World world(Yolo(), folder_, {}, MakeTf32Backend);
  world.Connect();
  world.AnswerUntilReady();
  EXPECT_EQ(world.connection().fault(),
            "the policy exact does not share rows between two arithmetics, and the robot computes "
            "in exact FP32, the server in cuda-emulated-tf32 of compute capability 8.0");
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
  World world(Yolo(), folder_, {.kind = ChangePolicy::Kind::kFixed}, MakeTf32Backend);
  world.Connect();
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.values()[3], 500}});
  for (int i = 0; i < 3; ++i) world.Answer();
  EXPECT_EQ(world.connection().fault(), "");
  EXPECT_GT(world.robot().counts().together, 3);
}

TEST_F(SessionTest, ALeavingSideTellsTheOther) {
  World world(Yolo(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  world.session().Leave("it is drained");
  world.TakeTurns(5);
  world.Answer();
  EXPECT_EQ(world.connection().fault(), "it is drained");

  world.Connect();
  world.AnswerUntilReady();
  world.connection().Leave("");
  world.TakeTurns(5);
  EXPECT_EQ(world.session().end(), "the robot has left");
}

// The server has already computed what it is asked for now, but this robot does not have it.
TEST_F(SessionTest, ARobotThatBeginsAgainIsSentEverything) {
  World world(Yolo(), folder_);
  const std::vector<Cut> cuts = {{world.values()[1], 0}};
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
  World world(Yolo(), folder_);
  world.Connect();
  world.AnswerUntilReady();
  world.robot().SetCuts({{world.values()[3], 500}});
  // Tell the server of a frame that the robot knows nothing of.
  message::Frame stray{.decision = world.decision(), .follows = world.decision().number - 1};
  stray.decision.number += 1;
  Say(world.channels().robot, stray);
  for (int i = 0; i < 10; ++i) world.Answer();
  EXPECT_EQ(world.robot().counts().refusals, 1);
  EXPECT_EQ(world.connection().fault(), "");
  EXPECT_GE(world.robot().counts().together, 8);

  // Send a slice that belongs nowhere.
  Say(world.channels().robot, message::Slice{world.decision().number + 1, 77});
  for (int i = 0; i < 10; ++i) world.Answer();
  EXPECT_EQ(world.connection().fault(), "");
}

TEST_F(SessionTest, WhenTheLinkDiesTheRobotAnswersAlone) {
  World world(Yolo(), folder_);
  for (int round = 0; round < 10; ++round) {
    world.Connect("20mbit,3ms", kBuild, milliseconds(200 + 7 * round));
    world.AnswerUntilReady();
    if (!world.connection().fault().empty()) continue;
    world.robot().SetCuts({{world.values()[3], 500}});
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
    Session session(server_channel, store, clock, kBuild);
    while (!session.is_over()) {
      if (!session.Advance()) server_channel.WaitForMessage(clock.Now() + milliseconds(10));
    }
    end = session.end();
  });

  const auto graph = MakeNetwork(Yolo(), kHeight, kWidth);
  const auto model = std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>());
  ModelState state(model, {{}, Keep::kAll, false, true});
  ModelState dense(model);
  ServerConnection connection(robot_channel, kBuild, "rover", PackForServers(*graph));
  message::Settings settings;
  settings.cuts = {{graph->operators[2].outputs[0], 500}};
  SplitRobot robot(connection, state, clock, settings);
  Clip clip(kHeight, kWidth, ShiftStep(*graph, kHeight / 2), 7);
  for (int i = 0; i < 1000 && robot.counts().together < 100; ++i) {
    robot.Execute(clip.Next(), clip.picture(), {});
    dense.SetPicture(clip.picture());
    dense.Run();
    ASSERT_EQ(Outputs(dense), Outputs(state)) << "frame " << i;
    if (robot.counts().together == 0) std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(robot.counts().together, 100);
  connection.Leave("it is enough");
  server.join();
  EXPECT_EQ(end, "it is enough");
}

// Whatever one side sends, the other goes on or leaves, and the robot's answers stay right.
TEST_F(SessionTest, DamagedMessagesHarmNobody) {
  const std::vector<std::string> seeds = message::MessageSeeds();
  Mutator mutator(seeds, {}, 9);
  std::mt19937 random(10);
  World world(Yolo(), folder_);
  int left = 0;
  for (int round = 0; round < 60; ++round) {
    world.Connect();
    if (round % 4 != 0) world.AnswerUntilReady();
    for (int i = 0; i < 4; ++i) {
      std::string bytes = random() % 2 == 0 ? mutator.Next() : seeds[random() % seeds.size()];
      if (bytes.empty()) continue;
      Message message{static_cast<uint8_t>(bytes[0]), -1, {bytes.begin() + 1, bytes.end()}};
      Channel& from = random() % 2 == 0 ? world.channels().robot : world.channels().server;
      from.Send(std::move(message));
      world.TakeTurns(5);
      world.Answer();
    }
    left += world.session().is_over() || !world.connection().fault().empty() ? 1 : 0;
  }
  EXPECT_GT(left, 20);
}

}  // namespace
}  // namespace cacheinf
