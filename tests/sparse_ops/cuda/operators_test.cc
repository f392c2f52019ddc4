#include "sparse_ops/cuda/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sparse_ops/function.h"
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
