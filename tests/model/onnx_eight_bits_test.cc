#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/model/onnx_builder.h"
#include "tests/model/onnx_seeds.h"
#include "tests/testing/run_graph.h"

// Models that a quantiser wrote: which become operators on 8-bit maps, what stays float and why,
// and which are refused.

namespace cacheinf {
namespace {

using onnx::TensorProto;

class QuantisedModel : public OnnxModel {
 public:
  explicit QuantisedModel(const std::vector<int64_t>& shape, int64_t opset = 17)
      : OnnxModel(opset) {
    Input("x", shape).Output("y");
    Floats("s", {}, {0.25f}).Constant(ByteTensor("z", {}, {100}));
    Floats("s2", {}, {0.5f}).Constant(ByteTensor("z2", {}, {3}));
  }

  // x → Q → DQ, with this scale and zero point.
  QuantisedModel& Round(const std::string& x, const std::string& y, const std::string& s = "s",
                        const std::string& z = "z") {
    Node("QuantizeLinear", {x, s, z}, {y + ".q"});
    Node("DequantizeLinear", {y + ".q", s, z}, {y});
    return *this;
  }

  // Constants w and b behind DequantizeLinear: 2 outputs, 1 input, 1×1.
  QuantisedModel& Weights(int type = TensorProto::INT8, int zero = 0) {
    Constant(ByteTensor("wq", {2, 1, 1, 1}, {100, 20}, type));
    Floats("ws", {2}, {0.5f, 0.125f}).Constant(ByteTensor("wz", {2}, {zero, zero}, type));
    Constant(ByteTensor("bq", {2}, {1000, -3}, TensorProto::INT32))
        .Floats("bs", {2}, {0.125f, 0.03125f});
    Node("DequantizeLinear", {"wq", "ws", "wz"}, {"w"}).Int("axis", 0);
    Node("DequantizeLinear", {"bq", "bs"}, {"b"}).Int("axis", 0);
    return *this;
  }
};

Graph Optimised(const OnnxModel& model) {
  Graph graph = model.Import();
  Optimise(graph);
  graph.Validate();
  return graph;
}

std::vector<float> NumbersOf(const Graph& graph, const std::vector<float>& x) {
  const Shape shape = graph.value(graph.inputs[0]).shape;
  return EvaluateDirectly(graph, {Tensor(shape, x)})[graph.outputs[0]];
}

TEST(OnnxEightBitsTest, PairsAroundAConvolutionFoldIntoOneOperator) {
  QuantisedModel model({1, 1, 1, 2});
  model.Weights().Round("x", "a");
  model.Node("Conv", {"a", "w", "b"}, {"c"});
  model.Round("c", "y", "s2", "z2");
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "quantise quant_conv");
  const auto& conv = Only<op::QuantConv>(graph);
  EXPECT_EQ(conv.bias, (std::vector<int>{1000, -3}));
  EXPECT_EQ(conv.scales, (std::vector<float>{0.125f, 0.03125f}));
  EXPECT_TRUE(conv.weight_zeros.empty());
  EXPECT_TRUE(conv.rounds_sums);
  EXPECT_EQ(conv.steps, (Steps{0.5f, 3, false}));
  // x = 1: 4 steps. 1000 + 4·100 = 1400, ·.125/.5 = 350, beyond 255. -3 + 4·20 = 77, ·.0625 = 4.8.
  // x = -2: -8 steps. 200, 50. -163, -10.2, below 0.
  EXPECT_EQ(NumbersOf(graph, {1.0f, -2.0f}), (std::vector<float>{126.0f, 25.0f, 2.5f, -1.5f}));
}

// Nothing rounds the result, so it shows the weights' numbers.
TEST(OnnxEightBitsTest, WeightsWithAnyZeroPointAndOfEitherTypeAreTheSameNumbers) {
  const auto run = [](int type, int zero) {
    QuantisedModel model({1, 1, 1, 1});
    model.Weights(type, zero).Round("x", "a");
    model.Node("Conv", {"a", "w", "b"}, {"y"});
    const Graph graph = Optimised(model);
    EXPECT_EQ(Kinds(graph), "quantise quant_conv");
    return NumbersOf(graph, {1.0f});
  };
  EXPECT_EQ(run(TensorProto::INT8, 0), (std::vector<float>{175.0f, 2.40625f}));
  // 100 - (-100) = 200 fits no signed byte as it is.
  EXPECT_EQ(run(TensorProto::INT8, -100), (std::vector<float>{225.0f, 14.90625f}));
  EXPECT_EQ(run(TensorProto::UINT8, 128), (std::vector<float>{111.0f, -13.59375f}));
}

TEST(OnnxEightBitsTest, AFunctionOfOneMapBecomesOneTable) {
  QuantisedModel model({1, 4, 2, 2});
  model.Round("x", "a");
  model.Node("Sigmoid", {"a"}, {"g"});
  model.Round("g", "gr", "s2", "z2");
  model.Node("Mul", {"a", "gr"}, {"m"});
  model.Round("m", "y");
  EXPECT_EQ(Kinds(Optimised(model)), "quantise table dequantise");
}

TEST(OnnxEightBitsTest, WhatFollowsAConvolutionAloneIsComputedInIt) {
  QuantisedModel model({1, 1, 1, 1});
  model.Weights().Round("x", "a");
  model.Node("Conv", {"a", "w", "b"}, {"c"});
  model.Round("c", "cr", "s2", "z2");
  model.Node("Sigmoid", {"cr"}, {"g"});
  model.Round("g", "gr");
  model.Node("Mul", {"cr", "gr"}, {"m"});
  model.Round("m", "mr", "s2", "z2");
  model.Round("x", "a2", "s2", "z2");
  model.Node("Conv", {"a2", "w", "b"}, {"d"});
  model.Round("d", "dr");
  model.Node("Add", {"mr", "dr"}, {"e"});
  model.Node("Relu", {"e"}, {"r"});
  model.Round("r", "y");
  const Graph graph = Optimised(model);
  ASSERT_EQ(Kinds(graph), "quantise quantise quant_conv quant_conv dequantise");
  const auto& last = *graph.operators[3].As<op::QuantConv>();
  EXPECT_TRUE(last.has_residual);
  EXPECT_EQ(last.activation.kind, Function::Kind::kRelu);
  const auto& other = *graph.operators[2].As<op::QuantConv>();
  EXPECT_FALSE(other.has_residual);
  EXPECT_NE(last.table.empty(), other.table.empty());
}

TEST(OnnxEightBitsTest, AConvolutionGivesTheFirstOfSeveralRoundings) {
  QuantisedModel model({1, 1, 1, 64});
  model.Output("y2");
  model.Weights().Round("x", "a");
  model.Node("Conv", {"a", "w", "b"}, {"c"});
  model.Round("c", "cr", "s2", "z2");
  model.Node("Tanh", {"cr"}, {"t"});
  model.Floats("s3", {}, {0.02f});
  model.Round("t", "y", "s3", "z");
  model.Round("y", "y2");
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "quantise quant_conv dequantise table dequantise");
  std::vector<float> x;
  for (int i = 0; i < 64; ++i) x.push_back(static_cast<float>(i % 9 - 4) * 0.25f);
  const Shape shape = graph.value(graph.inputs[0]).shape;
  const auto numbers = EvaluateDirectly(graph, {Tensor(shape, x)});
  const auto plain = EvaluateDirectly(model.Import(), {Tensor(shape, x)});
  const Graph imported = model.Import();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(numbers[graph.outputs[i]], plain[imported.outputs[i]]);
  }
}

