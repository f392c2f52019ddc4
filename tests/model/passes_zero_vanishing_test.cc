#include <gtest/gtest.h>

#include <vector>

#include "common/model/passes/passes.h"

namespace cacheinf {
namespace {

// Runs the pass on a 1×1 convolution from one channel to one per weight; returns its weights.
std::vector<float> WeightsAfterPass(const std::vector<float>& weights, bool expect_change) {
  const auto count = static_cast<int64_t>(weights.size());
  Graph graph;
  const ValueId input = graph.AddInput("x", {1, 1, 2, 2});
  const ValueId constant = graph.AddConstant("w", Tensor({count, 1, 1, 1}, weights));
  graph.outputs = {graph.AddOne("conv", op::Conv{}, {input, constant})};
  EXPECT_EQ(pass::ZeroVanishing(graph), expect_change);
  graph.Validate();
  const Tensor& left = graph.value(constant).constant;
  return {left.data(), left.data() + left.count()};
}

TEST(ZeroVanishingTest, DenormalWeightsBesideOrdinaryOnesBecomeZero) {
  EXPECT_EQ(WeightsAfterPass({0.5f, 1e-40f, -1e-41f, 1e-35f, 0.0f}, /*expect_change=*/true),
            (std::vector<float>{0.5f, 0.0f, 0.0f, 0.0f, 0.0f}));
}

TEST(ZeroVanishingTest, SmallWeightsThatMayCountStay) {
  const std::vector<float> small_but_normal = {1.0f, 1e-20f, -1e-29f};
  EXPECT_EQ(WeightsAfterPass(small_but_normal, /*expect_change=*/false), small_but_normal);
  const std::vector<float> all_tiny = {1e-35f, 2e-36f};
  EXPECT_EQ(WeightsAfterPass(all_tiny, /*expect_change=*/false), all_tiny);
}

}  // namespace
}  // namespace cacheinf
