#include <gtest/gtest.h>

#include "common/model/passes/passes.h"
#include "tests/model/expect_same_values.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

// The bottleneck of a ResNet, with or without a convolution on its shortcut.
Graph Bottleneck(bool has_projection) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 8, 6, 6});
  ValueId y = b.Apply(Kind::kRelu, b.BatchNorm(b.Conv(x, 4, 1)));
  y = b.Apply(Kind::kRelu, b.BatchNorm(b.Conv(y, 4, 3, 1, 1)));
  y = b.BatchNorm(b.Conv(y, 8, 1));
  const ValueId shortcut = has_projection ? b.BatchNorm(b.Conv(x, 8, 1)) : x;
  return b.Finish({b.Apply(Kind::kRelu, b.Add(y, shortcut))});
}

TEST(FuseTest, ABottleneckIsItsConvolutions) {
  const Graph plain = OptimiseAndCompare(Bottleneck(false));
  EXPECT_EQ(Kinds(plain), "conv conv conv");
  const auto& last = *plain.operators.back().As<op::Conv>();
  EXPECT_TRUE(last.has_residual);
  EXPECT_TRUE(last.has_bias);
  EXPECT_FALSE(last.activation_before_residual);
  EXPECT_EQ(last.activation.kind, Kind::kRelu);

  const Graph projected = OptimiseAndCompare(Bottleneck(true));
  EXPECT_EQ(Kinds(projected), "conv conv conv conv");
}

// YOLOv5: x + silu(conv). The activation comes before the sum.
TEST(FuseTest, ASumBehindAnActivationIsFusedBehindIt) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 4, 6, 6});
  const ValueId conv = b.Conv(x, 4, 3, 1, 1, 1, true);
  const ValueId silu = b.Multiply(conv, b.Apply(Kind::kSigmoid, conv));
  const Graph graph = OptimiseAndCompare(b.Finish({b.Add(x, silu)}));
  ASSERT_EQ(Kinds(graph), "conv");
  const auto& fused = *graph.operators[0].As<op::Conv>();
  EXPECT_TRUE(fused.has_residual);
  EXPECT_TRUE(fused.activation_before_residual);
  EXPECT_EQ(fused.activation.kind, Kind::kSilu);
}

// With an activation on either side, the sum takes only its own.
TEST(FuseTest, ASumBetweenTwoActivationsStays) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 4, 6, 6});
  const ValueId conv = b.Apply(Kind::kSilu, b.Conv(x, 4, 3, 1, 1));
  const Graph graph = OptimiseAndCompare(b.Finish({b.Apply(Kind::kRelu, b.Add(x, conv))}));
  EXPECT_EQ(graph.operators.size(), 2u);
}

// A convolution whose sum is a fraction gives no integers.
TEST(FuseTest, ASumOfIntegersStays) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 4, 4});
  const ValueId integers = b.Apply(Kind::kTruncate, b.Conv(x, 3, 1));
  EXPECT_EQ(OptimiseAndCompare(b.Finish({b.Add(integers, x)})).operators.size(), 2u);
}

TEST(FuseTest, PReluBecomesTheConvolutionsSlope) {
  ModelBuilder b;
  const ValueId conv = b.BatchNorm(b.Conv(b.Input({1, 3, 6, 6}), 5, 3));
  const ValueId out = b.Op(op::Activation{{Kind::kPRelu, 0.0f, 0.0f}}, {conv, b.Random({5})});
  const Graph graph = OptimiseAndCompare(b.Finish({out}));
  ASSERT_EQ(Kinds(graph), "conv");
  EXPECT_TRUE(graph.operators[0].As<op::Conv>()->has_slope);
}

// Between a concatenation and the next convolution neither can take them.
TEST(FuseTest, PReluBecomesTheSlopeOfABatchNormThatStays) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 4, 6, 6});
  const ValueId norm = b.BatchNorm(b.Op(op::Concat{1}, {x, b.Apply(Kind::kTanh, x)}));
  const ValueId out = b.Op(op::Activation{{Kind::kPRelu, 0.0f, 0.0f}}, {norm, b.Random({8})});
  const Graph graph = OptimiseAndCompare(b.Finish({out}));
  ASSERT_EQ(Kinds(graph), "tanh concat scale_shift");
  EXPECT_EQ(graph.operators[2].As<op::ScaleShift>()->activation.kind, Kind::kPRelu);
  EXPECT_EQ(graph.operators[2].inputs.size(), 4u);
}

// A raw convolution that something else reads too, or that is an output, must stay readable.
TEST(FuseTest, AConvolutionThatIsReadTwiceKeepsItsResult) {
  ModelBuilder b;
  const ValueId conv = b.Conv(b.Input({1, 3, 6, 6}), 4, 3);
  const ValueId relu = b.Apply(Kind::kRelu, conv);
  const ValueId tanh = b.Apply(Kind::kTanh, conv);
  EXPECT_EQ(OptimiseAndCompare(b.Finish({relu, tanh})).operators.size(), 3u);

  ModelBuilder c;
  const ValueId raw = c.Conv(c.Input({1, 3, 6, 6}), 4, 3);
  const Graph graph = OptimiseAndCompare(c.Finish({c.Apply(Kind::kRelu, c.BatchNorm(raw)), raw}));
  EXPECT_EQ(Kinds(graph), "conv scale_shift");
}

