// Read this first: robot and server walk the same frames, each over its own rows, and trade slices.
// Whoever is faster and whatever is late, the answer has the bits of a robot that runs alone.

#include "common/pair/split_walk.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/exec/cpu_backend.h"
#include "common/exec/cuda_backend.h"
#include "common/exec/spreads.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "tests/pair/clip.h"
#include "tests/pair/cuts.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

using Progress = SplitWalk::Progress;

class WalkPair {
 public:
  explicit WalkPair(const Network& network, StateOptions options = {{}, Keep::kAll},
                    ChangePolicy policy = {},
                    std::unique_ptr<Backend> backend = std::make_unique<CpuBackend>())
      : model_(std::make_shared<const CompiledModel>(MakeNetwork(network, kHeight, kWidth),
                                                     std::move(backend))),
        options_(Trading(std::move(options))),
        policy_(std::move(policy)),
        clip_(kHeight, kWidth, ShiftStep(model_->graph(), kHeight / 2), 7),
        alone_(std::make_shared<const CompiledModel>(MakeNetwork(network, kHeight, kWidth),
                                                     std::make_unique<CpuBackend>())),
        robot_(model_, options_),
        robot_walk_(Side::kRobot, robot_, SendInto(to_server_)) {
    ReplaceServer();
  }

  const Graph& graph() const { return model_->graph(); }
  ModelState& robot() { return robot_; }
  ModelState& server() { return *server_; }
  std::mt19937& random() { return random_; }
  Clip& clip() { return clip_; }
  size_t slices() const { return slices_; }
  bool is_whole() const { return decision_.kind == FrameDecision::Kind::kWhole; }

  // So many more slices leave the robot; the next one throws.
  void FailAfter(size_t slices) { robot_fails_after_ = slices; }

  // One that has seen nothing yet.
  void ReplaceServer() {
    server_ = std::make_unique<ModelState>(model_, options_);
    Fill(*server_, graph().inputs[0], std::nanf(""));
    server_walk_ = std::make_unique<SplitWalk>(Side::kServer, *server_, SendInto(to_robot_));
    robot_.LosePeer();
    to_server_.clear();
    to_robot_.clear();
  }

  // The robot's first frames, alone. `spreads` are measured on the first.
  void Begin() {
    decision_ = clip_.Next();
    ComputeAlone();
    if (policy_.threshold > 0.0f) {
      policy_.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(robot_));
    }
  }

  // The next frame; on both sides unless `is_shared`. The robot gives it up after so many turns.
  void Frame(const std::vector<Cut>& cuts, bool is_shared = true, size_t turns = SIZE_MAX) {
    Frame(clip_.Next(), cuts, is_shared, turns);
  }
  void Frame(const FrameDecision& decision, const std::vector<Cut>& cuts, bool is_shared = true,
             size_t turns = SIZE_MAX) {
    decision_ = decision;
    decision_.robot_rows = RobotRowsOf(cuts, std::as_const(decision_.changed));
    server_robot_has_ ? server_->ConfirmSent() : server_->ForgetSent();
    server_robot_has_ = false;
    if (!is_shared) {
      server_walk_->Follow(decision_, cuts, policy_);
      return ComputeAlone();
    }
    robot_walk_.Begin(decision_, cuts, policy_, clip_.picture());
    server_walk_->Begin(decision_, cuts, policy_);
    Walk(turns);
    robot_.ConfirmSent();
  }

  void ExpectDenseAnswer() {
    alone_.SetPicture(clip_.picture());
    alone_.Run();
    const auto expected = Outputs(alone_);
    const auto actual = Outputs(robot_);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(FirstDifference(expected[i], actual[i]), "") << "output " << i;
    }
  }

 private:
  using Pipe = std::deque<std::pair<uint32_t, std::vector<uint8_t>>>;

  static StateOptions Trading(StateOptions options) {
    options.trades = true;
    return options;
  }

  SplitWalk::Send SendInto(Pipe& pipe) {
    return [this, &pipe](uint32_t transfer, std::vector<uint8_t> slice) {
      if (&pipe == &to_server_ && robot_fails_after_-- == 0) throw std::runtime_error("no room");
      ++slices_;
      pipe.emplace_back(transfer, std::move(slice));
    };
  }

  void ComputeAlone() { robot_.Apply(decision_, clip_.picture(), policy_); }

  // Takes turns at random until both sides are done.
  void Walk(size_t turns) {
    bool robot_gave_up = false;
    while (robot_walk_.is_open() || server_walk_->is_open()) {
      if (robot_walk_.is_open() && turns-- == 0) {
        robot_gave_up = true;
        robot_walk_.FinishAlone();
      }
      switch (random_() % 4) {
        case 0:
          Deliver(to_server_, *server_walk_);
          break;
        case 1:
          if (!robot_gave_up) Deliver(to_robot_, robot_walk_);
          break;
        case 2:
          ASSERT_NO_FATAL_FAILURE(Step(robot_walk_));
          break;
        default:
          ASSERT_NO_FATAL_FAILURE(Step(*server_walk_));
      }
    }
    server_robot_has_ = !robot_gave_up;
    EXPECT_TRUE(to_server_.empty());
    to_robot_.clear();
  }

  // Where no stage can run beside a slice, it has left already.
  void Step(SplitWalk& walk) {
    if (!walk.is_open()) return;
    const size_t sent = slices_;
    const Progress progress = walk.Step();
    ASSERT_NE(progress, Progress::kRefused);
    if (progress == Progress::kStepped) return;
    ASSERT_EQ(slices_, sent);
  }

  static void Deliver(Pipe& pipe, SplitWalk& walk) {
    if (pipe.empty()) return;
    EXPECT_TRUE(walk.Take(pipe.front().first, std::move(pipe.front().second)));
    pipe.pop_front();
  }

  std::shared_ptr<const CompiledModel> model_;
  StateOptions options_;
  ChangePolicy policy_;
  Clip clip_;
  FrameDecision decision_;
  ModelState alone_;
  ModelState robot_;
  std::unique_ptr<ModelState> server_;
  Pipe to_server_;
  Pipe to_robot_;
  SplitWalk robot_walk_;
  std::unique_ptr<SplitWalk> server_walk_;
  bool server_robot_has_ = false;  // what the server sent last
  size_t slices_ = 0;
  size_t robot_fails_after_ = SIZE_MAX;
  std::mt19937 random_{3};
};

