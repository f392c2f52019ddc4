#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sparse_ops/resize_taps.h"
#include "tests/model/onnx_builder.h"

// Converters of convolutions, pools, resizes and block shuffles.

namespace cacheinf {
namespace {

using ::testing::HasSubstr;

std::vector<int> Numbers(const WindowAxis& axis) {
  return {axis.kernel, axis.stride, axis.pad_begin, axis.pad_end, axis.dilation};
}

TEST(OnnxWindowsTest, ConvReadsEveryAttribute) {
  OnnxModel model = OneInput({1, 4, 16, 16});
  model.Weights("w", {6, 2, 3, 5}).Weights("b", {6});
  model.Node("Conv", {"x", "w", "b"}, {"y"})
      .Ints("kernel_shape", {3, 5})
      .Ints("strides", {2, 3})
      .Ints("pads", {1, 2, 0, 4})
      .Ints("dilations", {2, 1})
      .Int("group", 2);
  const Graph graph = model.Import();
  const op::Conv& conv = Only<op::Conv>(graph);
  EXPECT_EQ(Numbers(conv.spec.rows), (std::vector<int>{3, 2, 1, 0, 2}));
  EXPECT_EQ(Numbers(conv.spec.columns), (std::vector<int>{5, 3, 2, 4, 1}));
  EXPECT_EQ(conv.spec.groups, 2);
  EXPECT_TRUE(conv.has_bias);
  EXPECT_FALSE(conv.spec.transposed);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 6, 7, 6}));
}

// Padding at the begin and the end of the rows that auto_pad gives for 8 rows.
std::vector<int> AutoPad(const std::string& mode, int kernel, int stride) {
  OnnxModel model = OneInput({1, 1, 8, 8});
  model.Weights("w", {1, 1, kernel, kernel});
  model.Node("Conv", {"x", "w"}, {"y"}).String("auto_pad", mode).Ints("strides", {stride, stride});
  const Graph graph = model.Import();
  const WindowAxis& rows = Only<op::Conv>(graph).spec.rows;
  return {rows.pad_begin, rows.pad_end, static_cast<int>(OutputShape(graph)[2])};
}

TEST(OnnxWindowsTest, AutoPadOfConv) {
  EXPECT_EQ(AutoPad("SAME_UPPER", 4, 1), (std::vector<int>{1, 2, 8}));
  EXPECT_EQ(AutoPad("SAME_LOWER", 4, 1), (std::vector<int>{2, 1, 8}));
  EXPECT_EQ(AutoPad("SAME_UPPER", 3, 2), (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(AutoPad("SAME_UPPER", 3, 3), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(AutoPad("SAME_UPPER", 1, 3), (std::vector<int>{0, 0, 3}));
  EXPECT_EQ(AutoPad("VALID", 3, 2), (std::vector<int>{0, 0, 3}));
  EXPECT_EQ(AutoPad("NOTSET", 3, 2), (std::vector<int>{0, 0, 3}));
}

TEST(OnnxWindowsTest, ConvRefusals) {
  const auto refusal = [](const Shape& in, const Shape& weights) {
    OnnxModel model = OneInput(in);
    model.Weights("w", weights).Node("Conv", {"x", "w"}, {"y"});
    return model.Refusal();
  };
  EXPECT_THAT(refusal({1, 1, 4, 4, 4}, {1, 1, 1, 1, 1}),
              HasSubstr("node 'the Conv' (Conv): an input of shape 1x1x4x4x4: only pictures"));
  EXPECT_THAT(refusal({1, 2, 4, 4}, {1, 3, 1, 1}), HasSubstr("weights of shape 1x3x1x1"));
  EXPECT_THAT(refusal({1, 1, 2, 2}, {1, 1, 3, 3}), HasSubstr("a window of 3 does not fit"));
  OnnxModel runtime = OneInput({1, 1, 4, 4});
  runtime.Node("Conv", {"x", "x"}, {"y"});
  EXPECT_THAT(runtime.Refusal(), HasSubstr("input 'x' must be a constant"));
  OnnxModel kernel = OneInput({1, 1, 4, 4});
  kernel.Weights("w", {1, 1, 3, 3});
  kernel.Node("Conv", {"x", "w"}, {"y"}).Ints("kernel_shape", {2, 2});
  EXPECT_THAT(kernel.Refusal(), HasSubstr("kernel_shape does not agree"));
}

TEST(OnnxWindowsTest, SignalsArePicturesOfOneRow) {
  OnnxModel model = OneInput({1, 2, 10});
  model.Weights("w", {3, 2, 3});
  model.Node("Conv", {"x", "w"}, {"a"}).Ints("pads", {1, 1}).Ints("strides", {2});
  model.Node("MaxPool", {"a"}, {"y"}).Ints("kernel_shape", {2});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "reshape conv reshape reshape max_pool reshape");
  EXPECT_EQ(Numbers(Only<op::Conv>(graph).spec.rows), (std::vector<int>{1, 1, 0, 0, 1}));
  EXPECT_EQ(Numbers(Only<op::Conv>(graph).spec.columns), (std::vector<int>{3, 2, 1, 1, 1}));
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 4}));
}

