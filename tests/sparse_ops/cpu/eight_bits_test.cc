#include "sparse_ops/eight_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/products.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/view_transforms.h"
#include "tests/sparse_ops/cpu/random_words.h"
#include "tests/sparse_ops/cpu/targets.h"

// Operators on 8-bit maps, except convolutions (quant_conv_test.cc).

namespace cacheinf {
namespace {

constexpr uint32_t kSeeds = 150;

// A map of floats, as a WordMap.
WordMap FloatMap(int batch, int height, int width, int channels, Dice& dice) {
  WordMap map(batch, height, width, channels, dice);
  for (float& number : map.memory) number = dice.Uniform(-4.0f, 4.0f);
  return map;
}

class CpuEightBitsTest : public testing::Test {
 protected:
  void ForEach(const auto& check) {
    ForEachCpuTarget([&] {
      for (uint32_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Dice dice(seed);
        batch_ = dice.Within(1, 2);
        height_ = dice.Within(1, 9);
        width_ = dice.Within(1, 40);
        channels_ = dice.OneIn(3) ? dice.Within(1, 600) : dice.Within(1, 40);
        check(dice);
      }
    });
  }

  WordMap Words(Dice& dice) { return {batch_, height_, width_, WordCount(channels_), dice}; }
  WordMap Floats(Dice& dice) { return FloatMap(batch_, height_, width_, channels_, dice); }

  // Computes by both, all rows and some pixels. `args.output` is a view of the map.
  void Compare(const auto& args, WordMap& output, Dice& dice) {
    const std::vector<float> before = output.memory;
    const SomePixels some(output.view.height, output.view.width, dice);
    const ActivePixels all = Range{0, output.view.height};
    for (const ActivePixels& pixels : {all, some.Active()}) {
      std::copy(before.begin(), before.end(), output.memory.begin());
      reference::Compute(args, pixels);
      const std::vector<float> expected = output.memory;
      for (ThreadPool* pool : {&one_, &three_}) {
        std::copy(before.begin(), before.end(), output.memory.begin());
        cpu::Compute(args, pixels, *pool);
        ASSERT_EQ(FirstOther(output.memory, expected), -1) << pool->threads() << " threads";
      }
    }
  }

