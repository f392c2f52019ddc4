#include "sparse_ops/cuda/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/change.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cuda/device_copies.h"
#include "tests/sparse_ops/cuda/devices.h"

namespace cacheinf {
namespace {

using cuda::Pixels;

std::vector<float> Numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = std::uniform_real_distribution<float>(-2.0f, 2.0f)(random);
  }
  return numbers;
}

TensorView Row(std::vector<float>& numbers) {
  return {numbers.data(), 1, {static_cast<int64_t>(numbers.size())}, {1}};
}

// A map whose pixels lie end to end.
ImageView MapOf(std::vector<float>& numbers, int batch, int height, int width, int channels) {
  const int64_t row = int64_t{width} * channels;
  return {numbers.data(), batch, height, width, channels, height * row, row, channels};
}

TensorView TensorOf(const ImageView& map) {
  return {map.data,
          4,
          {map.batch, map.channels, map.height, map.width},
          {map.batch_stride, 1, map.row_stride, map.pixel_stride}};
}

Pixels AllOf(int height, int width) {
  Pixels all;
  all.most = height * width;
  return all;
}

template <class Device>
class CudaOperatorsTest : public cuda::OnDevice<Device> {};

TYPED_TEST_SUITE(CudaOperatorsTest, cuda::Devices);

// The table of cases has every operator in every form; this has numbers of any bits.
TYPED_TEST(CudaOperatorsTest, EveryFunctionAndBinaryHasTheReferencesBitsOnAnyBits) {
  auto [a, b] = AnyOperands(20261401);
  std::vector<float> expected(a.size());
  std::vector<float> actual(a.size());
  auto& device = this->device();
  for (int kind = 0; kind < Function::kKinds; ++kind) {
    const Function function = {static_cast<Function::Kind>(kind), 0.3f, 0.7f};
    for (size_t i = 0; i < a.size(); ++i) expected[i] = Apply(function, a[i]);
    DeviceCopies copies(device);
    ActivationArgs args = {{function}, copies.Of(Row(a)), copies.Of(Row(actual))};
    if (function.kind == Function::Kind::kPRelu) {
      args.activation.slopes = copies.Of(&function.alpha, 1);
      args.activation.one_slope = true;
    }
    copies.ToDevice();
    cuda::Compute(device, copies.stream(), args, {});
    copies.ToHost();
    EXPECT_EQ(Difference(actual, expected), "") << "function " << kind;
  }
  for (int kind = 0; kind < kBinaryKinds; ++kind) {
    BinaryArgs args = {static_cast<BinaryKind>(kind), {}, Row(a), Row(b), Row(expected)};
    reference::Compute(args);
    DeviceCopies copies(device);
    args.a = copies.Of(args.a);
    args.b = copies.Of(args.b);
    args.output = copies.Of(Row(actual));
    copies.ToDevice();
    cuda::Compute(device, copies.stream(), args, {});
    copies.ToHost();
    EXPECT_EQ(Difference(actual, expected), "") << "binary " << kind;
  }
}

TYPED_TEST(CudaOperatorsTest, PiecesOfAConcatenationGoWhereTheyBelongAndNowhereElse) {
  constexpr int kChannels = 5;
  std::vector<float> piece = Numbers(size_t{2} * 3 * 4 * kChannels, 1);
  const ImageView piece_map = MapOf(piece, 2, 3, 4, kChannels);
  std::vector<float> before = Numbers(size_t{2} * 7 * 4 * kChannels, 2);
  std::vector<int> list = {0, 8, 9, 14, 19, 20, 27};  // rows 2 to 4 are pixels 8 to 19
  auto& device = this->device();
  for (const bool is_sparse : {false, true}) {
    std::vector<float> actual = before;
    std::vector<float> expected = before;
    const ImageView whole = MapOf(expected, 2, 7, 4, kChannels);
    for (int n = 0; n < 2; ++n) {
      for (int pixel = 8; pixel < 20; ++pixel) {
        if (is_sparse && std::count(list.begin(), list.end(), pixel) == 0) continue;
        std::copy_n(piece_map.Pixel(n, pixel / 4 - 2, pixel % 4), kChannels,
                    whole.Pixel(n, pixel / 4, pixel % 4));
      }
    }
    DeviceCopies copies(device);
    Pixels pixels = AllOf(7, 4);
    if (is_sparse) pixels = {copies.Of(list), nullptr, 0, static_cast<int>(list.size())};
    const TensorView to = copies.Of(TensorOf(MapOf(actual, 2, 7, 4, kChannels)));
    const TensorView from = copies.Of(TensorOf(piece_map));
    copies.ToDevice();
    cuda::CopyPiece(device, copies.stream(), from, 2, 2, to, pixels);
    copies.ToHost();
    EXPECT_EQ(Difference(actual, expected), "") << is_sparse;
  }
}

