// Read this first: a model file becomes a graph.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/model/load.h"
#include "tests/model/onnx_builder.h"
#include "tests/testing/refusal.h"
#include "tests/testing/run_graph.h"

// The file as a whole: operator sets, inputs, outputs, names, order, weights.

namespace cacheinf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

OnnxModel ReluModel(const std::vector<int64_t>& shape) {
  OnnxModel model = OneInput(shape);
  model.Node("Relu", {"x"}, {"y"});
  return model;
}

LoadOptions Shapes(std::vector<Shape> shapes) {
  LoadOptions options;
  options.input_shapes = std::move(shapes);
  return options;
}

std::filesystem::path TemporaryFolder(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(OnnxFileTest, InputsAndOutputsKeepTheirNames) {
  const Graph graph = ReluModel({1, 3, 4, 5}).Import();
  EXPECT_EQ(graph.value(graph.inputs.at(0)).name, "x");
  EXPECT_EQ(graph.value(graph.outputs.at(0)).name, "y");
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 4, 5}));
  EXPECT_EQ(graph.operators.at(0).name, "the Relu");
}

// As PaddlePaddle's detectors have them, before and after the picture.
TEST(OnnxFileTest, InputsBecomeConstants) {
  OnnxModel model;
  model.Input("im_shape", {-1, 2})
      .Input("image", {1, 2})
      .Input("sizes", {1, 2}, onnx::TensorProto::INT64);
  model.Output("y").Node("Mul", {"image", "im_shape"}, {"a"});
  model.Node("Cast", {"sizes"}, {"b"}).Int("to", onnx::TensorProto::FLOAT);
  model.Node("Add", {"a", "b"}, {"y"});
  LoadOptions options;
  options.constants["im_shape"].numbers = {640, 320.5};
  options.constants["sizes"] = {Shape{1, 2}, {3, 4}};
  const Graph graph = model.Import(options);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "image");
  EXPECT_THAT(ConstantOf(graph, 0, 1), ElementsAre(640, 320.5));
  EXPECT_THAT(ConstantOf(graph, 1, 1), ElementsAre(3, 4));

  options.constants["sizes"].numbers = {3, 4.5};
  EXPECT_THAT(model.Refusal(options), HasSubstr("input 'sizes' holds integers, but 4.5"));
  options.constants["sizes"] = {std::nullopt, {7}};
  EXPECT_THAT(ConstantOf(model.Import(options), 1, 1), ElementsAre(7, 7));
  options.constants["sizes"].numbers = {1, 2, 3};
  EXPECT_THAT(model.Refusal(options), HasSubstr("has shape 1x2, but 3 number(s) are given"));
  options.constants.erase("sizes");
  EXPECT_THAT(model.Refusal(options), HasSubstr("as a constant: --input sizes=NUMBERS"));
  options.constants["size"].numbers = {1};
  EXPECT_THAT(model.Refusal(options), HasSubstr("has only 'im_shape', 'image', 'sizes'"));
}

// What the file fixes besides the batch must still fit.
TEST(OnnxFileTest, AFixedBatchMayBecomeOne) {
  OnnxModel model;
  model.Input("x", {4, 3, 2, 2}).Output("y").Node("Relu", {"x"}, {"y"});
  LoadOptions one;
  one.input_shapes = {{1, 3, 2, 2}};
  EXPECT_EQ(OutputShape(model.Import(one)), (Shape{1, 3, 2, 2}));
  LoadOptions two;
  two.input_shapes = {{2, 3, 2, 2}};
  EXPECT_THAT(model.Refusal(two), HasSubstr("dimension 0 of input 'x' is 4 in the file, but 2"));

  LoadOptions picture;
  picture.takes_one_picture = true;
  EXPECT_EQ(OutputShape(model.Import(picture)), (Shape{1, 3, 2, 2}));
  EXPECT_EQ(OutputShape(model.Import()), (Shape{4, 3, 2, 2})) << "tensors have the file's batch";

  OnnxModel built_in;
  built_in.Input("x", {4, 3, 2, 2}).Ints("shape", {4, -1});
  built_in.Node("Reshape", {"x", "shape"}, {"y"});
  onnx::ValueInfoProto* output = built_in.graph().add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
  output->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(12);
  EXPECT_THAT(built_in.Refusal(one), HasSubstr("so export it with a batch of 1"));
  EXPECT_THAT(built_in.Refusal(picture), HasSubstr("so export it with a batch of 1"));
}

