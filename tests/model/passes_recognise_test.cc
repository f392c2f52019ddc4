#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <ostream>
#include <string>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/model/expect_same_values.h"
#include "tests/model/model_builder.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

constexpr float kSqrt2 = std::numbers::sqrt2_v<float>;
const float kTanhSlope = std::sqrt(2.0f / std::numbers::pi_v<float>);

// One way to spell an activation, and the function that it is.
struct Spelling {
  std::string name;
  Function function;
  std::function<ValueId(ModelBuilder&, ValueId)> write;
};

std::ostream& operator<<(std::ostream& out, const Spelling& spelling) {
  return out << spelling.name;
}

ValueId OnePlusErf(ModelBuilder& b, ValueId x) {
  return b.Add(b.Apply(Kind::kErf, b.Divide(x, b.Number(kSqrt2))), b.Number(1.0f));
}

ValueId ShiftedClip(ModelBuilder& b, ValueId x) {
  return b.Apply(Kind::kClip, b.Add(x, b.Number(3.0f)), 0.0f, 6.0f);
}

// slope (x + 0.044715 cube)
ValueId TanhArgument(ModelBuilder& b, ValueId x, ValueId cube) {
  return b.Multiply(b.Number(kTanhSlope), b.Add(x, b.Multiply(b.Number(0.044715f), cube)));
}

std::vector<Spelling> Spellings() {
  const Function silu = {Kind::kSilu, 0.0f, 0.0f};
  const Function mish = {Kind::kMish, 0.0f, 0.0f};
  const Function gelu = {Kind::kGelu, 0.0f, 0.0f};
  const Function gelu_tanh = {Kind::kGeluTanh, 0.0f, 0.0f};
  const Function hard_swish = {Kind::kHardSwish, 0.0f, 0.0f};
  const Function hard_sigmoid = {Kind::kHardSigmoid, 1.0f / 6.0f, 0.5f};
  return {
      {"SiluLeft", silu,
       [](ModelBuilder& b, ValueId x) { return b.Multiply(b.Apply(Kind::kSigmoid, x), x); }},
      {"SiluRight", silu,
       [](ModelBuilder& b, ValueId x) { return b.Multiply(x, b.Apply(Kind::kSigmoid, x)); }},
      {"Mish", mish,
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(x, b.Apply(Kind::kTanh, b.Apply(Kind::kSoftplus, x)));
       }},
      {"GeluOfTorchOnnx", gelu,  // (x (erf + 1)) / 2
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(b.Multiply(x, OnePlusErf(b, x)), b.Number(0.5f));
       }},
      {"GeluHalfFirst", gelu,
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(b.Multiply(b.Number(0.5f), x), OnePlusErf(b, x));
       }},
      {"GeluHalfInside", gelu,
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(x, b.Multiply(OnePlusErf(b, x), b.Number(0.5f)));
       }},
      {"GeluHalvesDistributed", gelu,
       [](ModelBuilder& b, ValueId x) {
         const ValueId erf = b.Apply(Kind::kErf, b.Multiply(x, b.Number(1.0f / kSqrt2)));
         return b.Multiply(x, b.Add(b.Multiply(erf, b.Number(0.5f)), b.Number(0.5f)));
       }},
      {"GeluDividedByTwo", gelu,
       [](ModelBuilder& b, ValueId x) {
         return b.Divide(b.Multiply(OnePlusErf(b, x), x), b.Number(2.0f));
       }},
      {"GeluTanhOfTorchOnnx", gelu_tanh,  // the cube as x (x x)
       [](ModelBuilder& b, ValueId x) {
         const ValueId tanh =
             b.Apply(Kind::kTanh, TanhArgument(b, x, b.Multiply(x, b.Multiply(x, x))));
         return b.Multiply(b.Number(0.5f), b.Multiply(x, b.Add(b.Number(1.0f), tanh)));
       }},
      {"GeluTanhWithPower", gelu_tanh,
       [](ModelBuilder& b, ValueId x) {
         const ValueId tanh = b.Apply(Kind::kTanh, TanhArgument(b, x, b.Power(x, b.Number(3.0f))));
         return b.Multiply(b.Multiply(b.Number(0.5f), x), b.Add(b.Number(1.0f), tanh));
       }},
      {"GeluTanhFactored", gelu_tanh,  // x slope (1 + 0.044715 x x)
       [](ModelBuilder& b, ValueId x) {
         const ValueId inside =
             b.Add(b.Number(1.0f), b.Multiply(b.Multiply(b.Number(0.044715f), x), x));
         const ValueId tanh =
             b.Apply(Kind::kTanh, b.Multiply(b.Multiply(x, b.Number(kTanhSlope)), inside));
         return b.Multiply(b.Multiply(b.Number(0.5f), x), b.Add(b.Number(1.0f), tanh));
       }},
      {"HardSwishWithHardSigmoid", hard_swish,
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(x, b.Apply(Kind::kHardSigmoid, x, 1.0f / 6.0f, 0.5f));
       }},
      {"HardSwishDividedLast", hard_swish,
       [](ModelBuilder& b, ValueId x) {
         return b.Divide(b.Multiply(x, ShiftedClip(b, x)), b.Number(6.0f));
       }},
      {"HardSwishDividedFirst", hard_swish,
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(x, b.Divide(ShiftedClip(b, x), b.Number(6.0f)));
       }},
      {"HardSwishTimesSixth", hard_swish,
       [](ModelBuilder& b, ValueId x) {
         return b.Multiply(b.Multiply(ShiftedClip(b, x), b.Number(1.0f / 6.0f)), x);
       }},
      {"HardSigmoidClipDivided", hard_sigmoid,
       [](ModelBuilder& b, ValueId x) { return b.Divide(ShiftedClip(b, x), b.Number(6.0f)); }},
      {"HardSigmoidClipOfLinear", hard_sigmoid,
       [](ModelBuilder& b, ValueId x) {
         const ValueId linear = b.Add(b.Divide(x, b.Number(6.0f)), b.Number(0.5f));
         return b.Apply(Kind::kClip, linear, 0.0f, 1.0f);
       }},
  };
}

