#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/model/onnx_builder.h"

// Converters of functions, arithmetic, matrix products, norms and reductions.

namespace cacheinf {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using Kind = Function::Kind;

Function FunctionOf(const std::function<void(OnnxModel&)>& add, int64_t opset = 18) {
  OnnxModel model = OneInput({1, 3, 2, 2}, opset);
  add(model);
  return Only<op::Activation>(model.Import()).function;
}

TEST(OnnxOperatorsTest, ClipInEveryForm) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(
      FunctionOf(
          [](OnnxModel& m) { m.Node("Clip", {"x"}, {"y"}).Float("min", -1).Float("max", 6); }, 9),
      (Function{Kind::kClip, -1, 6}));
  EXPECT_EQ(FunctionOf([](OnnxModel& m) {
              m.Floats("low", {}, {-1}).Floats("high", {}, {6});
              m.Node("Clip", {"x", "low", "high"}, {"y"});
            }),
            (Function{Kind::kClip, -1, 6}));
  EXPECT_EQ(FunctionOf([](OnnxModel& m) {
              m.Floats("high", {}, {6}).Node("Clip", {"x", "", "high"}, {"y"});
            }),
            (Function{Kind::kClip, -kInfinity, 6}));
  EXPECT_EQ(FunctionOf([](OnnxModel& m) {
              m.Floats("low", {}, {0}).Node("Clip", {"x", "low"}, {"y"});
            }).kind,
            Kind::kRelu);
  OnnxModel open = OneInput({1, 2});
  open.Node("Clip", {"x"}, {"a"});
  open.Node("Relu", {"a"}, {"y"});
  EXPECT_EQ(Kinds(open.Import()), "relu");
  OnnxModel runtime = OneInput({1, 2});
  runtime.Node("Clip", {"x", "x"}, {"y"});
  EXPECT_THAT(runtime.Refusal(), HasSubstr("input 'x' must be a constant"));
}

TEST(OnnxOperatorsTest, PReluTakesSlopesOfEveryShapeThatBroadcasts) {
  for (const Shape& slope : {Shape{3, 1, 1}, Shape{1, 3, 1, 1}, Shape{1}, Shape{}}) {
    OnnxModel model = OneInput({1, 3, 2, 2});
    model.Weights("s", slope).Node("PRelu", {"x", "s"}, {"y"});
    const Graph graph = model.Import();
    EXPECT_EQ(Kinds(graph), "prelu");
    EXPECT_EQ(ConstantOf(graph, 0, 1).size(), static_cast<size_t>(ElementCount(slope)));
  }
  for (const Shape& slope : {Shape{3, 2, 2}, Shape{2, 1}, Shape{2}, Shape{1, 1, 1, 2}}) {
    OnnxModel model = OneInput({1, 3, 2, 2});
    model.Weights("s", slope).Node("PRelu", {"x", "s"}, {"y"});
    EXPECT_EQ(Kinds(model.Import()), "minimum multiply relu add") << ToString(slope);
  }
  OnnxModel larger = OneInput({1, 3, 2, 2});
  larger.Weights("s", {4, 3, 2, 2}).Node("PRelu", {"x", "s"}, {"y"});
  EXPECT_THAT(larger.Refusal(), HasSubstr("a slope of shape 4x3x2x2 for an input of 1x3x2x2"));
}

