#ifndef CACHEINF_TESTS_PAIR_SESSION_WORLD_H_
#define CACHEINF_TESTS_PAIR_SESSION_WORLD_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/spreads.h"
#include "common/model/graph/pack.h"
#include "common/pair/server_connection.h"
#include "common/pair/session.h"
#include "common/pair/split_robot.h"
#include "tests/link/channel_pair.h"
#include "tests/pair/busy_clock.h"
#include "tests/pair/cuts.h"
#include "tests/pair/served_channels.h"
#include "tests/testing/clip.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/run_graph.h"

// Robot and server over a link within the process, on a clock that stands still between steps.

namespace cacheinf {

inline message::Fingerprint FingerprintOf(const MappedFile& pack) {
  return {PackChecksum({pack.data.get(), pack.size}), pack.size};
}

// A server in a folder, with a session at a time.
class SessionWorld {
 public:
  SessionWorld(const Network& network, std::filesystem::path folder, ChangePolicy policy = {},
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
        places_(PlacesOfCuts(state_)) {}

  // Makes a new link, with a new session behind it.
  void Connect(const std::string& shape = "", const WireVersions& speaks = kWire,
               std::optional<std::chrono::nanoseconds> death = {}) {
    robot_.reset();
    connection_.reset();
    LoopbackScript script = Shaped(shape);
    script.death = death;
    served_.emplace(store_, slow_work_, Session::Options{.solve = solve_, .speaks = server_speaks_},
                    script, server_nap_);
    robot_side_.emplace(channels().clock, robot_nap_);
    connection_ = std::make_unique<ServerConnection>(
        channels().robot, message::Hello{.speaks = speaks, .robot = "rover"}, pack_);
    MakeRobot();
  }

  // Replaces the robot on the same connection. The new one knows nothing of what the old one said.
  void MakeRobot() {
    robot_.reset();
    message::Settings settings;
    settings.shared.slice_codec = SliceCodec::kRaw;
    robot_ = std::make_unique<SplitRobot>(*connection_, state_, robot_side_->clock(), settings);
  }

  // Takes effect at the next Connect.
  void SlowDown(SlowSide::Nap robot, SlowSide::Nap server) {
    robot_nap_ = std::move(robot);
    server_nap_ = std::move(server);
  }

  // Takes effect at the next Connect, too.
  void SolveBy(Session::Solve solve) { solve_ = std::move(solve); }

  void SetServerSpeaks(const WireVersions& speaks) { server_speaks_ = speaks; }

  // Lets everything but the robot go on for a moment.
  void Turn() {
    served_->server_side.clock().EndWait();
    while (session().Advance() && others_time_ > std::chrono::nanoseconds(0)) {
      channels().RunFor(others_time_);
    }
    channels().RunFor(std::chrono::microseconds(100));
    robot_side_->clock().EndWait();
  }

  // Other robots take so long after each of the server's stages for this one.
  void SetOthersTime(std::chrono::nanoseconds time) { others_time_ = time; }
  void TakeTurns(int count) {
    for (int i = 0; i < count; ++i) Turn();
  }

  // Hears what the server says, but answers no frames, so often or until it is ready. Returns
  // whether it is.
  bool BecomesReady(int times) {
    for (int i = 0; i < times && !connection_->is_ready(); ++i) {
      TakeTurns(20);
      (void)connection_->Receive();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return connection_->is_ready();
  }

  // Answers frames until the server takes part or refuses. Returns how many it took.
  int AnswerUntilReady() {
    int frames = 0;
    while (connection_->fault().empty() && robot_->counts().together == 0) {
      Answer();
      ++frames;
      TakeTurns(20);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return frames;
  }

  void Answer(std::chrono::nanoseconds time = SplitRobot::kNever) { Answer(clip_.Next(), time); }
  void Answer(const FrameDecision& decision, std::chrono::nanoseconds time = SplitRobot::kNever) {
    const bool waits = time == SplitRobot::kNever || decision.kind == FrameDecision::Kind::kRefresh;
    if (Begin(decision, waits ? SplitRobot::kNever : now() + time)) {
      TakeSteps();
    } else {
      state_.Apply(decision, clip_.picture(), policy_);
    }
    if (policy_.threshold > 0.0f && !policy_.spreads && robot_->computed_all()) {
      policy_.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(state_));
    }
    if (policy_.kind == ChangePolicy::Kind::kExact) ExpectDenseAnswer();
  }

  void ExpectDenseAnswer() {
    EXPECT_EQ(FirstDifference(DenseOutputs(dense_, clip_.picture()), Outputs(state_)), "")
        << "frame " << clip_.decision().number;
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
        RowCompiler(*graph_, state_.layout()).Compile(cuts, robot_rows).transfers;
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

  bool Begin(const FrameDecision& decision,
             std::chrono::nanoseconds give_up_at = SplitRobot::kNever) {
    return robot_->Begin(decision, clip_.picture(), policy_, give_up_at);
  }
  // To the frame's end, while everything else goes on.
  void TakeSteps() {
    Progress progress = robot_->Step();
    for (; progress != Progress::kDone; progress = robot_->Step()) {
      if (progress == Progress::kStepped) continue;
      const bool may_come = progress == Progress::kWaits && now() < robot_->give_up_at();
      may_come ? Turn() : robot_->Abandon();
    }
  }

  std::chrono::nanoseconds now() const { return served_->channels.clock.Now(); }
  const Graph& graph() const { return *graph_; }
  const std::vector<int>& places() const { return places_; }
  const FrameDecision& decision() const { return clip_.decision(); }
  ModelState& state() { return state_; }
  SplitRobot& robot() { return *robot_; }
  ServerConnection& connection() { return *connection_; }
  Session& session() { return served_->session; }
  ChannelPair& channels() { return served_->channels; }
  ModelStore& store() { return store_; }
  SlowWork& slow_work() { return slow_work_; }
  const MappedFile& pack() const { return pack_; }

 private:
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const CompiledModel> model_;
  ChangePolicy policy_;
  ModelStore store_;
  SlowWork slow_work_;
  Clip clip_;
  ModelState dense_;
  ModelState state_;
  MappedFile pack_;
  SlowSide::Nap robot_nap_;
  SlowSide::Nap server_nap_;
  Session::Solve solve_;
  WireVersions server_speaks_ = kWire;
  std::chrono::nanoseconds others_time_{0};
  const std::vector<int> places_;
  std::optional<ServedChannels> served_;
  std::optional<SlowSide> robot_side_;
  std::unique_ptr<ServerConnection> connection_;
  std::unique_ptr<SplitRobot> robot_;
};

class SessionTest : public FolderTest {
 protected:
  static const Network& Yolo() { return TenNetworks().front(); }

  // A world whose server takes part in frames, or has refused to.
  template <typename... How>
  SessionWorld& Ready(const std::string& shape = "", How&&... how) {
    SessionWorld& world = world_.emplace(Yolo(), folder_, std::forward<How>(how)...);
    world.Connect(shape);
    world.AnswerUntilReady();
    return world;
  }

  std::optional<SessionWorld> world_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_SESSION_WORLD_H_
