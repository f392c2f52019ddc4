// Read this first: what every operator computes, in small numbers.

#include "sparse_ops/reference/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cases.h"

namespace cacheinf {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A tensor with its own numbers, channels-last if it is a map.
class Numbers {
 public:
  explicit Numbers(std::vector<int64_t> dims, std::vector<float> logical = {}) {
    view_.rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), view_.dims.begin());
    int64_t stride = 1;
    const auto lay = [&](int axis) {
      view_.strides[axis] = stride;
      stride *= view_.dims[axis];
    };
    if (view_.rank == 4) {
      for (const int axis : {1, 3, 2, 0}) lay(axis);
    } else {
      for (int axis = view_.rank - 1; axis >= 0; --axis) lay(axis);
    }
    memory_.resize(static_cast<size_t>(stride));
    view_.data = memory_.data();
    for (size_t i = 0; i < logical.size(); ++i) At(static_cast<int64_t>(i)) = logical[i];
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  void Randomise(std::mt19937& random) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : memory_) x = uniform(random);
  }

  const TensorView& view() const { return view_; }
  ImageView image() const { return AsImage(view_); }

  // The i-th number in logical order.
  float& At(int64_t i) {
    float* element = view_.data;
    for (int axis = view_.rank - 1; axis >= 0; --axis) {
      element += i % view_.dims[axis] * view_.strides[axis];
      i /= view_.dims[axis];
    }
    return *element;
  }

  std::vector<float> Logical() {
    std::vector<float> result(memory_.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = At(static_cast<int64_t>(i));
    return result;
  }

 private:
  TensorView view_;
  std::vector<float> memory_;
};

using Floats = std::vector<float>;

TEST(ReferenceTest, AnyCutIntoRowsGivesTheBitsOfTheWhole) {
  EXPECT_EQ(CheckReferenceBits(OperatorCases(), OnlyFamily(ReferenceFamily()), 41), "");
}

// Convolutions against the textbook's sums in double: a convolution gathers, a transposed one
// scatters every input pixel over the output.
struct ConvShape {
  int in_channels;
  int out_channels;
  ConvSpec spec;
};

std::vector<double> ConvInDouble(const ConvShape& shape, Numbers& input, const Floats& weights,
                                 const TensorView& output) {
  const ConvSpec& spec = shape.spec;
  const int64_t height = input.view().dims[2], width = input.view().dims[3];
  const int64_t out_height = output.dims[2], out_width = output.dims[3];
  const int ins = shape.in_channels / spec.groups, outs = shape.out_channels / spec.groups;
  std::vector<double> result(static_cast<size_t>(output.Count()));
  const auto add = [&](int64_t oc, int64_t oy, int64_t ox, int64_t ic, int64_t iy, int64_t ix,
                       int64_t weight) {
    if (iy < 0 || iy >= height || ix < 0 || ix >= width) return;
    if (oy < 0 || oy >= out_height || ox < 0 || ox >= out_width) return;
    result[static_cast<size_t>((oc * out_height + oy) * out_width + ox)] +=
        static_cast<double>(input.At((ic * height + iy) * width + ix)) *
        weights[static_cast<size_t>(weight)];
  };
  for (int oc = 0; oc < shape.out_channels; ++oc) {
    for (int i = 0; i < ins; ++i) {
      const int ic = oc / outs * ins + i;
      for (int ky = 0; ky < spec.rows.kernel; ++ky) {
        for (int kx = 0; kx < spec.columns.kernel; ++kx) {
          const int tap = ky * spec.columns.kernel + kx;
          const int area = spec.rows.kernel * spec.columns.kernel;
          const int y_offset = ky * spec.rows.dilation - spec.rows.pad_begin;
          const int x_offset = kx * spec.columns.dilation - spec.columns.pad_begin;
          if (spec.transposed) {
            const int weight = (ic * outs + oc % outs) * area + tap;
            for (int y = 0; y < height; ++y) {
              for (int x = 0; x < width; ++x) {
                add(oc, y * spec.rows.stride + y_offset, x * spec.columns.stride + x_offset, ic, y,
                    x, weight);
              }
            }
          } else {
            const int weight = (oc * ins + i) * area + tap;
            for (int y = 0; y < out_height; ++y) {
              for (int x = 0; x < out_width; ++x) {
                add(oc, y, x, ic, y * spec.rows.stride + y_offset,
                    x * spec.columns.stride + x_offset, weight);
              }
            }
          }
        }
      }
    }
  }
  return result;
}