TEST(OnnxOperatorsTest, PowTakesWholeNumbersAsAConstantExponent) {
  OnnxModel model = OneInput({1, 3});
  model.Ints("e", {2, 0, -1}).Node("Pow", {"x", "e"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Only<op::Binary>(graph).kind, BinaryKind::kPower);
  EXPECT_THAT(ConstantOf(graph, 0, 1), ElementsAre(2, 0, -1));
  OnnxModel constants = OneInput({1, 3});
  constants.Floats("b", {3}, {2, 3, 4}).Ints("e", {2}).Node("Pow", {"b", "e"}, {"p"});
  constants.Node("Add", {"x", "p"}, {"y"});
  Graph known = constants.Import();
  Optimise(known);
  EXPECT_EQ(Kinds(known), "add");
  EXPECT_THAT(ConstantOf(known, 0, 1), ElementsAre(4, 9, 16));
  OnnxModel huge = OneInput({1});
  huge.Ints("e", {(1 << 24) + 1}).Node("Pow", {"x", "e"}, {"y"});
  EXPECT_THAT(huge.Refusal(), HasSubstr("an exponent of 16777217"));
  OnnxModel base = OneInput({1});
  base.Ints("b", {2}).Node("Pow", {"b", "x"}, {"y"});
  EXPECT_THAT(base.Refusal(), HasSubstr("a power of integers is only supported among constants"));
}

TEST(OnnxOperatorsTest, ArithmeticOfManyInputs) {
  OnnxModel model = OneInput({1, 3});
  model.Node("Max", {"x"}, {"a"});
  model.Node("Sum", {"a", "x", "x"}, {"b"});
  model.Node("Mean", {"b", "x"}, {"y"});
  EXPECT_EQ(Kinds(model.Import()), "add add add divide");
}

TEST(OnnxOperatorsTest, ArithmeticRefusals) {
  OnnxModel shapes = OneInput({1, 3});
  shapes.Weights("w", {2}).Node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(shapes.Refusal(), HasSubstr("shapes 1x3 and 2 do not broadcast"));
  OnnxModel integers = OneInput({1, 3});
  integers.Ints("w", {(1 << 24) + 1}).Node("ArgMax", {"x"}, {"a"});
  integers.Node("Add", {"a", "w"}, {"y"});
  EXPECT_THAT(integers.Refusal(),
              HasSubstr("constant 'w' holds 16777217; integers beyond 2^24 are only supported"));
  OnnxModel classes = OneInput({1, 3});
  classes.Node("ArgMax", {"x"}, {"a"});
  classes.Node("Softmax", {"a"}, {"y"});
  EXPECT_THAT(classes.Refusal(),
              HasSubstr("node 'the Softmax' (Softmax): input number 1 holds integers, which"));
}

TEST(OnnxOperatorsTest, MatMulWithAConstantBecomesLinear) {
  OnnxModel model = OneInput({2, 5, 3});
  model.Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}).Node("MatMul", {"x", "w"}, {"y"});
  Graph graph = model.Import();
  Optimise(graph);
  EXPECT_EQ(Kinds(graph), "linear");
  EXPECT_THAT(ConstantOf(graph, 0, 1), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_EQ(OutputShape(graph), (Shape{2, 5, 2}));
}

TEST(OnnxOperatorsTest, MatMulOfOtherForms) {
  const auto output = [](const Shape& in, const Shape& weights, bool constant_first) {
    OnnxModel model = OneInput(in);
    model.Weights("w", weights);
    model.Node(
        "MatMul",
        constant_first ? std::vector<std::string>{"w", "x"} : std::vector<std::string>{"x", "w"},
        {"y"});
    return OutputShape(model.Import());
  };
  EXPECT_EQ(output({2, 4, 3}, {2, 3, 5}, false), (Shape{2, 4, 5}));
  EXPECT_EQ(output({3, 5}, {4, 3}, true), (Shape{4, 5}));
  EXPECT_EQ(output({2, 3}, {3}, false), (Shape{2}));
  EXPECT_EQ(output({3, 2}, {3}, true), (Shape{2}));
  EXPECT_EQ(output({3}, {3}, false), (Shape{}));
  EXPECT_EQ(output({4, 2, 3}, {2}, true), (Shape{4, 3}));
}

Graph Gemm(const Shape& bias, const std::function<void(OnnxNodeBuilder)>& add) {
  OnnxModel model = OneInput({2, 3});
  model.Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}).Floats("b", bias, OnnxModel::Ramp(bias));
  add(model.Node("Gemm", {"x", "w", "b"}, {"y"}));
  Graph graph = model.Import();
  Optimise(graph);
  return graph;
}

TEST(OnnxOperatorsTest, GemmInEveryForm) {
  Graph graph = Gemm({2}, [](OnnxNodeBuilder node) { node.Float("alpha", 2).Float("beta", 100); });
  EXPECT_EQ(Kinds(graph), "linear");
  EXPECT_THAT(ConstantOf(graph, 0, 1), ElementsAre(2, 6, 10, 4, 8, 12));
  EXPECT_THAT(ConstantOf(graph, 0, 2), ElementsAre(FloatNear(1, 1e-6), FloatNear(2, 1e-6)));
  graph = Gemm({1}, [](OnnxNodeBuilder node) { node.Float("beta", 100); });
  EXPECT_THAT(ConstantOf(graph, 0, 2), ElementsAre(FloatNear(1, 1e-6), FloatNear(1, 1e-6)));
  EXPECT_EQ(Kinds(Gemm({2, 2}, [](OnnxNodeBuilder) {})), "linear add");
  EXPECT_EQ(Kinds(Gemm({2, 1}, [](OnnxNodeBuilder node) { node.Float("beta", 2); })), "linear add");

  OnnxModel transposed = OneInput({3, 2});
  transposed.Floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  transposed.Node("Gemm", {"x", "w"}, {"y"}).Int("transA", 1).Int("transB", 1);
  graph = transposed.Import();
  EXPECT_EQ(Kinds(graph), "permute linear");
  EXPECT_THAT(ConstantOf(graph, 1, 1), ElementsAre(1, 2, 3, 4, 5, 6));

  OnnxModel runtime = OneInput({2, 2});
  runtime.Node("Gemm", {"x", "x"}, {"y"}).Int("transB", 1).Float("alpha", 0.5f);
  EXPECT_EQ(Kinds(runtime.Import()), "permute matmul multiply");
}

