#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/model/onnx_builder.h"

// Converters of operators that only move numbers, and what is computed during import.

namespace cacheinf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxMovesTest, ReshapeResolvesZeroAndMinusOne) {
  OnnxModel model = OneInput({2, 3, 4, 5});
  model.Ints("shape", {0, -1, 5}).Node("Reshape", {"x", "shape"}, {"y"});
  EXPECT_EQ(OutputShape(model.Import()), (Shape{2, 12, 5}));
  const auto refusal = [](const std::vector<int64_t>& shape) {
    OnnxModel wrong = OneInput({2, 3});
    wrong.Ints("shape", shape).Node("Reshape", {"x", "shape"}, {"y"});
    return wrong.Refusal();
  };
  EXPECT_THAT(refusal({-1, -1}), HasSubstr("-1 appears twice"));
  EXPECT_THAT(refusal({4, -1}), HasSubstr("shape 2x3 cannot become 4x-1"));
  EXPECT_THAT(refusal({7}), HasSubstr("shape 2x3 cannot become 7"));
  EXPECT_THAT(refusal({1, 1, 1, 1, 0}), HasSubstr("0 stands for a dimension that is not there"));
  EXPECT_THAT(refusal({-2, 3}), HasSubstr("a dimension of -2"));
  EXPECT_THAT(refusal({INT64_MAX, 3}), HasSubstr("a dimension of"));
  OnnxModel runtime = OneInput({2, 3});
  runtime.Node("Reshape", {"x", "x"}, {"y"});
  EXPECT_THAT(runtime.Refusal(), HasSubstr("input 'x' must be a constant"));
}

TEST(OnnxMovesTest, FlattenSqueezeUnsqueezeTranspose) {
  for (int64_t opset : {11, 13}) {
    OnnxModel model = OneInput({2, 1, 3, 1}, opset);
    model.Ints("one", {1}).Ints("two", {0, -1});
    if (opset < 13) {
      model.Node("Squeeze", {"x"}, {"a"}).Ints("axes", {1});
      model.Node("Unsqueeze", {"a"}, {"b"}).Ints("axes", {0, -1});
    } else {
      model.Node("Squeeze", {"x", "one"}, {"a"});
      model.Node("Unsqueeze", {"a", "two"}, {"b"});
    }
    model.Node("Transpose", {"b"}, {"c"});
    model.Node("Flatten", {"c"}, {"y"}).Int("axis", 3);
    const Graph graph = model.Import();
    EXPECT_EQ(Kinds(graph), "reshape reshape permute reshape");
    EXPECT_EQ(graph.operators[0].As<op::Reshape>()->shape, (Shape{2, 3, 1}));
    EXPECT_EQ(graph.operators[1].As<op::Reshape>()->shape, (Shape{1, 2, 3, 1, 1}));
    EXPECT_EQ(Only<op::Permute>(graph).order, (std::vector<int>{4, 3, 2, 1, 0}));
    EXPECT_EQ(OutputShape(graph), (Shape{3, 2}));
  }
  OnnxModel wrong = OneInput({2, 3});
  wrong.Ints("axes", {1}).Node("Squeeze", {"x", "axes"}, {"y"});
  EXPECT_THAT(wrong.Refusal(), HasSubstr("dimension 1 of 2x3 is not 1"));
  OnnxModel twice = OneInput({2, 3});
  twice.Node("Transpose", {"x"}, {"y"}).Ints("perm", {0, 0});
  EXPECT_THAT(twice.Refusal(), HasSubstr("an axis is named twice"));
}

