#include "common/exec/layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "common/backend/arena.h"
#include "tests/testing/random_graph.h"

namespace cacheinf {
namespace {

const op::Activation kRelu = {{Function::Kind::kRelu, 0, 0}};

int64_t OffsetBetween(const Layout& layout, ValueId from, ValueId to) {
  return static_cast<int64_t>(layout.places[to].offset) -
         static_cast<int64_t>(layout.places[from].offset);
}

TEST(LayoutTest, ConcatenatedMapsAreComputedInPlace) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 3, 4, 5});
  const ValueId a = graph.AddOne("a", kRelu, {input});
  const ValueId b = graph.AddOne("b", kRelu, {a});
  const ValueId both = graph.AddOne("both", op::Concat{1}, {a, b});
  graph.outputs = {graph.AddOne("end", kRelu, {both})};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  EXPECT_TRUE(layout.is_done_by_placement[graph.value(both).producer]);
  EXPECT_EQ(OffsetBetween(layout, both, a), 0);
  EXPECT_EQ(OffsetBetween(layout, both, b), 3);
  EXPECT_EQ(layout.places[b].strides[3], 6);
  EXPECT_EQ(layout.places[b].strides[2], 30);
}

TEST(LayoutTest, NestedConcatenationsShareOneBuffer) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {2, 3, 4, 5});
  const ValueId a = graph.AddOne("a", kRelu, {input});
  const ValueId b = graph.AddOne("b", kRelu, {input});
  const ValueId inner = graph.AddOne("inner", op::Concat{1}, {a, b});
  const ValueId c = graph.AddOne("c", kRelu, {inner});
  const ValueId outer = graph.AddOne("outer", op::Concat{1}, {c, inner});
  graph.outputs = {graph.AddOne("end", kRelu, {outer})};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  EXPECT_EQ(OffsetBetween(layout, outer, c), 0);
  EXPECT_EQ(OffsetBetween(layout, outer, inner), 6);
  EXPECT_EQ(OffsetBetween(layout, outer, b), 9);
  EXPECT_TRUE(layout.is_done_by_placement[graph.value(inner).producer]);
  EXPECT_TRUE(layout.is_done_by_placement[graph.value(outer).producer]);
}

TEST(LayoutTest, WhatCannotLieInPlaceIsCopied) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 3, 4, 5});
  const ValueId a = graph.AddOne("a", kRelu, {input});
  const ValueId twice = graph.AddOne("twice", op::Concat{1}, {a, a});
  const ValueId with_input = graph.AddOne("with input", op::Concat{1}, {input, twice});
  const ValueId with_output = graph.AddOne("with output", op::Concat{1}, {with_input, twice});
  graph.outputs = {with_output, with_input};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  for (ValueId concat : {twice, with_input, with_output}) {
    EXPECT_FALSE(layout.is_done_by_placement[graph.value(concat).producer]);
  }
}

TEST(LayoutTest, ReshapesThatKeepTheOrderAreViews) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 8, 4, 5});
  const ValueId pooled = graph.AddOne("pooled", op::AdaptivePool{}, {input});
  const ValueId flat = graph.AddOne("flat", op::Reshape{{1, 8}}, {pooled});
  const ValueId map = graph.AddOne("map", op::Reshape{{1, 2, 4, 1}}, {flat});
  const ValueId mixed = graph.AddOne("mixed", op::Reshape{{1, 160}}, {input});
  graph.outputs = {graph.AddOne("end", kRelu, {flat}), graph.AddOne("end map", kRelu, {map}),
                   graph.AddOne("end mixed", kRelu, {mixed})};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  EXPECT_TRUE(layout.is_done_by_placement[graph.value(flat).producer]);
  EXPECT_EQ(OffsetBetween(layout, pooled, flat), 0);
  EXPECT_FALSE(layout.is_done_by_placement[graph.value(map).producer]);    // 4 x 2 in memory
  EXPECT_FALSE(layout.is_done_by_placement[graph.value(mixed).producer]);  // channels-last
}