TYPED_TEST(CudaOperatorsTest, AMapIsShiftedInPlace) {
  constexpr int kBatch = 2;
  constexpr int kHeight = 5;
  constexpr int kWidth = 6;
  constexpr int kChannels = 3;
  std::vector<float> before = Numbers(size_t{kBatch} * kHeight * kWidth * kChannels, 3);
  const ImageView old = MapOf(before, kBatch, kHeight, kWidth, kChannels);
  auto& device = this->device();
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{
           {0, 0}, {1, 0}, {-2, 0}, {0, 1}, {0, -1}, {2, -3}, {-1, 4}, {5, 0}, {-4, -5}}) {
    std::vector<float> actual = before;
    DeviceCopies copies(device);
    const TensorView map = copies.Of(TensorOf(MapOf(actual, kBatch, kHeight, kWidth, kChannels)));
    float* const scratch = copies.template Garbage<float>(int64_t{kHeight} * kWidth * kChannels);
    copies.ToDevice();
    cuda::Shift(device, copies.stream(), map, rows, columns, scratch);
    copies.ToHost();
    const ImageView shifted = MapOf(actual, kBatch, kHeight, kWidth, kChannels);
    for (int n = 0; n < kBatch; ++n) {
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          const int from_y = y + rows;
          const int from_x = x + columns;
          if (from_y < 0 || from_y >= kHeight || from_x < 0 || from_x >= kWidth) continue;
          EXPECT_TRUE(std::equal(shifted.Pixel(n, y, x), shifted.Pixel(n, y, x) + kChannels,
                                 old.Pixel(n, from_y, from_x)))
              << rows << " rows, " << columns << " columns at " << y << ", " << x;
        }
      }
    }
  }
}

TYPED_TEST(CudaOperatorsTest, ListedPixelsAreGatheredEndToEndAndScatteredBack) {
  constexpr int kChannels = 7;
  std::vector<float> numbers = Numbers(size_t{2} * 4 * 5 * kChannels, 4);
  const ImageView map = MapOf(numbers, 2, 4, 5, kChannels);
  std::vector<int> list = {1, 2, 9, 13, 19, 0};
  int count = 5;  // of the list
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < count; ++i) {
      const float* const pixel = map.Pixel(n, list[i] / 5, list[i] % 5);
      expected.insert(expected.end(), pixel, pixel + kChannels);
    }
  }
  auto& device = this->device();
  std::vector<float> packed(expected.size());
  std::vector<float> scattered(numbers.size(), 0.5f);
  DeviceCopies copies(device);
  const Pixels pixels = {copies.Of(list), copies.Of(&count, 1), 0, static_cast<int>(list.size())};
  const ImageView from = copies.Of(map);
  const ImageView to = copies.Of(MapOf(scattered, 2, 4, 5, kChannels));
  float* const between = copies.Of(packed);
  copies.ToDevice();
  cuda::GatherPixels(device, copies.stream(), ConstImageView(from), pixels, between);
  cuda::ScatterPixels(device, copies.stream(), between, pixels, to);
  copies.ToHost();
  EXPECT_EQ(Difference(packed, expected), "");
  const ImageView back = MapOf(scattered, 2, 4, 5, kChannels);
  for (int n = 0; n < 2; ++n) {
    for (int pixel = 0; pixel < 20; ++pixel) {
      const bool is_listed = std::count(list.begin(), list.begin() + count, pixel) != 0;
      for (int c = 0; c < kChannels; ++c) {
        EXPECT_EQ(back.Pixel(n, pixel / 5, pixel % 5)[c],
                  is_listed ? map.Pixel(n, pixel / 5, pixel % 5)[c] : 0.5f);
      }
    }
  }
}