TEST(OnnxMovesTest, ExpandAndTile) {
  OnnxModel model = OneInput({3, 1});
  model.Ints("shape", {2, 1, 4}).Ints("repeats", {1, 2, 2});
  model.Node("Expand", {"x", "shape"}, {"a"});
  model.Node("Tile", {"a", "repeats"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "reshape expand concat concat");
  EXPECT_EQ(OutputShape(graph), (Shape{2, 6, 8}));
  OnnxModel many = OneInput({3, 2});
  many.Ints("repeats", {1, 1000}).Node("Tile", {"x", "repeats"}, {"y"});
  EXPECT_THAT(many.Refusal(), HasSubstr("1000 copies are not supported"));
}

op::Slice SliceOf(const Shape& in, const std::vector<int64_t>& starts,
                  const std::vector<int64_t>& ends, const std::vector<int64_t>& axes) {
  OnnxModel model = OneInput(in, 9);
  model.Node("Slice", {"x"}, {"y"}).Ints("starts", starts).Ints("ends", ends).Ints("axes", axes);
  return Only<op::Slice>(model.Import());
}

TEST(OnnxMovesTest, SliceByAttributes) {
  const op::Slice slice = SliceOf({4, 6, 8}, {1, -3}, {INT64_MAX, -1}, {0, 2});
  EXPECT_EQ(slice.starts, (std::vector<int64_t>{1, 0, 5}));
  EXPECT_EQ(slice.sizes, (std::vector<int64_t>{3, 6, 2}));
}

TEST(OnnxMovesTest, SliceByInputs) {
  OnnxModel model = OneInput({4, 6});
  model.Ints("starts", {0, 1}).Ints("ends", {100, 100}).Ints("axes", {0, 1}).Ints("steps", {3, 2});
  model.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Only<op::Slice>(graph).steps, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(OutputShape(graph), (Shape{2, 3}));
}

TEST(OnnxMovesTest, SlicesBackwardsTakeIndices) {
  OnnxModel model = OneInput({4, 6});
  model.Ints("starts", {-1}).Ints("ends", {INT64_MIN}).Ints("axes", {1}).Ints("steps", {-2});
  model.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "gather");
  EXPECT_EQ(Only<op::Gather>(graph).indices, (std::vector<int64_t>{5, 3, 1}));
}

TEST(OnnxMovesTest, EmptySlicesAndZeroStepsAreRefused) {
  OnnxModel empty = OneInput({4, 6}, 9);
  empty.Node("Slice", {"x"}, {"y"}).Ints("starts", {3}).Ints("ends", {2});
  EXPECT_THAT(empty.Refusal(), HasSubstr("node 'the Slice' (Slice)"));
  OnnxModel zero = OneInput({4, 6});
  zero.Ints("starts", {0}).Ints("ends", {2}).Ints("axes", {0}).Ints("steps", {0});
  zero.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  EXPECT_THAT(zero.Refusal(), HasSubstr("a step of 0"));
}

TEST(OnnxMovesTest, SplitInEveryForm) {
  const auto sizes = [](OnnxModel& model) {
    model.Output("z");
    const Graph graph = model.Import();
    return std::vector<int64_t>{OutputShape(graph, 0)[1], OutputShape(graph, 1)[1]};
  };
  OnnxModel equal = OneInput({1, 6}, 11);
  equal.Node("Split", {"x"}, {"y", "z"}).Int("axis", 1);
  EXPECT_THAT(sizes(equal), ElementsAre(3, 3));
  OnnxModel attribute = OneInput({1, 6}, 11);
  attribute.Node("Split", {"x"}, {"y", "z"}).Int("axis", -1).Ints("split", {2, 4});
  EXPECT_THAT(sizes(attribute), ElementsAre(2, 4));
  OnnxModel input = OneInput({1, 6}, 13);
  input.Ints("split", {5, 1}).Node("Split", {"x", "split"}, {"y", "z"}).Int("axis", 1);
  EXPECT_THAT(sizes(input), ElementsAre(5, 1));
  OnnxModel count = OneInput({1, 7}, 18);
  count.Node("Split", {"x"}, {"y", "z"}).Int("axis", 1).Int("num_outputs", 2);
  EXPECT_THAT(sizes(count), ElementsAre(4, 3));
  OnnxModel wrong = OneInput({1, 7}, 13);
  wrong.Output("z");
  wrong.Ints("split", {5, 1}).Node("Split", {"x", "split"}, {"y", "z"}).Int("axis", 1);
  EXPECT_THAT(wrong.Refusal(), HasSubstr("the parts do not add up to dimension 7"));
}

