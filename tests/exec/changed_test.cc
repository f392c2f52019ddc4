// Read this first: runs that compute only what a change of the input can reach, where a state keeps
// all values or some.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/exec/scroll.h"
#include "common/exec/spreads.h"
#include "tests/exec/failing_backend.h"
#include "tests/exec/on_changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

constexpr uint32_t kChangedGraphs = 60;

class ChangedTest : public OnChangingFrames {
 protected:
  // Moves the camera, by whole strides where the graph allows that. Returns the pixels that came
  // in.
  ChangedMasks ScrollNext(ModelState& state) {
    const int step = ShiftStep(graph_, 8);
    const int unit = step == 0 || random_() % 5 == 0 ? 1 : step;
    const Shift shift = {unit * (static_cast<int>(random_() % 3) - 1),
                         unit * (static_cast<int>(random_() % 3) - 1)};
    InsideState::Scroll(state, shift);
    return ScrollInputs(shift);
  }
};

INSTANTIATE_TEST_SUITE_P(On, ChangedTest, FewBackends(), BackendName);
// Others have change tests of their own.
INSTANTIATE_TEST_SUITE_P(OnMore, ChangedTest,
                         testing::Values(kWinogradCudaEmulated, BackendChoice{"cpu", 1}),
                         BackendName);

// Parts of the inputs change, the camera moves, frames are given up; the first frame may or may not
// be a run of everything.
TEST_P(ChangedTest, UnderExactEveryKeptValueHasTheBitsOfADenseRunWhateverHappened) {
  int abandoned = 0;
  int sparse_scrolls = 0;
  ForEachGraph(2 * kChangedGraphs, MostlyLocal, [&] {
    auto backend = std::make_unique<FailingBackend>(MakeBackend());
    FailingBackend& failing = *backend;
    const auto state = cacheinf::MakeState(graph_, std::move(backend), RandomOptions());
    SetInputs(*state, inputs_);
    if (seed_ % 2 == 0) RunFirst(*state);
    for (int frame = 0; frame < 12; ++frame) {
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      const bool scrolls = random_() % 3 == 0;
      const ChangedMasks changed = scrolls ? ScrollNext(*state) : NextInputs();
      failing.FailAfter(random_() % 3 == 0 ? static_cast<int>(random_() % 6) : -1);
      try {
        const ChangedWork work = RunChanged(*state, changed, {});
        EXPECT_LE(work.done, work.of_all);
        sparse_scrolls += scrolls && work.done < work.of_all;
      } catch (const std::runtime_error&) {
        ++abandoned;
        continue;
      }
      ExpectDenseBits(*state);
    }
  });
  EXPECT_GT(abandoned, graphs_) << "too few frames failed to test anything";
  EXPECT_GT(sparse_scrolls, graphs_) << "too little was ever kept";
}

TEST_P(ChangedTest, TheFirstFrameIsComputedWholeAndTheSameAgainCostsNothing) {
  ForEachGraph(kChangedGraphs, MostlyLocal, [&] {
    const auto state = MakeState(RandomOptions());
    const ChangedMasks none(inputs_, inputs_);
    RunChanged(*state, none, {.kind = ChangePolicy::Kind::kFixed});
    for (const auto kind : {ChangePolicy::Kind::kExact, ChangePolicy::Kind::kFixed}) {
      EXPECT_EQ(RunChanged(*state, none, {.kind = kind}).done, 0);
      InsideState::Scroll(*state, {});
      EXPECT_EQ(RunChanged(*state, none, {.kind = kind}).done, 0) << "the camera stood still";
    }
    ExpectDenseBits(*state);
  });
}

// Even if the frame before was computed by masks that maps of a resolution share.
TEST_P(ChangedTest, WhatComesInWithTheCameraDoesNotDependOnTheFrameBefore) {
  ForEachGraph(kChangedGraphs / 2, MostlyLocal, [&] {
    const StateOptions options = RandomOptions();
    const auto state = MakeState(options);
    const auto other = MakeState(options);
    RunFirst(*state);
    RunFirst(*other);
    Mask all(2, 2);
    SetAll(all);
    RunChanged(*other, {inputs_, inputs_}, {.kind = ChangePolicy::Kind::kFixed},
               std::as_const(all));
    const Shift shift = {std::max(1, ShiftStep(graph_, 8)), 0};
    InsideState::Scroll(*state, shift);
    InsideState::Scroll(*other, shift);
    const ChangedMasks entered = ScrollInputs(shift);
    EXPECT_EQ(RunChanged(*other, entered, {}).done, RunChanged(*state, entered, {}).done);
    ExpectDenseBits(*other);
  });
}

