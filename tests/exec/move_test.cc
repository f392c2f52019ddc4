#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/model_state.h"
#include "common/exec/spreads.h"
#include "tests/exec/failing_backend.h"
#include "tests/exec/on_changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Stored maps that move with the camera by interpolation (Eq. 6), fetched where they are needed.

namespace cacheinf {
namespace {

constexpr uint32_t kMovedGraphs = 40;

Homography Shifted(double rows, double columns) {
  Homography homography;
  homography.m[0][2] = columns;
  homography.m[1][2] = rows;
  return homography;
}

// Motions that a camera can make, and sometimes ones that none can.
Homography RandomMotion(std::mt19937& random) {
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  Homography homography = Shifted(3 * number(random), 3 * number(random));
  switch (random() % 4) {
    case 0:
      return Shifted(std::round(homography.m[1][2]), std::round(homography.m[0][2]));
    case 1:
      return homography;
    case 2:
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) homography.m[i][j] += 0.1 * number(random);
        homography.m[2][i] = 0.01 * number(random);
      }
      return homography;
    default:
      homography.m[2][0] = number(random);
      return homography;
  }
}

// Moves the maps and fills the places that they will be fetched into, which may hold anything.
void PoisonWhatHasMoved(ModelState& state, const Homography& motion) {
  std::map<ValueId, const float*> places;
  const auto for_each_kept = [&](const auto& visit) {
    for (const Operator& op : state.graph().operators) {
      for (const ValueId output : op.outputs) {
        if (state.is_kept(output)) visit(output);
      }
    }
  };
  for_each_kept([&](ValueId value) { places[value] = state.view(value).data; });
  InsideState::Move(state, motion);
  Outputs(state);  // waits for the device
  for_each_kept([&](ValueId value) {
    if (state.view(value).data != places[value]) Fill(state, value, kNan);
  });
}

class MoveTest : public OnChangingFrames {};

INSTANTIATE_TEST_SUITE_P(On, MoveTest, FewBackends(), BackendName);

// Maps that move as a whole before the frame give the same as maps fetched as the frame needs them,
// with or without idle time after it, whatever the policy, the motion and the kept values.
TEST_P(MoveTest, WhatIsFetchedWhenNeededIsWhatMovingEverythingFirstGives) {
  int moved = 0;
  ForEachGraph(kMovedGraphs, MostlyLocal, [&] {
    const StateOptions options = RandomOptions(/*moves=*/true);
    const auto whole_first = MakeState(options);
    const auto when_needed = MakeState(options);
    RunFirst(*whole_first);
    RunFirst(*when_needed);
    ChangePolicy policy = {.threshold = 0.3f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*whole_first));
    Mask strip(8, 8);
    SetRectangle({0, 3}, {2, 8}, strip);
    for (int frame = 0; frame < 6; ++frame) {
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      policy.kind = static_cast<ChangePolicy::Kind>(random_() % 3);
      policy.stem_depth = static_cast<int>(random_() % 3);
      const Homography motion = frame == 3 ? Homography() : RandomMotion(random_);
      const ConstMaskView refresh = random_() % 3 == 0 ? std::as_const(strip) : ConstMaskView();
      const ChangedMasks changed = NextInputs();
      PoisonWhatHasMoved(*whole_first, motion);
      PoisonWhatHasMoved(*when_needed, motion);
      moved += InsideState::Settle(*whole_first);
      const ChangedWork expected = RunChanged(*whole_first, changed, policy, refresh);
      const ChangedWork work = RunChanged(*when_needed, changed, policy, refresh);
      EXPECT_EQ(work.done, expected.done);
      ExpectSameOutputs(*whole_first, *when_needed);
      if (frame % 2 == 0) continue;
      InsideState::Settle(*when_needed);
      ExpectSameKept(*whole_first, *when_needed);
    }
  });
  EXPECT_GT(moved, 2 * graphs_) << "too little moved";
}