// Unless something else reads the head too.
TEST(OnnxEightBitsTest, ASuppressionReadsAHeadInBytes) {
  QuantisedModel model({1, 1, 3, 5});
  model.Constant(ByteTensor("wq", {12, 1, 1, 1}, {9, -7, 3, 5, 40, 25, -8, 6, 4, -5, 33, 21},
                            TensorProto::INT8));
  model.Floats("ws", {}, {0.125f});
  model.Node("DequantizeLinear", {"wq", "ws"}, {"w"});
  model.Round("x", "a");
  model.Node("Conv", {"a", "w"}, {"c"});
  model.Round("c", "y", "s2", "z2");
  const auto with_boxes = [&](bool gives_head) {
    Graph graph = Optimised(model);
    const ValueId head = graph.outputs[0];
    op::NonMaxSuppression suppression;
    suppression.max_boxes = 20;
    suppression.scales = {{8, {8.0f, 8.0f, 20.0f, 5.0f}}};
    graph.outputs = {graph.AddOne("boxes", suppression, {head})};
    if (gives_head) graph.outputs.push_back(head);
    Optimise(graph);
    graph.Validate();
    return graph;
  };
  const Graph bytes = with_boxes(false);
  const Graph floats = with_boxes(true);
  EXPECT_EQ(Kinds(bytes), "quantise quant_conv non_max_suppression");
  EXPECT_FALSE(Only<op::QuantConv>(bytes).gives_floats);
  EXPECT_TRUE(Only<op::QuantConv>(floats).gives_floats);
  const std::vector<float> x = {1, 2, 3, 4, 5, -6, 7, 8, 9, 10, 11, 12, 13, -14, 15};
  const std::vector<float> boxes = NumbersOf(bytes, x);
  EXPECT_GT(boxes[4], 0.25f);
  EXPECT_EQ(boxes, NumbersOf(floats, x));
}