// A sum that broadcasts, or adds a constant map, is no residual.
TEST(FuseTest, OnlyAMapOfTheSameShapeIsAResidual) {
  ModelBuilder b;
  const ValueId conv = b.Conv(b.Input({1, 3, 6, 6}), 4, 3, 1, 1);
  const Graph broadcast = OptimiseAndCompare(b.Finish({b.Add(conv, b.Input({1, 4, 1, 1}, "y"))}));
  EXPECT_EQ(Kinds(broadcast), "conv add");

  ModelBuilder c;
  const ValueId other = c.Conv(c.Input({1, 3, 6, 6}), 4, 3, 1, 1);
  const Graph constant = OptimiseAndCompare(c.Finish({c.Add(other, c.Random({1, 4, 6, 6}))}));
  EXPECT_EQ(Kinds(constant), "conv add");

  ModelBuilder d;
  const ValueId doubled = d.Conv(d.Input({1, 3, 6, 6}), 4, 3, 1, 1);
  const Graph twice = OptimiseAndCompare(d.Finish({d.Add(doubled, doubled)}));
  EXPECT_EQ(Kinds(twice), "conv add");
}

TEST(FoldAffinesTest, EveryConvolutionTakesTheBatchNormBehindIt) {
  ModelBuilder b;
  ValueId x = b.Input({2, 6, 7, 7});
  x = b.BatchNorm(b.Conv(x, 8, 3, 2, 1, 2, true));   // grouped, with a bias
  x = b.BatchNorm(b.Conv(x, 8, 3, 1, 1, 8));         // depthwise
  x = b.BatchNorm(b.TransposedConv(x, 6, 4, 2, 1));  // transposed
  x = b.BatchNorm(b.TransposedConv(x, 4, 4, 2, 2));  // transposed and grouped
  const Graph graph = OptimiseAndCompare(b.Finish({x}));
  EXPECT_EQ(Kinds(graph), "conv conv transposed_conv transposed_conv");
}

// Bias and scale as separate operators with constants of every shape that broadcasts.
TEST(FoldAffinesTest, TakesConstantsInEverySpelling) {
  ModelBuilder b;
  ValueId x = b.Conv(b.Input({1, 3, 6, 6}), 4, 3);
  x = b.Add(x, b.Random({1, 4, 1, 1}));
  x = b.Multiply(b.Random({4, 1, 1}), x);
  x = b.Subtract(x, b.Number(0.25f));
  x = b.Divide(x, b.Random({4, 1, 1}, 1.0f, 2.0f));
  x = b.Subtract(b.Number(1.0f), x);
  const Graph graph = OptimiseAndCompare(b.Finish({x}));
  EXPECT_EQ(Kinds(graph), "conv");
}

TEST(FoldAffinesTest, LeavesWhatIsNotAnAffine) {
  ModelBuilder b;
  const ValueId conv = b.Conv(b.Input({1, 4, 4, 4}), 4, 1);
  const ValueId over_columns = b.Multiply(conv, b.Random({4}));  // one factor per column
  const ValueId quotient = b.Divide(b.Number(1.0f), over_columns);
  const Graph graph = OptimiseAndCompare(b.Finish({quotient}), 1, 1e-3);
  EXPECT_EQ(Kinds(graph), "conv multiply divide");
}

// Before a convolution an affine folds only if there is no zero padding or the affine does not
// shift.
TEST(FoldAffinesTest, FoldsIntoTheNextConvolutionWhereThatIsExact) {
  ModelBuilder unpadded;
  const ValueId x = unpadded.BatchNorm(unpadded.Input({1, 4, 6, 6}));
  EXPECT_EQ(Kinds(OptimiseAndCompare(unpadded.Finish({unpadded.Conv(x, 6, 3, 1, 0, 2, true)}))),
            "conv");

  ModelBuilder padded;
  const ValueId y = padded.BatchNorm(padded.Input({1, 4, 6, 6}));
  EXPECT_EQ(Kinds(OptimiseAndCompare(padded.Finish({padded.Conv(y, 6, 3, 1, 1)}))),
            "scale_shift conv");

  ModelBuilder scaled;
  const ValueId z = scaled.Multiply(scaled.Input({1, 4, 6, 6}), scaled.Random({4, 1, 1}));
  EXPECT_EQ(Kinds(OptimiseAndCompare(scaled.Finish({scaled.Conv(z, 6, 3, 1, 1)}))), "conv");

  ModelBuilder transposed;
  const ValueId t = transposed.Multiply(transposed.Input({1, 4, 6, 6}), transposed.Number(0.5f));
  EXPECT_EQ(
      Kinds(OptimiseAndCompare(transposed.Finish({transposed.TransposedConv(t, 6, 4, 2, 2)}))),
      "transposed_conv");
}

