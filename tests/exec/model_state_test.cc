#include "common/exec/model_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/view_transforms.h"
#include "tests/exec/on_backends.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

constexpr uint32_t kStateGraphs = 200;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

RandomGraphOptions StateGraph(uint32_t seed) {
  RandomGraphOptions options;
  options.operator_count = 4 + static_cast<int>(seed % 30);
  options.only_local = seed % 3 == 0;
  return options;
}

// Fills what operators compute. Graph inputs and constants stay.
void Poison(ModelState& state, float number) {
  for (const Operator& op : state.graph().operators) {
    for (ValueId output : op.outputs) Fill(state, output, number);
  }
}

// Some rows of a map's numbers in logical order, or all numbers of any other value.
std::vector<float> InRows(const Value& value, const std::vector<float>& numbers, Range rows) {
  if (!value.is_map()) return numbers;
  const auto width = static_cast<size_t>(WidthOf(value));
  const auto height = static_cast<size_t>(HeightOf(value));
  std::vector<float> some;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto row = static_cast<int>(i / width % height);
    if (row >= rows.begin && row < rows.end) some.push_back(numbers[i]);
  }
  return some;
}

class BackendTest : public OnBackends {
 protected:
  template <typename Check>
  void ForEachGraph(Check check) {
    OnBackends::ForEachGraph(kStateGraphs, StateGraph, check);
  }
};

INSTANTIATE_TEST_SUITE_P(On, BackendTest, EveryBackend(), BackendName);

TEST_P(BackendTest, EveryValueHasTheBitsOfDirectEvaluation) {
  ForEachGraph([&] {
    const auto expected = Expected();
    for (const Keep keep : {Keep::kListed, Keep::kAll, Keep::kAllApart}) {
      const auto state = MakeState({{}, keep});
      Poison(*state, kNaN);
      SetInputs(*state, inputs_);
      for (size_t id = 0; id < graph_.operators.size(); ++id) {
        const Operator& op = graph_.operators[id];
        RunRows(*state, static_cast<OpId>(id), {0, RowCount(graph_, op)});
        for (ValueId output : op.outputs) {
          ASSERT_EQ(FirstDifference(expected[output], Numbers(*state, output)), "")
              << KindName(op) << " '" << op.name << "', keep: " << static_cast<int>(keep);
        }
      }
    }
  });
}

// Frame after frame, and the last one twice: nothing stays behind except what should.
TEST_P(BackendTest, OutputsAndPersistentValuesHaveTheBitsOfDirectEvaluation) {
  ForEachGraph([&] {
    std::mt19937 random(seed_);
    StateOptions options;
    for (const Operator& op : graph_.operators) {
      if (random() % 3 == 0) options.chosen.push_back(op.outputs[0]);
    }
    const auto state = MakeState(options);
    for (const uint32_t seed : {seed_, seed_ + 1000, seed_ + 1000}) {
      inputs_ = RandomInputs(graph_, seed);
      SetInputs(*state, inputs_);
      state->Run();
      const auto expected = Expected();
      const auto outputs = Outputs(*state);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const Value& value = graph_.value(graph_.outputs[i]);
        if (value.is_constant()) {
          const float* numbers = value.constant.data();
          EXPECT_EQ(outputs[i], std::vector<float>(numbers, numbers + value.constant.count()));
        } else {
          EXPECT_EQ(FirstDifference(expected[graph_.outputs[i]], outputs[i]), "") << value.name;
        }
      }
      for (const ValueId value : options.chosen) {
        EXPECT_EQ(FirstDifference(expected[value], Numbers(*state, value)), "");
      }
    }
  });
}

TEST_P(BackendTest, NeededRowsAreEnough) {
  ForEachGraph([&] {
    std::mt19937 random(seed_);
    const auto expected = Expected();
    for (ValueId output : graph_.outputs) {
      const Value& value = graph_.value(output);
      if (value.producer == kNone) continue;
      const int height = RowCount(graph_, graph_.operators[value.producer]);
      const int begin = static_cast<int>(random() % height);
      const Range rows = {begin, begin + 1 + static_cast<int>(random() % (height - begin))};
      const RowsOfOperators plan = RowsNeeded(graph_, output, rows);
      for (const float poison : {kNaN, 1e30f, -1e30f}) {
        const auto state = MakeState();
        Poison(*state, poison);
        SetInputs(*state, inputs_);
        state->Run(plan);
        ASSERT_EQ(FirstDifference(InRows(value, expected[output], rows),
                                  InRows(value, Numbers(*state, output), rows)),
                  "")
            << value.name << ", rows " << rows.begin << " to " << rows.end;
      }
    }
  });
}

