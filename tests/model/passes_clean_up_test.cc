#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/model/expect_same_values.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

TEST(CleanUpTest, DropsOperatorsThatGiveWhatTheyTake) {
  ModelBuilder b;
  const ValueId input = b.Input({1, 4, 6, 6});
  ValueId x = b.Apply(Kind::kRelu, input);
  x = b.Apply(Kind::kIdentity, x);
  x = b.Reshape(x, {1, 4, 6, 6});
  x = b.Permute(x, {0, 1, 2, 3});
  x = b.Op(op::Expand{{1, 4, 6, 6}}, {x});
  x = b.Op(op::Slice{{0, 0, 0, 0}, {1, 4, 6, 6}, {1, 1, 1, 1}}, {x});
  x = b.Op(op::Gather{1, {0, 1, 2, 3}, false}, {x});
  x = b.Op(op::Concat{1}, {x});
  x = b.Op(op::Pad{PadMode::kReflect, 0.0f, {0, 0, 0, 0}, {0, 0, 0, 0}}, {x});
  x = b.Op(op::Pool{}, {x});
  x = b.Op(op::AdaptivePool{PoolSpec::Kind::kAverage, 6, 6}, {x});
  op::Resize resize;
  resize.spec.out_height = resize.spec.out_width = 6;
  x = b.Op(resize, {x});
  x = b.Add(x, b.Number(0.0f));
  x = b.Multiply(b.Number(1.0f), x);
  x = b.Power(x, b.Number(1.0f));
  x = b.Apply(Kind::kTanh, x);
  const Graph graph = OptimiseAndCompare(b.Finish({x}), 1, 0.0);
  EXPECT_EQ(Kinds(graph), "relu tanh");
}

// A window of one pixel passes its map on, unless the divisor is not one.
TEST(CleanUpTest, AnAverageOfOnePixelByAnotherDivisorStays) {
  ModelBuilder b;
  op::Pool pool;
  pool.spec.kind = PoolSpec::Kind::kAverage;
  pool.spec.divisor = 3;
  const ValueId third = b.Op(pool, {b.Input({1, 2, 4, 4})});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Apply(Kind::kTanh, third)}), 1, 0.0);
  EXPECT_EQ(Kinds(graph), "average_pool tanh");
}

// An identity in front of an output goes, and the output keeps its name.
TEST(CleanUpTest, OutputsKeepTheirNames) {
  ModelBuilder b;
  const ValueId relu = b.Apply(Kind::kRelu, b.Input({2, 3}));
  const ValueId renamed = b.Apply(Kind::kIdentity, relu);
  const ValueId tanh = b.Apply(Kind::kTanh, relu);
  const Graph before = b.Finish({renamed, tanh});
  const Graph graph = OptimiseAndCompare(before, 1, 0.0);
  EXPECT_EQ(Kinds(graph), "relu tanh");
  EXPECT_EQ(graph.value(graph.outputs[0]).name, before.value(before.outputs[0]).name);
}

// An identity stays where dropping it would rename something: an input or a second output.
TEST(CleanUpTest, IdentitiesBetweenNamedValuesStay) {
  ModelBuilder b;
  const ValueId x = b.Input({2, 3});
  const ValueId relu = b.Apply(Kind::kRelu, x);
  const Graph graph = OptimiseAndCompare(
      b.Finish({b.Apply(Kind::kIdentity, x), relu, b.Apply(Kind::kIdentity, relu), relu}), 1, 0.0);
  EXPECT_EQ(graph.operators.size(), 3u);
}

TEST(CleanUpTest, RemovesWhatNoOutputNeeds) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 6, 6});
  b.Input({5}, "unused");
  b.Apply(Kind::kTanh, b.Conv(x, 4, 3));
  Graph graph = b.Finish({b.Apply(Kind::kRelu, x)});
  EXPECT_TRUE(pass::RemoveDead(graph));
  graph.Validate();
  EXPECT_EQ(Kinds(graph), "relu");
  EXPECT_EQ(graph.values.size(), 3u);  // both inputs stay
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_FALSE(pass::RemoveDead(graph));
}

TEST(CleanUpTest, MergesLayoutsOfLayouts) {
  ModelBuilder b;
  const ValueId x = b.Input({2, 6, 4});
  ValueId y = b.Reshape(b.Reshape(x, {2, 24}), {12, 4});
  y = b.Permute(b.Permute(b.Reshape(y, {3, 4, 4}), {2, 0, 1}), {2, 0, 1});
  y = b.Op(op::Slice{{1, 0, 1}, {3, 2, 2}, {1, 2, 1}}, {y});
  y = b.Op(op::Slice{{0, 1, 0}, {2, 1, 2}, {2, 1, 1}}, {y});
  const Graph graph = OptimiseAndCompare(b.Finish({y}), 1, 0.0);
  EXPECT_EQ(Kinds(graph), "reshape permute slice");
}