// A matrix product with a constant, its bias, a batch norm and an activation are one operator.
TEST(FoldAffinesTest, MakesLinearOperatorsOfMatrixProducts) {
  ModelBuilder b;
  ValueId x = b.Input({3, 5});
  x = b.Add(b.Op(op::MatMul{}, {x, b.Random({5, 7})}), b.Random({7}));
  x = b.Apply(Kind::kRelu, b.BatchNorm(x));
  const Graph matrix = OptimiseAndCompare(b.Finish({x}));
  EXPECT_EQ(Kinds(matrix), "linear");

  ModelBuilder c;
  ValueId tokens = c.Input({2, 3, 5});
  tokens = c.Add(c.Random({7}), c.Op(op::MatMul{}, {tokens, c.Random({5, 7})}));
  const Graph graph = OptimiseAndCompare(c.Finish({c.Apply(Kind::kGelu, tokens)}));
  ASSERT_EQ(Kinds(graph), "linear");
  EXPECT_EQ(graph.operators[0].As<op::Linear>()->activation.kind, Kind::kGelu);
}

// A ConvNeXt block: its linear operators run between two permutes, on channels-last numbers.
TEST(SinkPermutesTest, AConvNextBlockIsFourLocalOperators) {
  for (const bool scales_before_permute : {false, true}) {
    ModelBuilder b;
    const ValueId x = b.Input({1, 8, 6, 5});
    ValueId y = b.Permute(b.Conv(x, 8, 7, 1, 3, 8, true), {0, 2, 3, 1});
    op::LayerNorm norm;
    norm.first_axis = 3;
    norm.has_affine = true;
    y = b.Op(norm, {y, b.Random({8}, 0.5f, 1.5f), b.Random({8})});
    y = b.Linear(b.Apply(Kind::kGelu, b.Linear(y, 32)), 8);
    if (scales_before_permute) y = b.Multiply(b.Random({8}), y);
    y = b.Permute(y, {0, 3, 1, 2});
    if (!scales_before_permute) y = b.Multiply(y, b.Random({8, 1, 1}));
    const Graph graph = OptimiseAndCompare(b.Finish({b.Add(y, x)}));
    ASSERT_EQ(Kinds(graph), "conv layer_norm conv conv");
    EXPECT_EQ(graph.operators[1].As<op::LayerNorm>()->first_axis, 1);
    EXPECT_EQ(graph.operators[2].As<op::Conv>()->activation.kind, Kind::kGelu);
    EXPECT_TRUE(graph.operators[3].As<op::Conv>()->has_residual);
  }
}

// The same block in opsets without layer norm and without Gemm on four dimensions.
TEST(SinkPermutesTest, AConvNextBlockWrittenOutIsFourLocalOperators) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 8, 6, 5});
  ValueId y = b.Permute(b.Conv(x, 8, 3, 1, 1, 8, true), {0, 2, 3, 1});
  const ValueId centred = b.Subtract(y, b.Mean(y, {3}));
  const ValueId variance = b.Mean(b.Power(centred, b.Number(2.0f)), {3});
  y = b.Divide(centred, b.Apply(Kind::kSqrt, b.Add(variance, b.Number(1e-6f))));
  y = b.Add(b.Multiply(y, b.Random({8})), b.Random({8}));
  y = b.Add(b.Op(op::MatMul{}, {y, b.Random({8, 16})}), b.Random({16}));
  const ValueId erf = b.Apply(Kind::kErf, b.Divide(y, b.Number(1.41421356f)));
  y = b.Multiply(b.Multiply(y, b.Add(erf, b.Number(1.0f))), b.Number(0.5f));
  y = b.Add(b.Op(op::MatMul{}, {y, b.Random({16, 8})}), b.Random({8}));
  y = b.Permute(y, {0, 3, 1, 2});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Add(x, b.Multiply(y, b.Random({8, 1, 1})))}));
  EXPECT_EQ(Kinds(graph), "conv layer_norm conv conv");
}

// A norm over more than the channels reads its numbers where they lie.
TEST(SinkPermutesTest, ANormOverColumnsAndChannelsStays) {
  ModelBuilder b;
  op::LayerNorm norm;
  norm.first_axis = 2;
  norm.axis_count = 2;
  norm.has_affine = true;
  const ValueId x = b.Permute(b.Input({1, 5, 6, 5}), {0, 2, 3, 1});
  const ValueId y = b.Op(norm, {x, b.Random({5, 5}, 0.5f, 1.5f), b.Random({5, 5})});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Permute(y, {0, 3, 1, 2})}));
  EXPECT_EQ(Kinds(graph), "permute layer_norm permute");
}

// Sums of channels-last maps sink too, so that a chain of such blocks keeps no permute.
TEST(SinkPermutesTest, PermutesPassThroughSumsOfPermutedMaps) {
  ModelBuilder b;
  const ValueId x = b.Permute(b.Input({1, 8, 6, 5}), {0, 2, 3, 1});
  const ValueId y = b.Add(x, b.Linear(b.Apply(Kind::kRelu, x), 8));
  const Graph graph = OptimiseAndCompare(b.Finish({b.Permute(y, {0, 3, 1, 2})}));
  EXPECT_EQ(Kinds(graph), "relu conv");
}

}  // namespace
}  // namespace cacheinf
