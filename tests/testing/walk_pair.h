#ifndef CACHEINF_TESTS_TESTING_WALK_PAIR_H_
#define CACHEINF_TESTS_TESTING_WALK_PAIR_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/scroll.h"
#include "common/exec/spreads.h"
#include "common/model/graph/geometry.h"
#include "common/pair/split_walk.h"
#include "common/plan/split.h"
#include "tests/testing/clip.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/networks.h"
#include "tests/testing/outputs.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {

inline std::shared_ptr<const CompiledModel> ModelOf(
    const Network& network, std::unique_ptr<Backend> backend = std::make_unique<CpuBackend>()) {
  return std::make_shared<const CompiledModel>(MakeNetwork(network, kHeight, kWidth),
                                               std::move(backend));
}

// A robot and a server that share a clip's frames, with nothing between them but the slices, and a
// state that computes each frame densely.
class WalkPair {
 public:
  using Model = std::shared_ptr<const CompiledModel>;

  // The dense runs are those of `dense`.
  WalkPair(const Model& robot, Model server, const Model& dense, StateOptions options,
           ChangePolicy policy)
      : server_model_(std::move(server)),
        options_(Trading(std::move(options))),
        policy_(std::move(policy)),
        clip_(kHeight, kWidth, ShiftStep(robot->graph(), kHeight / 2), 7),
        dense_(dense, {{}, Keep::kAll}),
        robot_(robot, options_),
        robot_walk_(Side::kRobot, robot_, SendInto(to_server_)) {
    ReplaceServer();
  }
  explicit WalkPair(const Network& network, StateOptions options = {{}, Keep::kAll},
                    ChangePolicy policy = {})
      : WalkPair(ModelOf(network), std::move(options), std::move(policy)) {}

  const Graph& graph() const { return robot_.graph(); }
  ModelState& robot() { return robot_; }
  ModelState& server() { return *server_; }
  const ModelState& dense() const { return dense_; }
  std::mt19937& random() { return random_; }
  Clip& clip() { return clip_; }
  const ChangePolicy& policy() const { return policy_; }
  const FrameDecision& decision() const { return decision_; }
  // What crossed since the beginning.
  size_t slices() const { return slices_; }
  size_t bytes() const { return bytes_; }
  // The work of the last frame that both executed.
  int64_t done() const { return robot_walk_.work().done + server_walk_->work().done; }
  bool is_whole() const { return decision_.kind == FrameDecision::Kind::kWhole; }

  // So many more slices leave the robot; the next one throws.
  void FailAfter(size_t slices) { robot_fails_after_ = slices; }

  // Replaces the server by one that has seen nothing yet.
  void ReplaceServer() {
    server_ = std::make_unique<ModelState>(server_model_, options_);
    Fill(*server_, graph().inputs[0], std::nanf(""));
    server_walk_ = std::make_unique<SplitWalk>(Side::kServer, *server_, SendInto(to_robot_));
    robot_.LosePeer();
    to_server_.clear();
    to_robot_.clear();
  }

  // The robot's first frame, alone. `spreads` are measured on it.
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
    Decide(decision, RobotRowsOf(cuts, decision.changed));
    if (is_shared) return Share(cuts, turns, /*by_chance=*/true);
    server_walk_->Follow(decision_, cuts, policy_);
    ComputeAlone();
  }

  // On both sides, which take turns, with the robot owning the rows above these.
  void FrameOfRows(const FrameDecision& decision, const std::vector<Cut>& cuts,
                   std::vector<int> robot_rows) {
    Decide(decision, std::move(robot_rows));
    Share(cuts, SIZE_MAX, /*by_chance=*/false);
  }

  // What the last frame's slices and rows were.
  SplitRows RowsOf(const std::vector<Cut>& cuts) const {
    return RowCompiler(graph(), robot_.layout()).Compile(cuts, decision_.robot_rows);
  }

  void ExpectDenseAnswer() {
    ASSERT_EQ(FirstDifference(DenseOutputs(dense_, clip_.picture()), Outputs(robot_)), "");
  }

  // Expects a dense run's bits in the kept rows that a side computed or received in the last frame.
  // REQUIRES: ExpectDenseAnswer.
  void ExpectDenseBitsWhereHeld(const ModelState& side) const {
    for (const Operator& op : graph().operators) {
      for (const ValueId id : op.outputs) {
        if (!side.is_kept(id)) continue;
        const Value& value = graph().value(id);
        const size_t width = value.is_map() ? static_cast<size_t>(WidthOf(value)) : 1;
        const size_t height = value.is_map() ? static_cast<size_t>(HeightOf(value)) : 1;
        const auto expected = Numbers(dense_, id);
        const auto actual = Numbers(side, id);
        for (size_t i = 0; i < expected.size(); ++i) {
          const int row = static_cast<int>(i / width % height);
          if (!InsideState::Holds(side, id, row)) continue;
          ASSERT_TRUE(SameBits(expected[i], actual[i]))
              << (&side == &robot_ ? "robot" : "server") << ", " << KindName(op) << " '"
              << value.name << "', row " << row << ", number " << i;
        }
      }
    }
  }

 private:
  using Pipe = std::deque<std::pair<uint32_t, std::vector<uint8_t>>>;

  WalkPair(const Model& model, StateOptions options, ChangePolicy policy)
      : WalkPair(model, model, model, std::move(options), std::move(policy)) {}

  static StateOptions Trading(StateOptions options) {
    options.trades = true;
    return options;
  }

  SplitWalk::Send SendInto(Pipe& pipe) {
    return [this, &pipe](uint32_t transfer, std::vector<uint8_t> slice) {
      if (&pipe == &to_server_ && robot_fails_after_-- == 0) throw std::runtime_error("no room");
      ++slices_;
      bytes_ += slice.size();
      pipe.emplace_back(transfer, std::move(slice));
    };
  }

  void ComputeAlone() { robot_.Apply(decision_, clip_.picture(), policy_); }

  void Decide(const FrameDecision& decision, std::vector<int> robot_rows) {
    decision_ = decision;
    decision_.robot_rows = std::move(robot_rows);
    server_robot_has_ ? server_->ConfirmSent() : server_->ForgetSent();
    server_robot_has_ = false;
  }

  void Share(const std::vector<Cut>& cuts, size_t turns, bool by_chance) {
    robot_walk_.Begin(decision_, cuts, policy_, clip_.picture());
    server_walk_->Begin(decision_, cuts, policy_);
    Walk(turns, by_chance);
    robot_.ConfirmSent();
  }

  // Until both sides are done.
  void Walk(size_t turns, bool by_chance) {
    bool robot_gave_up = false;
    uint32_t next = 0;
    while (robot_walk_.is_open() || server_walk_->is_open()) {
      if (robot_walk_.is_open() && turns-- == 0) {
        robot_gave_up = true;
        robot_walk_.GoOnAlone();
      }
      switch ((by_chance ? static_cast<uint32_t>(random_()) : next++) % 4) {
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

  Model server_model_;
  StateOptions options_;
  ChangePolicy policy_;
  Clip clip_;
  FrameDecision decision_;
  ModelState dense_;
  ModelState robot_;
  std::unique_ptr<ModelState> server_;
  Pipe to_server_;
  Pipe to_robot_;
  SplitWalk robot_walk_;
  std::unique_ptr<SplitWalk> server_walk_;
  bool server_robot_has_ = false;  // what the server sent last
  size_t slices_ = 0;
  size_t bytes_ = 0;
  size_t robot_fails_after_ = SIZE_MAX;
  std::mt19937 random_{3};
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_WALK_PAIR_H_