TEST_P(BackendTest, StrangeNumbersInTheInputDoNoHarm) {
  ForEachGraph([&] {
    std::mt19937 random(seed_);
    const auto state = MakeState();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Shape& shape = graph_.value(graph_.inputs[i]).shape;
      std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      const float strange[] = {kNaN, kInfinity, -kInfinity, 3e38f, -3e38f, 1e-42f, -0.0f, 1.0f};
      for (float& number : numbers) number = strange[random() % std::size(strange)];
      state->SetInput(i, Tensor(shape, numbers).view());
    }
    state->Run();
    const auto once = Outputs(*state);
    state->Run();
    EXPECT_EQ(FirstDifference(once, Outputs(*state)), "");
  });
}

TEST_P(BackendTest, MemoryReportAddsUp) {
  ForEachGraph([&] {
    const MemoryReport shared = MakeState()->memory();
    const MemoryReport separate = MakeState({{}, Keep::kAllApart})->memory();
    EXPECT_LE(shared.persistent_bytes, shared.arena_bytes);
    EXPECT_LE(shared.lower_bound_bytes, shared.arena_bytes);
    EXPECT_LE(shared.arena_bytes, separate.arena_bytes);
    EXPECT_EQ(separate.persistent_bytes, separate.arena_bytes);
    EXPECT_GE(separate.arena_bytes, separate.activation_bytes);
    EXPECT_EQ(shared.activation_bytes, separate.activation_bytes);
    EXPECT_EQ(shared.constant_bytes, separate.constant_bytes);
  });
}

// input -> relu, which is an output, is read further, and is named twice; so are the input and a
// constant.
TEST(ModelStateTest, OutputsMayBeInputsConstantsReadOnAndNamedTwice) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 2, 3, 4});
  const ValueId relu = graph.AddOne("relu", op::Activation{{Function::Kind::kRelu, 0, 0}}, {input});
  const ValueId constant =
      graph.AddConstant("constant", Tensor({1, 2, 1, 2}, std::vector<float>{1, 2, 3, 4}));
  const ValueId negative =
      graph.AddOne("negative", op::Activation{{Function::Kind::kNegate, 0, 0}}, {relu});
  const ValueId flat = graph.AddOne("flat", op::Reshape{{24}}, {input});
  graph.outputs = {relu, input, constant, relu, negative, flat};
  graph.Validate();
  constexpr uint32_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const Tensor tensor = RandomTensor({1, 2, 3, 4}, random);
  const auto state = MakeReferenceState(graph);
  state->SetInput(0, tensor.view());
  state->Run();
  const auto outputs = Outputs(*state);
  const std::vector<float> numbers = Numbers(tensor.view());
  EXPECT_EQ(outputs[1], numbers);
  EXPECT_EQ(outputs[2], (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(outputs[3], outputs[0]);
  EXPECT_EQ(outputs[5], numbers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(outputs[0][i], std::max(numbers[i], 0.0f));
    EXPECT_EQ(outputs[4][i], -std::max(numbers[i], 0.0f));
  }
}

TEST(ModelStateTest, RefusesTensorsOfAnotherShape) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 2, 3, 4});
  graph.outputs = {graph.AddOne("relu", op::Activation{{Function::Kind::kRelu, 0, 0}}, {input})};
  const auto state = MakeReferenceState(graph);
  constexpr uint32_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  EXPECT_THROW(state->SetInput(0, RandomTensor({1, 2, 4, 3}, random).view()),
               std::invalid_argument);
  EXPECT_THROW(state->SetInput(0, RandomTensor({1, 2, 3}, random).view()), std::invalid_argument);
  EXPECT_THROW(state->Run(RowsOfOperators(2)), std::invalid_argument);
}

}  // namespace
}  // namespace cacheinf
