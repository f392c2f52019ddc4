#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "common/exec/layout.h"
#include "common/model/passes/passes.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

// Dense blocks, as in DenseNet: every layer reads the concatenation of all layers before it.

namespace cacheinf {
namespace {

Graph DenseBlock(int layers) {
  Graph graph;
  std::mt19937 random(1);
  std::vector<ValueId> features = {graph.AddInput("input", {1, 6, 9, 7})};
  features[0] = graph.AddOne("stem", op::Activation{{Function::Kind::kRelu, 0, 0}}, {features[0]});
  ValueId last = features[0];
  for (int i = 0; i < layers; ++i) {
    features.push_back(AddConv(graph, "conv" + std::to_string(i), last, 4, 3, random, 0.3f));
    last = graph.AddOne("concat" + std::to_string(i), op::Concat{1}, features);
  }
  graph.outputs = {graph.AddOne("end", op::Activation{{Function::Kind::kRelu, 0, 0}}, {last})};
  return graph;
}

size_t CopyingConcats(const Graph& graph) {
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  size_t count = 0;
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    count += graph.operators[id].As<op::Concat>() && !layout.is_done_by_placement[id];
  }
  return count;
}

TEST(DenseBlockTest, GrowsInOneBufferWithoutCopies) {
  Graph graph = DenseBlock(6);
  EXPECT_EQ(CopyingConcats(graph), 5u);
  const size_t arena_floats = MakeLayout(graph, {}, Keep::kListed).arena_floats;
  EXPECT_TRUE(pass::NestConcats(graph));
  EXPECT_EQ(CopyingConcats(graph), 0u);
  EXPECT_LT(MakeLayout(graph, {}, Keep::kListed).arena_floats, arena_floats);
  EXPECT_FALSE(pass::NestConcats(graph));
  EXPECT_FALSE(pass::MergeLayouts(graph));
}

}  // namespace
}  // namespace cacheinf
