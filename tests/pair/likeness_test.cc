#include "common/pair/likeness.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/backend/forwarding_backend.h"
#include "common/backend/host/cpu_backend.h"
#include "common/exec/model_state.h"
#include "common/model/graph/schemes.h"
#include "tests/pair/cuts.h"
#include "tests/testing/by_winograd.h"
#include "tests/testing/clip.h"
#include "tests/testing/networks.h"

namespace cacheinf {
namespace {

// A backend of a later release.
struct NewerBackend : ForwardingBackend {
  NewerBackend() : ForwardingBackend(std::make_unique<CpuBackend>()) {}
  std::string Arithmetic() const override { return "exact FP32, arithmetic 2"; }
};

class LikenessTest : public testing::Test {
 protected:
  static ModelState StateOf(Graph graph, std::unique_ptr<Backend> backend, Keep keep = Keep::kAll) {
    auto model = std::make_shared<const CompiledModel>(
        std::make_shared<const Graph>(std::move(graph)), std::move(backend));
    return ModelState(std::move(model), {{}, keep, false, true});
  }
  static Graph Network() { return *MakeNetwork(TenNetworks().front(), kHeight, kWidth); }

  ModelState state_ = StateOf(Network(), std::make_unique<CpuBackend>());
  const std::vector<Cut> cuts_ = {{PlacesOfCuts(state_)[2], 500}};
  const Likeness own_ = LikenessOf(state_, cuts_, {});
};

TEST_F(LikenessTest, IsTheSameWhereverTheSameIsCompiled) {
  const ModelState other = StateOf(Network(), std::make_unique<CpuBackend>());
  EXPECT_EQ(LikenessOf(other, cuts_, {}), own_);
  EXPECT_EQ(WhyUnlike(own_, LikenessOf(other, cuts_, {}), {}), "");
}

TEST_F(LikenessTest, OfBitsDependsOnArithmeticAndSchemes) {
  Graph winograd = Network();
  SetSchemes(winograd, WinogradWhereItApplies(winograd));
  for (const Likeness& other :
       {LikenessOf(StateOf(Network(), std::make_unique<NewerBackend>()), cuts_, {}),
        LikenessOf(StateOf(std::move(winograd), std::make_unique<CpuBackend>()), cuts_, {})}) {
    EXPECT_EQ(other.rows, own_.rows);
    EXPECT_NE(other.bits, own_.bits);
    EXPECT_NE(WhyUnlike(own_, other, {}), "");
    EXPECT_EQ(WhyUnlike(own_, other, {.kind = ChangePolicy::Kind::kFixed}), "");
  }
}

TEST_F(LikenessTest, OfRowsDependsOnWhatIsKeptAndCut) {
  Graph changed = Network();
  for (Operator& node : changed.operators) {
    auto* const conv = std::get_if<op::Conv>(&node.attributes);
    if (conv != nullptr && conv->activation.kind != Function::Kind::kIdentity) {
      conv->activation = {};
      break;
    }
  }
  std::vector<Cut> cuts = cuts_;
  cuts.front().robot_thousandths = 300;
  for (const Likeness& other :
       {LikenessOf(state_, cuts, {}),
        LikenessOf(StateOf(Network(), std::make_unique<CpuBackend>(), Keep::kAllApart), cuts_, {}),
        LikenessOf(StateOf(std::move(changed), std::make_unique<CpuBackend>()), cuts_, {})}) {
    EXPECT_NE(other.rows, own_.rows);
    EXPECT_NE(WhyUnlike(own_, other, {.kind = ChangePolicy::Kind::kFixed}), "");
  }
}

}  // namespace
}  // namespace cacheinf
