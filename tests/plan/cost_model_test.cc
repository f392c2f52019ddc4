#include "common/plan/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "common/base/error.h"
#include "common/exec/cache_choice.h"
#include "common/model/graph/geometry.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/split.h"
#include "tests/plan/profiles.h"
#include "tests/testing/networks.h"
#include "tests/testing/random_graph.h"

namespace cacheinf {
namespace {

Plan RandomSplit(std::mt19937& random, const std::vector<int>& places) {
  Plan plan;
  plan.kind = Plan::Kind::kSplit;
  for (const int place : places) {
    if (random() % places.size() > 2) continue;
    const int share = static_cast<int>(random() % 3);
    plan.cuts.push_back({place, share == 2 ? 1000 : static_cast<int>(share * (random() % 1001))});
  }
  return plan;
}

// The rows that the cost model counts are those that robot and server compile.
void ExpectCompiledRows(const Graph& graph, const Layout& layout, uint32_t seed) {
  SCOPED_TRACE(graph.name + ", seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<ProfiledOperator> operators = DescribeOperators(graph, layout);
  const ProfilePair pair = PairOf(operators, 4, 1000);
  const CostModel model(pair.robot, pair.server, {.mbit_up = 10, .mbit_down = 10});
  const int picture_rows = HeightOf(graph.value(graph.inputs[0]));
  for (int trial = 0; trial < 40; ++trial) {
    const Plan plan = RandomSplit(random, model.cut_places());
    SCOPED_TRACE(ToText(plan));
    std::vector<int> robot_rows;
    for (const Plan::Cut& cut : plan.cuts) {
      robot_rows.push_back(PictureRowsOf(cut.robot_thousandths, picture_rows));
    }
    const SplitRows compiled =
        CompileRows(graph, layout, OwnershipOf(graph, layout, plan.cuts, robot_rows, picture_rows));
    const std::array<PlannedRows, 2> planned = model.RowsOf(plan);
    const std::array<const FrameRows*, 2> sides = {&compiled.robot, &compiled.server};
    for (const size_t side : {0, 1}) {
      for (const Stage& stage : layout.stages) {
        EXPECT_EQ(planned[side].computed[stage.root], sides[side]->computed[stage.root])
            << operators[stage.root].name << " on side " << side;
      }
      std::vector<Range> sent(graph.operators.size());
      Range sent_picture;
      for (const Transfer& transfer : compiled.transfers) {
        if (transfer.robot_to_server != (side == 0)) continue;
        const OpId producer = graph.value(transfer.value).producer;
        (producer == kNone ? sent_picture : sent[producer]) = transfer.rows;
      }
      for (size_t id = 0; id < sent.size(); ++id) {
        EXPECT_EQ(planned[side].sent[id], sent[id]) << operators[id].name << " of side " << side;
      }
      EXPECT_EQ(planned[side].sent_picture, sent_picture);
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CostModel, CountsTheRowsThatBothSidesCompile) {
  for (const Network& network : TenNetworks()) {
    const auto graph = MakeNetwork(network, 64, 32);
    ExpectCompiledRows(*graph, PlanLayout(*graph, {}, Keep::kAll), 1);
    ExpectCompiledRows(*graph, PlanLayout(*graph, {}, Keep::kAllApart), 2);
    const CacheChoice choice =
        ChooseCaches(*graph, MemoryOfExtremes(*graph).no_cache_bytes * 3 / 2);
    ExpectCompiledRows(*graph, PlanLayout(*graph, choice.kept, Keep::kChosen), 3);
  }
}

}  // namespace
}  // namespace cacheinf