TEST(OnnxEightBitsTest, ReluBeforeRoundingIsABound) {
  QuantisedModel model({1, 1, 1, 1});
  model.Weights().Round("x", "a");
  model.Node("Conv", {"a", "w", "b"}, {"c"});
  model.Node("Relu", {"c"}, {"r"});
  model.Round("r", "y", "s2", "z2");
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "quantise quant_conv");
  EXPECT_EQ(Only<op::QuantConv>(graph).low, 3);
  EXPECT_EQ(NumbersOf(graph, {-2.0f})[1], 0.0f);
}

TEST(OnnxEightBitsTest, MovesOfMapsWorkOnWords) {
  QuantisedModel model({1, 4, 4, 4});
  model.Round("x", "a").Round("x", "b", "s2", "z2");
  model.Floats("none", {0}, {}).Floats("twice", {4}, {1, 1, 2, 2});
  model.Node("MaxPool", {"a"}, {"p"}).Ints("kernel_shape", {2, 2});
  model.Node("MaxPool", {"b"}, {"q"}).Ints("kernel_shape", {2, 2});
  model.Node("Concat", {"p", "q"}, {"c"}).Int("axis", 1);
  model.Round("c", "cr");
  model.Node("Resize", {"cr", "none", "twice"}, {"u"})
      .String("mode", "nearest")
      .String("coordinate_transformation_mode", "asymmetric")
      .String("nearest_mode", "floor");
  model.Round("u", "y");
  const Graph graph = Optimised(model);
  EXPECT_EQ(
      Kinds(graph),
      "quantise quantise quant_max_pool quant_max_pool table concat resize_nearest dequantise");
}

// All numbers of a network in which nothing folds.
TEST(OnnxEightBitsTest, WhatCannotBeFoldedStaysFloatAndSaysWhy) {
  QuantisedModel model({1, 1, 3, 3});
  model.Weights().Round("x", "a");
  model.Floats("t", {1, 1, 2, 2}, {1, 2, 3, 4});
  model.Node("ConvTranspose", {"a", "t"}, {"u"});
  model.Round("u", "ur");
  model.Node("Conv", {"ur", "t"}, {"v"});
  model.Round("v", "y");
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "fake_quantise transposed_conv fake_quantise conv fake_quantise");
  EXPECT_EQ(WhyFloat(graph, graph.operators[0]), "");
  EXPECT_EQ(WhyFloat(graph, graph.operators[1]), "transposed convolutions have no 8-bit form yet");
  EXPECT_EQ(WhyFloat(graph, graph.operators[3]), "its weights are not 8-bit numbers");
}

