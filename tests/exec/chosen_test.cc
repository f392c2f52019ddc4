#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/exec/model_state.h"
#include "common/exec/spreads.h"
#include "tests/exec/failing_backend.h"
#include "tests/exec/on_changing_frames.h"
#include "tests/testing/inside_state.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Executors that keep only some values from frame to frame.

namespace cacheinf {
namespace {

constexpr uint32_t kChosenGraphs = 60;

int64_t NotKept(const ModelState& state) {
  int64_t count = 0;
  for (const Operator& op : state.graph().operators) count += !state.is_kept(op.outputs[0]);
  return count;
}

class ChosenTest : public OnChangingFrames {
 protected:
  std::unique_ptr<ModelState> MakeChosen(std::unique_ptr<Backend> backend) {
    auto state = cacheinf::MakeState(graph_, std::move(backend),
                                     {RandomValues(graph_, random_), Keep::kChosen});
    not_kept_ += NotKept(*state);
    return state;
  }

  std::unique_ptr<ModelState> RunFirstFrame(std::unique_ptr<Backend> backend) {
    auto state = MakeChosen(std::move(backend));
    RunFirst(*state);
    return state;
  }

  int64_t not_kept_ = 0;  // in all graphs
};

INSTANTIATE_TEST_SUITE_P(On, ChosenTest, TwoBackends(), BackendName);

TEST_P(ChosenTest, UnderExactEveryKeptValueHasTheBitsOfADenseRun) {
  ForEachGraph(kChosenGraphs, MostlyLocal, [&] {
    const auto state = RunFirstFrame(MakeBackend());
    ExpectDenseBits(*state);
    for (int frame = 0; frame < 4; ++frame) {
      SCOPED_TRACE(testing::Message() << "frame " << frame);
      const ChangedWork work = Step(*state, {});
      EXPECT_LE(work.done, work.of_all);
      ExpectDenseBits(*state);
    }
  });
  EXPECT_GT(not_kept_, int64_t{graphs_}) << "nearly everything was kept: this tests nothing";
}

TEST_P(ChosenTest, TheFirstFrameNeedsNoDenseRun) {
  ForEachGraph(kChosenGraphs, MostlyLocal, [&] {
    const auto state = MakeChosen(MakeBackend());
    SetInputs(*state, inputs_);
    for (int frame = 0; frame < 2; ++frame) {
      Step(*state, {});
      ExpectDenseBits(*state);
    }
  });
}

TEST_P(ChosenTest, TheSameFrameAgainCostsNothing) {
  ForEachGraph(kChosenGraphs, MostlyLocal, [&] {
    const auto state = RunFirstFrame(MakeBackend());
    const ChangedMasks none(inputs_, inputs_);
    for (const auto kind : {ChangePolicy::Kind::kExact, ChangePolicy::Kind::kFixed}) {
      PoisonWhatIsNotKept(*state, kNan);
      EXPECT_EQ(InsideState::RunChanged(*state, none.views(), {.kind = kind}).done, 0);
    }
    ExpectDenseBits(*state);
  });
}

// Numbers that are not kept are read only where the same frame has computed them.
TEST_P(ChosenTest, UnderEveryPolicyNothingDependsOnWhatIsNotKept) {
  ForEachGraph(kChosenGraphs, MostlyLocal, [&] {
    const std::vector<ValueId> chosen = RandomValues(graph_, random_);
    const auto state = MakeState({chosen, Keep::kChosen});
    const auto other = MakeState({chosen, Keep::kChosen});
    for (ModelState* each : {state.get(), other.get()}) {
      SetInputs(*each, inputs_);
      each->Run();
    }
    ChangePolicy policy = {.threshold = 0.3f};
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state));
    Mask some(8, 8);
    SetRectangle({0, 3}, {2, 8}, some);
    const Mask refresh = OverPicture(graph_, some);
    for (int frame = 0; frame < 8; ++frame) {
      policy.kind = frame / 4 == 0 ? ChangePolicy::Kind::kChange : ChangePolicy::Kind::kFixed;
      policy.stem_depth = frame % 3;
      PoisonWhatIsNotKept(*state, kNan);
      PoisonWhatIsNotKept(*other, 12345.0f);
      const ChangedMasks changed = NextInputs();
      for (ModelState* each : {state.get(), other.get()}) {
        SetInputs(*each, inputs_);
        const auto refreshed = frame % 2 == 0 ? ConstMaskView() : refresh.view();
        InsideState::RunChanged(*each, changed.views(), policy, refreshed);
      }
      ExpectSameKept(*state, *other);
    }
  });
}

TEST_P(ChosenTest, EverythingActiveIsADenseRunUnderEveryPolicy) {
  ForEachGraph(kChosenGraphs, MostlyLocal, [&] {
    const auto state = RunFirstFrame(MakeBackend());
    ChangePolicy policy;
    policy.spreads = std::make_shared<const InverseSpreads>(MeasureSpreads(*state));
    for (const auto kind :
         {ChangePolicy::Kind::kExact, ChangePolicy::Kind::kChange, ChangePolicy::Kind::kFixed}) {
      policy.kind = kind;
      const std::vector<Tensor> before =
          std::exchange(inputs_, RandomInputs(graph_, static_cast<uint32_t>(random_())));
      const ChangedMasks changed(before, inputs_);
      RunChanged(*state, changed, policy);
      SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(kind));
      ExpectDenseBits(*state);
    }
  });
}

TEST_P(ChosenTest, AFrameAfterAbandonedOnesHasTheBitsOfADenseRun) {
  int abandoned = 0;
  ForEachGraph(kChosenGraphs, MostlyLocal, [&] {
    auto backend = std::make_unique<FailingBackend>(MakeBackend());
    FailingBackend& failing = *backend;
    const auto state = RunFirstFrame(std::move(backend));
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

// One part of a kept concatenation lies in place and is tested there; the other, which is not kept,
// lies in its place in another concatenation.
TEST(ChosenConcatTest, APartThatLiesInItsPlaceIsAChangeOfTheWhole) {
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