TEST_P(ChangedTest, EverythingActiveIsADenseRunUnderEveryPolicy) {
  ForEachGraph(kChangedGraphs, MostlyLocal, [&] {
    const auto state = MakeState(RandomOptions());
    RunFirst(*state);
    ChangePolicy policy;
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state));
    for (const auto kind :
         {ChangePolicy::Kind::kExact, ChangePolicy::Kind::kChange, ChangePolicy::Kind::kFixed}) {
      policy.kind = kind;
      const std::vector<Tensor> before =
          std::exchange(inputs_, RandomInputs(graph_, static_cast<uint32_t>(random_())));
      RunChanged(*state, ChangedMasks(before, inputs_), policy);
      SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(kind));
      ExpectDenseBits(*state);
    }
  });
}

// Numbers that are not kept are read only where the same frame has computed them.
TEST_P(ChangedTest, UnderEveryPolicyNothingDependsOnTheBackendOrOnWhatIsNotKept) {
  ForEachGraph(kChangedGraphs, MostlyLocal, [&] {
    const StateOptions options = RandomOptions();
    const auto state = MakeState(options);
    const auto other = cacheinf::MakeState(graph_, std::make_unique<CpuBackend>(), options);
    for (ModelState* each : {state.get(), other.get()}) {
      SetInputs(*each, inputs_);
      each->Run();
    }
    ChangePolicy policy = {.threshold = 0.25f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*other));
    for (int frame = 0; frame < 8; ++frame) {
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      policy.kind = frame / 4 == 0 ? ChangePolicy::Kind::kChange : ChangePolicy::Kind::kFixed;
      policy.stem_depth = frame % 3;
      Mask refresh(8, 8);
      const int top = static_cast<int>(random_() % 8);
      if (frame % 2 == 1) SetRectangle({top, top + 3}, {2, 8}, refresh);
      const ChangedMasks changed = NextInputs();
      RunChanged(*state, changed, policy, std::as_const(refresh), kNan);
      RunChanged(*other, changed, policy, std::as_const(refresh), 12345.0f);
      ExpectSameKept(*other, *state);
    }
  });
}

// A chain of 3×3 convolutions on a map of 40×40.
Graph ConvChain(int length) {
  std::mt19937 random(5);
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 8, 40, 40});
  for (int i = 0; i < length; ++i) {
    map = AddConv(graph, "conv" + std::to_string(i), map, 8, 3, random, 0.2f);
    graph.operators.back().As<op::Conv>()->activation.kind = Function::Kind::kSilu;
  }
  graph.outputs = {map};
  return graph;
}

class ConvChainTest : public testing::Test {
 protected:
  static constexpr int kLength = 4;

  ConvChainTest() : graph_(ConvChain(kLength)), mask_(40, 40) {
    state_ =
        MakeState(graph_, std::make_unique<CpuBackend>(CpuBackendOptions{1}), {{}, Keep::kAll});
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

// One part of a kept concatenation lies in place and is tested there; the other, which is not kept,
// lies in its place in another concatenation.
TEST(KeptConcatTest, APartThatLiesInItsPlaceIsAChangeOfTheWhole) {
  const op::Activation sigmoid = {{Function::Kind::kSigmoid, 0, 0}};
  Graph graph;
  const ValueId left = graph.AddInput("left", {1, 2, 6, 6});
  const ValueId right = graph.AddInput("right", {1, 2, 6, 6});
  const ValueId a = graph.AddOne("a", sigmoid, {left});
  const ValueId b = graph.AddOne("b", sigmoid, {right});
  const ValueId kept = graph.AddOne("kept", op::Concat{1}, {a, b});
  const ValueId other = graph.AddOne("other", op::Concat{1}, {b, a});
  graph.outputs = {graph.AddOne("end", sigmoid, {kept}), graph.AddOne("end 2", sigmoid, {other})};
  const auto state = MakeReferenceState(graph, {{a, kept}, Keep::kChosen});
  ASSERT_TRUE(state->is_kept(a) && state->is_kept(kept));
  ASSERT_FALSE(state->is_kept(b) || state->is_kept(other));
  std::vector<Tensor> inputs = RandomInputs(graph, 1);
  SetInputs(*state, inputs);
  state->Run();
  for (const size_t changed_input : {0, 1}) {
    std::vector<Tensor> next = inputs;
    next[changed_input] = RandomInputs(graph, 2)[changed_input];
    const ChangedMasks changed(inputs, next);
    inputs = next;
    PoisonWhatIsNotKept(*state, kNan);
    SetInputs(*state, inputs);
    InsideState::RunChanged(*state, changed.views(), {});
    const auto expected = EvaluateDirectly(graph, inputs);
    const auto outputs = Outputs(*state);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(FirstDifference(expected[graph.outputs[i]], outputs[i]), "") << changed_input;
    }
  }
}

}  // namespace
}  // namespace cacheinf