TEST(OnnxFileTest, OtherOperatorSetsAreRefused) {
  for (int64_t opset : {int64_t{-1}, int64_t{1}, int64_t{8}, int64_t{23}, int64_t{1} << 40}) {
    OnnxModel model(opset);
    model.Input("x", {1}).Output("y").Node("Relu", {"x"}, {"y"});
    EXPECT_EQ(model.Refusal(), "model.onnx: its operator set " + std::to_string(opset) +
                                   " is not one of 9 to 22, which are supported");
  }
  OnnxModel none = ReluModel({1});
  none.proto.clear_opset_import();
  EXPECT_THAT(none.Refusal(), HasSubstr("operator set 0 is not one of"));
}

TEST(OnnxFileTest, AnOpenBatchIsOne) {
  EXPECT_EQ(OutputShape(ReluModel({-1, 3, 4, 5}).Import()), (Shape{1, 3, 4, 5}));
}

TEST(OnnxFileTest, OpenDimensionsComeFromTheOptions) {
  const Graph graph = ReluModel({-1, 3, -1, -1}).Import(Shapes({{2, 3, 8, 9}}));
  EXPECT_EQ(OutputShape(graph), (Shape{2, 3, 8, 9}));
}

TEST(OnnxFileTest, AnOpenDimensionThatIsNotGivenIsRefused) {
  EXPECT_EQ(ReluModel({-1, 3, -1, 4}).Refusal(),
            "model.onnx: dimension 2 of input 'x' is open in the file, so the input's shape must "
            "be given, like --shape 1x3x640x4 (an example: use the size that the network was "
            "trained for)");
}

// A detector's places: as many as cells of strides 8, 16 and 32 in a square of 320.
TEST(OnnxFileTest, ConstantsShowTheSizeOfAnOpenPicture) {
  OnnxModel model = ReluModel({-1, 3, -1, -1});
  model.Weights("places", {1, 2, 2100});
  EXPECT_THAT(model.Refusal(), HasSubstr("like --shape 1x3x320x320 (the file has constants for"));
}

// Halved, enlarged again, and joined with what it was: sides must be even.
TEST(OnnxFileTest, AShapeThatIsNoMultipleOfTheStrideNamesThoseThatAre) {
  OnnxModel model;
  model.Input("x", {-1, 3, -1, -1}).Output("y").Floats("scales", {4}, {1, 1, 4, 4});
  model.Node("MaxPool", {"x"}, {"half"}).Ints("kernel_shape", {1, 1}).Ints("strides", {4, 4});
  model.Node("Resize", {"half", "", "scales"}, {"whole"})
      .String("mode", "nearest")
      .String("coordinate_transformation_mode", "asymmetric")
      .String("nearest_mode", "floor");
  model.Node("Concat", {"x", "whole"}, {"y"}).Int("axis", 1);
  EXPECT_THAT(model.Refusal(Shapes({{1, 3, 30, 32}})),
              HasSubstr("do not line up; height and width must be multiples of 4, such as --shape "
                        "1x3x32x32 or 1x3x28x32"));
  EXPECT_EQ(OutputShape(model.Import(Shapes({{1, 3, 28, 32}}))), (Shape{1, 6, 28, 32}));
}

TEST(OnnxFileTest, AGivenShapeMustAgreeWithTheFile) {
  EXPECT_EQ(ReluModel({1, 3, 4, 4}).Refusal(Shapes({{1, 1, 4, 4}})),
            "model.onnx: dimension 1 of input 'x' is 3 in the file, but 1 is given");
  EXPECT_THAT(ReluModel({1, 3, 4, 4}).Refusal(Shapes({{1, 3}})), HasSubstr("has 4 dimensions"));
  EXPECT_THAT(ReluModel({1, 3}).Refusal(Shapes({{1, 3}, {1, 3}})),
              HasSubstr("2 input shapes are given for 1 input(s)"));
}

