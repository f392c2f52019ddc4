#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/exec/schemes.h"
#include "common/exec/spreads.h"
#include "tests/exec/failing_backend.h"
#include "tests/exec/on_changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Runs that compute only what a change of the input can reach.

namespace cacheinf {
namespace {

constexpr uint32_t kChangedGraphs = 60;

RandomGraphOptions ChangedGraph(uint32_t seed) {
  RandomGraphOptions options;
  options.operator_count = 4 + static_cast<int>(seed % 12);
  options.only_local = seed % 2 == 0;
  return options;
}

class ChangedTest : public OnChangingFrames {};

INSTANTIATE_TEST_SUITE_P(On, ChangedTest, TwoBackends(), BackendName);
// Its change test is a kernel of its own.
INSTANTIATE_TEST_SUITE_P(OnGpu, ChangedTest, testing::Values(kWinogradCudaEmulated), BackendName);

TEST_P(ChangedTest, UnderExactEveryValueHasTheBitsOfADenseRun) {
  ForEachGraph(kChangedGraphs, ChangedGraph, [&] {
    for (const Keep keep : {Keep::kAll, Keep::kAllApart}) {
      const auto state = MakeState({{}, keep});
      RunFirst(*state);
      for (int frame = 0; frame < 4; ++frame) {
        SCOPED_TRACE(testing::Message() << "frame " << frame);
        Step(*state, {});
        ExpectDenseBits(*state);
      }
    }
  });
}

TEST_P(ChangedTest, TheSameFrameAgainCostsNothing) {
  ForEachGraph(kChangedGraphs, ChangedGraph, [&] {
    const auto state = MakeState({{}, Keep::kAll});
    RunFirst(*state);
    const ChangedMasks none(inputs_, inputs_);
    for (const auto kind : {ChangePolicy::Kind::kExact, ChangePolicy::Kind::kFixed}) {
      EXPECT_EQ(InsideState::RunChanged(*state, none.views(), {.kind = kind}).done, 0);
    }
  });
}

TEST_P(ChangedTest, EverythingActiveIsADenseRunUnderEveryPolicy) {
  ForEachGraph(kChangedGraphs, ChangedGraph, [&] {
    const auto state = MakeState({{}, Keep::kAll});
    RunFirst(*state);
    for (const auto kind :
         {ChangePolicy::Kind::kExact, ChangePolicy::Kind::kChange, ChangePolicy::Kind::kFixed}) {
      inputs_ = RandomInputs(graph_, static_cast<uint32_t>(random_()));
      SetInputs(*state, inputs_);
      std::vector<Mask> masks;
      std::vector<ConstMaskView> views;
      for (const Tensor& input : inputs_) {
        const bool is_map = input.shape().size() == 4;
        masks.emplace_back(is_map ? static_cast<int>(input.shape()[2]) : 1,
                           is_map ? static_cast<int>(input.shape()[3]) : 1);
        SetAll(masks.back());
      }
      for (const Mask& mask : masks) views.emplace_back(mask.view());
      InsideState::RunChanged(*state, views, {.kind = kind});
      const auto expected = Expected();
      const auto outputs = Outputs(*state);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (graph_.value(graph_.outputs[i]).is_constant()) continue;
        EXPECT_EQ(FirstDifference(expected[graph_.outputs[i]], outputs[i]), "")
            << "policy " << static_cast<int>(kind);
      }
    }
  });
}

TEST_P(ChangedTest, UnderChangeEveryValueHasTheBitsThatAnotherBackendGivesIt) {
  ForEachGraph(kChangedGraphs, ChangedGraph, [&] {
    const auto state = MakeState({{}, Keep::kAll});
    const auto other =
        cacheinf::MakeState(graph_, std::make_unique<CpuBackend>(), {{}, Keep::kAll});
    for (ModelState* each : {state.get(), other.get()}) {
      RunFirst(*each);
    }
    ChangePolicy policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.2f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*other));
    for (int frame = 0; frame < 4; ++frame) {
      Mask forced(8, 8);
      const int top = static_cast<int>(random_() % 8);
      if (frame % 2 == 1) SetRectangle({top, top + 1}, {0, 8}, forced);
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      const ChangedMasks changed = NextInputs();
      for (ModelState* each : {state.get(), other.get()}) {
        RunChanged(*each, changed, policy, forced);
      }
      ExpectSameKept(*other, *state);
    }
  });
}

