#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/backend/host/reference_backend.h"
#include "tests/bench/bench.h"
#include "tests/bench/changed_bytes.h"
#include "tests/bench/cut_costs.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

constexpr int kChannels = 4;

op::Conv Conv3x3() {
  op::Conv conv;
  conv.spec.rows = conv.spec.columns = {.kernel = 3, .pad_begin = 1, .pad_end = 1};
  return conv;
}

ValueId AddConv(Graph& graph, const std::string& name, ValueId input) {
  const Shape weights = {kChannels, kChannels, 3, 3};
  const auto count = static_cast<size_t>(ElementCount(weights));
  const ValueId constant =
      graph.AddConstant(name + ".w", Tensor(weights, std::vector<float>(count, 0.1f)));
  return graph.Add(name, Conv3x3(), {input, constant}, {name}).front();
}

// A chain with a skip around its middle, joined by `join`.
struct SkipGraph {
  Graph graph;
  ValueId input, first, middle, joined, last;

  explicit SkipGraph(const Attributes& join) {
    input = graph.AddInput("input", {1, kChannels, 16, 16});
    first = AddConv(graph, "first", input);
    middle = AddConv(graph, "middle", first);
    joined = graph.Add("join", join, {middle, first}, {"joined"}).front();
    last = graph.Add("last", op::Activation{}, {joined}, {"last"}).front();
    graph.outputs = {last};
  }
};

TEST(CutCostsTest, WhatBypassesTheCutCrossesToo) {
  const SkipGraph net(op::Binary{});
  EXPECT_EQ(CrossingValues(net.graph, kNone), (std::vector<ValueId>{net.input}));
  EXPECT_EQ(CrossingValues(net.graph, 0), (std::vector<ValueId>{net.first}));
  EXPECT_EQ(CrossingValues(net.graph, 1), (std::vector<ValueId>{net.first, net.middle}));
  EXPECT_EQ(CrossingValues(net.graph, 2), (std::vector<ValueId>{net.joined}));
  EXPECT_TRUE(CrossingValues(net.graph, 3).empty());
}

TEST(CutCostsTest, AConcatenationCrossesAsItsParts) {
  const SkipGraph net(op::Concat{});
  EXPECT_EQ(CrossingValues(net.graph, 2), (std::vector<ValueId>{net.first, net.middle}));
}

TEST(CutCostsTest, RowsTwiceAreTheHalos) {
  const SkipGraph net(op::Binary{});
  EXPECT_EQ(RowsTwice(net.graph, net.input), 0);
  EXPECT_EQ(RowsTwice(net.graph, net.first), 0);
  EXPECT_EQ(RowsTwice(net.graph, net.middle), 2);  // of `first`, one beyond each half
}

TEST(CutCostsTest, APredictionIsTheSumOfItsParts) {
  const SharedCost frame = {
      .robot_ms = 10, .server_ms = 40, .bytes = 125000, .answer_bytes = 1250, .left_ms = 0.5};
  EXPECT_DOUBLE_EQ(frame.Ms({.mbit = 10, .latency_ms = 3}, 4), 10 + 3 + 100 + 10 + 3 + 1 + 0.5);
  EXPECT_DOUBLE_EQ((SharedCost{.robot_ms = 10, .server_ms = 40, .left_ms = 0.5}.Ms({10, 3}, 4)),
                   10.5);
}

// From one changed pixel: that pixel of the input, and 3 × 3 of a convolution's output.
TEST(ChangedBytesTest, CountsAllChannelsOfThePixelsThatChanged) {
  const SkipGraph net(op::Binary{});
  StateOptions options;
  options.keep = Keep::kAll;
  ModelState state(std::make_shared<const CompiledModel>(std::make_shared<const Graph>(net.graph),
                                                         std::make_unique<ReferenceBackend>()),
                   options);
  const TensorView input = state.view(net.input);
  std::fill_n(input.data, input.Count(), 1.0f);
  state.Run();
  ChangedBytes changed(state, {net.input, net.first});
  changed.Remember();
  for (const CodedForms& value : changed.Encode()) {
    for (const CodedValue& form : value) EXPECT_EQ(form.bytes, 0);
  }
  input.data[input.strides[2] * 5 + input.strides[3] * 6] = 2.0f;
  state.Run();
  const std::vector<CodedForms> forms = changed.Encode();
  constexpr size_t kFp32 = 0;
  constexpr size_t kFp16 = 1;
  constexpr size_t kInt8 = 2;
  EXPECT_EQ(forms[net.input][kFp32].bytes - forms[net.input][kInt8].bytes, 3 * kChannels);
  EXPECT_EQ(forms[net.first][kFp32].bytes - forms[net.first][kInt8].bytes, 9 * 3 * kChannels);
  EXPECT_EQ(forms[net.first][kFp32].bytes - forms[net.first][kFp16].bytes, 9 * 2 * kChannels);
  EXPECT_EQ(forms[net.middle][kFp32].bytes, 0);  // nobody asked
}

TEST(ChangedBytesTest, AnEightBitMapCrossesInItsBytes) {
  Graph graph;
  const ValueId input = graph.AddInput("input", {1, 8, 4, 4});
  const ValueId map = graph.AddOne("map", op::Quantise{{0.1f, 3, false}}, {input});
  graph.outputs = {graph.AddOne("floats", op::Dequantise{}, {map})};
  ModelState state(std::make_shared<const CompiledModel>(
      std::make_shared<const Graph>(std::move(graph)), std::make_unique<ReferenceBackend>()));
  const auto show = [&](float number) {
    const Tensor picture({1, 8, 4, 4}, std::vector<float>(size_t{8} * 16, number));
    state.SetInput(0, picture.view());
    state.Run();
  };
  show(1.0f);
  ChangedBytes changed(state, {map});
  changed.Remember();
  show(2.0f);
  const CodedForms forms = changed.Encode()[map];
  for (size_t raw = 1; raw < 3; ++raw) EXPECT_EQ(forms[raw].bytes, forms[0].bytes);
  EXPECT_GE(forms[0].bytes, 8 * 16);
  EXPECT_LT(forms[0].bytes, 8 * 16 + 40);
}

TEST(CutsBenchTest, RowsSayWhatEveryCutCosts) {
  BenchOptions options;
  options.models = {SourceFolder() / "configs/models/demo_segmentation.onnx"};
  options.input_shapes = {{1, 3, 64, 96}};
  options.videos = {"generated:seed=3,width=96,height=64,camera=still"};
  options.frames = 4;
  BenchReport report;
  BenchCuts(options, &report);
  const std::vector<std::string> expected = {
      "model",      "clip",        "cut",          "codec",    "mbit",    "speedup", "bytes",
      "rows_twice", "round_trips", "predicted_ms", "robot_ms", "jpeg_ms", "video_ms"};
  ASSERT_FALSE(report.rows().empty());
  std::set<std::string> cuts;
  for (const nlohmann::ordered_json& row : report.rows()) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : row.items()) keys.push_back(key);
    ASSERT_EQ(keys, expected);
    EXPECT_EQ(row["model"], "demo_segmentation");
    EXPECT_GT(row["jpeg_ms"], 6.0);  // two messages
    EXPECT_GT(row["video_ms"], 6.0);
    if (row["round_trips"] > 0.5) {
      EXPECT_GT(row["predicted_ms"], 6.0);
    }
    cuts.insert(row["cut"]);
  }
  EXPECT_EQ(report.rows().size(), cuts.size() * kValueCodecs.size() * 5 * 3);
}

}  // namespace
}  // namespace cacheinf