TEST(CleanUpTest, ASliceOfOneHasNoStep) {
  ModelBuilder b;
  ValueId y = b.Op(op::Slice{{0, 0}, {1, 2}, {1, 2}}, {b.Input({1, 3})});
  y = b.Op(op::Slice{{0, 0}, {1, 1}, {1, 2}}, {y});
  EXPECT_EQ(Kinds(OptimiseAndCompare(b.Finish({y}), 1, 0.0)), "slice");
}

TEST(CleanUpTest, APermutationThereAndBackIsNothing) {
  ModelBuilder b;
  const ValueId x = b.Apply(Kind::kRelu, b.Input({1, 3, 4, 5}));
  const ValueId back = b.Permute(b.Permute(x, {0, 2, 3, 1}), {0, 3, 1, 2});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Apply(Kind::kTanh, back)}), 1, 0.0);
  EXPECT_EQ(Kinds(graph), "relu tanh");
}

TEST(CleanUpTest, NestedConcatenationsBecomeOne) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 2, 4, 4});
  const ValueId y = b.Input({1, 3, 4, 4}, "y");
  const ValueId inner = b.Op(op::Concat{1}, {y, x});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Op(op::Concat{1}, {x, inner, y})}), 1, 0.0);
  ASSERT_EQ(Kinds(graph), "concat");
  EXPECT_EQ(graph.operators[0].inputs.size(), 4u);
}

// What an operator computes twice is computed once, unless both are outputs with names.
TEST(CleanUpTest, EqualOperatorsAreMerged) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 4, 4});
  const ValueId relu = b.Apply(Kind::kRelu, x);
  const ValueId same = b.Apply(Kind::kRelu, x);
  const ValueId other = b.Apply(Kind::kElu, x, 1.0f);
  const ValueId product = b.Multiply(relu, other);
  const ValueId sum = b.Add(product, b.Apply(Kind::kElu, same, 2.0f));
  const Graph graph = OptimiseAndCompare(b.Finish({sum}), 1, 0.0);
  EXPECT_EQ(Kinds(graph), "relu elu multiply elu add");
}

TEST(CleanUpTest, ConstantsAreComputedOnceAndForAll) {
  ModelBuilder b;
  const ValueId x = b.Input({2, 6});
  ValueId c = b.Permute(b.Random({3, 2}), {1, 0});
  c = b.Apply(Kind::kExp, b.Reshape(c, {6}));
  const ValueId sum = b.Binary(BinaryKind::kMaximum, x, c);
  const Graph before = b.Finish({sum, b.Add(c, b.Number(1.0f))});
  const Graph graph = OptimiseAndCompare(before, 1, 0.0);
  EXPECT_EQ(Kinds(graph), "maximum");
  EXPECT_TRUE(graph.value(graph.outputs[1]).is_constant());
}

// A constant expanded to a huge one would cost more than the operator.
TEST(CleanUpTest, ConstantsDoNotGrow) {
  ModelBuilder b;
  const ValueId big = b.Op(op::Expand{{1, 64, 64, 64}}, {b.Random({1, 64, 1, 1})});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Apply(Kind::kTanh, big)}), 1, 0.0);
  EXPECT_EQ(Kinds(graph), "expand tanh");
  for (const Value& value : graph.values) {
    if (value.is_constant()) {
      EXPECT_LE(value.constant.count(), 64);
    }
  }
}

TEST(CleanUpTest, AnExpandedOperandIsReadUnexpanded) {
  ModelBuilder b;
  const ValueId x = b.Input({2, 4, 5, 5});
  const ValueId gate = b.Input({2, 4, 1, 1}, "gate");
  const ValueId out = b.Multiply(b.Op(op::Expand{{2, 4, 5, 5}}, {gate}), x);
  EXPECT_EQ(Kinds(OptimiseAndCompare(b.Finish({out}), 1, 0.0)), "multiply");
}