TEST(OnnxFileTest, APictureOfAnotherSizeIsTakenWhereNothingKeepsTheFilesSize) {
  const LoadOptions larger = Shapes({{1, 3, 8, 6}});
  OnnxModel pooled;
  pooled.Input("x", {1, 3, 4, 4}).Output("y").Ints("shape", {1, 3, -1});
  pooled.Node("MaxPool", {"x"}, {"half"}).Ints("kernel_shape", {2, 2}).Ints("strides", {2, 2});
  pooled.Node("Reshape", {"half", "shape"}, {"y"});
  EXPECT_EQ(OutputShape(pooled.Import(larger)), (Shape{1, 3, 12}));

  const auto reshaped = [&](const std::vector<int64_t>& shape) {
    OnnxModel model;
    model.Input("x", {1, 3, 4, 4}).Output("y").Ints("shape", shape);
    model.Node("Reshape", {"x", "shape"}, {"y"});
    return model.Refusal(larger);
  };
  EXPECT_THAT(reshaped({1, 3, 16}), HasSubstr("a picture of 4x4 built in"));
  EXPECT_THAT(reshaped({1, 16, -1}), HasSubstr("the size is built in: operator"));

  OnnxModel cut;
  cut.Input("x", {1, 3, 4, 4}).Output("y").Ints("starts", {0}).Ints("ends", {4}).Ints("axes", {2});
  cut.Node("Slice", {"x", "starts", "ends", "axes"}, {"y"});
  EXPECT_THAT(cut.Refusal(larger), HasSubstr("gives 1x3x4x6 and with twice the height and width"));
}

TEST(OnnxFileTest, DimensionsOfOneNameAreEqual) {
  OnnxModel model;
  model.Input("a", {1, -1}).Input("b", {1, -1}).Output("y");
  for (int i = 0; i < 2; ++i) {
    auto* shape = model.graph().mutable_input(i)->mutable_type()->mutable_tensor_type();
    shape->mutable_shape()->mutable_dim(1)->set_dim_param("width");
  }
  model.Node("Add", {"a", "b"}, {"y"});
  EXPECT_EQ(OutputShape(model.Import(Shapes({{1, 7}}))), (Shape{1, 7}));
  EXPECT_THAT(model.Refusal(Shapes({{1, 7}, {1, 8}})), HasSubstr("'width', which is 7, but 8"));
}

TEST(OnnxFileTest, AQuestionMarkIsNoName) {
  OnnxModel model = ReluModel({-1, 3, -1, -1});
  auto* type = model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (int i : {0, 2, 3}) type->mutable_shape()->mutable_dim(i)->set_dim_param("?");
  EXPECT_EQ(OutputShape(model.Import(Shapes({{1, 3, 8, 9}}))), (Shape{1, 3, 8, 9}));
  EXPECT_EQ(model.Refusal(),
            "model.onnx: dimension 2 of input 'x' is open in the file, so the input's shape must "
            "be given, like --shape 1x3x640x640 (an example: use the size that the network was "
            "trained for)");
}

TEST(OnnxFileTest, AWeightThatIsAlsoListedAsInputIsAWeight) {
  OnnxModel model = OneInput({1, 2, 4, 4});
  model.Input("w", {3, 2, 1, 1}).Weights("w", {3, 2, 1, 1});
  model.Node("Conv", {"x", "w"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 3, 4, 4}));
}

TEST(OnnxFileTest, NodesWithoutNamesAreNamedAfterTheirOutputs) {
  OnnxModel model = ReluModel({1, 2});
  model.graph().mutable_node(0)->clear_name();
  model.graph().clear_name();
  EXPECT_EQ(model.Import().operators.at(0).name, "y");
}

TEST(OnnxFileTest, NodesAreSorted) {
  OnnxModel model = OneInput({1, 2});
  model.Node("Tanh", {"b"}, {"y"});
  model.Node("Sigmoid", {"a"}, {"b"});
  model.Node("Relu", {"x"}, {"a"});
  EXPECT_EQ(Kinds(model.Import()), "relu sigmoid tanh");
}

TEST(OnnxFileTest, ACycleIsRefused) {
  OnnxModel model = OneInput({1, 2});
  model.Node("Add", {"x", "b"}, {"a"});
  model.Node("Relu", {"a"}, {"b"});
  model.Node("Tanh", {"b"}, {"y"});
  EXPECT_EQ(model.Refusal(), "model.onnx: node 'the Add' (Add) depends on its own output");
}

