// Read this first: what a model holds and costs.

#include "profiler/inspect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/load.h"
#include "common/model/passes/passes.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

// Appends unfused operators with weights of zero: only their sizes matter here.
class NetworkToInspect {
 public:
  explicit NetworkToInspect(Shape input) { graph_.AddInput("image", std::move(input)); }

  ValueId Conv(ValueId x, int64_t channels, int kernel, int stride, bool has_relu = true,
               int groups = 1) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {kernel, stride, kernel / 2, kernel / 2, 1};
    conv.spec.groups = groups;
    conv.has_bias = true;
    if (has_relu) conv.activation.kind = Function::Kind::kRelu;
    const int64_t in = graph_.value(x).shape[1] / groups;
    return Add(conv, {x, Zeros({channels, in, kernel, kernel}), Zeros({channels})});
  }
  ValueId Add(Attributes attributes, std::vector<ValueId> inputs) {
    const std::string name = "op" + std::to_string(graph_.operators.size());
    return graph_.AddOne(name, std::move(attributes), std::move(inputs));
  }
  ValueId Zeros(Shape shape) {
    std::vector<float> zeros(static_cast<size_t>(ElementCount(shape)), 0.0f);
    return graph_.AddConstant("zeros", Tensor(std::move(shape), std::move(zeros)));
  }
  Graph Finish(ValueId output) {
    graph_.name = "net";
    graph_.outputs = {output};
    return std::move(graph_);
  }

 private:
  Graph graph_;
};

Graph ResNet50() {
  NetworkToInspect net({1, 3, 224, 224});
  ValueId x = net.Conv(0, 64, 7, 2);
  op::Pool pool;
  pool.spec.rows = pool.spec.columns = {3, 2, 1, 1, 1};
  x = net.Add(pool, {x});
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int stride = block == 0 && stage > 0 ? 2 : 1;
      ValueId y = net.Conv(net.Conv(x, width, 1, 1), width, 3, stride);
      y = net.Conv(y, 4 * width, 1, 1, false);
      if (block == 0) x = net.Conv(x, 4 * width, 1, stride, false);
      x = net.Add(op::Binary{BinaryKind::kAdd, {Function::Kind::kRelu, 0.0f, 0.0f}}, {y, x});
    }
  }
  x = net.Add(op::Reduce{ReduceKind::kMean, {2, 3}, false}, {x});
  x = net.Add(op::Linear{true, {}}, {x, net.Zeros({1000, 2048}), net.Zeros({1000})});
  return net.Finish(x);
}

// The published figures: 4.09 G multiply-adds; 25.557 M parameters, of which the 26,560 scales of
// the batch norms are folded into the weights.
TEST(InspectTest, ResNet50HasThePublishedSize) {
  Graph graph = ResNet50();
  const ModelReport unfused = Inspect(graph);
  EXPECT_EQ(unfused.parameters, 25557032 - 26560);
  EXPECT_NEAR(static_cast<double>(unfused.multiply_adds), 4.09e9, 0.005e9);
  Optimise(graph);
  const ModelReport fused = Inspect(graph);
  EXPECT_EQ(fused.parameters, unfused.parameters);
  EXPECT_EQ(fused.multiply_adds, unfused.multiply_adds);
  EXPECT_EQ(fused.operators.size(), 53u + 3u);
  EXPECT_EQ(fused.local_operators, 54);
}