TEST(LayoutTest, PersistentReshapesAreCopied) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {6, 2});
  const ValueId middle = graph.AddOne("middle", op::Reshape{{3, 4}}, {input});
  graph.outputs = {graph.AddOne("end", op::Reshape{{12}}, {middle})};
  EXPECT_EQ(MakeLayout(graph, {}, Keep::kListed).is_done_by_placement,
            (std::vector<bool>{true, false}));
  EXPECT_EQ(MakeLayout(graph, {middle}, Keep::kListed).is_done_by_placement,
            (std::vector<bool>{false, false}));
}

TEST(LayoutTest, HalvesOfAMapAreViews) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 8, 4, 5});
  const ValueId whole = graph.AddOne("whole", kRelu, {input});
  const ValueId half =
      graph.AddOne("half", op::Slice{{0, 4, 0, 0}, {1, 4, 4, 5}, {1, 1, 1, 1}}, {whole});
  const ValueId speck =
      graph.AddOne("speck", op::Slice{{0, 4, 0, 0}, {1, 1, 2, 1}, {1, 1, 2, 1}}, {whole});
  graph.outputs = {graph.AddOne("end", kRelu, {half}), graph.AddOne("end 2", kRelu, {speck})};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  EXPECT_TRUE(layout.is_done_by_placement[graph.value(half).producer]);
  EXPECT_EQ(OffsetBetween(layout, whole, half), 4);
  EXPECT_FALSE(layout.is_done_by_placement[graph.value(speck).producer]);
}

TEST(LayoutTest, AChainOfMapsNeedsTwoBuffers) {
  Graph graph;
  ValueId last = graph.AddInput("input", {1, 16, 10, 10});
  for (int i = 0; i < 20; ++i) last = graph.AddOne("op" + std::to_string(i), kRelu, {last});
  graph.outputs = {last};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  EXPECT_EQ(layout.arena_floats, 4u * 1600);  // and those of the input and the output
  EXPECT_EQ(layout.lower_bound_floats, layout.arena_floats);
  EXPECT_EQ(layout.kept_floats, 2u * 1600);
  EXPECT_EQ(MakeLayout(graph, {}, Keep::kAllApart).arena_floats, 21u * 1600);
}

std::vector<ValueId> AllValues(const Graph& graph) {
  std::vector<ValueId> values(graph.values.size());
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(LayoutTest, EveryValueChosenIsKeepingAll) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed);
    const Layout chosen = MakeLayout(graph, AllValues(graph), Keep::kChosen);
    const Layout all = MakeLayout(graph, {}, Keep::kAll);
    EXPECT_EQ(chosen.is_done_by_placement, all.is_done_by_placement);
    EXPECT_EQ(chosen.arena_floats, all.arena_floats);
    EXPECT_EQ(chosen.stages.size(), graph.operators.size());
    for (size_t id = 0; id < graph.values.size(); ++id) {
      EXPECT_EQ(chosen.places[id].offset, all.places[id].offset);
      EXPECT_EQ(chosen.places[id].viewed, all.places[id].viewed);
    }
    EXPECT_EQ(FindKept(graph, AllValues(graph)).floats, all.kept_floats - all.constant_floats);
  }
}

TEST(LayoutTest, AKeptConcatenationKeepsItsParts) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 3, 4, 5});
  const ValueId a = graph.AddOne("a", kRelu, {input});
  const ValueId b = graph.AddOne("b", kRelu, {a});
  const ValueId both = graph.AddOne("both", op::Concat{1}, {a, b});
  graph.outputs = {graph.AddOne("end", kRelu, {both})};
  const Layout whole = MakeLayout(graph, {both}, Keep::kChosen);
  EXPECT_TRUE(whole.is_kept[a] && whole.is_kept[b] && whole.is_kept[both]);
  EXPECT_EQ(whole.places[a].viewed, both);
  const Layout part = MakeLayout(graph, {a}, Keep::kChosen);
  EXPECT_TRUE(part.is_kept[a]);
  EXPECT_FALSE(part.is_kept[b] || part.is_kept[both]);
  EXPECT_EQ(part.places[a].viewed, kNone);
  EXPECT_EQ(part.places[b].viewed, both);
  const Layout none = MakeLayout(graph, {}, Keep::kChosen);
  EXPECT_FALSE(none.is_kept[a] || none.is_kept[b] || none.is_kept[both]);
  EXPECT_EQ(FindKept(graph, {both}).floats, 64u + 128u + 128u);
  EXPECT_EQ(FindKept(graph, {a}).floats, 64u + 64u + 128u);
  EXPECT_EQ(FindKept(graph, {}).floats, 64u + 128u);
}