// x → DequantizeLinear(w) → y, with 2 inputs and 2 outputs, the weights as the node wants them.
class QuantisedProduct : public QuantisedModel {
 public:
  QuantisedProduct(bool transposed, bool by_channel) : QuantisedModel({1, 2}) {
    Constant(transposed ? ByteTensor("wq", {2, 2}, {100, 20, -7, 3}, TensorProto::INT8)
                        : ByteTensor("wq", {2, 2}, {100, -7, 20, 3}, TensorProto::INT8));
    Floats("ws", by_channel ? std::vector<int64_t>{2} : std::vector<int64_t>{},
           by_channel ? std::vector<float>{0.5f, 0.125f} : std::vector<float>{0.5f});
    Constant(ByteTensor("bq", {2}, {1000, -3}, TensorProto::INT32));
    Floats("bs", {2}, {0.125f, by_channel ? 0.03125f : 0.125f});
    OnnxNodeBuilder weights = Node("DequantizeLinear", {"wq", "ws"}, {"w"});
    if (by_channel) weights.Int("axis", transposed ? 0 : 1);
    Node("DequantizeLinear", {"bq", "bs"}, {"b"}).Int("axis", 0);
    Round("x", "a");
  }
};

// 4 and -8 steps: 1000 + 4·100 - 8·20 = 1240, ·.125. -3 - 4·7 - 8·3 = -55, ·.03125 or .125.
TEST(OnnxEightBitsTest, ProductsWithConstantMatricesAreOfWholeNumbers) {
  for (const bool transposed : {true, false}) {
    for (const bool by_channel : {true, false}) {
      SCOPED_TRACE(testing::Message() << transposed << by_channel);
      const float second = -55 * (by_channel ? 0.03125f : 0.125f);
      QuantisedProduct gemm(transposed, by_channel);
      gemm.Node("Gemm", {"a", "w", "b"}, {"y"}).Int("transB", transposed ? 1 : 0);
      const Graph graph = Optimised(gemm);
      ASSERT_EQ(Kinds(graph), "quant_linear");
      EXPECT_EQ(Only<op::QuantLinear>(graph).bias, (std::vector<int>{1000, -3}));
      EXPECT_EQ(NumbersOf(graph, {1.0f, -2.0f}), (std::vector<float>{155.0f, second}));
    }
    QuantisedProduct product(false, transposed);
    product.Node("MatMul", {"a", "w"}, {"y"});
    const Graph graph = Optimised(product);
    ASSERT_EQ(Kinds(graph), "quant_linear");
    EXPECT_EQ(NumbersOf(graph, {1.0f, -2.0f})[0], 30.0f);
  }
}

TEST(OnnxEightBitsTest, WhatAProductGivesIsRoundedInItAndReadByTheNext) {
  QuantisedProduct model(true, true);
  model.Node("Gemm", {"a", "w", "b"}, {"g"}).Int("transB", 1);
  model.Node("Relu", {"g"}, {"r"});
  model.Round("r", "rr", "s2", "z2");
  model.Node("Gemm", {"rr", "w"}, {"h"}).Int("transB", 1);
  model.Round("h", "y", "s2", "z2");
  const Graph graph = Optimised(model);
  ASSERT_EQ(Kinds(graph), "quant_linear quant_linear");
  const auto& first = *graph.operators[0].As<op::QuantLinear>();
  EXPECT_TRUE(first.rounds_sums);
  EXPECT_EQ(first.low, 3);
  EXPECT_EQ(graph.operators[1].As<op::QuantLinear>()->input_steps, (Steps{0.5f, 3, false}));
  // 155 and 0, as 126 and 0: 252 steps. 252·100·.25 = 6300, beyond 126. 252·(-7)·.0625 = -110.25.
  EXPECT_EQ(NumbersOf(graph, {1.0f, -2.0f}), (std::vector<float>{126.0f, -1.5f}));
}

