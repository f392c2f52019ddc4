#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "common/backend/device/cuda_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/exec/spreads.h"
#include "common/plan/split.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "tests/model/model_builder.h"
#include "tests/testing/clip.h"
#include "tests/testing/networks.h"
#include "tests/testing/run_graph.h"
#include "tests/testing/walk_pair.h"

// What the host asks of a GPU for a frame, counted on its stand-in.

namespace cacheinf {
namespace cuda {

using Counts = EmulatedDevice::Counts;

Counts operator-(const Counts& a, const Counts& b) {
  return {a.allocations - b.allocations,
          a.synchronizations - b.synchronizations,
          a.launches - b.launches,
          a.graphs - b.graphs,
          a.replays - b.replays,
          a.kernels - b.kernels,
          a.blocks - b.blocks};
}
void PrintTo(const Counts& counts, std::ostream* stream) {
  *stream << counts.allocations << " allocations, " << counts.synchronizations << " waits, "
          << counts.launches << " launches, " << counts.graphs << " graphs, " << counts.replays
          << " replays, " << counts.kernels << " kernels, " << counts.blocks << " blocks";
}

}  // namespace cuda

namespace {

class DeviceFramesTest : public testing::Test {
 protected:
  using Counts = cuda::EmulatedDevice::Counts;
  using Kind = ChangePolicy::Kind;

  void SetUp() override {
#ifndef NDEBUG
    GTEST_SKIP() << "debug builds look at stored values in between";
#endif
  }

  std::shared_ptr<const CompiledModel> ModelOnDevice() {
    return ModelOf(TenNetworks()[1], MakeEmulatedCudaBackend(device_));
  }

  Counts CountsOf(ModelState& state, const FrameDecision& decision, const ChangePolicy& policy) {
    const Counts before = device_->counts();
    state.Apply(decision, clip_.picture(), policy);
    outputs_ = Outputs(state);
    return device_->counts() - before;
  }

  void MoveRows(const ChangePolicy& policy, int first, int second);

  std::shared_ptr<cuda::EmulatedDevice> device_ = std::make_shared<cuda::EmulatedDevice>();
  Clip clip_{kHeight, kWidth, 0, 7};
  std::vector<std::vector<float>> outputs_;  // of the last frame
};

// The launch beside the graph lays the answer, a map, out as it is read.
TEST_F(DeviceFramesTest, AfterTheFirstAFrameIsOneGraphAndTheHostWaitsOnce) {
  ModelState state(ModelOnDevice(), {{}, Keep::kAll});
  const auto expect_little = [](const Counts& counts) {
    EXPECT_EQ(counts.allocations, 0) << testing::PrintToString(counts);
    EXPECT_EQ(counts.synchronizations, 1) << testing::PrintToString(counts);
    EXPECT_EQ(counts.graphs, 0) << testing::PrintToString(counts);
    EXPECT_EQ(counts.replays, 1) << testing::PrintToString(counts);
    EXPECT_EQ(counts.launches, 1) << testing::PrintToString(counts);
  };
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(testing::Message() << "dense, frame " << i);
    const Counts counts = CountsOf(state, clip_.Whole(), {});
    if (i > 0) expect_little(counts);
  }
  ChangePolicy policy = {.threshold = 0.05f};
  policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(state));
  for (const Kind kind : {Kind::kExact, Kind::kChange, Kind::kFixed}) {
    policy.kind = kind;
    for (int i = 0; i < 5; ++i) {
      SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(kind) << ", frame " << i);
      const Counts counts = CountsOf(state, clip_.ChangeSquare(8), policy);
      if (i > 0) expect_little(counts);
    }
  }
}