TEST_P(ChangedTest, AFrameAfterAbandonedOnesHasTheBitsOfADenseRun) {
  int abandoned = 0;
  ForEachGraph(kChangedGraphs, ChangedGraph, [&] {
    auto backend = std::make_unique<FailingBackend>(MakeBackend());
    FailingBackend& failing = *backend;
    const auto state = cacheinf::MakeState(graph_, std::move(backend), {{}, Keep::kAll});
    RunFirst(*state);
    for (int frame = 0; frame < 6; ++frame) {
      failing.FailAfter(frame % 3 == 2 ? -1 : static_cast<int>(random_() % 6));
      try {
        Step(*state, {});
      } catch (const std::runtime_error&) {
        ++abandoned;
        continue;
      }
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      ExpectDenseBits(*state);
    }
  });
  EXPECT_GT(abandoned, graphs_) << "too few frames failed to test anything";
}

TEST_P(ChangedTest, TheFirstFrameIsComputedWhole) {
  ForEachGraph(kChangedGraphs, ChangedGraph, [&] {
    const auto state = MakeState({{}, Keep::kAll});
    SetInputs(*state, inputs_);
    const ChangedMasks none(inputs_, inputs_);
    InsideState::RunChanged(*state, none.views(), {.kind = ChangePolicy::Kind::kFixed});
    const auto expected = Expected();
    const auto outputs = Outputs(*state);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (graph_.value(graph_.outputs[i]).is_constant()) continue;
      EXPECT_EQ(FirstDifference(expected[graph_.outputs[i]], outputs[i]), "");
    }
  });
}

// A chain of 3×3 convolutions on a map of 40×40.
Graph ConvChain(int length) {
  std::mt19937 random(5);
  Graph graph;
  const auto add_value = [&graph](Value value) {
    graph.values.push_back(std::move(value));
    return static_cast<ValueId>(graph.values.size()) - 1;
  };
  const auto add_map = [&](const std::string& name) {
    Value value;
    value.name = name;
    value.shape = {1, 8, 40, 40};
    return add_value(value);
  };
  ValueId map = add_map("in");
  graph.inputs = {map};
  for (int i = 0; i < length; ++i) {
    Value weights;
    weights.name = "weights" + std::to_string(i);
    weights.shape = {8, 8, 3, 3};
    weights.constant = RandomTensor(weights.shape, random, -0.2f, 0.2f);
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
    conv.activation.kind = Function::Kind::kSilu;
    Operator op;
    op.name = "conv" + std::to_string(i);
    op.attributes = conv;
    op.inputs = {map, add_value(weights)};
    map = add_map("map" + std::to_string(i));
    graph.values[map].producer = static_cast<OpId>(graph.operators.size());
    op.outputs = {map};
    graph.operators.push_back(op);
  }
  graph.outputs = {map};
  return graph;
}

class ConvChainTest : public testing::Test {
 protected:
  static constexpr int kLength = 4;

  ConvChainTest() : graph_(ConvChain(kLength)), mask_(40, 40) {
    state_ = MakeState(graph_, std::make_unique<CpuBackend>(CpuBackendOptions{1, false}),
                       {{}, Keep::kAll});
    input_ = RandomInputs(graph_, 1)[0];
    state_->SetInput(0, input_.view());
    state_->Run();
  }

  // Adds `change` to one pixel of the input and runs.
  ChangedWork ChangePixel(int row, int column, float change, const ChangePolicy& policy,
                          ConstMaskView refresh = {}) {
    std::vector<float> numbers(input_.data(), input_.data() + input_.count());
    for (int channel = 0; channel < 8; ++channel) {
      numbers[static_cast<size_t>((channel * 40 + row) * 40 + column)] += change;
    }
    input_ = Tensor(input_.shape(), std::move(numbers));
    ClearAll(mask_);
    mask_.view().Set(row, column);
    state_->SetInput(0, input_.view());
    const std::vector<ConstMaskView> changed = {std::as_const(mask_).view()};
    return InsideState::RunChanged(*state_, changed, policy, OverPicture(graph_, refresh));
  }

  // All values for the input.
  std::vector<std::vector<float>> Expected() const { return EvaluateDirectly(graph_, {input_}); }