class SpellingTest : public testing::TestWithParam<Spelling> {};

INSTANTIATE_TEST_SUITE_P(Spellings, SpellingTest, testing::ValuesIn(Spellings()),
                         [](const auto& info) { return info.param.name; });

// Every spelling, on a map and on a matrix, becomes one operator with the function's name.
TEST_P(SpellingTest, BecomesOneActivation) {
  for (const Shape& shape : {Shape{1, 3, 4, 5}, Shape{7, 6}}) {
    ModelBuilder b;
    const ValueId x = b.Input(shape);
    const Graph graph = OptimiseAndCompare(b.Finish({GetParam().write(b, x)}));
    ASSERT_EQ(graph.operators.size(), 1u);
    const auto* activation = graph.operators[0].As<op::Activation>();
    ASSERT_NE(activation, nullptr) << KindName(graph.operators[0]);
    EXPECT_EQ(activation->function.kind, GetParam().function.kind);
    EXPECT_NEAR(activation->function.alpha, GetParam().function.alpha, 1e-6);
    EXPECT_NEAR(activation->function.beta, GetParam().function.beta, 1e-6);
  }
}

// The argument of an activation may itself be a sum or product, which stays one.
TEST_P(SpellingTest, IsFoundBehindSumsAndProducts) {
  ModelBuilder b;
  const ValueId x = b.Input({1, 3, 4, 5});
  const ValueId y = b.Input({1, 3, 4, 5}, "y");
  const ValueId product = b.Multiply(b.Add(x, y), y);
  const Graph graph = OptimiseAndCompare(b.Finish({GetParam().write(b, product)}));
  ASSERT_EQ(graph.operators.size(), 2u);
  const auto* last = graph.operators[1].As<op::Binary>();
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->activation.kind, GetParam().function.kind);
}

