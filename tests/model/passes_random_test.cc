#include <gtest/gtest.h>

#include "common/model/passes/passes.h"
#include "tests/model/expect_same_values.h"
#include "tests/testing/random_graph.h"

namespace cacheinf {
namespace {

constexpr uint32_t kGraphs = 300;
// Rounding errors grow through divisions, powers and norms of small random networks.
constexpr double kTolerance = 1e-3;

class RandomPassesTest : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPassesTest, testing::Range(0u, kGraphs));

// All passes together keep the values of any network.
TEST_P(RandomPassesTest, OptimiseKeepsValues) {
  RandomGraphOptions options;
  options.has_choices = false;
  options.operator_count = 4 + static_cast<int>(GetParam() % 30);
  OptimiseAndCompare(RandomGraph(GetParam(), options), GetParam(), kTolerance);
}

struct NamedPass {
  const char* name;
  bool (*run)(Graph&);
};

constexpr NamedPass kPasses[] = {
    {"RemoveDead", pass::RemoveDead},         {"FoldConstants", pass::FoldConstants},
    {"MergeCommon", pass::MergeCommon},       {"DropIdentities", pass::DropIdentities},
    {"MergeLayouts", pass::MergeLayouts},     {"RecogniseActivations", pass::RecogniseActivations},
    {"RecogniseNorms", pass::RecogniseNorms}, {"RecogniseShuffles", pass::RecogniseShuffles},
    {"SimplifyPools", pass::SimplifyPools},   {"MatMulToLinear", pass::MatMulToLinear},
    {"SinkPermutes", pass::SinkPermutes},     {"MergePads", pass::MergePads},
    {"FoldAffines", pass::FoldAffines},       {"Fuse", pass::Fuse},
};

// So does each pass alone, which leaves a valid graph.
TEST_P(RandomPassesTest, EachPassKeepsValues) {
  const Graph graph = RandomGraph(GetParam(), {.has_choices = false});
  for (const NamedPass& pass : kPasses) {
    SCOPED_TRACE(pass.name);
    Graph rewritten = graph;
    pass.run(rewritten);
    ASSERT_NO_THROW(rewritten.Validate());
    ExpectSameValues(graph, rewritten, GetParam(), kTolerance);
  }
}

}  // namespace
}  // namespace cacheinf