// Spreads are measured again now and then, and may lie where others lay.
TEST_F(DeviceFramesTest, UnderNewSpreadsTheOutputIsTheFramesOwn) {
  ModelBuilder net;
  const ValueId x = net.Input({1, 3, kHeight, kWidth}, "picture");
  const ValueId map = net.Conv(x, 8, 1);
  const auto graph = std::make_shared<const Graph>(net.Finish({net.Conv(map, 4, 1)}));
  const auto state_by = [&](std::unique_ptr<Backend> backend) {
    return std::make_unique<ModelState>(
        std::make_shared<const CompiledModel>(graph, std::move(backend)),
        StateOptions{{}, Keep::kAll});
  };
  const auto on_device = state_by(MakeEmulatedCudaBackend(device_));
  const auto on_cpu = state_by(std::make_unique<CpuBackend>());
  const auto answer = [&](const FrameDecision& decision, const ChangePolicy& policy) {
    on_cpu->Apply(decision, clip_.picture(), policy);
    CountsOf(*on_device, decision, policy);
    EXPECT_EQ(FirstDifference(Outputs(*on_cpu).front(), outputs_.front()), "");
  };
  answer(clip_.Whole(), {});
  const auto spreads = std::make_shared<InverseSpreads>(MeasureSpreads(*on_cpu));
  const ChangePolicy policy = {.kind = Kind::kChange, .threshold = 0.05f, .spreads = spreads};
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    for (int i = 0; i < 3; ++i) answer(clip_.ChangeSquare(8), policy);
    for (std::vector<float>& of_map : *spreads) {
      for (float& spread : of_map) spread *= 2;
    }
  }
}

// A convolution of up to 64 channels tests for changes itself.
TEST_F(DeviceFramesTest, AConvolutionIsAKernelForItsSetsAndOneForItself) {
  const auto kernels = [&](int channels, int convolutions, const ChangePolicy& policy) {
    ModelBuilder net;
    ValueId x = net.Input({1, 3, kHeight, kWidth}, "picture");
    for (int i = 0; i < convolutions; ++i) x = net.Conv(x, channels, 1);
    ModelState state(
        std::make_shared<const CompiledModel>(std::make_shared<const Graph>(net.Finish({x})),
                                              MakeEmulatedCudaBackend(device_)),
        {{}, Keep::kAll});
    CountsOf(state, clip_.Whole(), {});
    ChangePolicy with_spreads = policy;
    if (policy.threshold > 0) {
      with_spreads.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(state));
    }
    return CountsOf(state, clip_.ChangeSquare(8), with_spreads).kernels;
  };
  for (const ChangePolicy& policy :
       {ChangePolicy(), ChangePolicy{.kind = Kind::kChange, .threshold = 0.05f}}) {
    SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(policy.kind));
    EXPECT_EQ(kernels(64, 3, policy) - kernels(64, 2, policy), 2);
    EXPECT_EQ(kernels(65, 3, policy) - kernels(65, 2, policy), 3);
  }
}

// With so many channels a large tile has 128 pixels, a small one 16.
TEST_F(DeviceFramesTest, AConvolutionTakesTheTilesThatWereMeasured) {
  const auto blocks = [&](int small_tiles_up_to, int rows) {
    ModelBuilder net;
    const ValueId x = net.Input({1, 3, kHeight, kWidth}, "picture");
    Graph graph = net.Finish({net.Conv(x, 64, 1)});
    graph.operators[0].As<op::Conv>()->small_tiles_up_to = small_tiles_up_to;
    const auto state = MakeState(graph, MakeEmulatedCudaBackend(device_));
    Outputs(*state);
    const Counts before = device_->counts();
    state->Run({{0, rows}});
    Outputs(*state);
    return (device_->counts() - before).blocks;
  };
  static_assert(kWidth == 32);
  EXPECT_EQ(blocks(0, 2), 1);
  EXPECT_EQ(blocks(64, 2), 4);
  EXPECT_EQ(blocks(63, 2), 4) << "room for what is on the device's list";
  EXPECT_EQ(blocks(64, 32), 8);
  EXPECT_EQ(blocks(1024, 32), 64);
}

