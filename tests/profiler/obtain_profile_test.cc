#include "profiler/obtain_profile.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "common/exec/cpu_backend.h"
#include "tests/exec/by_winograd.h"
#include "tests/testing/folder_test.h"

namespace cacheinf {
namespace {

// A convolution of a picture, of which only the largest channel comes out.
Graph Convolution() {
  Graph graph;
  graph.picture = {64, 48};
  op::Conv conv;
  conv.spec.rows = conv.spec.columns = {3, 1, 1, 1, 1};
  const Shape shape = {8, 3, 3, 3};
  std::vector<float> weights(static_cast<size_t>(ElementCount(shape)));
  std::mt19937 random(3);
  std::uniform_real_distribution<float> any(-1.0f, 1.0f);
  for (float& weight : weights) weight = any(random);
  const ValueId image = graph.AddInput("image", {1, 3, 48, 64});
  const ValueId constant = graph.AddConstant("weights", {shape, std::move(weights)});
  const ValueId scores = graph.AddOne("conv", conv, {image, constant});
  graph.outputs = {graph.AddOne("class", op::ArgMax{1}, {scores})};
  graph.Validate();
  return graph;
}

class ObtainProfileTest : public FolderTest {
 protected:
  Profile Obtain(Graph graph, CacheConfig::Policy policy = CacheConfig::Policy::kChange) const {
    ProfileRequest request;
    request.graph = std::make_shared<const Graph>(std::move(graph));
    request.make_backend = [] { return std::make_unique<CpuBackend>(); };
    request.cache.policy = policy;
    request.frames = 16;
    request.codecs = {"raw"};
    request.seconds = 0.1;
    return ObtainProfile(request, Path("profile.json"), /*measure_again=*/false, SteadyClock(),
                         [](double, double) { return true; })
        .profile;
  }
};

TEST_F(ObtainProfileTest, SaysWhatWinogradChanges) {
  const Graph direct = Convolution();
  Graph by_winograd = direct;
  SetSchemes(by_winograd, WinogradWhereItApplies(direct));

  const Profile of_direct = Obtain(direct);
  EXPECT_EQ(of_direct.winograd_layers, 0);
  EXPECT_EQ(of_direct.winograd_difference, 0.0);
  const Profile of_winograd = Obtain(by_winograd);
  EXPECT_EQ(of_winograd.winograd_layers, 1) << "the direct profile is not taken for this one";
  EXPECT_GT(of_winograd.winograd_difference, 0.0);
  EXPECT_LT(of_winograd.winograd_difference, 1e-4);

  // Where bits matter, both sides need the same schemes.
  EXPECT_EQ(of_direct.settings, of_winograd.settings);
  const auto exact = CacheConfig::Policy::kExact;
  EXPECT_NE(Obtain(direct, exact).settings, Obtain(by_winograd, exact).settings);
}

}  // namespace
}  // namespace cacheinf