// Rows of the transposed convolution of a kernel of 4 and a stride of 2 over 5 rows.
Graph Transposed(const std::function<void(OnnxNodeBuilder)>& add) {
  OnnxModel model = OneInput({1, 2, 5, 5});
  model.Weights("w", {2, 3, 4, 4});
  add(model.Node("ConvTranspose", {"x", "w"}, {"y"}).Ints("strides", {2, 2}));
  return model.Import();
}

TEST(OnnxWindowsTest, ConvTransposeReadsEveryForm) {
  Graph graph = Transposed([](OnnxNodeBuilder) {});
  EXPECT_TRUE(Only<op::Conv>(graph).spec.transposed);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 12, 12}));

  graph = Transposed([](OnnxNodeBuilder node) {
    node.Ints("pads", {1, 0, 2, 0}).Ints("output_padding", {1, 0});
  });
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 10, 12}));
  EXPECT_EQ(Only<op::Conv>(graph).spec.output_padding_rows, 1);

  graph = Transposed([](OnnxNodeBuilder node) { node.String("auto_pad", "SAME_UPPER"); });
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 10, 10}));

  // An odd total: the larger half goes to the begin unless auto_pad says SAME_UPPER.
  graph = Transposed([](OnnxNodeBuilder node) { node.Ints("output_shape", {9, 9}); });
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 9, 9}));
  EXPECT_EQ(Numbers(Only<op::Conv>(graph).spec.rows), (std::vector<int>{4, 2, 2, 1, 1}));
  graph = Transposed([](OnnxNodeBuilder node) {
    node.Ints("output_shape", {9, 9}).String("auto_pad", "SAME_UPPER");
  });
  EXPECT_EQ(Numbers(Only<op::Conv>(graph).spec.rows), (std::vector<int>{4, 2, 1, 2, 1}));
}

TEST(OnnxWindowsTest, AutoPadOfPoolsIgnoresCeilMode) {
  OnnxModel model = OneInput({1, 1, 7, 7});
  model.Node("MaxPool", {"x"}, {"y"})
      .Ints("kernel_shape", {2, 2})
      .Ints("strides", {2, 2})
      .Int("ceil_mode", 1)
      .String("auto_pad", "SAME_LOWER");
  const Graph graph = model.Import();
  EXPECT_EQ(OutputShape(graph), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(Only<op::Pool>(graph).spec.rows.pad_begin, 1);
}

TEST(OnnxWindowsTest, TheIndicesOfAMaxPoolAreRefused) {
  OnnxModel model = OneInput({1, 1, 4, 4});
  model.Node("MaxPool", {"x"}, {"a", "indices"}).Ints("kernel_shape", {2, 2});
  model.Node("Add", {"a", "indices"}, {"y"});
  EXPECT_THAT(model.Refusal(), HasSubstr("input 'indices' is an output that its node does not"));
}

TEST(OnnxWindowsTest, ResizeByScales) {
  OnnxModel model = OneInput({1, 2, 5, 6}, 11);
  model.Floats("roi", {0}, {}).Floats("scales", {4}, {1, 1, 1.5f, 2});
  model.Node("Resize", {"x", "roi", "scales"}, {"y"})
      .String("mode", "nearest")
      .String("coordinate_transformation_mode", "asymmetric")
      .String("nearest_mode", "floor");
  const Graph graph = model.Import();
  const ResizeSpec& spec = Only<op::Resize>(graph).spec;
  EXPECT_EQ(spec.kind, ResizeSpec::Kind::kNearest);
  EXPECT_EQ(spec.coordinates, ResizeSpec::Coordinates::kAsymmetric);
  EXPECT_EQ(spec.rounding, ResizeSpec::Rounding::kFloor);
  EXPECT_EQ(spec.scale_rows, 1.5f);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 2, 7, 12}));
}

TEST(OnnxWindowsTest, ResizeBySizes) {
  OnnxModel model = OneInput({1, 2, 5, 6}, 18);
  model.Ints("sizes", {9, 7});
  model.Node("Resize", {"x", "", "", "sizes"}, {"y"})
      .String("mode", "cubic")
      .Float("cubic_coeff_a", -0.5f)
      .Ints("axes", {3, -2});
  const Graph graph = model.Import();
  const ResizeSpec& spec = Only<op::Resize>(graph).spec;
  EXPECT_EQ(spec.kind, ResizeSpec::Kind::kCubic);
  EXPECT_EQ(spec.coordinates, ResizeSpec::Coordinates::kHalfPixel);
  EXPECT_EQ(spec.cubic_a, -0.5f);
  EXPECT_EQ(spec.scale_rows, 0.0f);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 2, 7, 9}));
}

