#include "common/exec/cache_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/exec/layout.h"
#include "common/exec/stages.h"
#include "common/exec/stem.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

bool Contains(const std::vector<ValueId>& values, ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

size_t ValuesOf(const Graph& graph) {
  return static_cast<size_t>(
      std::count_if(graph.values.begin(), graph.values.end(),
                    [](const Value& value) { return !value.is_constant(); }));
}

size_t ArenaBytes(const Graph& graph, const std::vector<ValueId>& kept) {
  const Layout layout = MakeLayout(graph, kept, Keep::kChosen);
  return (layout.arena_floats - layout.constant_floats) * sizeof(float);
}

ValueId AddLayer(Graph& graph, const std::string& name, ValueId input, int channels, int kernel) {
  std::mt19937 random(1);
  return AddConv(graph, name, input, channels, kernel, random);
}

TEST(CacheChoiceTest, EverythingIsKeptWhereThereIsRoom) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed);
    const CacheChoice choice = ChooseCaches(graph, kUnlimited);
    EXPECT_EQ(choice.kept.size(), ValuesOf(graph));
    EXPECT_EQ(choice.bytes, MemoryOfExtremes(graph).cache_all_bytes);
    EXPECT_EQ(choice.extra_work, 0.0);
  }
}

TEST(CacheChoiceTest, AChoiceTakesNoMoreThanItsBudgetAndSaysWhatItTakes) {
  int fits = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed, {.operator_count = 20, .only_local = seed % 2 == 0});
    const CacheChoice least = ChooseCaches(graph, 0);
    for (const double share : {0.9, 0.7, 0.5, 0.3}) {
      const auto budget =
          static_cast<size_t>(share * static_cast<double>(MemoryOfExtremes(graph).cache_all_bytes));
      const CacheChoice choice = ChooseCaches(graph, budget);
      EXPECT_EQ(choice.bytes, ArenaBytes(graph, choice.kept));
      EXPECT_LE(choice.bytes, std::max(budget, least.bytes));
      fits += choice.bytes <= budget;
      const std::vector<bool> always = AlwaysKept(graph);
      for (ValueId id = 0; id < static_cast<ValueId>(always.size()); ++id) {
        EXPECT_TRUE(!always[id] || graph.value(id).is_constant() || Contains(choice.kept, id))
            << id;
      }
    }
  }
  EXPECT_GT(fits, 10) << "too few budgets could be kept: this tests nothing";
}

TEST(CacheChoiceTest, WhatIsHeldTwiceCountsTwice) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed, {.operator_count = 20, .only_local = seed % 2 == 0});
    const size_t budget = MemoryOfExtremes(graph).cache_all_bytes;
    const CacheChoice choice = ChooseCaches(graph, budget, {}, /*held_twice=*/true);
    const auto state = MakeReferenceState(graph, {choice.kept, Keep::kChosen, true});
    EXPECT_LE(state->memory().arena_bytes, choice.bytes);
    EXPECT_GE(choice.bytes, ArenaBytes(graph, choice.kept));
  }
}

TEST(CacheChoiceTest, EqualGraphsGiveEqualChoices) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Graph graph = RandomGraph(seed);
    const size_t budget = MemoryOfExtremes(graph).cache_all_bytes / 2;
    EXPECT_EQ(ChooseCaches(graph, budget).kept, ChooseCaches(graph, budget).kept) << seed;
  }
}

// A map between pointwise operators has no halo and stops no growth. Three of them take turns in
// two places.
TEST(CacheChoiceTest, WhatCostsNothingIsGivenUpFirst) {
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 4, 64, 64});
  map = AddLayer(graph, "wide", map, 4, 9);
  std::vector<ValueId> points;
  for (int i = 0; i < 4; ++i) {
    map = AddLayer(graph, "point" + std::to_string(i), map, 4, 1);
    points.push_back(map);
  }
  graph.outputs = {AddLayer(graph, "last", map, 4, 9)};
  const size_t all_bytes = MemoryOfExtremes(graph).cache_all_bytes;
  const CacheChoice choice = ChooseCaches(graph, all_bytes - 1);
  EXPECT_EQ(choice.bytes, all_bytes - 4 * 64 * 64 * sizeof(float));
  EXPECT_EQ(choice.extra_work, 0.0);
  EXPECT_EQ(choice.kept.size(), ValuesOf(graph) - 2);
  for (const size_t i : {0, 2}) EXPECT_FALSE(Contains(choice.kept, points[i])) << i;
}

TEST(CacheChoiceTest, WhatIsRequiredIsKept) {
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 4, 32, 32});
  std::vector<ValueId> maps;
  for (int i = 0; i < 6; ++i) {
    map = AddLayer(graph, "conv" + std::to_string(i), map, 4, 3);
    maps.push_back(map);
  }
  graph.outputs = {map};
  for (const ValueId required : maps) {
    const std::vector<ValueId> list = {required};
    EXPECT_TRUE(Contains(ChooseCaches(graph, 0, list).kept, required));
  }
  EXPECT_FALSE(Contains(ChooseCaches(graph, 0).kept, maps[2]));
  EXPECT_EQ(StemOutputs(graph, 2), std::vector<ValueId>{maps[1]});
  EXPECT_TRUE(StemOutputs(graph, 0).empty());
}

TEST(StemTest, EndsBeforeAnOperatorThatIsNotLocal) {
  Graph graph;
  const ValueId input = graph.AddInput("in", {1, 4, 8, 8});
  const ValueId first = AddLayer(graph, "first", input, 4, 3);
  const ValueId mixed = graph.AddOne("mixed", op::MatMul{}, {first, first});
  graph.outputs = {AddLayer(graph, "second", mixed, 4, 3)};
  EXPECT_EQ(StemOutputs(graph, 2), std::vector<ValueId>{first});
}

// Three 3x3 convolutions on a map of 100x100; a square of 32x32 changes.
TEST(CacheChoiceTest, ExpectedWorkCountsGrowthAndHalos) {
  Graph graph;
  ValueId map = graph.AddInput("in", {1, 1, 100, 100});
  std::vector<ValueId> maps;
  for (int i = 0; i < 3; ++i) {
    map = AddLayer(graph, "conv" + std::to_string(i), map, 1, 3);
    maps.push_back(map);
  }
  graph.outputs = {map};
  const double pixel = 2 * 9 + 1;
  std::vector<bool> is_kept(graph.values.size(), true);
  EXPECT_DOUBLE_EQ(ExpectedWork(graph, is_kept), pixel * 3 * 34 * 34);
  is_kept[maps[1]] = false;
  EXPECT_DOUBLE_EQ(ExpectedWork(graph, is_kept), pixel * (34 * 34 + 38 * 38 + 36 * 36));
  is_kept[maps[0]] = false;
  EXPECT_DOUBLE_EQ(ExpectedWork(graph, is_kept), pixel * (42 * 42 + 40 * 40 + 38 * 38));
}

}  // namespace
}  // namespace cacheinf