  int batch_ = 1;
  int height_ = 1;
  int width_ = 1;
  int channels_ = 1;
  ThreadPool one_{1};
  ThreadPool three_{3};
};

TEST_F(CpuEightBitsTest, FloatsBecomeStepsAndBack) {
  ForEach([&](Dice& dice) {
    const Steps steps = dice.SomeSteps(0.02f);
    const WordMap floats = Floats(dice);
    WordMap bytes = Words(dice);
    Compare(QuantiseArgs{steps, floats.view, bytes.view}, bytes, dice);
    WordMap again = Floats(dice);
    Compare(DequantiseArgs{steps, bytes.view, again.view}, again, dice);
  });
}

TEST_F(CpuEightBitsTest, FloatsAreRoundedInPlace) {
  ForEach([&](Dice& dice) {
    std::vector<float> from(static_cast<size_t>(height_ * width_));
    for (float& number : from) number = dice.Uniform(-4.0f, 4.0f);
    std::vector<float> expected(from.size());
    std::vector<float> actual(from.size());
    const int64_t dims[] = {height_, width_};
    FakeQuantiseArgs args{dice.SomeSteps(0.02f), PackedView(from.data(), dims, 2, 1),
                          PackedView(expected.data(), dims, 2, 1)};
    reference::Compute(args);
    args.output.data = actual.data();
    cpu::Compute(args, Range{0, 1}, one_);
    ASSERT_EQ(FirstOther(actual, expected), -1);
  });
}

TEST_F(CpuEightBitsTest, TablesAndSumsAndProducts) {
  ForEach([&](Dice& dice) {
    const WordMap a = Words(dice);
    const WordMap b = Words(dice);
    WordMap output = Words(dice);
    const Steps steps = dice.SomeSteps(0.05f);
    std::vector<int> entries(256);
    for (int& entry : entries) entry = dice.Within(steps.low(), steps.high());
    Compare(TableArgs{entries.data(), channels_, steps, a.view, output.view}, output, dice);
    const BinaryKind kind = dice.OneIn(2) ? BinaryKind::kAdd : BinaryKind::kMultiply;
    const Function function = {dice.OneIn(2) ? Function::Kind::kRelu : Function::Kind::kIdentity,
                               0.0f, 0.0f};
    Compare(QuantBinaryArgs{kind, function, channels_, dice.SomeSteps(0.02f), dice.SomeSteps(0.02f),
                            steps, a.view, b.view, output.view},
            output, dice);
  });
}

TEST_F(CpuEightBitsTest, ProductsWithMatrices) {
  ForEach([&](Dice& dice) {
    const int rows = dice.OneIn(2) ? 1 : height_;
    const int outputs = dice.Within(1, 150);
    const int words = WordCount(channels_);
    const auto floats = [&](int count) {
      std::vector<float> numbers(static_cast<size_t>(rows * count));
      for (float& number : numbers) number = dice.Uniform(-4.0f, 4.0f);
      return numbers;
    };
    const WordMap weights(1, 1, outputs, words, dice);
    std::vector<float> scales;
    std::vector<int> bias;
    std::vector<int> zeros;
    for (int i = 0; i < outputs; ++i) {
      scales.push_back(dice.Uniform(1e-4f, 2e-3f));
      bias.push_back(dice.Within(-3000, 3000));
      zeros.push_back(dice.Within(-20, 20));
    }
    QuantLinearArgs args;
    QuantConvArgs& product = args.product;
    product.in_channels = channels_;
    product.out_channels = outputs;
    product.input_steps = dice.SomeSteps(0.02f);
    product.weights = weights.view.data;
    if (dice.OneIn(2)) product.weight_zeros = zeros.data();
    product.bias = bias.data();
    product.scales = scales.data();
    product.gives_floats = true;
    product.rounds_sums = dice.OneIn(2);
    if (product.rounds_sums) {
      product.sum_steps = dice.SomeSteps(0.05f);
      product.low = product.sum_steps.zero_point;
      product.high = product.sum_steps.high();
    } else if (dice.OneIn(2)) {
      product.activation = {Function::Kind::kSilu, 0.0f, 0.0f};
    }
    const std::vector<float> from = floats(channels_);
    std::vector<float> expected = floats(outputs);
    std::vector<float> actual = expected;
    const int64_t in[] = {rows, channels_};
    const int64_t out[] = {rows, outputs};
    std::vector<float> copy = from;
    args.input = PackedView(copy.data(), in, 2, 1);
    args.output = PackedView(expected.data(), out, 2, 1);
    reference::Compute(args);
    args.output.data = actual.data();
    const cpu::QuantLinear linear(args);
    std::vector<float> scratch(cpu::QuantLinear::ScratchFloats(args));
    for (ThreadPool* pool : {&one_, &three_}) {
      std::fill(actual.begin(), actual.end(), -1.0f);
      linear.Run(args, *pool, scratch.data());
      ASSERT_EQ(FirstOther(actual, expected), -1) << pool->threads() << " threads";
    }
  });
}

TEST_F(CpuEightBitsTest, Pools) {
  ForEach([&](Dice& dice) {
    const WordMap input = Words(dice);
    QuantPoolArgs args;
    args.spec.kind = dice.OneIn(3) ? PoolSpec::Kind::kAverage : PoolSpec::Kind::kMax;
    for (WindowAxis* axis : {&args.spec.rows, &args.spec.columns}) {
      axis->kernel = dice.OneIn(9) ? 17 : dice.Within(1, 5);
      axis->dilation = dice.Within(1, 2);
      axis->pad_begin = axis->pad_end = axis->kernel / 2 * axis->dilation;
    }
    args.channels = channels_;
    args.input_steps = args.steps = dice.SomeSteps(0.02f);
    args.input = input.view;
    const auto size = [](const WindowAxis& axis, int in) {
      return in + axis.pad_begin + axis.pad_end - (axis.kernel - 1) * axis.dilation;
    };
    WordMap output(batch_, size(args.spec.rows, height_), size(args.spec.columns, width_),
                   WordCount(channels_), dice);
    args.output = output.view;
    Compare(args, output, dice);
  });
}

}  // namespace
}  // namespace cacheinf