TEST(OnnxFileTest, NamesDefinedTwiceOrNeverAreRefused) {
  OnnxModel twice = ReluModel({1, 2});
  twice.Node("Tanh", {"x"}, {"y"});
  EXPECT_EQ(twice.Refusal(), "model.onnx: node 'the Tanh' (Tanh): its output 'y' is defined twice");

  OnnxModel over_input = ReluModel({1, 2});
  over_input.Node("Tanh", {"y"}, {"x"});
  EXPECT_THAT(over_input.Refusal(), HasSubstr("'x' is defined twice"));

  OnnxModel dangling = OneInput({1, 2});
  dangling.Node("Relu", {"nowhere"}, {"y"});
  EXPECT_EQ(dangling.Refusal(),
            "model.onnx: node 'the Relu' (Relu): its input 'nowhere' is not defined anywhere");

  OnnxModel no_output = ReluModel({1, 2});
  no_output.Output("z");
  EXPECT_EQ(no_output.Refusal(), "model.onnx: output 'z' is not defined anywhere");

  OnnxModel weights = ReluModel({1, 2});
  weights.Weights("w", {1}).Weights("w", {1});
  EXPECT_EQ(weights.Refusal(), "model.onnx: initializer 'w' is defined twice");
}

TEST(OnnxFileTest, UnknownOperatorsAreNamedWithTheirNode) {
  OnnxModel model = OneInput({1, 2});
  model.Node("FlyToTheMoon", {"x"}, {"y"});
  EXPECT_EQ(model.Refusal(),
            "model.onnx: node 'the FlyToTheMoon' (FlyToTheMoon): an operator of this type is not "
            "supported; export the model without it, or as TorchScript, whose operators LibTorch "
            "can run");

  OnnxModel foreign = OneInput({1, 2});
  foreign.Node("Relu", {"x"}, {"y"}).Domain("com.example");
  EXPECT_EQ(foreign.Refusal(),
            "model.onnx: node 'the Relu' (Relu): operators of domain 'com.example' are not "
            "supported");
}

TEST(OnnxFileTest, UnknownAttributesAreRefused) {
  OnnxModel model = OneInput({1, 2});
  model.Node("Relu", {"x"}, {"y"}).Float("threshold", 1.0f);
  EXPECT_THAT(model.Refusal(), HasSubstr("attribute 'threshold' is not supported"));
}

TEST(OnnxFileTest, AttributesOfTheWrongTypeAreRefused) {
  OnnxModel model = OneInput({1, 2});
  model.Node("LeakyRelu", {"x"}, {"y"}).Int("alpha", 1);
  EXPECT_THAT(model.Refusal(), HasSubstr("attribute 'alpha' is not of type FLOAT"));
}

TEST(OnnxFileTest, NodesThatNoOutputNeedsDoNotMatter) {
  OnnxModel model = ReluModel({1, 2});
  model.Node("FlyToTheMoon", {"x"}, {"unused"});
  EXPECT_EQ(Kinds(model.Import()), "relu");
}

TEST(OnnxFileTest, OutputsThatAreOneValueAreTwo) {
  OnnxModel model = ReluModel({1, 2});
  model.Node("Identity", {"y"}, {"z"});
  model.Output("z");
  const Graph graph = model.Import();
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "z");
  EXPECT_NE(graph.outputs[0], graph.outputs[1]);
}