// Counts worked out by hand.
TEST(InspectTest, CountsWhatAnOperatorCosts) {
  NetworkToInspect net({2, 4, 8, 6});
  const ValueId conv = net.Conv(0, 6, 3, 2, true, 2);  // 2 x 6 x 4 x 3
  op::Conv transposed;
  transposed.spec.transposed = true;
  transposed.spec.rows = transposed.spec.columns = {4, 2, 1, 1, 1};
  const ValueId up = net.Add(transposed, {conv, net.Zeros({6, 5, 4, 4})});  // 2 x 5 x 8 x 6
  const ValueId mean = net.Add(op::Reduce{ReduceKind::kMean, {2, 3}, false}, {up});
  const ValueId linear = net.Add(op::Linear{false, {}}, {mean, net.Zeros({7, 5})});
  const ModelReport report = Inspect(net.Finish(linear));
  ASSERT_EQ(report.operators.size(), 4u);

  const OperatorReport& first = report.operators[0];
  EXPECT_EQ(first.kind, "conv");
  EXPECT_EQ(first.fused, "relu");
  EXPECT_TRUE(first.is_local);
  EXPECT_EQ(first.parameters, 6 * 2 * 9 + 6);
  EXPECT_EQ(first.multiply_adds, 2 * 6 * 4 * 3 * (2 * 9));
  EXPECT_EQ(first.operations, 2 * first.multiply_adds + 2 * (2 * 6 * 4 * 3));
  EXPECT_EQ(first.bytes, 4 * (2 * 6 * 4 * 3));
  EXPECT_EQ(first.shape, (Shape{2, 6, 4, 3}));
  EXPECT_TRUE(first.reads.empty());

  EXPECT_EQ(report.operators[1].kind, "transposed_conv");
  EXPECT_EQ(report.operators[1].multiply_adds, 2 * 4 * 3 * 6 * (5 * 16));
  EXPECT_EQ(report.operators[1].reads, (std::vector<OpId>{0}));
  EXPECT_FALSE(report.operators[2].is_local);
  EXPECT_EQ(report.operators[2].operations, 2 * 5 * 8 * 6);
  EXPECT_EQ(report.operators[3].multiply_adds, 2 * 7 * 5);
  EXPECT_EQ(report.local_operators, 2);
}

TEST(InspectTest, AConstantReadTwiceCountsOnceInTheTotals) {
  NetworkToInspect net({1, 4, 8, 8});
  const ValueId weights = net.Zeros({4, 4, 1, 1});
  const ValueId first = net.Add(op::Conv{}, {0, weights});
  const ModelReport report = Inspect(net.Finish(net.Add(op::Conv{}, {first, weights})));
  EXPECT_EQ(report.operators[1].parameters, 16);
  EXPECT_EQ(report.parameters, 16);
}