  // A policy whose threshold only a large change reaches.
  ChangePolicy Coarse(ChangePolicy::Kind kind, int stem_depth = 0) const {
    ChangePolicy policy = {.kind = kind, .threshold = 0.5f, .growth = 0, .stem_depth = stem_depth};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state_));
    return policy;
  }

  ValueId OutputOf(int conv) const { return graph_.operators[conv].outputs[0]; }

  Graph graph_;
  std::unique_ptr<ModelState> state_;
  Tensor input_;
  Mask mask_;
};

TEST_F(ConvChainTest, UnderExactAChangeGrowsByTheWindowOfEachOperator) {
  const ChangedWork work = ChangePixel(20, 20, 1.0f, {});
  int64_t pixels = 0;
  for (int i = 0; i < kLength; ++i) {
    const int width = 3 + 2 * i;
    pixels += int64_t{width} * width;
    EXPECT_EQ(CountActive(state_->changed(OutputOf(i))), int64_t{width} * width);
  }
  EXPECT_EQ(work.done, pixels * 8 * 8 * 9);
  EXPECT_EQ(work.of_all, int64_t{kLength} * 40 * 40 * 8 * 8 * 9);
}

TEST_F(ConvChainTest, UnderFixedEveryMapHasTheGrownMaskOfTheInput) {
  ChangePixel(20, 20, 1.0f, {.kind = ChangePolicy::Kind::kFixed, .growth = 2});
  Mask expected(40, 40);
  SetRectangle({18, 23}, {18, 23}, expected);
  for (int i = 0; i < kLength; ++i) {
    EXPECT_TRUE(AreEqual(state_->changed(OutputOf(i)), std::as_const(expected))) << i;
  }
}

TEST_F(ConvChainTest, AChangeBelowTheThresholdIsNone) {
  ChangePolicy policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.5f};
  policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state_));
  const auto before = Numbers(*state_, OutputOf(0));
  ChangePixel(20, 20, 0.001f, policy);
  EXPECT_TRUE(IsEmpty(state_->changed(OutputOf(0))));
  EXPECT_EQ(FirstDifference(before, Numbers(*state_, OutputOf(0))), "");
  ChangePixel(20, 20, 10.0f, policy);
  EXPECT_FALSE(IsEmpty(state_->changed(OutputOf(0))));
}

TEST_F(ConvChainTest, WhatIsRefreshedIsStoredHoweverSmallItsChange) {
  Mask all(40, 40);
  SetAll(all);
  for (const auto kind : {ChangePolicy::Kind::kChange, ChangePolicy::Kind::kFixed}) {
    ChangePixel(20, 20, 0.001f, Coarse(kind), std::as_const(all));
    const auto expected = Expected();
    for (int i = 0; i < kLength; ++i) {
      EXPECT_EQ(FirstDifference(expected[OutputOf(i)], Numbers(*state_, OutputOf(i))), "");
    }
  }
}

// Under `change`, a refreshed pixel changes its readers only if its own change reaches the
// threshold.
TEST_F(ConvChainTest, ASmallRefreshedChangeChangesNoReader) {
  Mask part(40, 40);
  SetRectangle({10, 14}, {0, 40}, part);
  const ChangePolicy coarse = Coarse(ChangePolicy::Kind::kChange);
  const ChangedWork small = ChangePixel(12, 20, 0.001f, coarse, std::as_const(part));
  EXPECT_EQ(small.done, int64_t{kLength} * 4 * 40 * 8 * 8 * 9);
  for (int i = 0; i < kLength; ++i) EXPECT_TRUE(IsEmpty(state_->changed(OutputOf(i)))) << i;
  EXPECT_EQ(FirstDifference(Expected()[OutputOf(0)], Numbers(*state_, OutputOf(0))), "");
  const ChangedWork large = ChangePixel(12, 20, 50.0f, coarse, std::as_const(part));
  EXPECT_GT(large.done, small.done);
  EXPECT_FALSE(IsEmpty(state_->changed(OutputOf(0))));
}

TEST_F(ConvChainTest, ARefreshIsScaledToEveryMapAndReachesNoOtherPixel) {
  Mask top(20, 20);  // half the resolution
  SetRectangle({0, 5}, {0, 20}, top);
  const ChangedWork work =
      ChangePixel(30, 30, 0.001f, Coarse(ChangePolicy::Kind::kFixed), std::as_const(top));
  Mask expected(40, 40);
  SetRectangle({0, 10}, {0, 40}, expected);
  expected.view().Set(30, 30);
  for (int i = 0; i < kLength; ++i) {
    EXPECT_TRUE(AreEqual(state_->changed(OutputOf(i)), std::as_const(expected))) << i;
  }
  EXPECT_EQ(work.done, int64_t{kLength} * 401 * 8 * 8 * 9);
}