TYPED_TEST(CudaOperatorsTest, SettlingStoresWhatIsUntestedAndForcedAndLeavesTheBitsOfWhatChanged) {
  constexpr int kHeight = 6;
  constexpr int kWidth = 70;
  std::mt19937 random(20261402);
  for (const int channels : {1, 16, 37}) {
    for (const float threshold : {0.0f, 0.3f}) {
      const size_t count = size_t{kHeight} * kWidth * static_cast<size_t>(channels);
      std::vector<float> stored = Numbers(count, 5);
      std::vector<float> fresh = stored;
      for (float& number : fresh) {
        if (random() % static_cast<unsigned>(2 * channels) == 0) number += 1.0f;
      }
      std::vector<float> inverse_spread = Numbers(static_cast<size_t>(channels), 6);
      Mask active(kHeight, kWidth);
      Mask untested(kHeight, kWidth);
      Mask forced(kHeight, kWidth);
      std::vector<int> list;
      for (int pixel = 0; pixel < kHeight * kWidth; ++pixel) {
        const int y = pixel / kWidth;
        const int x = pixel % kWidth;
        if (random() % 4 == 0) untested.view().Set(y, x);
        if (random() % 4 == 0) forced.view().Set(y, x);
        if (random() % 3 == 0) continue;
        active.view().Set(y, x);
        list.push_back(pixel);
      }
      std::vector<float> expected = stored;
      Mask expected_active = active;
      const ImageView fresh_map = MapOf(fresh, 1, kHeight, kWidth, channels);
      const ImageView stored_map = MapOf(stored, 1, kHeight, kWidth, channels);
      const ImageView expected_map = MapOf(expected, 1, kHeight, kWidth, channels);
      int changes = 0;
      for (const int pixel : list) {
        const int y = pixel / kWidth;
        const int x = pixel % kWidth;
        const bool is_change =
            reference::IsChange({threshold, inverse_spread.data(), nullptr}, channels,
                                fresh_map.Pixel(0, y, x), stored_map.Pixel(0, y, x));
        const bool stays = untested.view().Test(y, x) || is_change;
        changes += is_change ? 1 : 0;
        if (!stays) expected_active.view().Clear(y, x);
        if (stays || forced.view().Test(y, x)) {
          std::copy_n(fresh_map.Pixel(0, y, x), channels, expected_map.Pixel(0, y, x));
        }
      }
      ASSERT_GT(changes, 0);
      ASSERT_LT(changes, static_cast<int>(list.size()));
      auto& device = this->device();
      std::vector<float> actual = stored;
      Mask actual_active = active;
      DeviceCopies copies(device);
      cuda::SettleArgs args;
      const ConstImageView fresh_there = copies.Of(ConstImageView(fresh_map));
      const ImageView stored_there = copies.Of(MapOf(actual, 1, kHeight, kWidth, channels));
      args.threshold = threshold;
      args.inverse_spread = copies.Of(inverse_spread);
      args.active = copies.Of(actual_active.view());
      args.untested = copies.Of(untested.view());
      args.forced = copies.Of(forced.view());
      const Pixels pixels = {copies.Of(list), nullptr, 0, static_cast<int>(list.size())};
      copies.ToDevice();
      cuda::Settle(device, copies.stream(), fresh_there, stored_there, args, pixels);
      copies.ToHost();
      EXPECT_EQ(Difference(actual, expected), "") << channels << ", " << threshold;
      EXPECT_TRUE(AreEqual(actual_active, expected_active)) << channels << ", " << threshold;
    }
  }
}