// What only looks like an activation stays what it is.
TEST(RecogniseActivationsTest, LeavesOtherProductsAlone) {
  const auto expect_unchanged = [](const char* what, const auto& write) {
    ModelBuilder b;
    const ValueId x = b.Input({2, 5});
    const ValueId y = b.Input({2, 5}, "y");
    Graph graph = b.Finish({write(b, x, y)});
    EXPECT_FALSE(pass::RecogniseActivations(graph)) << what;
  };
  expect_unchanged("a gate", [](ModelBuilder& b, ValueId x, ValueId y) {
    return b.Multiply(y, b.Apply(Kind::kSigmoid, x));
  });
  expect_unchanged("swish with another slope", [](ModelBuilder& b, ValueId x, ValueId) {
    return b.Multiply(x, b.Apply(Kind::kSigmoid, b.Multiply(x, b.Number(1.702f))));
  });
  expect_unchanged("erf of another scale", [](ModelBuilder& b, ValueId x, ValueId) {
    const ValueId erf = b.Apply(Kind::kErf, b.Divide(x, b.Number(1.5f)));
    return b.Multiply(b.Multiply(x, b.Add(erf, b.Number(1.0f))), b.Number(0.5f));
  });
  expect_unchanged("another clip", [](ModelBuilder& b, ValueId x, ValueId) {
    const ValueId clip = b.Apply(Kind::kClip, b.Add(x, b.Number(3.0f)), 0.0f, 5.0f);
    return b.Divide(b.Multiply(x, clip), b.Number(6.0f));
  });
  expect_unchanged("the clip of a sum", [](ModelBuilder& b, ValueId x, ValueId y) {
    return b.Apply(Kind::kClip, b.Add(x, y), 0.0f, 1.0f);
  });
  expect_unchanged("mish of two", [](ModelBuilder& b, ValueId x, ValueId y) {
    return b.Multiply(y, b.Apply(Kind::kTanh, b.Apply(Kind::kSoftplus, x)));
  });
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon), with the difference written twice or once.
ValueId WriteNorm(ModelBuilder& b, ValueId x, const std::vector<int>& axes, bool is_twice) {
  const ValueId centred = b.Subtract(x, b.Mean(x, axes));
  const ValueId again = is_twice ? b.Subtract(x, b.Mean(x, axes)) : centred;
  const ValueId variance = b.Mean(b.Power(again, b.Number(2.0f)), axes);
  const ValueId root = b.Apply(Kind::kSqrt, b.Add(variance, b.Number(1e-5f)));
  return b.Divide(centred, root);
}

TEST(RecogniseNormsTest, FindsLayerNormOfTokensWithItsScaleAndShift) {
  for (const bool is_twice : {false, true}) {
    ModelBuilder b;
    const ValueId norm = WriteNorm(b, b.Input({2, 5, 8}), {2}, is_twice);
    const ValueId out = b.Add(b.Multiply(norm, b.Random({8})), b.Random({8}));
    const Graph graph = OptimiseAndCompare(b.Finish({out}));
    ASSERT_EQ(graph.operators.size(), 1u);
    const auto* layer_norm = graph.operators[0].As<op::LayerNorm>();
    ASSERT_NE(layer_norm, nullptr);
    EXPECT_EQ(layer_norm->first_axis, 2);
    EXPECT_EQ(layer_norm->axis_count, 1);
    EXPECT_TRUE(layer_norm->has_affine);
    EXPECT_FLOAT_EQ(layer_norm->epsilon, 1e-5f);
  }
}

TEST(RecogniseNormsTest, FindsLayerNormOverTheChannelsOfAMap) {
  ModelBuilder b;
  const ValueId norm = WriteNorm(b, b.Input({1, 6, 4, 3}), {1}, true);
  const ValueId out = b.Add(b.Multiply(b.Random({6, 1, 1}), norm), b.Random({6, 1, 1}));
  const Graph graph = OptimiseAndCompare(b.Finish({out}));
  ASSERT_EQ(graph.operators.size(), 1u);
  ASSERT_NE(graph.operators[0].As<op::LayerNorm>(), nullptr);
  EXPECT_EQ(graph.operators[0].As<op::LayerNorm>()->first_axis, 1);
}

TEST(RecogniseNormsTest, FindsInstanceNorm) {
  ModelBuilder b;
  const ValueId norm = WriteNorm(b, b.Input({2, 6, 4, 3}), {3, 2}, false);
  const ValueId out = b.Multiply(norm, b.Random({6, 1, 1}));
  const Graph graph = OptimiseAndCompare(b.Finish({out}));
  ASSERT_EQ(graph.operators.size(), 1u);
  const auto* group_norm = graph.operators[0].As<op::GroupNorm>();
  ASSERT_NE(group_norm, nullptr);
  EXPECT_EQ(group_norm->groups, 6);
  EXPECT_TRUE(group_norm->has_affine);
}

