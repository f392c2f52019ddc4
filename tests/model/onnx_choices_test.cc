#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/model/onnx_builder.h"
#include "tests/testing/run_graph.h"

// Integers, truth values and places that are not known before a frame.

namespace cacheinf {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// The model's first output, computed as it is and after all passes, which must give the same.
std::vector<float> OutputOf(const OnnxModel& model, const std::vector<float>& x) {
  Graph graph = model.Import();
  const Shape shape = graph.value(graph.inputs[0]).shape;
  const auto run = [&](const Graph& of) {
    const auto state = MakeReferenceState(of);
    SetInputs(*state, {Tensor(shape, x)});
    state->Run();
    return Outputs(*state).front();
  };
  const std::vector<float> plain = run(graph);
  Optimise(graph);
  graph.Validate();
  EXPECT_THAT(run(graph), Pointwise(FloatNear(1e-5f), plain));
  return plain;
}

TEST(OnnxChoicesTest, CastsTruncateAndTellTruth) {
  OnnxModel model = OneInput({5});
  model.Node("Cast", {"x"}, {"y"}).Int("to", onnx::TensorProto::INT64);
  EXPECT_THAT(OutputOf(model, {-1.5f, -0.5f, 0.0f, 0.9f, 7.0f}), ElementsAre(-1, 0, 0, 0, 7));
  EXPECT_EQ(model.Import().value(model.Import().outputs[0]).type, DataType::kInt64);
  OnnxModel truth = OneInput({5});
  truth.Node("Cast", {"x"}, {"t"}).Int("to", onnx::TensorProto::BOOL);
  truth.Node("Not", {"t"}, {"n"});
  truth.Node("Cast", {"n"}, {"y"}).Int("to", onnx::TensorProto::FLOAT);
  EXPECT_THAT(OutputOf(truth, {-1.5f, -0.0f, 0.0f, 0.25f, 7.0f}), ElementsAre(0, 1, 1, 0, 0));
}

TEST(OnnxChoicesTest, CastsToNarrowerIntegersKeepTheLowBits) {
  const auto cast = [](int type) {
    OnnxModel model = OneInput({5});
    model.Node("Cast", {"x"}, {"i"}).Int("to", onnx::TensorProto::INT64);
    model.Node("Cast", {"i"}, {"y"}).Int("to", type);
    EXPECT_EQ(model.Import().value(model.Import().outputs[0]).type, DataType::kInt64);
    return OutputOf(model, {-129, -1, 100, 200, 70000});
  };
  EXPECT_THAT(cast(onnx::TensorProto::INT8), ElementsAre(127, -1, 100, -56, 112));
  EXPECT_THAT(cast(onnx::TensorProto::UINT8), ElementsAre(127, 255, 100, 200, 112));
  EXPECT_THAT(cast(onnx::TensorProto::INT16), ElementsAre(-129, -1, 100, 200, 4464));
  EXPECT_THAT(cast(onnx::TensorProto::INT32), ElementsAre(-129, -1, 100, 200, 70000));
}

// Numbers that are small enough stay as they are, so that a map of classes stays one.
TEST(OnnxChoicesTest, IndicesIntoAShortAxisFitNarrowIntegers) {
  for (const auto& [channels, kinds] :
       {std::pair(256, "argmax"), std::pair(257, "argmax subtract modulo add truncate")}) {
    OnnxModel model = OneInput({1, channels, 2, 2});
    model.Node("ArgMax", {"x"}, {"i"}).Int("axis", 1).Int("keepdims", 0);
    model.Node("Cast", {"i"}, {"y"}).Int("to", onnx::TensorProto::UINT8);
    EXPECT_EQ(Kinds(model.Import()), kinds);
  }
}

// A function of an index is a fraction again, and is written as one.
TEST(OnnxChoicesTest, FunctionsOfIndicesGiveFractions) {
  OnnxModel model = OneInput({1, 3});
  model.Ints("k", {3}).Node("TopK", {"x", "k"}, {"", "i"});
  model.Node("Cast", {"i"}, {"f"}).Int("to", onnx::TensorProto::FLOAT);
  model.Node("Sigmoid", {"f"}, {"s"});
  model.Node("Mul", {"f", "s"}, {"y"});
  EXPECT_THAT(OutputOf(model, {3, 2, 1}),
              ElementsAre(0, FloatNear(0.731f, 1e-3f), FloatNear(1.762f, 1e-3f)));
  const Graph graph = model.Import();
  EXPECT_EQ(graph.value(graph.outputs[0]).type, DataType::kFloat32);
  model.graph().mutable_output(0)->set_name("s");
  EXPECT_EQ(model.Import().value(model.Import().outputs[0]).type, DataType::kFloat32);
}

TEST(OnnxChoicesTest, ComparesAndCombinesTruths) {
  const auto values = [](const char* type) {
    OnnxModel model = OneInput({3});
    model.Floats("two", {1}, {2}).Node(type, {"x", "two"}, {"y"});
    return OutputOf(model, {1, 2, 3});
  };
  EXPECT_THAT(values("Equal"), ElementsAre(0, 1, 0));
  EXPECT_THAT(values("Less"), ElementsAre(1, 0, 0));
  EXPECT_THAT(values("LessOrEqual"), ElementsAre(1, 1, 0));
  EXPECT_THAT(values("Greater"), ElementsAre(0, 0, 1));
  EXPECT_THAT(values("GreaterOrEqual"), ElementsAre(0, 1, 1));
  const auto combined = [](const char* type) {
    OnnxModel model = OneInput({4});
    model.Floats("one", {}, {1}).Floats("two", {}, {2});
    model.Node("Greater", {"x", "one"}, {"a"});
    model.Node("Less", {"x", "two"}, {"b"});
    model.Node(type, {"a", "b"}, {"y"});
    return OutputOf(model, {0.5f, 1.5f, 2.5f, 1.0f});
  };
  EXPECT_THAT(combined("And"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(combined("Or"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(combined("Xor"), ElementsAre(1, 0, 1, 1));
}

TEST(OnnxChoicesTest, WhereChoosesAmongAnyNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  OnnxModel model = OneInput({2, 2});
  model.Floats("zero", {}, {0}).Floats("low", {1}, {-kInfinity});
  model.Node("Less", {"x", "zero"}, {"c"});
  model.Node("Where", {"c", "low", "x"}, {"y"});
  EXPECT_THAT(OutputOf(model, {-1, 2, 3, -4}), ElementsAre(-kInfinity, 2, 3, -kInfinity));
}

// As detectors without NMS end: the best scores of all classes, and which box and class they are.
TEST(OnnxChoicesTest, BestScoresFindTheirBoxesAndClasses) {
  OnnxModel model = OneInput({1, 4, 3});
  model.Ints("k", {3}).Ints("flat", {1, 12}).Ints("classes", {3}).Ints("last", {2});
  model.Weights("boxes", {1, 4, 2}).Ints("wide", {1, 3, 2});
  model.Node("Reshape", {"x", "flat"}, {"scores"});
  model.Node("TopK", {"scores", "k"}, {"best", "index"});
  model.Node("Mod", {"index", "classes"}, {"label"});
  model.Node("Div", {"index", "classes"}, {"box"});
  model.Node("Unsqueeze", {"box", "last"}, {"boxes3"});
  model.Node("Expand", {"boxes3", "wide"}, {"places"});
  model.Node("GatherElements", {"boxes", "places"}, {"corners"}).Int("axis", 1);
  model.Node("Cast", {"label"}, {"number"}).Int("to", onnx::TensorProto::FLOAT);
  model.Node("Unsqueeze", {"number", "last"}, {"number3"});
  model.Node("Unsqueeze", {"best", "last"}, {"best3"});
  model.Node("Concat", {"corners", "best3", "number3"}, {"y"}).Int("axis", 2);
  const std::vector<float> scores = {0, .1f, .9f, .2f, 0, .1f, .3f, .8f, 0, 0, .8f, .2f};
  EXPECT_THAT(OutputOf(model, scores),
              Pointwise(FloatNear(1e-6f),
                        {.01f, .02f, .9f, 2.0f, .05f, .06f, .8f, 1.0f, .07f, .08f, .8f, 1.0f}));
  model.graph().mutable_output(0)->set_name("label");
  const Graph graph = model.Import();
  EXPECT_EQ(graph.value(graph.outputs[0]).type, DataType::kInt64);
}

TEST(OnnxChoicesTest, TopKTakesTheSmallestToo) {
  OnnxModel model = OneInput({4, 1});
  model.Ints("k", {2});
  model.Node("TopK", {"x", "k"}, {"y"}).Int("axis", 0).Int("largest", 0).Int("sorted", 0);
  EXPECT_THAT(OutputOf(model, {3, 1, 2, 1}), ElementsAre(1, 1));
  OnnxModel many = OneInput({4, 1});
  many.Ints("k", {5}).Node("TopK", {"x", "k"}, {"y"}).Int("axis", 0);
  EXPECT_THAT(many.Refusal(), HasSubstr("the 5 largest of 4"));
}

TEST(OnnxChoicesTest, GathersByIndicesOfTheFrame) {
  OnnxModel model = OneInput({2, 2});
  model.Weights("table", {3, 4}).Node("Cast", {"x"}, {"i"}).Int("to", onnx::TensorProto::INT64);
  model.Node("Gather", {"table", "i"}, {"y"}).Int("axis", 1);
  EXPECT_EQ(OutputShape(model.Import()), (Shape{3, 2, 2}));
  EXPECT_THAT(OutputOf(model, {0, 3, -1, 1}),
              Pointwise(FloatNear(1e-6f),
                        {.01f, .04f, .04f, .02f, .05f, .08f, .08f, .06f, .09f, .12f, .12f, .10f}));
  OnnxModel nd = OneInput({1, 3, 2});
  nd.Weights("table", {2, 3, 4}).Node("Cast", {"x"}, {"i"}).Int("to", onnx::TensorProto::INT64);
  nd.Node("GatherND", {"table", "i"}, {"y"});
  EXPECT_EQ(OutputShape(nd.Import()), (Shape{1, 3, 4}));
  EXPECT_THAT(OutputOf(nd, {1, 2, 0, 0, -1, -2}),
              Pointwise(FloatNear(1e-6f),
                        {.21f, .22f, .23f, .24f, .01f, .02f, .03f, .04f, .17f, .18f, .19f, .20f}));
}

TEST(OnnxChoicesTest, CumSumInEveryForm) {
  const auto sums = [](int64_t axis, bool exclusive, bool reverse) {
    OnnxModel model = OneInput({2, 3});
    model.Ints("axis", {axis})
        .Node("CumSum", {"x", "axis"}, {"y"})
        .Int("exclusive", exclusive)
        .Int("reverse", reverse);
    return OutputOf(model, {1, 2, 3, 4, 5, 6});
  };
  EXPECT_THAT(sums(1, false, false), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(sums(-2, false, false), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(sums(1, true, false), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(sums(1, false, true), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(sums(1, true, true), ElementsAre(5, 3, 0, 11, 6, 0));
}

// The grid's point, as the operator's document has it.
float Sampled(const std::vector<float>& x, int height, int width, float row, float column,
              bool is_nearest, bool keeps_to_border) {
  if (keeps_to_border) {
    row = std::clamp(row, 0.0f, static_cast<float>(height - 1));
    column = std::clamp(column, 0.0f, static_cast<float>(width - 1));
  }
  const auto at = [&](float r, float c) {
    const bool is_inside =
        r >= 0 && c >= 0 && r < static_cast<float>(height) && c < static_cast<float>(width);
    return is_inside
               ? x[static_cast<size_t>(r) * static_cast<size_t>(width) + static_cast<size_t>(c)]
               : 0.0f;
  };
  if (is_nearest) return at(std::nearbyint(row), std::nearbyint(column));
  const float top = std::floor(row);
  const float left = std::floor(column);
  const float down = row - top;
  const float right = column - left;
  return (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
         down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
}

TEST(OnnxChoicesTest, GridSampleIsWhatItsDefinitionSays) {
  constexpr int kHeight = 3;
  constexpr int kWidth = 4;
  const std::vector<float> picture = OnnxModel::Ramp({1, 1, kHeight, kWidth});
  const std::vector<float> grid = {-1, -1, 1, 1, 0, 0, .3f, -.6f, -1.4f, .2f, .9f, 1.2f};
  for (const bool aligns : {false, true}) {
    for (const bool is_nearest : {false, true}) {
      for (const bool keeps_to_border : {false, true}) {
        OnnxModel model = OneInput({1, 2, 3, 2}, 16);
        model.Weights("picture", {1, 1, kHeight, kWidth});
        model.Node("GridSample", {"picture", "x"}, {"y"})
            .Int("align_corners", aligns)
            .String("mode", is_nearest ? "nearest" : "bilinear")
            .String("padding_mode", keeps_to_border ? "border" : "zeros");
        std::vector<float> expected;
        for (size_t i = 0; i < grid.size(); i += 2) {
          const auto place = [&](float of, float size) {
            return aligns ? (of + 1) / 2 * (size - 1) : ((of + 1) * size - 1) / 2;
          };
          expected.push_back(Sampled(picture, kHeight, kWidth, place(grid[i + 1], kHeight),
                                     place(grid[i], kWidth), is_nearest, keeps_to_border));
        }
        EXPECT_THAT(OutputOf(model, grid), Pointwise(FloatNear(1e-5f), expected))
            << aligns << is_nearest << keeps_to_border;
      }
    }
  }
  OnnxModel cubic = OneInput({1, 1, 3, 3}, 16);
  cubic.Weights("grid", {1, 2, 2, 2});
  cubic.Node("GridSample", {"x", "grid"}, {"y"}).String("mode", "bicubic");
  EXPECT_THAT(cubic.Refusal(), HasSubstr("mode 'bicubic' is not supported"));
}

TEST(OnnxChoicesTest, LocalResponseNormalisationIsWhatItsDefinitionSays) {
  constexpr int64_t kChannels = 7;
  const std::vector<float> x = OnnxModel::Ramp({1, kChannels, 2, 2});
  for (const int64_t size : {1, 4, 5, 20}) {
    OnnxModel model = OneInput({1, kChannels, 2, 2});
    model.Node("LRN", {"x"}, {"y"})
        .Int("size", size)
        .Float("alpha", 2.0f)
        .Float("beta", 0.7f)
        .Float("bias", 1.5f);
    std::vector<float> expected;
    for (int64_t i = 0; i < kChannels * 4; ++i) {
      const int64_t channel = i / 4;
      double sum = 0;
      for (int64_t c = std::max<int64_t>(channel - (size - 1) / 2, 0);
           c <= std::min(channel + size / 2, kChannels - 1); ++c) {
        sum += std::pow(x[static_cast<size_t>(c * 4 + i % 4)], 2);
      }
      const double scale = std::pow(1.5 + 2.0 / static_cast<double>(size) * sum, 0.7);
      expected.push_back(static_cast<float>(x[static_cast<size_t>(i)] / scale));
    }
    EXPECT_THAT(OutputOf(model, x), Pointwise(FloatNear(1e-6f), expected)) << size;
  }
}

TEST(OnnxChoicesTest, WhatChangesItsSizeIsRefusedWithARemedy) {
  OnnxModel boxes = OneInput({1, 6, 4});
  boxes.Weights("scores", {1, 1, 6}).Node("NonMaxSuppression", {"x", "scores"}, {"y"});
  EXPECT_THAT(boxes.Refusal(), HasSubstr("export the model without NMS"));
  OnnxModel places = OneInput({1, 6});
  places.Node("NonZero", {"x"}, {"y"});
  EXPECT_THAT(places.Refusal(), HasSubstr("changes from frame to frame"));
}

}  // namespace
}  // namespace cacheinf