TEST(InspectTest, TheTableHasALineAnOperatorAndTheTotals) {
  NetworkToInspect net({1, 4, 8, 8});
  const ValueId conv = net.Conv(0, 6, 3, 2);
  const std::string text = ToText(Inspect(net.Finish(net.Add(op::Softmax{1, false}, {conv}))));
  EXPECT_NE(text.find("conv+relu"), std::string::npos) << text;
  EXPECT_NE(text.find("3x3 s2 p1"), std::string::npos) << text;
  EXPECT_NE(text.find("1x6x4x4"), std::string::npos) << text;
  EXPECT_NE(text.find("net: 2 operators, 2 of them local"), std::string::npos) << text;
  EXPECT_NE(text.find("memory: 0.0 MB"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 5);
}

TEST(InspectTest, ShowsInputsOutputsAndNotesFirst) {
  NetworkToInspect net({1, 3, 384, 640});
  Graph graph = net.Finish(net.Add(op::ArgMax{1, false}, {net.Conv(0, 6, 3, 2)}));
  const auto head = [&graph] {
    const std::string text = ToText(Inspect(graph));
    return text.substr(0, text.find("\n\n") + 1);
  };
  EXPECT_EQ(head(),
            "input   1x3x384x640  float32  image\n"
            "output  1x192x320    int64    op1\n");
  graph.notes = {"pose", {"a", "b", "c\nd", "e", "f", "g"}, 32, {384, 640}, {17, 3}, true, true,
                 "A net"};
  EXPECT_EQ(
      head(),
      "input   1x3x384x640  float32  image\n"
      "output  1x192x320    int64    op1\n"
      "notes   A net; task pose; 6 classes (0 a, 1 b, 2 c\\x0ad, 3 e, 4 f, …); stride 32; "
      "images 384 high, 640 wide; 17 keypoints of 3 numbers; pictures of bytes; boxes are final\n");
  const nlohmann::json notes = ToJson(Inspect(graph))["notes"];
  EXPECT_EQ(notes["task"], "pose");
  EXPECT_EQ(notes["class_names"].size(), 6U);
  EXPECT_EQ(notes["keypoint_shape"], (std::vector<int>{17, 3}));
}

TEST(InspectTest, SaysWhatKeepingMapsTakes) {
  NetworkToInspect net({1, 4, 64, 64});
  ValueId map = 0;
  for (int i = 0; i < 6; ++i) map = net.Conv(map, 4, 3, 1);
  const Graph graph = net.Finish(map);
  const size_t map_bytes = 4 * 64 * 64 * 4;
  const std::vector<size_t> budgets = {5 * map_bytes, 0};
  const ModelReport report = Inspect(graph, budgets);
  EXPECT_EQ(report.memory.no_cache_bytes, 4 * map_bytes);
  EXPECT_EQ(report.memory.cache_all_bytes, 7 * map_bytes);
  ASSERT_EQ(report.budgets.size(), 2u);
  EXPECT_LE(report.budgets[0].choice.bytes, 5 * map_bytes);
  EXPECT_GT(report.budgets[0].choice.extra_work, 0.0);
  const std::string text = ToText(report);
  EXPECT_NE(text.find("memory: 0.3 MB where nothing is kept between frames, 0.5 MB with all maps"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("of 7 values kept"), std::string::npos) << text;
  EXPECT_NE(text.find("more work; no less was found\n"), std::string::npos) << text;
  const nlohmann::json json = ToJson(report);
  EXPECT_EQ(json["memory"]["cache_all_bytes"], 7 * map_bytes);
  EXPECT_EQ(json["memory"]["budgets"][0]["kept"].size(), report.budgets[0].choice.kept.size());
}

TEST(InspectTest, TheTableShowsGroups) {
  NetworkToInspect net({1, 8, 8, 8});
  const ValueId depthwise = net.Conv(0, 8, 3, 1, false, 8);
  const std::string text = ToText(Inspect(net.Finish(net.Conv(depthwise, 6, 3, 1, false, 2))));
  EXPECT_NE(text.find("3x3 p1 dw "), std::string::npos) << text;
  EXPECT_NE(text.find("3x3 p1 g2 "), std::string::npos) << text;
}

TEST(InspectTest, NamesDoNotBreakTheTable) {
  Graph graph;
  graph.name = "a\tmodel";
  const ValueId input = graph.AddInput("image", {1, 3, 4, 4});
  graph.outputs = {graph.AddOne("two\nlines", op::Activation{}, {input})};
  const std::string text = ToText(Inspect(graph));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 4) << text;
  EXPECT_NE(text.find("two\\x0alines\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a\\x09model: 1 operators"), std::string::npos) << text;
}

TEST(InspectTest, JsonHasTheSameFigures) {
  const Graph graph = ResNet50();
  const ModelReport report = Inspect(graph);
  const nlohmann::json json = nlohmann::json::parse(ToJson(report).dump());
  EXPECT_EQ(json["totals"]["parameters"], report.parameters);
  EXPECT_EQ(json["totals"]["multiply_adds"], report.multiply_adds);
  ASSERT_EQ(json["operators"].size(), report.operators.size());
  EXPECT_EQ(json["operators"][0]["window"]["rows"]["kernel"], 7);
  EXPECT_EQ(json["operators"][0]["window"]["columns"]["stride"], 2);
  EXPECT_EQ(json["inputs"][0]["shape"], (Shape{1, 3, 224, 224}));
  EXPECT_EQ(json["outputs"][0]["type"], "float32");
}

// In real networks every activation, sum and batch norm is fused.
TEST(InspectTest, RealModelsHaveTheExpectedOperators) {
  const auto path = SharedData("models/yolov5n_384x640.onnx");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const ModelReport report = Inspect(LoadModel(path));
  int convolutions = 0;
  int with_silu = 0;
  for (const OperatorReport& op : report.operators) {
    convolutions += op.kind == "conv";
    with_silu += op.kind == "conv" && op.fused.substr(0, 4) == "silu";
    EXPECT_TRUE(op.kind == "conv" || op.kind == "concat" || op.kind == "max_pool" ||
                op.kind == "resize_nearest")
        << op.kind;
  }
  EXPECT_EQ(convolutions, 60);
  EXPECT_EQ(with_silu, 57);
  EXPECT_EQ(report.local_operators, static_cast<int>(report.operators.size()));
}

}  // namespace
}  // namespace cacheinf