TEST(ReferenceTest, ConvolutionsAreTheTextbooksSums) {
  const unsigned seed = 5;
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    ConvShape shape;
    shape.spec.groups = pick(1, 3);
    shape.spec.transposed = pick(0, 1) == 1;
    shape.in_channels = shape.spec.groups * pick(1, 4);
    shape.out_channels = shape.spec.groups * pick(1, 4);
    for (WindowAxis* axis : {&shape.spec.rows, &shape.spec.columns}) {
      *axis = {pick(1, 4), pick(1, 3), pick(-1, 4), pick(-1, 4), pick(1, 3)};
    }
    Numbers input({1, shape.in_channels, pick(1, 7), pick(1, 7)});
    input.Randomise(random);
    // Any output size is valid.
    Numbers output({1, shape.out_channels, pick(1, 9), pick(1, 9)});
    Floats weights(static_cast<size_t>(shape.in_channels * shape.out_channels / shape.spec.groups *
                                       shape.spec.rows.kernel * shape.spec.columns.kernel));
    std::generate(weights.begin(), weights.end(),
                  [&] { return std::uniform_real_distribution<float>(-1, 1)(random); });
    ConvArgs args;
    args.spec = shape.spec;
    args.input = input.image();
    args.weights = weights.data();
    args.output = output.image();
    reference::Compute(args, AllPixels(output.view()));
    const std::vector<double> expected = ConvInDouble(shape, input, weights, output.view());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(output.At(static_cast<int64_t>(i)), expected[i], 1e-5)
          << "at " << i << ", seed " << seed << ", round " << round;
    }
  }
}

TEST(ReferenceTest, ConvolutionAddsInTheStatedOrder) {
  // In most other orders the 1 of the second channel survives.
  Numbers input({1, 3, 1, 2}, {1e8f, 1.0f, 1.0f, 2.0f, -1e8f, 3.0f});
  Numbers output({1, 1, 1, 1});
  const Floats weights = {1, 1, 1, 1, 1, 1};  // channel, then column
  ConvArgs args;
  args.spec.columns.kernel = 2;
  args.input = input.image();
  args.weights = weights.data();
  args.output = output.image();
  reference::Compute(args, Range{0, 1});
  // Column 0: 1e8 + 1 = 1e8, - 1e8 = 0; column 1: 1 + 2 + 3.
  EXPECT_EQ(output.At(0), 6.0f);
  input.At(1) = 1e-4f;  // column 1 of channel 0
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.At(0), (1e-4f + 2.0f) + 3.0f);
}

TEST(ReferenceTest, ConvolutionsEpilogueAppliesBiasActivationAndResidualInOrder) {
  Numbers input({1, 1, 1, 2}, {-3.0f, 3.0f});
  Numbers residual({1, 1, 1, 2}, {1.0f, 1.0f});
  Numbers output({1, 1, 1, 2});
  const float weight = 1.0f;
  const float bias = 1.0f;
  const float slope = 0.5f;
  ConvArgs args;
  args.input = input.image();
  args.weights = &weight;
  args.bias = &bias;
  args.activation.function.kind = Function::Kind::kPRelu;
  args.activation.slopes = &slope;
  args.output = output.image();
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{-1.0f, 4.0f}));
  args.residual = residual.image();
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{-0.5f, 5.0f}));
  args.activation_before_residual = true;
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{0.0f, 5.0f}));
}