TEST(OnnxEightBitsTest, OtherProductsStayFloatAndSayWhy) {
  QuantisedModel model({2, 2});
  model.Round("x", "a").Floats("f", {2, 2}, {1, 2, 3, 4});
  model.Node("MatMul", {"a", "f"}, {"m"});
  model.Round("m", "mr");
  model.Node("MatMul", {"mr", "a"}, {"y"});
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "fake_quantise linear fake_quantise matmul");
  EXPECT_EQ(WhyFloat(graph, graph.operators[1]), "its weights are not 8-bit numbers");
  EXPECT_EQ(WhyFloat(graph, graph.operators[3]),
            "only products with constant matrices have an 8-bit form");
}

TEST(OnnxEightBitsTest, WeightsAloneInEightBitsStayFloat) {
  QuantisedModel model({1, 1, 1, 1});
  model.Weights();
  model.Node("Conv", {"x", "w", "b"}, {"y"});
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "conv");
  EXPECT_EQ(WhyFloat(graph, graph.operators[0]), "its input is not quantised");
  EXPECT_EQ(NumbersOf(graph, {1.0f})[0], 175.0f);
}

// As PyTorch and NNCF write them: weights are floats that the file rounds.
TEST(OnnxEightBitsTest, FloatWeightsThatTheFileRoundsAreWholeNumbersToo) {
  QuantisedModel model({1, 1, 1, 1});
  model.Round("x", "a");
  model.Floats("wf", {1, 1, 1, 1}, {0.6f}).Floats("ws", {1}, {0.125f});
  model.Constant(ByteTensor("wz", {1}, {0}, TensorProto::INT8));
  model.Node("QuantizeLinear", {"wf", "ws", "wz"}, {"wq"}).Int("axis", 0);
  model.Node("DequantizeLinear", {"wq", "ws", "wz"}, {"w"}).Int("axis", 0);
  model.Node("Conv", {"a", "w"}, {"y"});
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "quantise quant_conv");
  EXPECT_EQ(NumbersOf(graph, {1.0f})[0], 0.625f);
}

TEST(OnnxEightBitsTest, TooLargeSumsStayFloat) {
  QuantisedModel model({1, 1, 1, 1});
  model.Round("x", "a");
  model.Constant(ByteTensor("wq", {1, 1, 1, 1}, {1}, TensorProto::INT8)).Floats("ws", {1}, {1e-9f});
  model.Node("DequantizeLinear", {"wq", "ws"}, {"w"}).Int("axis", 0);
  model.Floats("b", {1}, {100.0f});
  model.Node("Conv", {"a", "w", "b"}, {"y"});
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "fake_quantise conv");
  EXPECT_EQ(WhyFloat(graph, graph.operators[1]), "its sums do not fit 32 bits");
}

