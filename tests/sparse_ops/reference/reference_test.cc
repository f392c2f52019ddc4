// Read this first: what the definition says beyond what other libraries do: the order of sums, NaN,
// boxes. The kernels are written apart from it and must have its bits (cpu/cases_test.cc), and
// networks must agree with LibTorch (tests/torch).

#include "sparse_ops/reference/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
  DetectionHead of_map;
  of_map.map = head.image();
  of_map.anchors = anchors.data();
  of_map.anchor_count = 2;
  Numbers output({4, 6});
  reference::Compute(DecodeBoxesArgs{&of_map, 1, /*apply_sigmoid=*/false, output.view()});
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