TEST(ReferenceTest, PoolsClipTheirWindowsAndCountAsTheSpecSays) {
  Numbers input({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  Numbers output({1, 1, 1, 2});
  PoolArgs args;
  args.spec.rows = {3, 2, 1, 1, 1};
  args.spec.columns = {3, 2, 1, 1, 1};
  args.input = input.image();
  args.output = output.image();
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{5, 6}));
  args.spec.kind = PoolSpec::Kind::kAverage;
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{3, 4}));
  args.spec.count_padding = true;
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{12.0f / 9, 16.0f / 9}));
  args.spec.divisor = 4;
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{3, 4}));
}

TEST(ReferenceTest, PaddingThatCeilModeAddsIsNotCounted) {
  // Width 4, kernel 3, stride 2: the second window begins at 2 and hangs over by one column that
  // is not padding.
  Numbers input({1, 1, 1, 4}, {1, 2, 3, 5});
  Numbers output({1, 1, 1, 2});
  PoolArgs args;
  args.spec.kind = PoolSpec::Kind::kAverage;
  args.spec.columns = {3, 2, 0, 0, 1};
  args.spec.ceil_mode = true;
  args.spec.count_padding = true;
  args.input = input.image();
  args.output = output.image();
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{2, 4}));
}

TEST(ReferenceTest, MaxPoolPassesNaNOn) {
  Numbers input({1, 1, 1, 3}, {1, kNaN, 7});
  Numbers output({1, 1, 1, 1});
  PoolArgs args;
  args.spec.columns = {3, 1, 0, 0, 1};
  args.input = input.image();
  args.output = output.image();
  reference::Compute(args, Range{0, 1});
  EXPECT_TRUE(std::isnan(output.At(0)));
}

TEST(ReferenceTest, AdaptivePoolsShareTheirBordersAsPyTorchDoes) {
  Numbers input({1, 1, 1, 5}, {1, 2, 3, 4, 5});
  Numbers output({1, 1, 1, 3});  // cells 0..2, 1..4, 3..5
  AdaptivePoolArgs args;
  args.input = input.image();
  args.output = output.image();
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{1.5f, 3.0f, 4.5f}));
  args.kind = PoolSpec::Kind::kMax;
  reference::Compute(args, Range{0, 1});
  EXPECT_EQ(output.Logical(), (Floats{2, 4, 5}));
}

TEST(ReferenceTest, AdaptivePoolToOnePixelHasTheBitsOfAMeanOverThePicture) {
  std::mt19937 random(77);
  Numbers input({2, 5, 13, 37});
  input.Randomise(random);
  Numbers pooled({2, 5, 1, 1});
  Numbers reduced({2, 5, 1, 1});
  reference::Compute(AdaptivePoolArgs{PoolSpec::Kind::kAverage, input.image(), pooled.image()},
                     Range{0, 1});
  reference::Compute(
      ReduceArgs{ReduceKind::kMean, {false, false, true, true}, input.view(), reduced.view()});
  EXPECT_EQ(pooled.Logical(), reduced.Logical());
}

TEST(ReferenceTest, BilinearResizeInterpolatesBetweenPixels) {
  Numbers input({1, 1, 2, 2}, {0, 4, 8, 12});
  Numbers output({1, 1, 3, 3});
  ResizeArgs args;
  args.spec.kind = ResizeSpec::Kind::kLinear;
  args.spec.coordinates = ResizeSpec::Coordinates::kAlignCorners;
  args.input = input.image();
  args.output = output.image();
  reference::Compute(args, Range{0, 3});
  EXPECT_EQ(output.Logical(), (Floats{0, 2, 4, 4, 6, 8, 8, 10, 12}));
}

TEST(ReferenceTest, NearestResizeRepeatsPixels) {
  Numbers input({1, 1, 1, 2}, {5, kNaN});
  Numbers output({1, 1, 2, 4});
  ResizeArgs args;
  args.spec.coordinates = ResizeSpec::Coordinates::kAsymmetric;
  args.input = input.image();
  args.output = output.image();
  reference::Compute(args, Range{0, 2});
  const Floats result = output.Logical();
  EXPECT_EQ(result[0], 5);
  EXPECT_EQ(result[5], 5);
  EXPECT_TRUE(std::isnan(result[2]) && std::isnan(result[7]));
}