// Every bad file is refused in a sentence that names node and fault.
TEST(OnnxEightBitsTest, BadScalesZeroPointsAndTypesAreRefused) {
  struct Case {
    const char* what;
    std::vector<float> scales;
    onnx::TensorProto zero;
    const char* sentence;
  };
  const auto zero = [](int value, int type) { return ByteTensor("zero", {}, {value}, type); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Case cases[] = {
      {"zero", {0.0f}, zero(0, TensorProto::UINT8), "a scale of 0.000000; scales must be finite"},
      {"negative", {-1.0f}, zero(0, TensorProto::UINT8), "a scale of -1.000000; scales must be"},
      {"NaN", {nan}, zero(0, TensorProto::UINT8), "a scale of nan; scales must be"},
      {"infinite", {INFINITY}, zero(0, TensorProto::UINT8), "a scale of inf; scales must be"},
      {"out of range", {1.0f}, zero(300, TensorProto::UINT8), "a zero point of 300, which UINT8"},
      {"signed", {1.0f}, zero(200, TensorProto::INT8), "a zero point of 200, which INT8"},
      {"wide", {1.0f}, zero(0, TensorProto::INT16), "numbers of type INT16 are not supported"},
      {"four bits", {1.0f}, zero(0, 22), "elements of type INT4, which is not supported"},
      {"by channel", {1.0f, 2.0f}, ByteTensor("zero", {2}, {0, 0}), "only supported of constants"},
      {"misfit", {1.0f, 2.0f, 3.0f}, ByteTensor("zero", {3}, {0, 0, 0}), "do not fit axis 1"},
      {"counts", {1.0f}, ByteTensor("zero", {2}, {0, 0}), "zero points of shape 2 for scales"},
  };
  for (const Case& bad : cases) {
    OnnxModel model = OneInput({1, 2, 2, 2});
    const auto count = static_cast<int64_t>(bad.scales.size());
    model.Floats("scale", count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count},
                 bad.scales);
    model.Constant(bad.zero);
    model.Node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
    model.Node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
    EXPECT_NE(model.Refusal().find(bad.sentence), std::string::npos)
        << bad.what << ": " << model.Refusal();
  }
}

TEST(OnnxEightBitsTest, WhatIsNotInTheFormatQdqIsRefused) {
  const auto refusal = [](const auto& build) {
    QuantisedModel model({1, 2, 2, 2}, 21);
    build(model);
    return model.Refusal();
  };
  const auto expect = [&](const char* sentence, const auto& build) {
    EXPECT_NE(refusal(build).find(sentence), std::string::npos) << refusal(build);
  };
  expect("which only DequantizeLinear may read", [](QuantisedModel& model) {
    model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    model.Node("Add", {"q", "q"}, {"y"});
  });
  expect("output 'y' holds 8-bit numbers", [](QuantisedModel& model) {
    model.Node("QuantizeLinear", {"x", "s", "z"}, {"y"});
  });
  expect("are not those of the QuantizeLinear before it", [](QuantisedModel& model) {
    model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    model.Node("DequantizeLinear", {"q", "s2", "z"}, {"y"});
  });
  expect("with a zero point of type INT8", [](QuantisedModel& model) {
    model.Constant(ByteTensor("zi", {}, {0}, TensorProto::INT8));
    model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    model.Node("DequantizeLinear", {"q", "s", "zi"}, {"y"});
  });
  expect("blockwise scales are not supported", [](QuantisedModel& model) {
    model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"}).Int("block_size", 16);
    model.Node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  });
  expect("quantise the model statically, in the format QDQ", [](QuantisedModel& model) {
    model.Node("DynamicQuantizeLinear", {"x"}, {"y", "a", "b"});
  });
  expect("no QuantizeLinear gives", [](QuantisedModel& model) {
    model.Node("Cast", {"x"}, {"bytes"}).Int("to", TensorProto::UINT8);
    model.Node("DequantizeLinear", {"bytes", "s", "z"}, {"y"});
  });
  expect("axis 4 does not exist", [](QuantisedModel& model) {
    model.Floats("ss", {2}, {1, 1}).Constant(ByteTensor("zz", {2}, {0, 0}));
    model.Node("QuantizeLinear", {"x", "ss", "zz"}, {"q"}).Int("axis", 4);
    model.Node("DequantizeLinear", {"q", "ss", "zz"}, {"y"});
  });
}

// What is not a map is rounded as floats, in any shape.
TEST(OnnxEightBitsTest, ValuesOfOtherRanksAreRounded) {
  QuantisedModel model({1, 3});
  model.Round("x", "y");
  const Graph graph = Optimised(model);
  EXPECT_EQ(Kinds(graph), "fake_quantise");
  EXPECT_EQ(NumbersOf(graph, {0.3f, -100.0f, 0.375f}), (std::vector<float>{0.25f, -25.0f, 0.5f}));
}

}  // namespace
}  // namespace cacheinf