TEST_P(MoveTest, AStillCameraIsAsIfNothingCouldMove) {
  ForEachGraph(kMovedGraphs, MostlyLocal, [&] {
    const auto state = MakeState(RandomOptions(/*moves=*/true));
    RunFirst(*state);
    for (int frame = 0; frame < 3; ++frame) {
      const ChangedMasks changed = NextInputs();
      InsideState::Move(*state, {});
      RunChanged(*state, changed, {});
      EXPECT_FALSE(InsideState::Settle(*state)) << "nothing was left to do";
      ExpectDenseBits(*state);
    }
  });
}

// A whole run, a refresh of everything, and the frame after one that was given up and left maps
// half moved.
TEST_P(MoveTest, WhatIsComputedAfreshHasTheBitsOfADenseRunWhateverTheCameraDid) {
  int abandoned = 0;
  ForEachGraph(kMovedGraphs, MostlyLocal, [&] {
    auto backend = std::make_unique<FailingBackend>(MakeBackend());
    FailingBackend& failing = *backend;
    const auto state =
        cacheinf::MakeState(graph_, std::move(backend), RandomOptions(/*moves=*/true));
    RunFirst(*state);
    Mask all(2, 2);
    SetAll(all);
    for (int frame = 0; frame < 9; ++frame) {
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      const ChangedMasks changed = NextInputs();
      PoisonWhatHasMoved(*state, RandomMotion(random_));
      if (frame % 3 == 0) {
        RunFirst(*state);
      } else if (frame % 3 == 1) {
        const auto kind = frame % 2 == 0 ? ChangePolicy::Kind::kExact : ChangePolicy::Kind::kFixed;
        RunChanged(*state, changed, {.kind = kind}, std::as_const(all));
      } else {
        bool was_given_up = false;
        failing.FailAfter(static_cast<int>(random_() % 4));
        try {
          RunChanged(*state, changed, {});
        } catch (const std::runtime_error&) {
          was_given_up = true;
        }
        failing.FailAfter(-1);
        if (!was_given_up) continue;
        ++abandoned;
        const ChangedMasks next = NextInputs();
        if (random_() % 2 == 0) InsideState::Move(*state, RandomMotion(random_));
        RunChanged(*state, next, {});
      }
      InsideState::Settle(*state);
      ExpectDenseBits(*state);
    }
  });
  EXPECT_GT(abandoned, graphs_) << "too few frames failed to test anything";
}

// Counts fetched pixels by the map's address.
class CountingBackend : public FailingBackend {
 public:
  using FailingBackend::FailingBackend;

  void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted, PixelSet out_of_view) override {
    if (args.to.batch == 0) return FailingBackend::Warp(args, sets, wanted, out_of_view);
    const PixelSet outside = sets.Make(args.to.height, args.to.width);
    FailingBackend::Warp(args, sets, wanted, outside);
    sets.Remove(outside, wanted);
    Mask fetched(args.to.height, args.to.width);
    sets.Read(wanted, fetched);
    fetched_[args.to.data] += CountActive(std::as_const(fetched));
  }

  // Pixels fetched into a map since the last call.
  int64_t Fetched(const TensorView& map) { return std::exchange(fetched_[map.data], 0); }

 private:
  std::map<const float*, int64_t> fetched_;
};

// Two convolutions; only the right column comes in.
class FetchedPixelsTest : public testing::Test {
 protected:
  static constexpr int kSize = 16;

  FetchedPixelsTest() {
    std::mt19937 random(1);
    const ValueId input = graph_.AddInput("input", {1, 2, kSize, kSize});
    first_ = AddConv(graph_, "first", input, 2, 3, random, 0.5f);
    second_ = AddConv(graph_, "second", first_, 2, 3, random, 0.5f);
    graph_.outputs = {second_};
    auto backend = std::make_unique<CountingBackend>(std::make_unique<ReferenceBackend>());
    backend_ = backend.get();
    state_ = MakeState(graph_, std::move(backend), {{}, Keep::kAll, true});
    inputs_ = RandomInputs(graph_, 1);
    SetInputs(*state_, inputs_);
    state_->Run();
  }

  int64_t Fetched(ValueId value) { return backend_->Fetched(state_->view(value)); }

  void RunUnchanged(const ChangePolicy& policy) {
    const ChangedMasks none(inputs_, inputs_);
    InsideState::RunChanged(*state_, none.views(), policy);
  }

