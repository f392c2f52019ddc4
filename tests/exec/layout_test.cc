#include "common/exec/layout.h"

#include <gtest/gtest.h>

#include "common/exec/arena.h"

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
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
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
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
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
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
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
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
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
  EXPECT_EQ(PlanLayout(graph, {}, Keep::kListed).is_done_by_placement,
            (std::vector<bool>{true, false}));
  EXPECT_EQ(PlanLayout(graph, {middle}, Keep::kListed).is_done_by_placement,
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
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
  EXPECT_TRUE(layout.is_done_by_placement[graph.value(half).producer]);
  EXPECT_EQ(OffsetBetween(layout, whole, half), 4);
  EXPECT_FALSE(layout.is_done_by_placement[graph.value(speck).producer]);
}

TEST(LayoutTest, AChainOfMapsNeedsTwoBuffers) {
  Graph graph;
  ValueId last = graph.AddInput("input", {1, 16, 10, 10});
  for (int i = 0; i < 20; ++i) last = graph.AddOne("op" + std::to_string(i), kRelu, {last});
  graph.outputs = {last};
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
  EXPECT_EQ(layout.arena_floats, 4u * 1600);  // and those of the input and the output
  EXPECT_EQ(layout.lower_bound_floats, layout.arena_floats);
  EXPECT_EQ(layout.persistent_floats, 2u * 1600);
  EXPECT_EQ(PlanLayout(graph, {}, Keep::kAllApart).arena_floats, 21u * 1600);
}

TEST(LayoutTest, OnlyConstantsThatOperatorsWorkOnTakeMemory) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 2, 3, 3});
  const ValueId scale = graph.AddConstant("scale", Tensor({2}, std::vector<float>{1, 2}));
  const ValueId shift = graph.AddConstant("shift", Tensor({2}, std::vector<float>{3, 4}));
  const ValueId offset = graph.AddConstant("offset", Tensor({1}, std::vector<float>{5}));
  const ValueId scaled = graph.AddOne("scaled", op::ScaleShift{}, {input, scale, shift});
  graph.outputs = {graph.AddOne("sum", op::Binary{}, {scaled, offset})};
  const Layout layout = PlanLayout(graph, {}, Keep::kListed);
  EXPECT_FALSE(layout.places[scale].exists);
  EXPECT_FALSE(layout.places[shift].exists);
  EXPECT_TRUE(layout.places[offset].exists);
  EXPECT_EQ(layout.constant_floats, kArenaAlignmentFloats);
}

}  // namespace
}  // namespace cacheinf