TEST(OnnxOperatorsTest, BatchNormalizationIsScaleAndShift) {
  OnnxModel model = OneInput({1, 2, 4, 4});
  model.Floats("gamma", {2}, {1, 2}).Floats("beta", {2}, {3, 4});
  model.Floats("mean", {2}, {5, 6}).Floats("variance", {2}, {4, 16});
  model.Node("BatchNormalization", {"x", "gamma", "beta", "mean", "variance"}, {"y"})
      .Float("epsilon", 0.0f)
      .Float("momentum", 0.9f);
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "scale_shift");
  EXPECT_THAT(ConstantOf(graph, 0, 1), ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(ConstantOf(graph, 0, 2), ElementsAre(0.5f, 1.0f));
}

TEST(OnnxOperatorsTest, BatchNormalizationRefusals) {
  OnnxModel training = OneInput({1, 2, 4, 4});
  training.Weights("c", {2});
  training.Node("BatchNormalization", {"x", "c", "c", "c", "c"}, {"y"}).Int("training_mode", 1);
  EXPECT_THAT(training.Refusal(), HasSubstr("training mode is not supported"));
  OnnxModel channels = OneInput({1, 2, 4, 4});
  channels.Weights("c", {3}).Node("BatchNormalization", {"x", "c", "c", "c", "c"}, {"y"});
  EXPECT_THAT(channels.Refusal(), HasSubstr("input number 2 has shape 3 for 2 channels"));
}

TEST(OnnxOperatorsTest, LayerNormalization) {
  OnnxModel model = OneInput({2, 3, 4});
  model.Weights("s", {3, 4});
  model.Node("LayerNormalization", {"x", "s"}, {"y"}).Int("axis", -2).Float("epsilon", 1e-3f);
  const Graph graph = model.Import();
  const op::LayerNorm& norm = Only<op::LayerNorm>(graph);
  EXPECT_EQ(norm.first_axis, 1);
  EXPECT_EQ(norm.axis_count, 2);
  EXPECT_EQ(norm.epsilon, 1e-3f);
  EXPECT_EQ(ConstantOf(graph, 0, 2), std::vector<float>(12, 0.0f));
}

TEST(OnnxOperatorsTest, LayerNormalizationMayNameOutputsThatNobodyReads) {
  OnnxModel model = OneInput({2, 3, 4});
  model.Weights("s", {4});
  model.Node("LayerNormalization", {"x", "s"}, {"a", "mean", "inverse"});
  model.Node("Relu", {"a"}, {"y"});
  EXPECT_EQ(Kinds(model.Import()), "layer_norm relu");
  OnnxModel read = OneInput({2, 3, 4});
  read.Weights("s", {4}).Node("LayerNormalization", {"x", "s"}, {"a", "mean"});
  read.Node("Add", {"a", "mean"}, {"y"});
  EXPECT_THAT(read.Refusal(), HasSubstr("input 'mean' is an output that its node does not give"));
}

TEST(OnnxOperatorsTest, InstanceNormalizationIsAGroupNormOfSingleChannels) {
  OnnxModel model = OneInput({2, 3, 4, 4});
  model.Weights("c", {3}).Node("InstanceNormalization", {"x", "c", "c"}, {"y"});
  EXPECT_EQ(Only<op::GroupNorm>(model.Import()).groups, 3);
  OnnxModel signal = OneInput({2, 3, 8});
  signal.Weights("c", {3}).Node("InstanceNormalization", {"x", "c", "c"}, {"y"});
  EXPECT_EQ(Kinds(signal.Import()), "reshape group_norm reshape");
}

TEST(OnnxOperatorsTest, GroupNormalizationScalesGroups) {
  OnnxModel model = OneInput({1, 4, 3, 3}, 18);
  model.Floats("c", {2}, {5, 6});
  model.Node("GroupNormalization", {"x", "c", "c"}, {"y"}).Int("num_groups", 2);
  const Graph graph = model.Import();
  EXPECT_EQ(Only<op::GroupNorm>(graph).groups, 2);
  EXPECT_THAT(ConstantOf(graph, 0, 1), ElementsAre(5, 5, 6, 6));
}

