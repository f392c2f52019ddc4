#include "client/calibrate/setting_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace cacheinf {
namespace {

SettingPoint Same(SettingPoint point) { return point; }

bool Always() { return true; }

SearchSpace Space(std::vector<SettingDimension> dimensions, std::vector<SettingPoint> starts) {
  return {std::move(dimensions), std::move(starts), Same};
}

// Each step to a cheaper value saves its dimension's share of the cost and costs some agreement.
TrialOutcome Linear(const SettingPoint& point, const std::vector<double>& savings,
                    const std::vector<double>& losses) {
  TrialOutcome outcome = {1.0, 1.0};
  for (size_t i = 0; i < point.size(); ++i) {
    outcome.cost -= savings[i] * point[i];
    outcome.agreement -= losses[i] * point[i];
  }
  return outcome;
}

// The cheapest point that reaches the target, by trying all.
double CheapestCost(const SearchSpace& space, double target,
                    const std::function<TrialOutcome(const SettingPoint&)>& outcome) {
  double cheapest = INFINITY;
  SettingPoint point(space.dimensions.size(), 0);
  while (true) {
    const TrialOutcome of_point = outcome(space.canonical(point));
    if (of_point.agreement >= target) cheapest = std::min(cheapest, of_point.cost);
    size_t i = 0;
    while (i < point.size() && ++point[i] == space.dimensions[i].values) point[i++] = 0;
    if (i == point.size()) return cheapest;
  }
}

// A step too far along the first dimension is made up for along the second.
TEST(SettingSearchTest, FindsTheOptimumWhereDimensionsTradeAgainstEachOther) {
  const SearchSpace space = Space({{6}, {6}, {4}}, {{2, 2, 2}});
  const auto outcome = [](const SettingPoint& point) {
    return Linear(point, {0.10, 0.04, 0.02}, {0.011, 0.009, 0.010});
  };
  const SearchResult result = SearchSettings(
      space, 0.95, [&](const SettingPoint& point, const IsHopeless&) { return outcome(point); },
      Always);
  ASSERT_TRUE(result.best);
  EXPECT_TRUE(result.is_complete);
  const FinishedTrial& best = result.finished[*result.best];
  EXPECT_GE(best.outcome.agreement, 0.95);
  EXPECT_DOUBLE_EQ(best.outcome.cost, CheapestCost(space, 0.95, outcome));
  EXPECT_LT(result.finished.size(), 6u * 6u * 4u / 2u) << "nearly everything was tried";
}

// Random smooth objectives, with noise so that they are not convex: close to the optimum for few
// trials, and never a point that misses the target.
TEST(SettingSearchTest, ComesCloseToTheOptimumOfRandomObjectives) {
  const unsigned seed = 20;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto draw = [&random](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  double excess = 0;
  constexpr int kObjectives = 60;
  for (int i = 0; i < kObjectives; ++i) {
    const std::vector<SettingDimension> dimensions = {{5, false}, {6}, {5}, {4}, {5}};
    const SearchSpace space =
        Space(dimensions, {{0, 0, 0, 0, 0}, {1, 2, 2, 1, 2}, {3, 2, 2, 1, 2}});
    std::vector<double> savings;
    std::vector<double> losses;
    for (const SettingDimension& dimension : dimensions) {
      savings.push_back(draw(0.05, 0.19) / (dimension.values - 1));
      losses.push_back(draw(0.005, 0.05) / (dimension.values - 1));
    }
    std::map<SettingPoint, double> noise;
    const auto outcome = [&](const SettingPoint& point) {
      TrialOutcome found = Linear(point, savings, losses);
      if (!noise.contains(point)) noise[point] = draw(-0.002, 0.002);
      found.agreement += noise[point];
      return found;
    };
    const double target = draw(0.92, 0.97);
    const SearchResult result = SearchSettings(
        space, target, [&](const SettingPoint& point, const IsHopeless&) { return outcome(point); },
        Always);
    ASSERT_TRUE(result.best);
    const TrialOutcome& best = result.finished[*result.best].outcome;
    EXPECT_GE(best.agreement, target);
    EXPECT_LT(result.finished.size(), 250u) << "of 3000";
    excess += best.cost - CheapestCost(space, target, outcome);
  }
  EXPECT_LT(excess / kObjectives, 0.05);
}

TEST(SettingSearchTest, ATargetBelowTheStartIsClimbedTo) {
  const SearchSpace space = Space({{5}, {5}}, {{4, 4}});
  const SearchResult result = SearchSettings(
      space, 0.98,
      [](const SettingPoint& point, const IsHopeless&) {
        return Linear(point, {0.1, 0.1}, {0.01, 0.02});
      },
      Always);
  ASSERT_TRUE(result.best);
  EXPECT_GE(result.finished[*result.best].outcome.agreement, 0.98);
}

TEST(SettingSearchTest, WhereNothingReachesTheTargetThereIsNoBest) {
  const SearchSpace space = Space({{3}, {3}}, {{1, 1}});
  const SearchResult result = SearchSettings(
      space, 0.99,
      [](const SettingPoint& point, const IsHopeless&) {
        return TrialOutcome{0.5, 0.9 - 0.1 * point[0]};
      },
      Always);
  EXPECT_FALSE(result.best);
  EXPECT_TRUE(result.is_complete);
  EXPECT_FALSE(result.finished.empty());
}

TEST(SettingSearchTest, EveryPointIsTriedOnceAndPointsOfOneMeaningOnce) {
  SearchSpace space = Space({{2, false}, {6}, {6}}, {{0, 2, 2}, {0, 2, 3}, {1, 2, 2}});
  space.canonical = [](SettingPoint point) {
    if (point[0] == 0) point[2] = 0;
    return point;
  };
  std::set<SettingPoint> tried;
  SearchSettings(
      space, 0.95,
      [&](const SettingPoint& point, const IsHopeless&) {
        EXPECT_TRUE(tried.insert(point).second) << "tried twice";
        EXPECT_TRUE(point[0] != 0 || point[2] == 0) << "not canonical";
        return Linear(point, {0.1, 0.1, 0.1}, {0.01, 0.01, 0.01});
      },
      Always);
  EXPECT_GT(tried.size(), 5u);
}

TEST(SettingSearchTest, EndsWhenTheBudgetDoesWithWhatWasFound) {
  const SearchSpace space = Space({{6}, {6}}, {{0, 0}});
  const auto run = [&](int budget) {
    int left = budget;
    return SearchSettings(
        space, 0.9,
        [](const SettingPoint& point, const IsHopeless&) {
          return Linear(point, {0.1, 0.05}, {0.01, 0.01});
        },
        [&left] { return left-- > 0; });
  };
  EXPECT_EQ(run(0).finished.size(), 0u);
  EXPECT_FALSE(run(0).best);
  EXPECT_FALSE(run(0).is_complete);
  double cost = 2;
  for (int budget = 1; budget < 8; ++budget) {
    const SearchResult result = run(budget);
    EXPECT_EQ(result.finished.size(), static_cast<size_t>(budget));
    ASSERT_TRUE(result.best);
    EXPECT_LE(result.finished[*result.best].outcome.cost, cost);
    cost = result.finished[*result.best].outcome.cost;
  }
}

// A trial that reports its bounds on the way is given up if it cannot win, which does not change
// the result.
TEST(SettingSearchTest, HopelessTrialsAreGivenUpWithoutChangingTheResult) {
  const SearchSpace space = Space({{6}, {6}, {4}}, {{0, 0, 0}, {3, 3, 3}});
  const auto outcome = [](const SettingPoint& point) {
    return Linear(point, {0.08, 0.06, 0.03}, {0.012, 0.009, 0.02});
  };
  double effort = 0;
  double whole_effort = 0;
  const auto find = [&](bool gives_up, double* spent) {
    return SearchSettings(
        space, 0.96,
        [&](const SettingPoint& point,
            const IsHopeless& is_hopeless) -> std::optional<TrialOutcome> {
          const TrialOutcome found = outcome(point);
          // Bounds after nine tenths, as if the rest were perfect and free.
          if (gives_up && is_hopeless(0.9 * found.cost, 0.1 + 0.9 * found.agreement)) {
            *spent += 0.9 * found.cost;
            return std::nullopt;
          }
          *spent += found.cost;
          return found;
        },
        Always);
  };
  const SearchResult result = find(true, &effort);
  const SearchResult whole = find(false, &whole_effort);
  ASSERT_TRUE(result.best);
  ASSERT_TRUE(whole.best);
  EXPECT_EQ(result.finished[*result.best].point, whole.finished[*whole.best].point);
  EXPECT_GT(result.abandoned, 0);
  EXPECT_LT(effort, whole_effort);
}

TEST(SettingSearchTest, TheFrontierHoldsWhatNothingBeats) {
  const std::vector<FinishedTrial> trials = {
      {{0}, {1.0, 1.0}},  {{1}, {0.5, 0.9}}, {{2}, {0.6, 0.9}}, {{3}, {0.3, 0.95}},
      {{4}, {0.3, 0.95}}, {{5}, {0.2, 0.5}}, {{6}, {1.0, 0.99}}};
  EXPECT_EQ(Frontier(trials), (std::vector<size_t>{5, 3, 0}));
  EXPECT_TRUE(Frontier({}).empty());
}

}  // namespace
}  // namespace cacheinf