TEST(OnnxMovesTest, GatherByIndicesOfEveryRank) {
  const auto output = [](const Shape& shape, const std::vector<int64_t>& indices) {
    OnnxModel model = OneInput({2, 5, 3});
    model.Constant(IntTensor("i", shape, indices));
    model.Node("Gather", {"x", "i"}, {"y"}).Int("axis", 1);
    return OutputShape(model.Import());
  };
  EXPECT_EQ(output({}, {-1}), (Shape{2, 3}));
  EXPECT_EQ(output({2}, {4, 0}), (Shape{2, 2, 3}));
  EXPECT_EQ(output({2, 2}, {4, 0, 1, 1}), (Shape{2, 2, 2, 3}));
  OnnxModel outside = OneInput({2, 5, 3});
  outside.Ints("i", {5}).Node("Gather", {"x", "i"}, {"y"}).Int("axis", 1);
  EXPECT_THAT(outside.Refusal(), HasSubstr("index 5 is outside a dimension of 5"));
}

TEST(OnnxMovesTest, ConcatOfAnyAxis) {
  OnnxModel model = OneInput({1, 2, 3, 4});
  model.Weights("w", {1, 2, 3, 1}).Node("Concat", {"x", "w", "x"}, {"y"}).Int("axis", -1);
  const Graph graph = model.Import();
  EXPECT_EQ(Only<op::Concat>(graph).axis, 3);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 2, 3, 9}));
  OnnxModel missing = OneInput({1, 2});
  missing.Node("Concat", {"x", "x"}, {"y"});
  EXPECT_THAT(missing.Refusal(), HasSubstr("attribute 'axis' is missing"));
}

TEST(OnnxMovesTest, PadInEveryForm) {
  OnnxModel attribute = OneInput({1, 1, 4, 4}, 10);
  attribute.Node("Pad", {"x"}, {"y"}).Ints("pads", {0, 0, 1, 2, 0, 0, 3, 0}).Float("value", 2);
  const Graph graph = attribute.Import();
  EXPECT_EQ(Only<op::Pad>(graph).begins, (std::vector<int64_t>{0, 0, 1, 2}));
  EXPECT_EQ(Only<op::Pad>(graph).value, 2.0f);
  EXPECT_EQ(OutputShape(graph), (Shape{1, 1, 8, 6}));

  OnnxModel input = OneInput({1, 1, 4, 4}, 18);
  input.Ints("pads", {1, 2}).Ints("axes", {-1});
  input.Node("Pad", {"x", "pads", "", "axes"}, {"y"}).String("mode", "edge");
  EXPECT_EQ(Only<op::Pad>(input.Import()).mode, PadMode::kEdge);
  EXPECT_EQ(OutputShape(input.Import()), (Shape{1, 1, 4, 7}));

  OnnxModel negative = OneInput({1, 1, 4, 4});
  negative.Ints("pads", {0, 0, -1, 0, 0, 0, 0, 2}).Node("Pad", {"x", "pads"}, {"y"});
  EXPECT_EQ(Kinds(negative.Import()), "slice pad");
  EXPECT_EQ(OutputShape(negative.Import()), (Shape{1, 1, 3, 6}));

  OnnxModel wrap = OneInput({1, 1, 4, 4}, 18);
  wrap.Ints("pads", {0, 0, 1, 0, 0, 0, 0, 2});
  wrap.Node("Pad", {"x", "pads"}, {"y"}).String("mode", "wrap");
  EXPECT_THAT(wrap.Refusal(), HasSubstr("mode 'wrap' is not supported"));
}

TEST(OnnxMovesTest, CastsThatChangeNothingVanish) {
  OnnxModel model = OneInput({2}, 13);
  model.Node("Cast", {"x"}, {"a"}).Int("to", onnx::TensorProto::FLOAT16);
  model.Node("Relu", {"a"}, {"y"});
  EXPECT_EQ(Kinds(model.Import()), "relu");
  OnnxModel integers = OneInput({2}, 13);
  integers.Node("Cast", {"x"}, {"a"}).Int("to", onnx::TensorProto::INT32);
  integers.Node("Cast", {"a"}, {"y"}).Int("to", onnx::TensorProto::FLOAT);
  EXPECT_EQ(Kinds(integers.Import()), "truncate");
}

// ---- Computed while importing ----