// Every way to say "over the whole picture" is a reduction over rows and columns.
TEST(SimplifyPoolsTest, PoolsOfTheWholeMapAreReductions) {
  for (const PoolSpec::Kind kind : {PoolSpec::Kind::kMax, PoolSpec::Kind::kAverage}) {
    ModelBuilder b;
    const ValueId x = b.Input({2, 3, 4, 6});
    op::Pool pool;
    pool.spec.kind = kind;
    pool.spec.rows.kernel = 4;
    pool.spec.columns.kernel = 6;
    const ValueId whole = b.Op(pool, {x});
    const ValueId adaptive = b.Op(op::AdaptivePool{kind, 1, 1}, {b.Apply(Kind::kTanh, x)});
    const Graph graph = OptimiseAndCompare(b.Finish({whole, adaptive}));
    const std::string expected = kind == PoolSpec::Kind::kMax ? "reduce_max" : "reduce_mean";
    EXPECT_EQ(Kinds(graph), expected + " tanh " + expected);
    EXPECT_EQ(graph.operators[0].As<op::Reduce>()->axes, (std::vector<int>{2, 3}));
  }
}

TEST(SimplifyPoolsTest, AHeadOfPoolFlattenLinearIsTwoOperators) {
  ModelBuilder b;
  const ValueId x = b.Input({2, 8, 4, 4});
  const ValueId pooled = b.Mean(b.Mean(x, {3}), {2});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Linear(b.Reshape(pooled, {2, 8}), 5)}));
  EXPECT_EQ(Kinds(graph), "reduce_mean linear");
}

TEST(SimplifyPoolsTest, AnAdaptivePoolThatDividesIsAPool) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 12, 8});
  const ValueId divides = b.Op(op::AdaptivePool{PoolSpec::Kind::kAverage, 3, 4}, {x});
  const ValueId does_not = b.Op(op::AdaptivePool{PoolSpec::Kind::kAverage, 5, 4}, {x});
  const Graph graph = OptimiseAndCompare(b.Finish({divides, does_not}));
  EXPECT_EQ(Kinds(graph), "average_pool adaptive_average_pool");
}

ValueId PadMap(ModelBuilder& b, ValueId x, float value) {
  return b.Op(op::Pad{PadMode::kConstant, value, {0, 0, 1, 0}, {0, 0, 1, 2}}, {x});
}

ValueId Pool3x3(ModelBuilder& b, ValueId x, PoolSpec::Kind kind) {
  op::Pool pool;
  pool.spec.kind = kind;
  pool.spec.rows.kernel = pool.spec.columns.kernel = 3;
  pool.spec.rows.stride = pool.spec.columns.stride = 2;
  return b.Op(pool, {x});
}

TEST(MergePadsTest, ConvolutionsAndAveragesTakeZeroPadding) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 7, 7});
  const ValueId conv = b.Conv(PadMap(b, x, 0.0f), 4, 3, 2);
  const ValueId average = Pool3x3(b, PadMap(b, x, 0.0f), PoolSpec::Kind::kAverage);
  EXPECT_EQ(Kinds(OptimiseAndCompare(b.Finish({conv, average}))), "conv average_pool");
}

TEST(MergePadsTest, OtherPaddingStays) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 7, 7});
  const Graph graph = OptimiseAndCompare(b.Finish({b.Conv(PadMap(b, x, 1.0f), 4, 3, 2)}));
  EXPECT_EQ(Kinds(graph), "pad conv");
}

// Zero padding does not change a maximum only where no pixel is negative.
TEST(MergePadsTest, AMaximumTakesZeroPaddingOnlyBehindWhatIsNeverNegative) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 7, 7});
  const ValueId any = Pool3x3(b, PadMap(b, x, 0.0f), PoolSpec::Kind::kMax);
  EXPECT_EQ(Kinds(OptimiseAndCompare(b.Finish({any}), 1, 0.0)), "pad max_pool");

  ModelBuilder c;
  const ValueId relu = c.Apply(Kind::kRelu, c.Input({1, 3, 7, 7}));
  const ValueId positive = Pool3x3(c, PadMap(c, relu, 0.0f), PoolSpec::Kind::kMax);
  EXPECT_EQ(Kinds(OptimiseAndCompare(c.Finish({positive}), 1, 0.0)), "relu max_pool");

  ModelBuilder d;
  const ValueId lowest = PadMap(d, d.Input({1, 3, 7, 7}), -kInfinity);
  const ValueId ignored = Pool3x3(d, lowest, PoolSpec::Kind::kMax);
  EXPECT_EQ(Kinds(OptimiseAndCompare(d.Finish({ignored}), 1, 0.0)), "max_pool");
}

}  // namespace
}  // namespace cacheinf