TEST_F(ConvChainTest, TheStemFollowsEveryChangeAndItsEndDecides) {
  for (const auto kind : {ChangePolicy::Kind::kChange, ChangePolicy::Kind::kFixed}) {
    const auto before = Numbers(*state_, OutputOf(1));
    ChangePixel(20, 20, 0.001f, Coarse(kind, 2));
    EXPECT_EQ(CountActive(state_->changed(OutputOf(0))), 9);
    EXPECT_TRUE(IsEmpty(state_->changed(OutputOf(1))));
    EXPECT_TRUE(IsEmpty(state_->changed(OutputOf(2))));
    EXPECT_EQ(FirstDifference(Expected()[OutputOf(0)], Numbers(*state_, OutputOf(0))), "");
    EXPECT_EQ(FirstDifference(before, Numbers(*state_, OutputOf(1))), "");
    ChangePixel(20, 20, 20.0f, Coarse(kind, 2));
    EXPECT_FALSE(IsEmpty(state_->changed(OutputOf(1))));
    EXPECT_FALSE(IsEmpty(state_->changed(OutputOf(2))));
    ChangePixel(20, 20, -20.0f, {});
  }
}

TEST_F(ConvChainTest, UnderFixedAllMapsAfterTheStemHaveTheMaskThatItsEndDecided) {
  ChangePixel(20, 20, 20.0f, Coarse(ChangePolicy::Kind::kFixed, 2));
  const ConstMaskView decided = state_->changed(OutputOf(1));
  EXPECT_GE(CountActive(decided), 9);
  EXPECT_LE(CountActive(decided), 25);
  EXPECT_TRUE(AreEqual(state_->changed(OutputOf(2)), decided));
  EXPECT_TRUE(AreEqual(state_->changed(OutputOf(3)), decided));
}

TEST_F(ConvChainTest, AStemOfTheWholeNetworkIsExactUpToItsEnd) {
  ChangePixel(20, 20, 0.001f, Coarse(ChangePolicy::Kind::kChange, kLength));
  for (int i = 0; i + 1 < kLength; ++i) {
    EXPECT_EQ(FirstDifference(Expected()[OutputOf(i)], Numbers(*state_, OutputOf(i))), "");
  }
}

// However many frames pass, stored values stay within the threshold of what the stored inputs give.
TEST_F(ConvChainTest, StoredPixelsStayWithinTheThresholdOfWhatStoredInputsGive) {
  ChangePolicy policy = {.kind = ChangePolicy::Kind::kChange, .threshold = 0.2f};
  policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state_));
  std::mt19937 random(3);
  for (int frame = 0; frame < 200; ++frame) {
    ChangePixel(static_cast<int>(random() % 40), static_cast<int>(random() % 40),
                std::normal_distribution<float>(0.0f, 0.3f)(random), policy);
  }
  int kept = 0;
  for (int i = 0; i < kLength; ++i) {
    const auto stored = Numbers(*state_, OutputOf(i));
    RunRows(*state_, i, {0, 40});
    const auto fresh = Numbers(*state_, OutputOf(i));
    const std::vector<float>& inverse_spread = (*policy.spreads)[OutputOf(i)];
    for (size_t pixel = 0; pixel < 1600; ++pixel) {
      double squares = 0.0;
      for (size_t channel = 0; channel < 8; ++channel) {
        const size_t at = channel * 1600 + pixel;
        const double change = (fresh[at] - stored[at]) * inverse_spread[channel];
        squares += change * change;
      }
      const double change = std::sqrt(squares / 8);
      ASSERT_LE(change, 0.2001) << "conv " << i << ", pixel " << pixel;
      kept += change > 0.0;
    }
    // Later operators read the stored numbers.
    for (int row = 0; row < 40; ++row) {
      const TensorView view = state_->view(OutputOf(i));
      for (int column = 0; column < 40; ++column) {
        for (int channel = 0; channel < 8; ++channel) {
          view.data[row * view.strides[2] + column * view.strides[3] + channel] =
              stored[static_cast<size_t>((channel * 40 + row) * 40 + column)];
        }
      }
    }
  }
  EXPECT_GT(kept, 0) << "no change was small enough to be kept: the test tests nothing";
}

}  // namespace
}  // namespace cacheinf