// The numbers that a model computes from constants alone, and here adds to x.
std::vector<float> Folded(const std::function<void(OnnxModel&)>& add, int64_t opset = 17) {
  OnnxModel model = OneInput({1}, opset);
  add(model);
  model.Node("Cast", {"c"}, {"as floats"}).Int("to", onnx::TensorProto::FLOAT);
  model.Node("Add", {"x", "as floats"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "add");
  return ConstantOf(graph, 0, 1);
}

std::vector<float> FoldedPair(const std::string& type, const std::vector<int64_t>& a,
                              const std::vector<int64_t>& b) {
  return Folded([&](OnnxModel& model) {
    model.Ints("a", a).Ints("b", b).Node(type, {"a", "b"}, {"c"});
  });
}

TEST(OnnxFoldTest, IntegerArithmetic) {
  EXPECT_THAT(FoldedPair("Add", {1, 2}, {10}), ElementsAre(11, 12));
  EXPECT_THAT(FoldedPair("Sub", {1, 2}, {10}), ElementsAre(-9, -8));
  EXPECT_THAT(FoldedPair("Mul", {3, -2}, {10}), ElementsAre(30, -20));
  EXPECT_THAT(FoldedPair("Div", {7, -7}, {2}), ElementsAre(3, -3));
  EXPECT_THAT(FoldedPair("Mod", {7, -7}, {3}), ElementsAre(1, 2));
  EXPECT_THAT(FoldedPair("Pow", {2, -3}, {3}), ElementsAre(8, -27));
  EXPECT_THAT(FoldedPair("Min", {2, 9}, {3}), ElementsAre(2, 3));
  EXPECT_THAT(FoldedPair("Max", {2, 9}, {3}), ElementsAre(3, 9));
  EXPECT_THAT(FoldedPair("Equal", {2, 3}, {3}), ElementsAre(0, 1));
  EXPECT_THAT(FoldedPair("Less", {2, 3}, {3}), ElementsAre(1, 0));
  EXPECT_THAT(FoldedPair("GreaterOrEqual", {2, 3}, {3}), ElementsAre(0, 1));
}

TEST(OnnxFoldTest, ACastToANarrowerIntegerKeepsTheLowBits) {
  const auto cast = [](const std::vector<int64_t>& numbers, int type) {
    return Folded([&](OnnxModel& model) {
      model.Ints("a", numbers).Node("Cast", {"a"}, {"c"}).Int("to", type);
    });
  };
  EXPECT_THAT(cast({200, 300, -129, -3}, onnx::TensorProto::INT8), ElementsAre(-56, 44, 127, -3));
  EXPECT_THAT(cast({255, 256, -1}, onnx::TensorProto::UINT8), ElementsAre(255, 0, 255));
  EXPECT_THAT(cast({32768}, onnx::TensorProto::INT16), ElementsAre(-32768));
  EXPECT_THAT(cast({65537, -1}, onnx::TensorProto::UINT16), ElementsAre(1, 65535));
  EXPECT_THAT(cast({INT64_MAX, 1}, onnx::TensorProto::INT32), ElementsAre(-1, 1));
  EXPECT_THAT(cast({(int64_t{1} << 32) + 5}, onnx::TensorProto::UINT32), ElementsAre(5));
}

// What has its usual value may still be written down.
TEST(OnnxFoldTest, ReductionsWithAxesIgnoreWhatHoldsWithoutThem) {
  EXPECT_THAT(Folded(
                  [](OnnxModel& model) {
                    model.Ints("a", {3, 4}).Ints("axes", {0});
                    model.Node("ReduceSum", {"a", "axes"}, {"c"}).Int("noop_with_empty_axes", 0);
                  },
                  18),
              ElementsAre(7));
}

// 2^53 + 1 is not a double; subtracting 2^53 leaves 1 only in exact arithmetic.
TEST(OnnxFoldTest, IntegersAreExact) {
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_THAT(FoldedPair("Sub", {large}, {large - 1}), ElementsAre(1));
}

TEST(OnnxFoldTest, IntegerOverflowAndDivisionByZeroAreRefused) {
  const auto refusal = [](const std::string& type, int64_t a, int64_t b) {
    OnnxModel model = OneInput({1});
    model.Ints("a", {a}).Ints("b", {b}).Node(type, {"a", "b"}, {"c"});
    model.Node("Reshape", {"x", "c"}, {"y"});
    return model.Refusal();
  };
  EXPECT_THAT(refusal("Add", INT64_MAX, 1), HasSubstr("an integer overflows"));
  EXPECT_THAT(refusal("Sub", INT64_MIN, 1), HasSubstr("an integer overflows"));
  EXPECT_THAT(refusal("Mul", INT64_MAX, 2), HasSubstr("an integer overflows"));
  EXPECT_THAT(refusal("Div", INT64_MIN, -1), HasSubstr("an integer overflows"));
  EXPECT_THAT(refusal("Pow", 3, 1000), HasSubstr("an integer overflows"));
  EXPECT_THAT(refusal("Pow", 3, -1), HasSubstr("negative power"));
  EXPECT_THAT(refusal("Div", 1, 0), HasSubstr("divided by zero"));
  EXPECT_THAT(refusal("Mod", 1, 0), HasSubstr("divided by zero"));
}

TEST(OnnxFoldTest, FloatFunctions) {
  const auto folded = [](const std::string& type, float value) {
    return Folded(
        [&](OnnxModel& model) { model.Floats("a", {1}, {value}).Node(type, {"a"}, {"c"}); })[0];
  };
  EXPECT_EQ(folded("Sqrt", 9), 3);
  EXPECT_EQ(folded("Neg", 9), -9);
  EXPECT_EQ(folded("Abs", -9), 9);
  EXPECT_EQ(folded("Floor", -1.5f), -2);
  EXPECT_EQ(folded("Ceil", -1.5f), -1);
  EXPECT_EQ(folded("Round", 2.5f), 2);
  EXPECT_EQ(folded("Reciprocal", 4), 0.25f);
  EXPECT_EQ(folded("Exp", 0), 1);
  EXPECT_EQ(folded("Log", 1), 0);
  EXPECT_EQ(folded("Sigmoid", 0), 0.5f);
}

TEST(OnnxFoldTest, Logic) {
  const auto folded = [](const std::string& type) {
    return Folded([&](OnnxModel& model) {
      model.Constant(BoolTensor("a", {4}, {false, false, true, true}));
      model.Constant(BoolTensor("b", {4}, {false, true, false, true}));
      model.Node(type, {"a", "b"}, {"c"});
    });
  };
  EXPECT_THAT(folded("And"), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(folded("Or"), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(folded("Xor"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(Folded([](OnnxModel& model) {
                model.Constant(BoolTensor("a", {2}, {false, true})).Node("Not", {"a"}, {"c"});
              }),
              ElementsAre(1, 0));
  EXPECT_THAT(
      Folded([](OnnxModel& model) {
        model.Constant(BoolTensor("a", {2}, {false, true})).Ints("b", {5}).Ints("d", {6, 7});
        model.Node("Where", {"a", "b", "d"}, {"c"});
      }),
      ElementsAre(6, 5));
}

TEST(OnnxFoldTest, MakersOfNumbers) {
  EXPECT_THAT(Folded([](OnnxModel& model) {
                model.Constant(IntTensor("a", {}, {7})).Constant(IntTensor("b", {}, {1}));
                model.Constant(IntTensor("d", {}, {-2})).Node("Range", {"a", "b", "d"}, {"c"});
              }),
              ElementsAre(7, 5, 3));
  EXPECT_THAT(Folded([](OnnxModel& model) {
                model.Ints("a", {2})
                    .Node("ConstantOfShape", {"a"}, {"c"})
                    .Tensor("value", IntTensor("", {1}, {3}));
              }),
              ElementsAre(3, 3));
  EXPECT_THAT(Folded([](OnnxModel& model) {
                model.Node("Constant", {}, {"c"}).Ints("value_ints", {4, 5});
              }),
              ElementsAre(4, 5));
  EXPECT_THAT(Folded([](OnnxModel& model) {
                model.Ints("a", {0, 3, 0, 4}).Node("NonZero", {"a"}, {"c"});
              }),
              ElementsAre(1, 3));
}

TEST(OnnxFoldTest, MoversOfNumbers) {
  const auto folded = [](const std::function<void(OnnxModel&)>& add) {
    return Folded([&](OnnxModel& model) {
      model.Constant(IntTensor("a", {2, 3}, {1, 2, 3, 4, 5, 6})).Ints("zero", {0}).Ints("one", {1});
      add(model);
    });
  };
  EXPECT_THAT(folded([](OnnxModel& m) { m.Node("Transpose", {"a"}, {"c"}); }),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Node("Gather", {"a", "one"}, {"c"}).Int("axis", 1);
              }),
              ElementsAre(2, 5));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Ints("minus", {-1}).Ints("end", {-100});
                m.Node("Slice", {"a", "minus", "end", "one", "minus"}, {"c"});
              }),
              ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Ints("split", {1, 2});
                m.Node("Split", {"a", "split"}, {"b", "c"}).Int("axis", 1);
              }),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Ints("repeats", {1, 2}).Node("Tile", {"a", "repeats"}, {"c"});
              }),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Node("Concat", {"a", "a"}, {"c"}).Int("axis", 1);
              }),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Ints("shape", {2, 1, 1}).Node("Expand", {"one", "shape"}, {"c"});
              }),
              ElementsAre(1, 1));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Node("ReduceSum", {"a", "zero"}, {"c"}).Int("keepdims", 0);
              }),
              ElementsAre(5, 7, 9));
  EXPECT_THAT(folded([](OnnxModel& m) {
                m.Node("ReduceProd", {"a"}, {"c"}).Ints("axes", {1}).Int("keepdims", 0);
              }),
              ElementsAre(6, 120));
}

