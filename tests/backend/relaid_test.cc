#include "common/backend/host/relaid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Operators along axes other than the channels: the reference's bits, on copies in a better layout.

namespace cacheinf {
namespace {

// One operator, and what it reads that is not constant.
struct Case {
  std::string name;
  Attributes attributes;
  std::vector<Shape> inputs;
  std::vector<Shape> parameters = {};
};

Graph GraphOf(const Case& own) {
  Graph graph;
  std::vector<ValueId> reads;
  for (const Shape& shape : own.inputs) reads.push_back(graph.AddInput("input", shape));
  for (const Shape& shape : own.parameters) {
    std::vector<float> numbers(static_cast<size_t>(ElementCount(shape)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13) * 0.1f;
    reads.push_back(graph.AddConstant("parameter", Tensor(shape, std::move(numbers))));
  }
  graph.outputs = graph.Add("op", own.attributes, reads);
  return graph;
}

std::vector<Case> Cases() {
  const Shape map = {2, 5, 7, 40};
  std::vector<Case> cases;
  for (const int axis : {2, 3}) {
    const std::string along = axis == 2 ? "_along_columns" : "_along_rows";
    cases.push_back({"softmax" + along, op::Softmax{axis, false}, {map}});
    cases.push_back({"log_softmax" + along, op::Softmax{axis, true}, {map}});
    cases.push_back({"arg_max" + along, op::ArgMax{axis, true}, {map}});
    cases.push_back({"arg_max_without_axis" + along, op::ArgMax{axis, false}, {map}});
    for (const ReduceKind kind : {ReduceKind::kMean, ReduceKind::kSum, ReduceKind::kMax}) {
      const std::string name = "reduce_" + std::to_string(static_cast<int>(kind)) + along;
      cases.push_back({name, op::Reduce{kind, {axis}, true}, {map}});
      cases.push_back({name + "_without_axis", op::Reduce{kind, {axis}, false}, {map}});
    }
    cases.push_back({"layer_norm" + along, op::LayerNorm{axis, 1, 1e-5f, false}, {map}});
  }
  cases.push_back({"mat_mul", op::MatMul{}, {{2, 3, 19, 33}, {2, 3, 33, 21}}});
  cases.push_back({"mat_mul_one_for_all", op::MatMul{}, {{2, 3, 19, 33}, {1, 1, 33, 21}}});
  cases.push_back({"mat_mul_of_less_rank", op::MatMul{}, {{2, 3, 19, 33}, {33, 21}}});
  cases.push_back({"linear", op::Linear{}, {{2, 6, 9, 33}}, {{17, 33}}});
  return cases;
}

TEST(RelaidTest, HasTheBitsOfTheReference) {
  for (const Case& own : Cases()) {
    const Graph graph = GraphOf(own);
    const std::vector<Tensor> inputs = RandomInputs(graph, /*seed=*/7);
    const auto expected = MakeReferenceState(graph);
    SetInputs(*expected, inputs);
    expected->Run();
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(own.name + ", " + std::to_string(threads) + " threads");
      const auto actual =
          MakeState(graph, std::make_unique<CpuBackend>(CpuBackendOptions{threads}));
      SetInputs(*actual, inputs);
      actual->Run();
      EXPECT_EQ(FirstDifference(Outputs(*expected)[0], Outputs(*actual)[0]), "");
    }
  }
}

TEST(RelaidTest, CopiesWhatDoesNotLieAlongTheAxis) {
  for (const Case& own : Cases()) {
    SCOPED_TRACE(own.name);
    const Graph graph = GraphOf(own);
    const Relaid relaid = RelaidOf(graph, graph.operators[0]);
    ASSERT_NE(relaid.axis, kNone);
    size_t floats = 0;
    const auto copy = [&](ValueId id) {
      TensorView map;
      const Shape& shape = graph.value(id).shape;
      if (shape.size() != 4) return;
      map.rank = 4;
      std::copy(shape.begin(), shape.end(), map.dims.begin());
      map.strides = {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
      EXPECT_TRUE(IsToBeRelaid(map, relaid.axis) || shape[1] == 1);
      EXPECT_FALSE(IsToBeRelaid(LaidAlong(map, relaid.axis, nullptr), relaid.axis));
      floats += RelaidFloats(map);
    };
    for (const ValueId input : graph.inputs) copy(input);
    if (relaid.includes_output) copy(graph.outputs[0]);
    EXPECT_EQ(relaid.floats, floats);
  }
}

TEST(RelaidTest, LeavesAloneWhatWorksAlongChannelsOrLiesInOrder) {
  for (const Case& own :
       {Case{"tokens", op::Softmax{2, false}, {{2, 5, 40}}},
        Case{"picture", op::Reduce{ReduceKind::kMean, {2, 3}, true}, {{1, 4, 8, 6}}},
        Case{"products of tokens", op::MatMul{}, {{3, 19, 33}, {3, 33, 21}}}}) {
    SCOPED_TRACE(own.name);
    const Graph graph = GraphOf(own);
    EXPECT_EQ(RelaidOf(graph, graph.operators[0]).axis, kNone);
  }
}

}  // namespace
}  // namespace cacheinf