TEST(OnnxWindowsTest, EveryCoordinateModeIsRead) {
  const std::pair<std::string, ResizeSpec::Coordinates> modes[] = {
      {"half_pixel", ResizeSpec::Coordinates::kHalfPixel},
      {"pytorch_half_pixel", ResizeSpec::Coordinates::kPytorchHalfPixel},
      {"align_corners", ResizeSpec::Coordinates::kAlignCorners},
      {"asymmetric", ResizeSpec::Coordinates::kAsymmetric},
      {"half_pixel_symmetric", ResizeSpec::Coordinates::kHalfPixelSymmetric}};
  for (const auto& [name, expected] : modes) {
    OnnxModel model = OneInput({1, 2, 5, 6}, 18);
    model.Floats("scales", {4}, {1, 1, 2, 2});
    model.Node("Resize", {"x", "", "scales"}, {"y"})
        .String("mode", "linear")
        .String("coordinate_transformation_mode", name);
    EXPECT_EQ(Only<op::Resize>(model.Import()).spec.coordinates, expected) << name;
  }
}

// Indices of the input that a nearest resize of 5 columns to 8, in one row, takes.
std::vector<int> NearestOfTf(const std::string& rounding) {
  OnnxModel model = OneInput({1, 1, 1, 5}, 11);
  model.Floats("roi", {0}, {}).Floats("scales", {4}, {1, 1, 1, 1.6f});
  model.Node("Resize", {"x", "roi", "scales"}, {"y"})
      .String("coordinate_transformation_mode", "tf_half_pixel_for_nn")
      .String("nearest_mode", rounding);
  const Graph graph = model.Import();
  const ResizeSpec& spec = Only<op::Resize>(graph).spec;
  std::vector<int> indices;
  for (int out = 0; out < 8; ++out) {
    indices.push_back(TapsOf(spec, /*is_rows=*/false, 5, 8, out).index[0]);
  }
  return indices;
}

TEST(OnnxWindowsTest, TfHalfPixelRoundsTheMiddleOfThePixel) {
  // (out + 0.5) / 1.6: 0.31, 0.94, 1.56, 2.19, 2.81, 3.44, 4.06, 4.69
  EXPECT_EQ(NearestOfTf("floor"), (std::vector<int>{0, 0, 1, 2, 2, 3, 4, 4}));
  EXPECT_EQ(NearestOfTf("round_prefer_floor"), (std::vector<int>{0, 1, 2, 2, 3, 3, 4, 4}));
  OnnxModel ceil = OneInput({1, 1, 1, 5}, 13);
  ceil.Floats("scales", {4}, {1, 1, 1, 1.6f});
  ceil.Node("Resize", {"x", "", "scales"}, {"y"})
      .String("coordinate_transformation_mode", "tf_half_pixel_for_nn")
      .String("nearest_mode", "ceil");
  EXPECT_THAT(ceil.Refusal(), HasSubstr("'tf_half_pixel_for_nn' is only supported with"));
}

TEST(OnnxWindowsTest, ResizeRefusals) {
  const auto refusal = [](const std::string& attribute, const std::string& value) {
    OnnxModel model = OneInput({1, 2, 5, 6}, 18);
    model.Floats("scales", {4}, {1, 1, 2, 2});
    model.Node("Resize", {"x", "", "scales"}, {"y"}).String(attribute, value);
    return model.Refusal();
  };
  EXPECT_THAT(refusal("coordinate_transformation_mode", "tf_crop_and_resize"),
              HasSubstr("coordinate_transformation_mode 'tf_crop_and_resize' is not supported"));
  EXPECT_THAT(refusal("mode", "lanczos"), HasSubstr("mode 'lanczos' is not supported"));
  EXPECT_THAT(refusal("keep_aspect_ratio_policy", "not_larger"), HasSubstr("'not_larger'"));
  OnnxModel antialias = OneInput({1, 2, 5, 6}, 18);
  antialias.Floats("scales", {4}, {1, 1, 2, 2});
  antialias.Node("Resize", {"x", "", "scales"}, {"y"}).Int("antialias", 1);
  EXPECT_THAT(antialias.Refusal(), HasSubstr("attribute 'antialias' is not supported"));
  for (float scale : {0.0f, -1.0f, NAN, INFINITY, 1e30f, 1e-9f}) {
    OnnxModel absurd = OneInput({1, 2, 5, 6}, 18);
    absurd.Floats("scales", {4}, {1, 1, scale, 2});
    absurd.Node("Resize", {"x", "", "scales"}, {"y"});
    EXPECT_THAT(absurd.Refusal(), HasSubstr("a scale of")) << scale;
  }
  OnnxModel channels = OneInput({1, 2, 5, 6}, 18);
  channels.Floats("scales", {4}, {1, 2, 2, 2});
  channels.Node("Resize", {"x", "", "scales"}, {"y"});
  EXPECT_THAT(channels.Refusal(), HasSubstr("only rows and columns of pictures can change"));
}