TEST_F(DeviceFramesTest, AGraphIsMadeOnceForEachPolicy) {
  ModelState state(ModelOnDevice(), {{}, Keep::kAll});
  CountsOf(state, clip_.Whole(), {});
  const auto made = [&](Kind kind, Range forced = {}) {
    return CountsOf(state, clip_.ChangeSquare(8, forced), {.kind = kind}).graphs;
  };
  EXPECT_EQ(made(Kind::kExact), 1);
  EXPECT_EQ(made(Kind::kExact), 0);
  EXPECT_EQ(made(Kind::kFixed), 1);
  EXPECT_EQ(made(Kind::kFixed), 0);
  EXPECT_EQ(made(Kind::kExact), 0) << "it is known from before";
  EXPECT_EQ(made(Kind::kExact, {8, 16}), 1) << "a part is refreshed as well";
  EXPECT_EQ(made(Kind::kExact, {8, 16}), 0);
}

TEST_F(DeviceFramesTest, FramesOfSeveralStatesDoNotMixTheirGraphs) {
  const auto model = ModelOnDevice();
  ModelState first(model, {{}, Keep::kAll});
  ModelState second(model, {{}, Keep::kAll});
  for (ModelState* state : {&first, &second}) CountsOf(*state, clip_.Whole(), {});
  const auto both = [&](uint32_t order) {
    const Counts before = device_->counts();
    std::vector<ModelState*> waiting;
    for (ModelState* state : {&first, &second}) {
      state->BeginFrame(clip_.ChangeSquare(8), clip_.picture(), {});
      waiting.insert(waiting.end(), state->stage_count(), state);
    }
    std::shuffle(waiting.begin(), waiting.end(), std::mt19937(order));
    for (ModelState* state : waiting) state->Step();
    for (ModelState* state : {&first, &second}) state->Commit();
    return device_->counts() - before;
  };
  EXPECT_EQ(both(1).graphs, 2);
  for (uint32_t order = 2; order < 6; ++order) {
    const Counts counts = both(order);
    EXPECT_EQ(counts.graphs, 0) << "order " << order;
    EXPECT_EQ(counts.synchronizations, 2) << "order " << order;
  }
}

TEST_F(DeviceFramesTest, DenseRunsOfSeveralStatesDoNotMixEither) {
  const auto model = ModelOnDevice();
  ModelState first(model);
  ModelState second(model);
  const auto both = [&](const std::vector<ModelState*>& order) {
    const Counts before = device_->counts();
    for (ModelState* state : {&first, &second})
      state->BeginFrame(clip_.Whole(), clip_.picture(), {});
    for (ModelState* state : order) {
      state->Step();
      state->Commit();  // no stage is left
      outputs_ = Outputs(*state);
    }
    return device_->counts() - before;
  };
  EXPECT_EQ(both({&first, &second}).graphs, 2);
  EXPECT_EQ(both({&first, &second}).graphs, 0);
  EXPECT_EQ(both({&second, &first}).graphs, 0);
}

// So a robot's clock sees what the frame took.
TEST_F(DeviceFramesTest, ADenseFrameIsDoneWhenItIsCommitted) {
  ModelState state(ModelOnDevice());
  CountsOf(state, clip_.Whole(), {});
  const Counts before = device_->counts();
  state.Apply(clip_.Whole(), clip_.picture(), {});
  EXPECT_EQ((device_->counts() - before).synchronizations, 1);
  Outputs(state);
  EXPECT_EQ((device_->counts() - before).synchronizations, 1) << "the answer came with it";
}

