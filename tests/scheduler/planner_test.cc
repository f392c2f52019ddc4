// Read this first: planners find the best plan for a situation, compared with all splits of small
// networks.

#include "scheduler/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "scheduler/exhaustive.h"
#include "scheduler/single_cut.h"
#include "scheduler/split_search.h"
#include "tests/scheduler/random_networks.h"

namespace cacheinf {
namespace {

struct Comparison {
  int networks = 0;
  int beyond_baselines = 0;  // where the best baseline takes 1 % more than the best plan
  double worst = 1;          // of cacheinf, over the best of all splits
};

// Expects cacheinf to be at most 1 % worse than the best of a grid.
Comparison CompareWithAll(uint32_t first_seed, int count, size_t most_places) {
  Comparison comparison;
  const std::unique_ptr<Planner> planner = MakePlanner("cacheinf");
  for (uint32_t seed = first_seed; seed < first_seed + static_cast<uint32_t>(count); ++seed) {
    const RandomNetwork network = MakeRandomNetwork(seed, most_places);
    const CostModel model(network.pair.robot, network.pair.server, network.situation);
    const double ms = model.Ms(planner->Solve(model, {}));
    double baseline_ms = INFINITY;
    for (const char* name : {"local", "remote", "ds", "ds-c", "hp"}) {
      const double of_baseline = model.Ms(MakePlanner(name)->Solve(model, {}));
      EXPECT_LE(ms, of_baseline) << name << ", seed " << seed;
      baseline_ms = std::min(baseline_ms, of_baseline);
    }
    // Look only for better plans: others cannot show a fault.
    double best_ms = ms;
    for (const bool keeps : {false, true}) {
      const std::optional<Plan> best = BestOfAllSplits(model, keeps, best_ms / 1.005);
      if (best) best_ms = std::min(best_ms, model.Ms(*best));
    }
    EXPECT_LE(ms, 1.01 * best_ms) << "seed " << seed;
    ++comparison.networks;
    comparison.beyond_baselines += baseline_ms > 1.01 * best_ms ? 1 : 0;
    comparison.worst = std::max(comparison.worst, ms / best_ms);
  }
  return comparison;
}

void Print(const Comparison& comparison) {
  std::cout << comparison.networks << " networks, " << comparison.beyond_baselines
            << " beyond baselines, worst " << comparison.worst << "\n";
}

TEST(Planner, CacheInfIsAsGoodAsTheBestOfAllSplits) {
  const Comparison comparison = CompareWithAll(1, 40, 5);
  Print(comparison);
  EXPECT_GE(comparison.beyond_baselines, 12);
}

TEST(SlowPlanner, CacheInfIsAsGoodAsTheBestOfAllSplits) {
  const Comparison comparison = CompareWithAll(1, 1000, 5);
  Print(comparison);
  EXPECT_GE(comparison.beyond_baselines, 300);
}

TEST(SlowPlanner, CacheInfIsAsGoodAsTheBestOfAllSplitsWithEightCuts) {
  Print(CompareWithAll(5001, 20, 8));
}

// The best without pruning: tries every cut, or none, at every place.
double BestByTrying(const CostModel& model, bool keeps) {
  const std::vector<int>& places = model.cut_places();
  double best_ms = INFINITY;
  std::vector<int> choice(places.size(), -1);
  while (true) {
    Plan plan;
    plan.kind = Plan::Kind::kSplit;
    plan.keeps = keeps;
    for (size_t i = 0; i < places.size(); ++i) {
      if (choice[i] >= 0) plan.cuts.push_back({places[i], 100 * choice[i]});
    }
    best_ms = std::min(best_ms, model.Ms(plan));
    size_t i = 0;
    while (i < places.size() && choice[i] == 10) choice[i++] = -1;
    if (i == places.size()) return best_ms;
    ++choice[i];
  }
}

TEST(Exhaustive, LeavesOutOnlyWhatIsNoBetter) {
  for (uint32_t seed = 9001; seed < 9041; ++seed) {
    RandomNetwork network = MakeRandomNetwork(seed, 4);
    // Bounds must hold however much each operator gains on the server, and wherever a curve bends.
    std::mt19937 random(seed);
    for (Profile* const profile : {&network.pair.robot, &network.pair.server}) {
      for (ProfiledOperator& op : profile->operators) {
        const double factor = 0.2 * static_cast<double>(1 + random() % 10);
        op.dense_ms *= factor;
        for (Curve::Point& point : op.ms.points) point.y *= factor;
        op.ms.points.insert(op.ms.points.begin() + 1, {0.3, 1.1 * op.ms.points[0].y});
      }
    }
    network.situation.robot_factor = 2;
    network.situation.server_factor = 0.2;
    const CostModel model(network.pair.robot, network.pair.server, network.situation);
    for (const bool keeps : {false, true}) {
      const std::optional<Plan> best = BestOfAllSplits(model, keeps, INFINITY);
      ASSERT_TRUE(best);
      EXPECT_DOUBLE_EQ(model.Ms(*best), BestByTrying(model, keeps)) << "seed " << seed;
      EXPECT_FALSE(BestOfAllSplits(model, keeps, model.Ms(*best)));
    }
  }
}

TEST(Exhaustive, RefusesWhatItCannotSearch) {
  const ProfilePair pair = MakeKapaoLike();
  const CostModel model(pair.robot, pair.server, {50, 50, 4, 0.3, 0.4});
  EXPECT_THROW(MakePlanner("exhaustive")->Solve(model, {}), InputError);
}

// What a frame takes, all steps in turn, if the server runs these operators; infinite if the robot
// runs one that reads what they compute.
double SumOf(const CostModel& model, unsigned servers) {
  const std::vector<ProfiledOperator>& operators = model.robot().operators;
  double ms = model.BeginMs(true) + model.EndMs();
  if (servers != 0) ms += model.situation().round_trip_ms;
  unsigned crossing = 0;  // the picture's bit is the lowest
  for (size_t id = 0; id < operators.size(); ++id) {
    const bool is_server = (servers >> id & 1U) != 0;
    const auto op = static_cast<int>(id);
    ms += model.OperatorMs(is_server ? Side::kServer : Side::kRobot, op, true);
    if (is_server && operators[id].is_output) ms += model.CrossingMs(Side::kRobot, op, true);
    for (const ProfiledOperator::Input& input : operators[id].inputs) {
      const bool is_from_server = input.from >= 0 && (servers >> input.from & 1U) != 0;
      if (is_from_server && !is_server) return INFINITY;
      if (is_server && !is_from_server) crossing |= 1U << (input.from + 1);
    }
  }
  for (int id = -1; id < static_cast<int>(operators.size()); ++id) {
    if ((crossing >> (id + 1) & 1U) != 0) ms += model.CrossingMs(Side::kServer, id, true);
  }
  return ms;
}

TEST(SingleCut, NoOtherCutOfTheGraphIsBetter) {
  int cuts = 0;
  for (uint32_t seed = 8001; seed < 8201; ++seed) {
    const RandomNetwork network = MakeRandomNetwork(seed, 9);
    const CostModel model(network.pair.robot, network.pair.server, network.situation);
    const Plan plan = BestSingleCut(model, true);
    cuts += plan.cuts.empty() ? 0 : 1;
    const double ms = model.Ms(plan);
    EXPECT_LE(model.Ms(MakePlanner("ds-c")->Solve(model, {})),
              model.Ms({.kind = Plan::Kind::kRemote, .codec = "raw"}));
    for (unsigned servers = 0; servers < 1U << model.robot().operators.size(); ++servers) {
      EXPECT_LE(ms, SumOf(model, servers) * (1 + 1e-9)) << servers << ", seed " << seed;
    }
  }
  EXPECT_GT(cuts, 50);
}

TEST(Planner, WithoutALinkTheRobotAnswers) {
  const RandomNetwork network = MakeRandomNetwork(1, 5);
  const CostModel model(network.pair.robot, network.pair.server, {});
  for (const std::string& name : PlannerNames()) {
    EXPECT_TRUE(std::isfinite(model.Ms(MakePlanner(name)->Solve(model, {})))) << name;
  }
}

TEST(Planner, TakesTheUsualQualityOfACodec) {
  RandomNetwork network = MakeRandomNetwork(1, 5);
  std::vector<ProfiledCodec>& codecs = network.pair.robot.codecs;
  codecs = {{"jpeg:85", Curve::Constant(9000), 1, 1},
            {"raw", Curve::Constant(90'000), 0.1, 0.1},
            {"jpeg:70", Curve::Constant(5000), 1, 1}};
  const CostModel model(network.pair.robot, network.pair.server, {5, 5, 4, 0.3, 0.4});
  EXPECT_EQ(MakePlanner("remote")->Solve(model, {}).codec, "jpeg:85");
}

TEST(Planner, EqualSeedsGiveEqualPlans) {
  const RandomNetwork network = MakeRandomNetwork(11, 8);
  const CostModel model(network.pair.robot, network.pair.server, network.situation);
  SolveOptions options;
  options.seed = 7;
  for (const char* name : {"hp", "cacheinf"}) {
    EXPECT_EQ(MakePlanner(name)->Solve(model, options), MakePlanner(name)->Solve(model, options))
        << name;
  }
  // In a large network, where a search ends is chance.
  const ProfilePair large = MakeKapaoLike();
  const CostModel of_large(large.robot, large.server, {200, 200, 4, 0.3, 0.4});
  const Plan plan = SearchSplits(of_large, true, options);
  options.seed = 8;
  EXPECT_NE(SearchSplits(of_large, true, options), plan);
}

TEST(Planner, UnknownNamesAreRefused) { EXPECT_THROW(MakePlanner("best"), InputError); }

}  // namespace
}  // namespace cacheinf