TEST(ReferenceTest, DepthToSpaceOrdersChannelsAsNamedAndSpaceToDepthUndoesIt) {
  Floats channels(8);
  std::iota(channels.begin(), channels.end(), 0.0f);
  Numbers deep({1, 8, 1, 1}, channels);
  Numbers wide({1, 2, 2, 2});
  Numbers back({1, 8, 1, 1});
  reference::Compute(DepthToSpaceArgs{{2, BlockOrder::kChannelsFirst, deep.image(), wide.image()}},
                     Range{0, 2});
  EXPECT_EQ(wide.Logical(), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  reference::Compute(SpaceToDepthArgs{{2, BlockOrder::kChannelsFirst, wide.image(), back.image()}},
                     Range{0, 1});
  EXPECT_EQ(back.Logical(), channels);
  reference::Compute(DepthToSpaceArgs{{2, BlockOrder::kRowsFirst, deep.image(), wide.image()}},
                     Range{0, 2});
  EXPECT_EQ(wide.Logical(), (Floats{0, 2, 4, 6, 1, 3, 5, 7}));
  reference::Compute(SpaceToDepthArgs{{2, BlockOrder::kRowsFirst, wide.image(), back.image()}},
                     Range{0, 1});
  EXPECT_EQ(back.Logical(), channels);
}

TEST(ReferenceTest, ScaleShiftTakesTheChannelThatTheOrderNames) {
  Numbers input({1, 2, 1, 1}, {10, 20});
  Numbers output({1, 2, 1, 1});
  const Floats scale = {2, 3};
  const Floats shift = {0.5f, -1};
  const std::vector<int> order = {1, 0};
  ScaleShiftArgs args;
  args.scale = scale.data();
  args.shift = shift.data();
  args.channel_order = order.data();
  args.input = input.view();
  args.output = output.view();
  reference::Compute(args);
  EXPECT_EQ(output.Logical(), (Floats{40.5f, 29}));
}

TEST(ReferenceTest, BinaryRepeatsOperandsAsNumPyDoes) {
  Numbers a({2, 1}, {10, 20});
  Numbers b({3}, {1, 2, 3});
  Numbers output({2, 3});
  BinaryArgs args;
  args.kind = BinaryKind::kSubtract;
  args.a = a.view();
  args.b = b.view();
  args.output = output.view();
  reference::Compute(args);
  EXPECT_EQ(output.Logical(), (Floats{9, 8, 7, 19, 18, 17}));
}

TEST(ReferenceTest, CopyInLogicalOrderReshapesAMap) {
  Numbers map({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  Numbers flat({3, 2});
  reference::Compute(CopyArgs{map.view(), flat.view(), /*in_logical_order=*/true});
  EXPECT_EQ(flat.Logical(), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(ReferenceTest, PadReflectsRepeatsAndFills) {
  Numbers input({3}, {1, 2, 3});
  Numbers output({9});
  PadArgs args;
  args.begins = {3};
  args.value = 9;
  args.input = input.view();
  args.output = output.view();
  reference::Compute(args);
  EXPECT_EQ(output.Logical(), (Floats{9, 9, 9, 1, 2, 3, 9, 9, 9}));
  args.mode = PadMode::kEdge;
  reference::Compute(args);
  EXPECT_EQ(output.Logical(), (Floats{1, 1, 1, 1, 2, 3, 3, 3, 3}));
  args.mode = PadMode::kReflect;
  reference::Compute(args);
  EXPECT_EQ(output.Logical(), (Floats{2, 3, 2, 1, 2, 3, 2, 1, 2}));
}

TEST(ReferenceTest, GatherTakesTheNamedEntries) {
  Numbers input({2, 3}, {1, 2, 3, 4, 5, 6});
  Numbers output({2, 2});
  const std::vector<int64_t> indices = {2, 0};
  reference::Compute(GatherArgs{1, indices.data(), input.view(), output.view()});
  EXPECT_EQ(output.Logical(), (Floats{3, 1, 6, 4}));
}

TEST(ReferenceTest, ProductsAreTheTextbooksSums) {
  Numbers a({2, 3}, {1, 2, 3, 4, 5, 6});
  Numbers b({3, 2}, {1, 0, 0, 1, 2, 2});
  Numbers output({2, 2});
  reference::Compute(MatMulArgs{a.view(), b.view(), output.view()});
  EXPECT_EQ(output.Logical(), (Floats{7, 8, 16, 17}));

  const Floats weights = {1, 0, 2, 0, 1, 2};  // the transpose of b
  const Floats bias = {1, -20};
  LinearArgs linear;
  linear.weights = weights.data();
  linear.bias = bias.data();
  linear.activation.kind = Function::Kind::kRelu;
  linear.input = a.view();
  linear.output = output.view();
  reference::Compute(linear);
  EXPECT_EQ(output.Logical(), (Floats{8, 0, 17, 0}));
}

TEST(ReferenceTest, SumsUseSixteenLanesCombinedInHalves) {
  // Lane 0 gets 1e8, 1 and -1e8 in that order, and loses the 1.
  Numbers input({33});
  input.At(0) = 1e8f;
  input.At(16) = 1.0f;
  input.At(32) = -1e8f;
  input.At(1) = 3.0f;
  Numbers output({1});
  reference::Compute(ReduceArgs{ReduceKind::kSum, {true}, input.view(), output.view()});
  EXPECT_EQ(output.At(0), 3.0f);
  // In lanes 0, 8 and 4: (1e8 + -1e8) + 1 keeps it.
  input.At(16) = input.At(32) = 0.0f;
  input.At(8) = -1e8f;
  input.At(4) = 1.0f;
  reference::Compute(ReduceArgs{ReduceKind::kSum, {true}, input.view(), output.view()});
  EXPECT_EQ(output.At(0), 4.0f);
}

TEST(ReferenceTest, ReductionsAreRightForEveryKindAndKeepNaN) {
  Numbers input({2, 3}, {1, -2, 4, 8, kNaN, 5});
  Numbers output({2, 1});
  const auto reduce = [&](ReduceKind kind) {
    reference::Compute(ReduceArgs{kind, {false, true}, input.view(), output.view()});
    EXPECT_TRUE(std::isnan(output.At(1)));
    return output.At(0);
  };
  EXPECT_EQ(reduce(ReduceKind::kMean), 1.0f);
  EXPECT_EQ(reduce(ReduceKind::kSum), 3.0f);
  EXPECT_EQ(reduce(ReduceKind::kMax), 4.0f);
  EXPECT_EQ(reduce(ReduceKind::kMin), -2.0f);
}

TEST(ReferenceTest, NormsMatchTheFormulaInDouble) {
  const unsigned seed = 9;
  std::mt19937 random(seed);
  Numbers input({2, 6, 4, 5});
  input.Randomise(random);
  Numbers output({2, 6, 4, 5});
  const Floats scale = {1, 2, 3, 4, 5, 6};
  const Floats shift = {6, 5, 4, 3, 2, 1};
  const auto norm = [&](const std::vector<int64_t>& members, int64_t index) {
    double mean = 0, variance = 0;
    for (const int64_t i : members) mean += input.At(i);
    mean /= static_cast<double>(members.size());
    for (const int64_t i : members) variance += std::pow(input.At(i) - mean, 2);
    variance /= static_cast<double>(members.size());
    return (input.At(index) - mean) / std::sqrt(variance + 1e-5);
  };

  GroupNormArgs group;
  group.groups = 2;
  group.scale = scale.data();
  group.shift = shift.data();
  group.input = input.view();
  group.output = output.view();
  reference::Compute(group);
  for (int64_t i = 0; i < 240; ++i) {
    std::vector<int64_t> members(60);
    std::iota(members.begin(), members.end(), i / 60 * 60);
    const auto channel = static_cast<size_t>(i / 20 % 6);
    ASSERT_NEAR(output.At(i), norm(members, i) * scale[channel] + shift[channel], 1e-5)
        << "seed " << seed;
  }

  LayerNormArgs layer;
  layer.scale = scale.data();
  layer.shift = shift.data();
  layer.input = input.view();
  layer.output = output.view();
  reference::Compute(layer);
  for (int64_t i = 0; i < 240; ++i) {
    std::vector<int64_t> members;
    for (int64_t c = 0; c < 6; ++c) members.push_back(i / 120 * 120 + c * 20 + i % 20);
    const auto channel = static_cast<size_t>(i / 20 % 6);
    ASSERT_NEAR(output.At(i), norm(members, i) * scale[channel] + shift[channel], 1e-5)
        << "seed " << seed;
  }
}

TEST(ReferenceTest, SoftmaxMatchesTheFormulaInDouble) {
  Numbers input({1, 3}, {1000, 1001, 999.5f});
  Numbers output({1, 3});
  const double sum = std::exp(-1.0) + 1 + std::exp(-1.5);
  SoftmaxArgs args;
  args.input = input.view();
  args.output = output.view();
  reference::Compute(args);
  EXPECT_NEAR(output.At(0), std::exp(-1.0) / sum, 1e-7);
  EXPECT_NEAR(output.At(1), 1 / sum, 1e-7);
  args.logarithm = true;
  reference::Compute(args);
  EXPECT_NEAR(output.At(2), -1.5 - std::log(sum), 1e-6);
}

TEST(ReferenceTest, ArgMaxNamesTheFirstOfEqualsAndTheFirstNaN) {
  Numbers input({4, 4}, {1, 3, 3, 2,                              //
                         1, kNaN, 9, kNaN,                        //
                         -kInfinity, -kInfinity, -1e30f, -2e30f,  //
                         -0.0f, 0.0f, -1, -2});
  Numbers output({4, 1});
  reference::Compute(ArgMaxArgs{1, input.view(), output.view()});
  EXPECT_EQ(output.Logical(), (Floats{1, 1, 2, 0}));
}

TEST(ReferenceTest, DecodedBoxesAreYolosInItsOrder) {
  // Two anchors, one class, a head of one row and two columns.
  Numbers head({1, 12, 1, 2});
  for (int64_t i = 0; i < 24; ++i) head.At(i) = 0.5f;
  head.At(2 * 11 + 1) = 0.25f;  // class score of anchor 1 at column 1
  const Floats anchors = {10, 20, 30, 40};
  const DetectionHead heads[] = {{head.image(), 8, anchors.data(), 2}};
  Numbers output({4, 6});
  reference::Compute(DecodeBoxesArgs{heads, 1, /*apply_sigmoid=*/false, output.view()});
  const Floats expected = {4,  4, 10, 20, 0.5f, 0.5f,  //
                           12, 4, 10, 20, 0.5f, 0.5f,  //
                           4,  4, 30, 40, 0.5f, 0.5f,  //
                           12, 4, 30, 40, 0.5f, 0.25f};
  EXPECT_EQ(output.Logical(), expected);
}

TEST(ReferenceTest, SuppressionKeepsTheBestOfOverlappingBoxesOfAClass) {
  Numbers boxes({5, 7}, {10, 10, 4, 4, 0.5f,  1,     0,     //
                         10, 10, 4, 4, 1,     0.75f, 0.5f,  // the better twin of the first
                         10, 10, 4, 4, 1,     0,     0.5f,  // another class
                         30, 30, 4, 4, 1,     0.5f,  0,     // elsewhere, as good as the first
                         50, 50, 4, 4, 0.25f, 0.5f,  0});   // not good enough
  Numbers output({4, 6});
  std::vector<NonMaxSuppressionArgs::Candidate> scratch(5);
  NonMaxSuppressionArgs args;
  args.score_threshold = 0.25f;
  args.overlap_threshold = 0.5f;
  args.scratch = scratch.data();
  args.input = boxes.view();
  args.output = output.view();
  reference::Compute(args);
  const Floats expected = {8,  8,  12, 12, 0.75f, 0,  //
                           8,  8,  12, 12, 0.5f,  1,  //
                           28, 28, 32, 32, 0.5f,  0,  //
                           0,  0,  0,  0,  0,     0};
  EXPECT_EQ(output.Logical(), expected);
}

}  // namespace
}  // namespace cacheinf