TEST(LayoutTest, WhatIsNotChosenSharesMemoryStageByStage) {
  Graph graph;
  ValueId last = graph.AddInput("input", {1, 16, 10, 10});
  std::vector<ValueId> maps;
  for (int i = 0; i < 20; ++i) {
    last = graph.AddOne("op" + std::to_string(i), kRelu, {last});
    maps.push_back(last);
  }
  graph.outputs = {last};
  const Layout layout = MakeLayout(graph, {maps[9]}, Keep::kChosen);
  EXPECT_EQ(layout.arena_floats, 5u * 1600);  // input, output, the chosen one and two in turn
  ASSERT_EQ(layout.stages.size(), 2u);
  EXPECT_EQ(layout.stages[0].root, 9);
  EXPECT_EQ(layout.stages[1].root, 19);
  EXPECT_EQ(layout.stages[1].inner, (std::vector<OpId>{10, 11, 12, 13, 14, 15, 16, 17, 18}));
}

// A kept value needs `shared` before a later stage needs it again.
TEST(LayoutTest, WhatTwoStagesNeedLivesFromOneToTheOther) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 4, 8, 8});
  const ValueId shared = graph.AddOne("shared", kRelu, {input});
  const ValueId first = graph.AddOne("first", kRelu, {shared});
  const ValueId alone = graph.AddOne("alone", kRelu, {first});
  const ValueId second = graph.AddOne("second", kRelu, {alone});
  graph.outputs = {graph.AddOne("end", op::Binary{}, {second, shared})};
  const Layout layout = MakeLayout(graph, {first, second}, Keep::kChosen);
  ASSERT_EQ(layout.stages.size(), 3u);
  EXPECT_EQ(layout.stages[0].inner, (std::vector<OpId>{0}));
  EXPECT_EQ(layout.stages[1].inner, (std::vector<OpId>{2}));
  EXPECT_EQ(layout.stages[2].inner, (std::vector<OpId>{0}));
  EXPECT_NE(layout.places[shared].offset, layout.places[alone].offset);
  EXPECT_EQ(RunningOrder(graph, layout.stages), (std::vector<OpId>{0, 1, 2, 3, 4}));
}

TEST(LayoutTest, WhatIsNotLocalKeepsWhatItReadsAndGives) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 4, 8, 8});
  const ValueId read = graph.AddOne("read", kRelu, {input});
  const ValueId gate = graph.AddOne("gate", op::AdaptivePool{}, {read});
  const ValueId scaled =
      graph.AddOne("scaled", op::Binary{BinaryKind::kMultiply, {}}, {read, gate});
  graph.outputs = {graph.AddOne("end", kRelu, {scaled})};
  const Layout layout = MakeLayout(graph, {}, Keep::kChosen);
  EXPECT_TRUE(layout.is_kept[read] && layout.is_kept[gate]);
  EXPECT_FALSE(layout.is_kept[scaled]);
}

TEST(LayoutTest, OnlyConstantsThatOperatorsWorkOnTakeMemory) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 2, 3, 3});
  const ValueId scale = graph.AddConstant("scale", Tensor({2}, std::vector<float>{1, 2}));
  const ValueId shift = graph.AddConstant("shift", Tensor({2}, std::vector<float>{3, 4}));
  const ValueId offset = graph.AddConstant("offset", Tensor({1}, std::vector<float>{5}));
  const ValueId scaled = graph.AddOne("scaled", op::ScaleShift{}, {input, scale, shift});
  graph.outputs = {graph.AddOne("sum", op::Binary{}, {scaled, offset})};
  const Layout layout = MakeLayout(graph, {}, Keep::kListed);
  EXPECT_FALSE(layout.places[scale].exists);
  EXPECT_FALSE(layout.places[shift].exists);
  EXPECT_TRUE(layout.places[offset].exists);
  EXPECT_EQ(layout.constant_floats, kArenaAlignmentFloats);
}

}  // namespace
}  // namespace cacheinf