  Graph graph_;
  ValueId first_ = kNone;
  ValueId second_ = kNone;
  std::vector<Tensor> inputs_;
  CountingBackend* backend_ = nullptr;
  std::unique_ptr<ModelState> state_;
};

TEST_F(FetchedPixelsTest, OnlyWhatIsReadAndComparedIsFetchedBeforeTheAnswerAndTheRestAfterIt) {
  InsideState::Move(*state_, Shifted(0, 1));
  RunUnchanged({});
  // The last column of the first map is computed. It changes the last two of the second map, which
  // read the last three. The last but one has old values to compare with. All of the second map is
  // an output.
  EXPECT_EQ(Fetched(first_), 2 * kSize);
  EXPECT_EQ(Fetched(second_), (kSize - 1) * kSize);
  EXPECT_TRUE(InsideState::Settle(*state_));
  EXPECT_EQ(Fetched(first_), (kSize - 3) * kSize);
  EXPECT_EQ(Fetched(second_), 0);
  EXPECT_FALSE(InsideState::Settle(*state_));
}

TEST_F(FetchedPixelsTest, AStillCameraFetchesNothing) {
  InsideState::Move(*state_, {});
  RunUnchanged({});
  EXPECT_FALSE(InsideState::Settle(*state_));
  EXPECT_EQ(Fetched(first_) + Fetched(second_), 0);
  // A camera that has come to rest fetches nothing, either.
  InsideState::Move(*state_, Shifted(1, 0));
  RunUnchanged({});
  InsideState::Settle(*state_);
  EXPECT_GT(Fetched(first_), 0);
  EXPECT_GT(Fetched(second_), 0);
  RunUnchanged({});
  EXPECT_FALSE(InsideState::Settle(*state_));
  EXPECT_EQ(Fetched(first_) + Fetched(second_), 0);
}

TEST_F(FetchedPixelsTest, MapsAreHeldTwice) {
  const MemoryReport once = MakeReferenceState(graph_, {{}, Keep::kAll})->memory();
  constexpr size_t kBytesOfMaps = 2 * sizeof(float) * 2 * kSize * kSize;
  EXPECT_EQ(state_->memory().arena_bytes, once.arena_bytes + kBytesOfMaps);
  EXPECT_EQ(state_->memory().persistent_bytes, once.persistent_bytes + kBytesOfMaps);
}

// The picture moves by whole strides and the classes of pixels with it: no class lies between two.
TEST(MoveClassesTest, ClassesAreNotInterpolated) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 3, 8, 8});
  op::ArgMax classes;
  classes.axis = 1;
  graph.outputs = {graph.AddOne("classes", classes, {input})};
  const auto state = MakeReferenceState(graph, {{}, Keep::kAll, true});
  const std::vector<Tensor> inputs = RandomInputs(graph, 7);
  SetInputs(*state, inputs);
  state->Run();
  InsideState::Move(*state, Shifted(0.4, 0.3));
  const ChangedMasks none(inputs, inputs);
  InsideState::RunChanged(*state, none.views(), {});
  EXPECT_EQ(FirstDifference(EvaluateDirectly(graph, inputs)[graph.outputs[0]], Outputs(*state)[0]),
            "");
}

TEST(MoveOptionsTest, WhatCannotMoveSaysSo) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 1, 4, 4});
  graph.outputs = {graph.AddOne("end", op::Activation{}, {input})};
  const auto state = MakeReferenceState(graph, {{}, Keep::kAll});
  EXPECT_THROW(InsideState::Move(*state, Shifted(1, 0)), std::logic_error);
  EXPECT_FALSE(InsideState::Settle(*state));
  EXPECT_THROW(MakeReferenceState(graph, {{}, Keep::kListed, true}), std::invalid_argument);
  const bool trades = true;
  EXPECT_THROW(MakeReferenceState(graph, {{}, Keep::kAll, true, trades}), std::invalid_argument);
  EXPECT_THROW(MakeReferenceState(graph, {{}, Keep::kListed, false, trades}),
               std::invalid_argument);
}

}  // namespace
}  // namespace cacheinf
