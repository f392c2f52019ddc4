#include "tests/model/expect_same_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

std::vector<std::vector<float>> Run(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto state = MakeReferenceState(graph);
  SetInputs(*state, inputs);
  state->Run();
  return Outputs(*state);
}

void ExpectClose(const std::vector<float>& expected, const std::vector<float>& actual,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  double largest = 1e-3;
  for (float value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(expected[i])) {
      ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(actual[i]) : actual[i] == expected[i])
          << what << " at " << i << ": " << expected[i] << " became " << actual[i];
    } else {
      ASSERT_LE(std::abs(static_cast<double>(expected[i]) - actual[i]), tolerance * largest)
          << what << " at " << i << ": " << expected[i] << " became " << actual[i];
    }
  }
}

}  // namespace

void ExpectSameValues(const Graph& expected, const Graph& actual, uint32_t seed, double tolerance) {
  ASSERT_EQ(expected.inputs.size(), actual.inputs.size());
  for (size_t i = 0; i < expected.inputs.size(); ++i) {
    EXPECT_EQ(expected.value(expected.inputs[i]).name, actual.value(actual.inputs[i]).name);
    ASSERT_EQ(expected.value(expected.inputs[i]).shape, actual.value(actual.inputs[i]).shape);
  }
  ASSERT_EQ(expected.outputs.size(), actual.outputs.size());
  const std::vector<Tensor> inputs = RandomInputs(expected, seed);
  const auto before = Run(expected, inputs);
  const auto after = Run(actual, inputs);
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const Value& old_output = expected.value(expected.outputs[i]);
    const Value& new_output = actual.value(actual.outputs[i]);
    EXPECT_EQ(old_output.name, new_output.name);
    EXPECT_EQ(old_output.shape, new_output.shape);
    EXPECT_EQ(old_output.type, new_output.type);
    // An index may pick either of two nearly equal values.
    if (old_output.type == DataType::kInt64) continue;
    ExpectClose(before[i], after[i], tolerance, "output '" + old_output.name + "'");
  }
}

Graph OptimiseAndCompare(const Graph& graph, uint32_t seed, double tolerance) {
  Graph optimised = graph;
  Optimise(optimised);
  EXPECT_NO_THROW(optimised.Validate());
  Graph again = optimised;
  EXPECT_FALSE(pass::RemoveDead(again));
  Optimise(again);
  EXPECT_EQ(again.operators.size(), optimised.operators.size());
  ExpectSameValues(graph, optimised, seed, tolerance);
  return optimised;
}

}  // namespace cacheinf