// Group norm as PyTorch exports it: an instance norm of the groups, then scale and shift.
TEST(RecogniseNormsTest, FindsGroupNormBetweenReshapes) {
  ModelBuilder b;
  const ValueId x = b.Input({2, 6, 4, 3});
  op::GroupNorm instance_norm;
  instance_norm.groups = 3;
  instance_norm.has_affine = true;
  const ValueId grouped =
      b.Op(instance_norm, {b.Reshape(x, {2, 3, 24}), b.Random({3}, 0.5f, 2.0f), b.Random({3})});
  const ValueId back = b.Reshape(grouped, {2, 6, 4, 3});
  const ValueId out = b.Add(b.Multiply(back, b.Random({6, 1, 1})), b.Random({6, 1, 1}));
  const Graph graph = OptimiseAndCompare(b.Finish({out}));
  ASSERT_EQ(graph.operators.size(), 1u);
  ASSERT_NE(graph.operators[0].As<op::GroupNorm>(), nullptr);
  EXPECT_EQ(graph.operators[0].As<op::GroupNorm>()->groups, 3);
}

struct ShuffleCase {
  const char* kind;
  Shape in;
  Shape split;
  std::vector<int> order;
  Shape out;
};

// Reshape, permute, reshape in every form that has a name.
TEST(RecogniseShufflesTest, NamesBlockAndChannelShuffles) {
  const std::vector<ShuffleCase> cases = {
      {"depth_to_space", {2, 8, 3, 5}, {2, 2, 2, 2, 3, 5}, {0, 1, 4, 2, 5, 3}, {2, 2, 6, 10}},
      {"depth_to_space", {1, 18, 3, 5}, {1, 2, 3, 3, 3, 5}, {0, 1, 4, 2, 5, 3}, {1, 2, 9, 15}},
      {"depth_to_space", {1, 18, 3, 5}, {1, 3, 3, 2, 3, 5}, {0, 3, 4, 1, 5, 2}, {1, 2, 9, 15}},
      {"space_to_depth", {1, 3, 6, 4}, {1, 3, 3, 2, 2, 2}, {0, 1, 3, 5, 2, 4}, {1, 12, 3, 2}},
      {"space_to_depth", {1, 3, 6, 4}, {1, 3, 3, 2, 2, 2}, {0, 3, 5, 1, 2, 4}, {1, 12, 3, 2}},
      {"scale_shift", {2, 12, 3, 4}, {2, 3, 4, 3, 4}, {0, 2, 1, 3, 4}, {2, 12, 3, 4}},
  };
  for (const ShuffleCase& shuffle : cases) {
    ModelBuilder b;
    const ValueId split = b.Reshape(b.Input(shuffle.in), shuffle.split);
    const ValueId out = b.Reshape(b.Permute(split, shuffle.order), shuffle.out);
    const Graph graph = OptimiseAndCompare(b.Finish({out}), 1, /*tolerance=*/0.0);
    ASSERT_EQ(graph.operators.size(), 1u);
    EXPECT_EQ(KindName(graph.operators[0]), shuffle.kind);
  }
}

// What has their names gives floats.
TEST(RecogniseShufflesTest, LeavesIntegersAlone) {
  ModelBuilder b;
  const ValueId integers = b.Apply(Function::Kind::kTruncate, b.Input({1, 8, 4, 4}));
  const ValueId split = b.Reshape(integers, {1, 2, 4, 4, 4});
  const ValueId out = b.Reshape(b.Permute(split, {0, 2, 1, 3, 4}), {1, 8, 4, 4});
  EXPECT_EQ(Kinds(OptimiseAndCompare(b.Finish({out}))), "truncate reshape permute reshape");
}

TEST(RecogniseShufflesTest, LeavesOtherPermutationsAlone) {
  ModelBuilder b;
  const ValueId split = b.Reshape(b.Input({1, 8, 4, 4}), {1, 2, 2, 2, 4, 4});
  const ValueId out = b.Reshape(b.Permute(split, {0, 1, 4, 3, 5, 2}), {1, 2, 8, 8});
  EXPECT_EQ(OptimiseAndCompare(b.Finish({out}), 1, 0.0).operators.size(), 3u);
}

}  // namespace
}  // namespace cacheinf