TEST(OnnxOperatorsTest, SoftmaxChangedItsMeaning) {
  OnnxModel model = OneInput({2, 3, 4}, 13);
  model.Node("Softmax", {"x"}, {"y"});
  EXPECT_EQ(Only<op::Softmax>(model.Import()).axis, 2);

  OnnxModel old = OneInput({2, 3, 4}, 12);
  old.Node("LogSoftmax", {"x"}, {"y"});
  const Graph graph = old.Import();
  EXPECT_EQ(Kinds(graph), "reshape log_softmax reshape");
  EXPECT_EQ(graph.operators[0].As<op::Reshape>()->shape, (Shape{2, 12}));

  OnnxModel last = OneInput({2, 3, 4}, 12);
  last.Node("Softmax", {"x"}, {"y"}).Int("axis", 2);
  EXPECT_EQ(Kinds(last.Import()), "softmax");
}

TEST(OnnxOperatorsTest, ArgMaxGivesIntegers) {
  OnnxModel model = OneInput({2, 3, 4});
  model.Node("ArgMax", {"x"}, {"a"}).Int("axis", -2).Int("keepdims", 0);
  model.Node("Cast", {"a"}, {"b"}).Int("to", onnx::TensorProto::INT32);
  model.Ints("axes", {0}).Node("Unsqueeze", {"b", "axes"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "argmax reshape");
  EXPECT_EQ(Only<op::ArgMax>(graph).axis, 1);
  EXPECT_EQ(graph.value(graph.outputs[0]).type, DataType::kInt64);
  OnnxModel last = OneInput({2, 3, 4});
  last.Node("ArgMax", {"x"}, {"y"}).Int("select_last_index", 1);
  EXPECT_THAT(last.Refusal(), HasSubstr("'select_last_index' is not supported"));
}

TEST(OnnxOperatorsTest, ReductionsInEveryForm) {
  OnnxModel attribute = OneInput({2, 3, 4, 5});
  attribute.Node("ReduceMean", {"x"}, {"y"}).Ints("axes", {-1, 2}).Int("keepdims", 0);
  EXPECT_EQ(Only<op::Reduce>(attribute.Import()).axes, (std::vector<int>{2, 3}));
  EXPECT_EQ(OutputShape(attribute.Import()), (Shape{2, 3}));

  OnnxModel input = OneInput({2, 3, 4, 5}, 18);
  input.Ints("axes", {1}).Node("ReduceMax", {"x", "axes"}, {"y"});
  EXPECT_EQ(OutputShape(input.Import()), (Shape{2, 1, 4, 5}));

  OnnxModel all = OneInput({2, 3});
  all.Node("ReduceSum", {"x"}, {"y"}).Int("keepdims", 0);
  EXPECT_EQ(OutputShape(all.Import()), (Shape{}));

  OnnxModel none = OneInput({2, 3}, 18);
  none.Node("ReduceMin", {"x"}, {"a"}).Int("noop_with_empty_axes", 1);
  none.Node("Relu", {"a"}, {"y"});
  EXPECT_EQ(Kinds(none.Import()), "relu");

  OnnxModel norm = OneInput({2, 3});
  norm.Node("ReduceL2", {"x"}, {"y"}).Ints("axes", {1});
  EXPECT_EQ(Kinds(norm.Import()), "multiply reduce_sum sqrt");

  OnnxModel wrong = OneInput({2, 3});
  wrong.Node("ReduceMean", {"x"}, {"y"}).Ints("axes", {2});
  EXPECT_THAT(wrong.Refusal(), HasSubstr("axis 2 does not exist in 2 dimensions"));
}

TEST(OnnxOperatorsTest, DropoutDoesNothingWhenItDoesNotTrain) {
  OnnxModel model = OneInput({2, 3}, 12);
  model.Floats("ratio", {}, {0.5f}).Constant(BoolTensor("training", {}, {false}));
  model.Node("Dropout", {"x", "ratio", "training"}, {"a", "mask"}).Int("seed", 1);
  model.Node("Relu", {"a"}, {"y"});
  EXPECT_EQ(Kinds(model.Import()), "relu");
  OnnxModel training = OneInput({2, 3}, 12);
  training.Constant(BoolTensor("training", {}, {true}));
  training.Node("Dropout", {"x", "", "training"}, {"y"});
  EXPECT_THAT(training.Refusal(), HasSubstr("training mode is not supported"));
}

}  // namespace
}  // namespace cacheinf