TEST(OnnxFileTest, AnAliasThatIsAnOutputGivesItsName) {
  OnnxModel model = OneInput({1, 2});
  model.Node("Relu", {"x"}, {"a"});
  model.Node("Dropout", {"a"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "relu");
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
}

TEST(OnnxFileTest, AnInputCanBeAnOutput) {
  OnnxModel model = OneInput({1, 2});
  model.Node("Identity", {"x"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "identity");
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
}

TEST(OnnxFileTest, ModelsWithoutInputOrOutputAreRefused) {
  OnnxModel no_output;
  no_output.Input("x", {1}).Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(no_output.Refusal(), "model.onnx: it has no output");
  OnnxModel no_input;
  no_input.Output("y").Node("Constant", {}, {"y"}).Float("value_float", 1.0f);
  EXPECT_EQ(no_input.Refusal(), "model.onnx: it has no input");
  OnnxModel constant = OneInput({1});
  constant.Node("Constant", {}, {"y"}).Float("value_float", 1.0f);
  EXPECT_EQ(constant.Refusal(), "model.onnx: output 'y' does not depend on any input");
}

TEST(OnnxFileTest, InputsOfIntegersAreRefused) {
  OnnxModel model;
  model.Input("x", {1}, onnx::TensorProto::INT64).Output("y").Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(model.Refusal(), HasSubstr("input 'x' has elements of type INT64"));
}

// As TensorFlow's detectors take them.
TEST(OnnxFileTest, PicturesOfBytesAreNumbers) {
  OnnxModel model;
  model.Input("x", {1, 2, 1, 3}, onnx::TensorProto::UINT8).Output("y");
  model.Node("Cast", {"x"}, {"f"}).Int("to", onnx::TensorProto::FLOAT);
  model.Floats("half", {1}, {0.5f}).Node("Mul", {"f", "half"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_TRUE(graph.notes.has_byte_picture);
  const std::vector<float> levels = {0, 1, 2, 253, 254, 255};
  const ValueId y = graph.outputs.front();
  EXPECT_THAT(EvaluateDirectly(graph, {Tensor({1, 2, 1, 3}, levels)})[static_cast<size_t>(y)],
              ElementsAre(0, 0.5f, 1, 126.5f, 127, 127.5f));
  EXPECT_FALSE(ReluModel({1, 3, 2, 2}).Import().notes.has_byte_picture);
  OnnxModel list;
  list.Input("x", {4}, onnx::TensorProto::UINT8).Output("y").Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(list.Refusal(), HasSubstr("input 'x' has elements of type UINT8"));
}

TEST(OnnxFileTest, AbsurdSizesAreRefused) {
  EXPECT_THAT(ReluModel({1, -7}).Refusal(), HasSubstr("input 'x' has a dimension of -7"));
  EXPECT_THAT(ReluModel({1, 0}).Refusal(), HasSubstr("input 'x' has a dimension of 0"));
  EXPECT_THAT(ReluModel({1 << 20, 1 << 20}).Refusal(), HasSubstr("input 'x' has more than"));
  EXPECT_THAT(ReluModel({INT64_MAX, 2}).Refusal(), HasSubstr("input 'x' has a dimension of"));
  EXPECT_THAT(ReluModel({1, 1, 1, 1, 1, 1, 1}).Refusal(), HasSubstr("has 7 dimensions"));

  OnnxModel weights = OneInput({1, 2});
  onnx::TensorProto huge = FloatTensor("w", {1 << 15, 1 << 15}, {});
  weights.Constant(huge).Node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(weights.Refusal(),
              HasSubstr("tensor 'w' of shape 32768x32768 needs 4294967296 bytes"));
}

TEST(OnnxFileTest, FoldingDoesNotTakeUnboundedMemory) {
  OnnxModel model = OneInput({1, 2});
  model.Ints("shape", {1 << 15, 1 << 15});
  model.Node("ConstantOfShape", {"shape"}, {"c"});
  model.Node("Add", {"x", "c"}, {"y"});
  EXPECT_THAT(model.Refusal(), HasSubstr("the constants of the model take more than 256 MiB"));
}

TEST(OnnxFileTest, WeightsOfEveryTypeAreRead) {
  const auto sum_with = [](const onnx::TensorProto& tensor) {
    OnnxModel model = OneInput({1, 2});
    model.Constant(tensor).Node("Add", {"x", tensor.name()}, {"y"});
    return ConstantOf(model.Import(), 0, 1);
  };
  const std::vector<float> expected = {1.5f, -2.0f};
  EXPECT_EQ(sum_with(FloatTensor("w", {2}, {1.5f, -2.0f})), expected);

  onnx::TensorProto typed = FloatTensor("w", {2}, {});
  typed.clear_raw_data();
  typed.add_float_data(1.5f);
  typed.add_float_data(-2.0f);
  EXPECT_EQ(sum_with(typed), expected);

  onnx::TensorProto doubles = typed;
  doubles.clear_float_data();
  doubles.set_data_type(onnx::TensorProto::DOUBLE);
  doubles.add_double_data(1.5);
  doubles.add_double_data(-2.0);
  EXPECT_EQ(sum_with(doubles), expected);

  onnx::TensorProto halves = typed;
  halves.clear_float_data();
  halves.set_data_type(onnx::TensorProto::FLOAT16);
  halves.add_int32_data(0x3e00);
  halves.add_int32_data(0xc000);
  EXPECT_EQ(sum_with(halves), expected);
  halves.clear_int32_data();
  halves.set_raw_data(std::string("\x00\x3e\x00\xc0", 4));
  EXPECT_EQ(sum_with(halves), expected);

  onnx::TensorProto truncated = halves;
  truncated.set_raw_data(std::string("\x00\x3e\x00", 3));
  OnnxModel model = OneInput({1, 2});
  model.Constant(truncated).Node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(model.Refusal(), HasSubstr("tensor 'w' of shape 2 needs 4 bytes, but has 3"));
}

TEST(OnnxFileTest, HalvesOfEveryMagnitudeAreExact) {
  onnx::TensorProto halves = FloatTensor("w", {6}, {});
  halves.clear_raw_data();
  halves.set_data_type(onnx::TensorProto::FLOAT16);
  for (int bits : {0x0001, 0x83ff, 0x0400, 0x7bff, 0x3555, 0x8000}) halves.add_int32_data(bits);
  OnnxModel model = OneInput({1, 6});
  model.Constant(halves).Node("Add", {"x", "w"}, {"y"});
  // The two smallest binades, the largest number, a third, minus zero.
  EXPECT_EQ(ConstantOf(model.Import(), 0, 1),
            (std::vector<float>{0x1p-24f, -0x3ffp-24f, 0x1p-14f, 65504.0f, 0x555p-12f, -0.0f}));
}

TEST(OnnxFileTest, TensorsOfStringsAreRefused) {
  onnx::TensorProto strings = FloatTensor("w", {1}, {});
  strings.set_data_type(onnx::TensorProto::STRING);
  OnnxModel model = OneInput({1, 2});
  model.Constant(strings).Node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(model.Refusal(), HasSubstr("tensor 'w' has elements of type STRING"));
}

OnnxModel ModelWithWeightsAt(const std::string& location, const std::string& offset,
                             const std::string& length) {
  OnnxModel model = OneInput({1, 2});
  onnx::TensorProto tensor = FloatTensor("w", {2}, {});
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&tensor](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    onnx::StringStringEntryProto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", offset);
  add("length", length);
  model.Constant(tensor).Node("Add", {"x", "w"}, {"y"});
  return model;
}

TEST(OnnxFileTest, WeightsBesideTheFileAreRead) {
  const std::filesystem::path folder = TemporaryFolder("onnx_external");
  const float values[] = {9.0f, 1.5f, -2.0f};
  Write(folder / "weights.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  Write(folder / "model.onnx", ModelWithWeightsAt("weights.bin", "4", "8").Bytes());
  const Graph graph = ImportOnnx(folder / "model.onnx");
  EXPECT_EQ(ConstantOf(graph, 0, 1), (std::vector<float>{1.5f, -2.0f}));
}

TEST(OnnxFileTest, WeightsOutsideTheFolderOrTheFileAreRefused) {
  const std::filesystem::path folder = TemporaryFolder("onnx_outside");
  std::filesystem::create_directories(folder / "model");
  Write(folder / "secret.bin", std::string(64, 'x'));
  Write(folder / "model" / "weights.bin", std::string(8, 'x'));
  std::filesystem::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  const auto refusal = [&folder](const OnnxModel& model) -> std::string {
    Write(folder / "model" / "model.onnx", model.Bytes());
    return RefusalOf([&] { ImportOnnx(folder / "model" / "model.onnx"); });
  };
  EXPECT_EQ(refusal(ModelWithWeightsAt("weights.bin", "", "")), "");
  const char* const outside[] = {"../secret.bin", "link.bin", "/etc/passwd"};
  for (const char* location : outside) {
    EXPECT_THAT(refusal(ModelWithWeightsAt(location, "", "")),
                HasSubstr("which is outside the model's folder"))
        << location;
  }
  EXPECT_THAT(refusal(ModelWithWeightsAt("missing.bin", "", "")), HasSubstr("which is not there"));
  EXPECT_THAT(refusal(ModelWithWeightsAt(".", "", "")), HasSubstr("which is not there"));
  EXPECT_THAT(refusal(ModelWithWeightsAt("weights.bin", "4", "")), HasSubstr("which has 8"));
  EXPECT_THAT(refusal(ModelWithWeightsAt("weights.bin", "9223372036854775807", "")),
              HasSubstr("which has 8"));
  EXPECT_THAT(refusal(ModelWithWeightsAt("weights.bin", "-1", "")), HasSubstr("'-1' where"));
  EXPECT_THAT(refusal(ModelWithWeightsAt("weights.bin", "4x", "")), HasSubstr("'4x' where"));
  EXPECT_THAT(refusal(ModelWithWeightsAt("weights.bin", "", "4")), HasSubstr("its length is 4"));
  EXPECT_THAT(refusal(ModelWithWeightsAt("", "", "")), HasSubstr("cannot be found"));
}

onnx::GraphProto Branch(const std::string& type, const std::string& output) {
  OnnxModel branch;
  branch.Node(type, {"x"}, {output});
  branch.Output(output);
  return branch.graph();
}

TEST(OnnxFileTest, ABranchThatIsKnownIsInlined) {
  for (bool condition : {true, false}) {
    OnnxModel model = OneInput({1, 2});
    model.Constant(BoolTensor("c", {}, {condition}));
    model.Node("If", {"c"}, {"y"})
        .Graph("then_branch", Branch("Relu", "inner"))
        .Graph("else_branch", Branch("Tanh", "inner"));
    const Graph graph = model.Import();
    EXPECT_EQ(Kinds(graph), condition ? "relu" : "tanh");
    EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  }
}

TEST(OnnxFileTest, ControlFlowThatIsNotKnownIsRefused) {
  OnnxModel model = OneInput({1});
  model.Node("If", {"x"}, {"y"})
      .Graph("then_branch", Branch("Relu", "inner"))
      .Graph("else_branch", Branch("Tanh", "inner"));
  EXPECT_THAT(model.Refusal(), HasSubstr("node 'the If' (If): its condition is not a constant"));
  OnnxModel loop = OneInput({1});
  loop.Node("Loop", {"x"}, {"y"}).Graph("body", Branch("Relu", "inner"));
  EXPECT_THAT(loop.Refusal(), HasSubstr("node 'the Loop' (Loop): the size of its result changes"));
}

TEST(OnnxFileTest, SubgraphsInSubgraphsEndSomewhere) {
  onnx::GraphProto inner = Branch("Relu", "inner");
  for (int depth = 0; depth < 200; ++depth) {
    OnnxModel outer;
    outer.Constant(BoolTensor("c" + std::to_string(depth), {}, {true}));
    const std::string output = "inner" + std::to_string(depth);
    outer.Node("If", {"c" + std::to_string(depth)}, {output})
        .Graph("then_branch", inner)
        .Graph("else_branch", Branch("Tanh", "other"));
    outer.Output(output);
    inner = outer.graph();
    OnnxModel model = OneInput({1});
    model.Constant(BoolTensor("c", {}, {true}));
    model.Node("If", {"c"}, {"y"})
        .Graph("then_branch", inner)
        .Graph("else_branch", Branch("Tanh", "other"));
    const std::string refusal = model.Refusal();
    if (!refusal.empty()) {
      EXPECT_EQ(refusal, "model.onnx: is not an ONNX model, or is damaged");
      EXPECT_GT(depth, 10);
      return;
    }
  }
  FAIL() << "no limit";
}

TEST(OnnxFileTest, NamesOfTheFileDoNotSpoilTheSentence) {
  OnnxModel model = OneInput({1, 2});
  model.Node(std::string(100000, 'A') + "\n\x01", {"x"}, {"y"});
  const std::string refusal = model.Refusal();
  EXPECT_LT(refusal.size(), 600u);
  EXPECT_EQ(refusal.find('\n'), std::string::npos);
}

TEST(OnnxFileTest, OtherFilesAreRefused) {
  const std::filesystem::path folder = TemporaryFolder("onnx_other");
  Write(folder / "text.onnx", "this is no model");
  Write(folder / "empty.onnx", "");
  for (const char* name : {"text.onnx", "empty.onnx", "missing.onnx"}) {
    EXPECT_THAT(RefusalOf([&] { LoadModel(folder / name); }), StartsWith((folder / name).string()));
  }
  EXPECT_THROW(LoadModel(folder), InputError);
}

TEST(OnnxFileTest, LoadModelOptimisesIfAsked) {
  const std::filesystem::path folder = TemporaryFolder("onnx_load");
  OnnxModel model = OneInput({1, 2, 4, 4});
  model.Weights("w", {3, 2, 1, 1}).Node("Conv", {"x", "w"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  Write(folder / "model.onnx", model.Bytes());
  LoadOptions options;
  options.optimise = false;
  EXPECT_EQ(Kinds(LoadModel(folder / "model.onnx", options)), "conv relu");
  EXPECT_EQ(Kinds(LoadModel(folder / "model.onnx")), "conv");
}

}  // namespace
}  // namespace cacheinf