class SplitWalks : public testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(Of, SplitWalks, testing::ValuesIn(TenNetworks()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(SplitWalks, WhateverIsCutLateOrLostTheAnswerHasTheBitsOfADenseRun) {
  for (const bool keeps_all : {true, false}) {
    StateOptions options = {{}, Keep::kAll};
    if (!keeps_all) {
      options.keep = Keep::kChosen;
      const auto graph = MakeNetwork(GetParam(), kHeight, kWidth);
      for (size_t id = 0; id < graph->operators.size(); id += 2) {
        options.persistent.push_back(graph->operators[id].outputs[0]);
      }
    }
    WalkPair pair(GetParam(), options);
    pair.Begin();
    const std::vector<int> places = PlacesOfCuts(pair.robot());
    std::vector<Cut> cuts;
    for (int i = 0; i < 100; ++i) {
      SCOPED_TRACE(testing::Message() << (keeps_all ? "all kept" : "some kept") << ", frame " << i);
      std::mt19937& random = pair.random();
      if (random() % 20 == 0) pair.ReplaceServer();
      if (random() % 2 == 0) cuts = RandomCuts(places, random);
      const bool gives_up = random() % 4 == 0;
      pair.Frame(cuts, random() % 6 != 0, gives_up ? random() % 100 : SIZE_MAX);
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    EXPECT_GT(pair.slices(), 50u);
  }
}

// Both sides' slices are copied beside both sides' kernels.
TEST_P(SplitWalks, OnADeviceTheAnswerHasTheBitsOfADenseRun) {
  const unsigned seed = 5;
  WalkPair pair(GetParam(), {{}, Keep::kAll}, {}, MakeEmulatedCudaBackend(seed));
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    std::mt19937& random = pair.random();
    pair.Frame(RandomCuts(places, random), true, i == 3 ? random() % 20 : SIZE_MAX);
    ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
  }
  EXPECT_GT(pair.slices(), 6u);
}

// The server's frame stays open, so another server takes over.
TEST_P(SplitWalks, AfterASliceThatCouldNotLeaveTheAnswerHasTheBitsOfADenseRun) {
  for (const bool is_on_device : {false, true}) {
    int faults = 0;
    for (size_t i = 0; i < 6; ++i) {
      SCOPED_TRACE(testing::Message() << (is_on_device ? "device" : "CPU") << ", fault " << i);
      std::unique_ptr<Backend> backend = std::make_unique<CpuBackend>();
      if (is_on_device) backend = MakeEmulatedCudaBackend(5);
      WalkPair pair(GetParam(), {{}, Keep::kAll}, {}, std::move(backend));
      pair.random().seed(static_cast<unsigned>(i));
      pair.Begin();
      const std::vector<int> places = PlacesOfCuts(pair.robot());
      pair.FailAfter(i % 4);
      try {
        pair.Frame(pair.clip().Change(24, 24), RandomCuts(places, pair.random()), true,
                   i % 3 == 0 ? i : SIZE_MAX);
      } catch (const std::runtime_error&) {
        ++faults;
      }
      pair.FailAfter(SIZE_MAX);
      pair.ReplaceServer();
      pair.Frame(pair.clip().Change(0, 0), RandomCuts(places, pair.random()));
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    EXPECT_GT(faults, 0);
  }
}

// The robot computes all rows up to the cut, so that it waits for nobody there.
TEST(SplitWalkTest, TheNextStageIsOnTheDeviceBeforeTheHostWaitsForASlice) {
  const auto device = std::make_shared<cuda::EmulatedDevice>();
  const auto model = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks()[1], kHeight, kWidth), MakeEmulatedCudaBackend(device));
  ModelState robot(model, {{}, Keep::kAll, false, true});
  const auto asked = [&] { return device->counts().launches + device->counts().replays; };
  int before_frame = 0;
  int before_step = 0;
  int in_earlier_steps = -1;  // when the first slice was sent
  int in_this_step = -1;
  SplitWalk walk(Side::kRobot, robot, [&](uint32_t, const std::vector<uint8_t>&) {
    if (in_this_step >= 0) return;
    in_earlier_steps = before_step - before_frame;
    in_this_step = asked() - before_step;
  });
  Clip clip(kHeight, kWidth, ShiftStep(model->graph(), kHeight / 2), 7);
  const std::vector<Cut> cuts = {{2, 500}};
  FrameDecision decision = clip.Next();
  decision.robot_rows = RobotRowsOf(cuts, std::as_const(decision.changed));
  walk.Begin(decision, cuts, {}, clip.picture());
  before_frame = asked();
  do {
    before_step = asked();
  } while (walk.Step() == Progress::kStepped);
  EXPECT_GT(in_earlier_steps, 0) << "the slice is packed";
  EXPECT_GT(in_this_step, 0) << "and then the next stage is begun";
}

TEST(SplitWalkTest, ASliceLeavesOnceThoughSendingItThrows) {
  const auto model = std::make_shared<const CompiledModel>(
      MakeNetwork(TenNetworks()[1], kHeight, kWidth), MakeEmulatedCudaBackend(1));
  ModelState robot(model, {{}, Keep::kAll, false, true});
  int sent = 0;
  SplitWalk walk(Side::kRobot, robot, [&](uint32_t, const std::vector<uint8_t>&) {
    ++sent;
    throw std::runtime_error("no room");
  });
  Clip clip(kHeight, kWidth, ShiftStep(model->graph(), kHeight / 2), 7);
  const std::vector<Cut> cuts = {{2, 500}};
  FrameDecision decision = clip.Next();
  decision.robot_rows = RobotRowsOf(cuts, std::as_const(decision.changed));
  walk.Begin(decision, cuts, {}, clip.picture());
  const auto step_all = [&] {
    while (walk.Step() == Progress::kStepped) continue;
  };
  EXPECT_THROW(step_all(), std::runtime_error);
  walk.Abandon();
  EXPECT_EQ(sent, 1);
}

TEST_P(SplitWalks, UnderChangeBothSidesKeepThePromise) {
  WalkPair pair(GetParam(), {{}, Keep::kAll},
                {.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f});
  pair.Begin();
  const std::vector<int> places = PlacesOfCuts(pair.robot());
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    std::mt19937& random = pair.random();
    const bool gives_up = random() % 4 == 0;
    const bool is_shared = random() % 6 != 0;
    pair.Frame(RandomCuts(places, random), is_shared, gives_up ? random() % 100 : SIZE_MAX);
    if (pair.is_whole()) {
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    for (ModelState* side : {&pair.robot(), &pair.server()}) {
      if (!is_shared && side == &pair.server()) continue;
      EXPECT_FALSE(InsideState::CheckStored(*side, 100, static_cast<uint32_t>(i)))
          << (side == &pair.robot() ? "robot" : "server");
    }
  }
}

// What a robot does not call a change its server does not hear of, until it is refreshed.
TEST_P(SplitWalks, ARefreshReachesTheServersPicture) {
  for (const ChangePolicy& policy :
       {ChangePolicy{.kind = ChangePolicy::Kind::kChange, .threshold = 0.3f},
        ChangePolicy{.kind = ChangePolicy::Kind::kFixed}}) {
    WalkPair pair(GetParam(), {{}, Keep::kAll}, policy);
    pair.Begin();
    for (const int thousandths : {0, 500}) {
      const std::vector<Cut> cuts = {{-1, thousandths}};
      for (int i = 0; i < 3; ++i) pair.Frame(cuts);
      pair.Frame(pair.clip().Drift(), cuts);
      pair.Frame(pair.clip().RefreshAll(), cuts);
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
  }
}

}  // namespace
}  // namespace cacheinf
