#include "common/exec/compiled_model.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "tests/testing/heap.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// One set of weights for all states of a model.

namespace cacheinf {
namespace {

// Three convolutions whose weights are far larger than their maps.
std::shared_ptr<const Graph> HeavyGraph() {
  constexpr int64_t kChannels = 256;
  std::mt19937 random(5);
  auto graph = std::make_shared<Graph>();
  ValueId map = graph->AddInput("in", {1, kChannels, 8, 8});
  for (int i = 0; i < 3; ++i) {
    map = AddConv(*graph, "conv" + std::to_string(i), map, kChannels, 3, random, 0.02f);
  }
  graph->outputs = {map};
  graph->Validate();
  return graph;
}

TEST(CompiledModelTest, EightStatesHoldEightArenasAndOneSetOfWeights) {
  if (!IsHeapCounted()) GTEST_SKIP() << "a sanitizer's heap cannot be counted";
  const auto graph = HeavyGraph();
  const size_t with_graph = HeapBytes();
  const auto model = std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>());
  const size_t weights = HeapBytes() - with_graph;
  EXPECT_GT(weights, size_t{3} * 256 * 256 * 9 * sizeof(float));

  const size_t with_model = HeapBytes();
  std::vector<ModelState> states;
  for (int i = 0; i < 8; ++i) states.emplace_back(model, StateOptions{{}, Keep::kAll});
  const size_t arenas = 8 * states[0].memory().arena_bytes;
  const size_t taken = HeapBytes() - with_model;
  EXPECT_GE(taken, arenas);
  // Masks and lists are not in the arenas.
  EXPECT_LT(taken, arenas + 8 * weights / 2) << "states hold weights of their own";
}

TEST(CompiledModelTest, StatesDoNotDisturbEachOther) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto graph = std::make_shared<const Graph>(RandomGraph(seed));
    const auto model = std::make_shared<const CompiledModel>(graph, std::make_unique<CpuBackend>());
    ModelState first(model, {{}, Keep::kAll});
    ModelState second(model, {{}, Keep::kAll});
    const std::vector<Tensor> inputs = RandomInputs(*graph, seed);
    SetInputs(first, inputs);
    SetInputs(second, RandomInputs(*graph, seed + 1));
    first.Run();
    const auto expected = Outputs(first);
    second.Run();
    EXPECT_EQ(FirstDifference(expected, Outputs(first)), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace cacheinf