// More rows than a block holds at once, so that the outer axes go step by step.
TYPED_TEST(CudaOperatorsTest, GroupsOfManyRowsHaveTheReferencesBits) {
  std::vector<float> numbers = Numbers(size_t{3} * 37 * 71 * 5, 7);
  const TensorView input = {numbers.data(), 5, {1, 3, 37, 71, 5}, {39405, 13135, 355, 5, 1}};
  auto& device = this->device();
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<float> expected(1);
    std::vector<float> actual(1);
    ReduceArgs args;
    args.kind = static_cast<ReduceKind>(kind);
    args.reduced = {false, true, true, true, true};
    args.input = input;
    args.output = {expected.data(), 5, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    reference::Compute(args);
    DeviceCopies copies(device);
    args.input = copies.Of(args.input);
    args.output.data = copies.Of(actual);
    copies.ToDevice();
    cuda::Compute(device, copies.stream(), args, {});
    copies.ToHost();
    EXPECT_EQ(Difference(actual, expected), "") << kind;
  }
  std::vector<float> expected(numbers.size());
  std::vector<float> actual(numbers.size());
  GroupNormArgs args;
  args.input = input;
  args.output = input;
  args.output.data = expected.data();
  reference::Compute(args);
  DeviceCopies copies(device);
  args.input = copies.Of(args.input);
  args.output.data = copies.Of(actual);
  copies.ToDevice();
  cuda::Compute(device, copies.stream(), args, {});
  copies.ToHost();
  EXPECT_EQ(Difference(actual, expected), "");
}

// Outputs that are not maps, and operators that are never local.
TYPED_TEST(CudaOperatorsTest, WhereTheDeviceKnowsOfNoPixelsWhatIsComputedWholeIsLeftAlone) {
  auto& device = this->device();
  std::vector<float> numbers = Numbers(64, 8);
  std::vector<float> output(64);
  std::vector<float> anchors = {10, 20, 30, 40};
  std::vector<DetectionHead> heads(1);
  int count = 0;
  DeviceCopies copies(device);
  Pixels pixels;
  pixels.count = copies.Of(&count, 1);
  const float* const in = copies.Of(numbers);
  float* const out = copies.Of(output);
  const ConstTensorView matrix = {in, 2, {8, 8}, {8, 1}};
  const ConstTensorView cube = {in, 3, {2, 4, 8}, {32, 8, 1}};
  const TensorView to_matrix = {out, 2, {8, 8}, {8, 1}};
  const TensorView to_cube = {out, 3, {2, 4, 8}, {32, 8, 1}};
  heads[0].map = {in, 1, 2, 2, 16, 64, 32, 16};
  heads[0].anchors = copies.Of(anchors);
  heads[0].anchor_count = 2;
  const DetectionHead* const heads_on_device = copies.Of(heads);
  auto* const scratch = copies.template Garbage<NonMaxSuppressionArgs::Candidate>(8);

  LinearArgs linear;
  linear.weights = in;
  linear.input = matrix;
  linear.output = to_matrix;
  LayerNormArgs layer_norm;
  layer_norm.axis_count = 2;
  layer_norm.input = cube;
  layer_norm.output = to_cube;
  GroupNormArgs group_norm;
  group_norm.groups = 2;
  group_norm.input = cube;
  group_norm.output = to_cube;
  ReduceArgs reduce;
  reduce.reduced = {true, true};
  reduce.input = cube;
  reduce.output = {out, 3, {1, 1, 8}, {8, 8, 1}};
  NonMaxSuppressionArgs suppression;
  suppression.scratch = scratch;
  suppression.input = matrix;
  suppression.output = {out, 2, {10, 6}, {6, 1}};
  const auto expect_written = [&](const char* name, const auto& args) {
    for (const int many : {0, 1}) {
      count = many;
      std::fill(output.begin(), output.end(), 0.5f);
      copies.ToDevice();
      cuda::Compute(device, copies.stream(), args, pixels);
      copies.ToHost();
      const bool is_left = output == std::vector<float>(64, 0.5f);
      EXPECT_EQ(is_left, many == 0) << name;
    }
  };
  expect_written("activation", ActivationArgs{{{Function::Kind::kSilu}}, matrix, to_matrix});
  expect_written("softmax", SoftmaxArgs{1, false, matrix, to_matrix});
  expect_written("layer norm", layer_norm);
  expect_written("group norm", group_norm);
  expect_written("reduce", reduce);
  expect_written("linear", linear);
  expect_written("matrix product", MatMulArgs{matrix, matrix, to_matrix});
  expect_written("decoding", DecodeBoxesArgs{heads_on_device, 1, true, to_matrix});
  expect_written("suppression", suppression);
}

}  // namespace
}  // namespace cacheinf