// Work of the first state still waits when the second state's frame brings other spreads, which lie
// where those of the first lay.
TEST_F(DeviceFramesTest, AFrameThatWaitsIsTestedByTheSpreadsOfItsTime) {
  const auto model = ModelOnDevice();
  const auto spreads = std::make_shared<InverseSpreads>();
  const ChangePolicy policy = {.kind = Kind::kChange, .threshold = 0.05f, .spreads = spreads};
  const auto begin = [&](ModelState& state) {
    state.Apply(clip_.Whole(), clip_.picture(), {});
    if (spreads->empty()) *spreads = MeasureSpreads(state);
    Outputs(state);
  };
  ModelState first(model, {{}, Keep::kAll});
  ModelState second(model, {{}, Keep::kAll});
  begin(first);
  const std::vector<std::vector<float>> before = Outputs(first);
  begin(second);
  const auto step = [&](ModelState& state) {
    state.BeginFrame(clip_.ChangeSquare(16), clip_.picture(), policy);
    for (size_t i = 0; i < state.stage_count(); ++i) state.Step();
  };
  step(first);
  for (std::vector<float>& of_value : *spreads) std::ranges::fill(of_value, 0.0f);
  step(second);
  first.Commit();
  EXPECT_NE(Outputs(first), before) << "no change counts under the second frame's spreads";
}

// A frame's rows move between a robot on the host and a server on the device: those of the first
// cut down from here, those of the second up.
void DeviceFramesTest::MoveRows(const ChangePolicy& policy, int first, int second) {
  const auto on_host = ModelOf(TenNetworks()[1]);
  WalkPair pair(on_host, ModelOnDevice(), on_host, {{}, Keep::kAll}, policy);
  pair.Begin();
  // From the first map on, and again half way.
  const std::vector<Cut> cuts = {{-1, 500}, {4, 400}};
  int waits_of_exchanges = 0;
  // What crosses and when, without the rows. Graphs end there.
  std::set<std::vector<int>> known;
  int known_frames = 0;
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(testing::Message() << "frame " << i);
    const Counts before = device_->counts();
    pair.FrameOfRows(pair.clip().ChangeSquare(8), cuts,
                     {first + 2 * (i % 5), second - 2 * (i % 4)});
    const Counts counts = device_->counts() - before;
    int exchanges = 0;
    std::vector<int> crossing;
    for (const Transfer& transfer : pair.RowsOf(cuts).transfers) {
      if (transfer.from == Side::kServer) ++exchanges;
      crossing.insert(crossing.end(), {static_cast<int>(transfer.after_stages), transfer.value,
                                       static_cast<int>(transfer.from)});
    }
    if (policy.kind == Kind::kExact) {
      ASSERT_NO_FATAL_FAILURE(pair.ExpectDenseAnswer());
    }
    if (i < 2) continue;
    if (!known.insert(crossing).second) {
      EXPECT_EQ(counts.graphs, 0) << testing::PrintToString(counts);
      ++known_frames;
    }
    EXPECT_EQ(counts.allocations, 0) << testing::PrintToString(counts);
    EXPECT_EQ(counts.synchronizations, exchanges + 1) << testing::PrintToString(counts);
    waits_of_exchanges += exchanges;
  }
  EXPECT_GT(waits_of_exchanges, 0) << "nothing came from the device";
  EXPECT_GT(known_frames, 5);
}

TEST_F(DeviceFramesTest, RowsThatMoveMakeNoNewGraphAndAnExchangeIsOneWait) { MoveRows({}, 24, 36); }

TEST_F(DeviceFramesTest, NeitherDoRowsOfFixedMasks) { MoveRows({.kind = Kind::kFixed}, 2, 12); }

TEST_F(DeviceFramesTest, AModelAndItsStatesShareFewAllocations) {
  const auto model = ModelOnDevice();
  std::optional<ModelState> state(std::in_place, model, StateOptions{{}, Keep::kAll});
  CountsOf(*state, clip_.Whole(), {});
  CountsOf(*state, clip_.ChangeSquare(8), {});
  const int first = device_->counts().allocations;
  EXPECT_LE(first, 6) << "of the device's memory and of the host's";
  for (int i = 0; i < 3; ++i) {
    state.emplace(model, StateOptions{{}, Keep::kAll});
    CountsOf(*state, clip_.ChangeSquare(8), {});
  }
  EXPECT_EQ(device_->counts().allocations, first) << "what a state gave back is taken again";
}

}  // namespace
}  // namespace cacheinf