TEST(OnnxFoldTest, ShapesOfValuesAreKnown) {
  OnnxModel model = OneInput({2, 3, 4, 5});
  model.Constant(IntTensor("zero", {}, {0})).Ints("axes", {0}).Ints("rest", {-1});
  model.Node("Relu", {"x"}, {"r"});
  model.Node("Shape", {"r"}, {"s"});
  model.Node("Gather", {"s", "zero"}, {"n"});
  model.Node("Unsqueeze", {"n", "axes"}, {"n1"});
  model.Node("Concat", {"n1", "rest"}, {"wanted"}).Int("axis", 0);
  model.Node("Reshape", {"r", "wanted"}, {"y"});
  const Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "relu reshape");
  EXPECT_EQ(OutputShape(graph), (Shape{2, 60}));
}

TEST(OnnxFoldTest, PartsOfAShape) {
  const auto part = [](int64_t start, int64_t end) {
    OnnxModel model = OneInput({2, 3, 4});
    model.Node("Shape", {"x"}, {"s"}).Int("start", start).Int("end", end);
    model.Node("ConstantOfShape", {"s"}, {"c"});
    model.Node("Add", {"x", "c"}, {"y"});
    const Graph graph = model.Import();
    return graph.value(graph.operators[0].inputs[1]).shape;
  };
  EXPECT_EQ(part(1, 3), (Shape{3, 4}));
  EXPECT_EQ(part(-1, 100), (Shape{4}));
  OnnxModel size = OneInput({2, 3});
  size.Node("Size", {"x"}, {"s"});
  size.Node("Reshape", {"x", "s1"}, {"y"});
  size.Ints("axes", {0}).Node("Unsqueeze", {"s", "axes"}, {"s1"});
  EXPECT_EQ(OutputShape(size.Import()), (Shape{6}));
}

TEST(OnnxFoldTest, PassesFoldConstantsThatTheImporterCannot) {
  OnnxModel model = OneInput({1, 1, 4, 4});
  model.Weights("w", {1, 1, 2, 2}).Floats("scales", {4}, {1, 1, 2, 2});
  model.Node("Elu", {"w"}, {"c"});
  model.Node("Resize", {"c", "", "scales"}, {"d"});
  model.Node("Add", {"x", "d"}, {"y"});
  Graph graph = model.Import();
  EXPECT_EQ(Kinds(graph), "elu resize_nearest add");
  Optimise(graph);
  EXPECT_EQ(Kinds(graph), "add");
  EXPECT_FLOAT_EQ(ConstantOf(graph, 0, 1)[15], 0.04f);
}

TEST(OnnxFoldTest, ConstantsThatNobodyCanComputeAreRefused) {
  OnnxModel nan = OneInput({1});
  nan.Floats("f", {1}, {NAN});
  nan.Node("Cast", {"f"}, {"c"}).Int("to", onnx::TensorProto::INT64);
  nan.Node("Reshape", {"x", "c"}, {"y"});
  EXPECT_THAT(nan.Refusal(), HasSubstr("nan does not fit an integer"));
}

}  // namespace
}  // namespace cacheinf