TEST(OnnxWindowsTest, SignalsAreResizedAlongTheirLength) {
  OnnxModel model = OneInput({3, 4, 5}, 13);
  model.Ints("sizes", {3, 4, 10}).Node("Resize", {"x", "", "", "sizes"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "reshape resize_nearest reshape");
  EXPECT_EQ(OutputShape(graph), (Shape{3, 4, 10}));
}

TEST(OnnxWindowsTest, OldUpsamplesAreAsymmetric) {
  for (int64_t opset : {9, 10}) {
    OnnxModel model = OneInput({1, 2, 5, 6}, opset);
    model.Floats("scales", {4}, {1, 1, 2, 3});
    model.Node(opset == 9 ? "Upsample" : "Resize", {"x", "scales"}, {"y"});
    const Graph graph = model.Import();
    const ResizeSpec& spec = Only<op::Resize>(graph).spec;
    EXPECT_EQ(spec.coordinates, ResizeSpec::Coordinates::kAsymmetric);
    EXPECT_EQ(spec.rounding, ResizeSpec::Rounding::kFloor);
    EXPECT_EQ(OutputShape(graph), (Shape{1, 2, 10, 18}));
  }
}

TEST(OnnxWindowsTest, OldNearestRoundsEachAxisByItsOwnScale) {
  OnnxModel model = OneInput({1, 2, 5, 6}, 10);
  model.Floats("scales", {4}, {1, 1, 0.6f, 2}).Node("Resize", {"x", "scales"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "resize_nearest resize_nearest");
  const ResizeSpec& rows = graph.operators[0].As<op::Resize>()->spec;
  EXPECT_EQ(rows.rounding, ResizeSpec::Rounding::kCeil);
  EXPECT_EQ(rows.scale_rows, 0.6f);
  EXPECT_EQ(rows.scale_columns, 1.0f);
  const ResizeSpec& columns = graph.operators[1].As<op::Resize>()->spec;
  EXPECT_EQ(columns.rounding, ResizeSpec::Rounding::kFloor);
  EXPECT_EQ(columns.scale_rows, 1.0f);
  EXPECT_EQ(columns.scale_columns, 2.0f);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 2, 3, 12}));

  OnnxModel linear = OneInput({1, 2, 5, 6}, 10);
  linear.Floats("scales", {4}, {1, 1, 0.6f, 2});
  linear.Node("Resize", {"x", "scales"}, {"y"}).String("mode", "linear");
  EXPECT_EQ(Kinds(linear.Import()), "resize_linear");
}

TEST(OnnxWindowsTest, AWindowThatWouldStartInTheEndPaddingDoesNotCount) {
  OnnxModel model = OneInput({1, 1, 9, 11});
  model.Node("MaxPool", {"x"}, {"y"})
      .Ints("kernel_shape", {2, 2})
      .Ints("pads", {1, 1, 1, 1})
      .Ints("strides", {3, 3})
      .Int("ceil_mode", 1);
  EXPECT_EQ(OutputShape(model.Import()), (Shape{1, 1, 4, 4}));
}

TEST(OnnxWindowsTest, BlockShuffles) {
  OnnxModel model = OneInput({1, 8, 4, 4});
  model.Node("DepthToSpace", {"x"}, {"a"}).Int("blocksize", 2).String("mode", "CRD");
  model.Node("SpaceToDepth", {"a"}, {"y"}).Int("blocksize", 4);
  const Graph graph = model.Import();
  EXPECT_EQ(Only<op::DepthToSpace>(graph).order, op::DepthToSpace::Order::kChannelsFirst);
  EXPECT_EQ(Only<op::SpaceToDepth>(graph).order, op::DepthToSpace::Order::kRowsFirst);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 32, 2, 2}));
  OnnxModel dcr = OneInput({1, 8, 4, 4});
  dcr.Node("DepthToSpace", {"x"}, {"y"}).Int("blocksize", 2);
  EXPECT_EQ(Only<op::DepthToSpace>(dcr.Import()).order, op::DepthToSpace::Order::kRowsFirst);
}

}  // namespace
}  // namespace cacheinf
