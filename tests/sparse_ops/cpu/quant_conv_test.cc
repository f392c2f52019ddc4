#include "sparse_ops/cpu/quant_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/cpu/random_words.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

constexpr int kConvolutions = 400;

// A convolution of any kind that networks of 8 bits have.
class RandomConv {
 public:
  explicit RandomConv(uint32_t seed) : dice_(seed) {
    SetGeometry();
    SetWeights();
    SetEpilogue();
  }

  QuantConvArgs args;
  Dice& dice() { return dice_; }
  WordMap& output() { return maps_.back(); }

 private:
  WindowAxis Axis() {
    WindowAxis axis;
    axis.kernel = dice_.OneIn(2) ? 3 : dice_.Within(1, 6);
    axis.stride = dice_.OneIn(2) ? 1 : dice_.Within(1, 3);
    axis.dilation = dice_.OneIn(4) ? 2 : 1;
    axis.pad_begin = dice_.OneIn(3) ? 0 : dice_.Within(-1, axis.kernel);
    axis.pad_end = dice_.OneIn(3) ? 0 : dice_.Within(-1, axis.kernel);
    return axis;
  }
  static int OutSize(const WindowAxis& axis, int size) {
    const int past = size + axis.pad_begin + axis.pad_end - (axis.kernel - 1) * axis.dilation - 1;
    return past < 0 ? 0 : past / axis.stride + 1;
  }
  void SetGeometry() {
    ConvSpec& spec = args.spec;
    const bool is_depthwise = dice_.OneIn(4);
    int height = 0;
    int width = 0;
    do {
      spec.rows = Axis();
      spec.columns = Axis();
      if (is_depthwise && dice_.OneIn(2)) {  // as most are
        spec.rows.kernel = spec.columns.kernel = dice_.OneIn(2) ? 3 : 5;
        spec.rows.dilation = spec.columns.dilation = 1;
      }
      height = dice_.Within(1, 12);
      width = dice_.Within(1, 70);
    } while (OutSize(spec.rows, height) == 0 || OutSize(spec.columns, width) == 0);
    if (is_depthwise) {
      spec.groups = args.in_channels = args.out_channels = dice_.Within(1, 150);
    } else {
      spec.groups = dice_.OneIn(4) ? dice_.Within(2, 3) : 1;
      args.in_channels = spec.groups * dice_.Within(2, dice_.OneIn(2) ? 8 : 40);
      args.out_channels = spec.groups * dice_.Within(1, dice_.OneIn(3) ? 140 : 34);
    }
    const int batch = dice_.OneIn(3) ? 2 : 1;
    args.input_steps = dice_.SomeSteps(0.02f);
    maps_.reserve(3);
    maps_.emplace_back(batch, height, width, WordCount(args.in_channels), dice_);
    args.input = maps_[0].view;
    FillSpares(maps_[0].view, args.in_channels, args.input_steps.zero_point);
  }

  void SetWeights() {
    const int group_inputs = args.in_channels / args.spec.groups;
    const int area = args.spec.rows.kernel * args.spec.columns.kernel;
    weights_.resize(static_cast<size_t>(args.out_channels) * WordCount(group_inputs) * area);
    for (float& word : weights_) word = dice_.SomeWord();
    args.weights = weights_.data();
    const bool has_zeros = dice_.OneIn(4);
    // Sums grow with the root of what they have.
    const float usual = 1.0f / (70.0f * 70.0f * std::sqrt(static_cast<float>(group_inputs * area)));
    const float most = dice_.OneIn(8) ? 3.0f : 40.0f * usual;
    for (int c = 0; c < args.out_channels; ++c) {
      bias_.push_back(dice_.Within(-20000, 20000));
      zeros_.push_back(has_zeros ? dice_.Within(-128, 127) : 0);
      scales_.push_back(dice_.Uniform(0.2f, 1.0f) * most);
    }
    if (!dice_.OneIn(5)) args.bias = bias_.data();
    if (has_zeros) args.weight_zeros = zeros_.data();
    args.scales = scales_.data();
  }

  void SetEpilogue() {
    args.steps = dice_.SomeSteps(1.0f);
    args.low = args.steps.low();
    args.high = args.steps.high();
    const bool has_residual = dice_.OneIn(3);
    static constexpr Function::Kind kKinds[] = {Function::Kind::kIdentity, Function::Kind::kRelu,
                                                Function::Kind::kSilu};
    args.rounds_sums = !dice_.OneIn(3);
    if (args.rounds_sums) {
      SetRounding(has_residual);
    } else {
      args.gives_floats = dice_.OneIn(2);
      args.activation_before_residual = dice_.OneIn(2);
    }
    if (has_residual || !args.rounds_sums) args.activation.kind = kKinds[dice_.Below(3)];
    const int batch = args.input.batch;
    const int height = OutSize(args.spec.rows, args.input.height);
    const int width = OutSize(args.spec.columns, args.input.width);
    if (has_residual) {
      args.is_residual_float = dice_.OneIn(4);
      args.residual_steps = dice_.SomeSteps(1.0f);
      const int words = args.is_residual_float ? args.out_channels : WordCount(args.out_channels);
      maps_.emplace_back(batch, height, width, words, dice_);
      for (float& number : maps_.back().memory) {
        if (args.is_residual_float) number = dice_.Uniform(-100.0f, 100.0f);
      }
      args.residual = maps_.back().view;
    }
    const int words = args.gives_floats ? args.out_channels : WordCount(args.out_channels);
    maps_.emplace_back(batch, height, width, words, dice_);
    args.output = maps_.back().view;
  }

  void SetRounding(bool has_residual) {
    args.sum_steps = dice_.SomeSteps(1.0f);
    args.low = dice_.OneIn(2) ? args.sum_steps.low() : args.sum_steps.zero_point;
    args.high =
        dice_.OneIn(3) ? dice_.Within(args.low, args.sum_steps.high()) : args.sum_steps.high();
    if (dice_.OneIn(2)) {
      args.table_steps = dice_.SomeSteps(1.0f);
      for (int i = 0; i < cpu::QuantEpilogue::kNumbers; ++i) {
        table_.push_back(dice_.Within(args.table_steps.low(), args.table_steps.high()));
      }
      args.table = table_.data();
    }
    if (has_residual) return;
    args.steps = args.rounded_steps();
    args.gives_floats = dice_.OneIn(5);
  }

  Dice dice_;
  std::vector<WordMap> maps_;
  std::vector<float> weights_;
  std::vector<int> bias_;
  std::vector<int> zeros_;
  std::vector<float> scales_;
  std::vector<int> table_;
};

class QuantConvTest : public testing::Test {
 protected:
  // Calls check(random, conv) for random convolutions, by every way to compute them.
  void ForEach(const auto& check) {
    ForEachCpuTarget([&] {
      for (const cpu::QuantKernels* way : cpu::ChooseQuantFamily().ways) {
        SCOPED_TRACE(way->name);
        int computed = 0;
        for (uint32_t seed = 0; seed < kConvolutions && !HasFailure(); ++seed) {
          SCOPED_TRACE(testing::Message() << "seed " << seed);
          RandomConv random(seed);
          ASSERT_TRUE(cpu::QuantConv::Takes(random.args));
          if (random.args.weight_zeros != nullptr && !way->has_wide_weights) continue;
          check(random, cpu::QuantConv(random.args, {{way}}));
          ++computed;
        }
        EXPECT_GT(computed, kConvolutions / 2);
      }
    });
  }

  ThreadPool one_{1};
  ThreadPool three_{3};
};

TEST_F(QuantConvTest, HasTheBitsOfTheReferenceAndWritesNothingElse) {
  ForEach([&](RandomConv& random, const cpu::QuantConv& conv) {
    const QuantConvArgs& args = random.args;
    const std::vector<float> before = random.output().memory;
    const auto compare = [&](const ActivePixels& pixels) {
      random.output().memory = before;
      reference::Compute(args, pixels);
      const std::vector<float> expected = random.output().memory;
      for (ThreadPool* pool : {&one_, &three_}) {
        std::copy(before.begin(), before.end(), random.output().memory.begin());
        conv.Run(args, pixels, nullptr, *pool);
        ASSERT_EQ(FirstOther(random.output().memory, expected), -1) << pool->threads();
      }
    };
    compare(Range{0, args.output.height});
    const SomePixels some(args.output.height, args.output.width, random.dice());
    compare(some.rows);
    compare(some.Active());
  });
}

TEST_F(QuantConvTest, FindsTheChangesAmongActivePixels) {
  ForEach([&](RandomConv& random, const cpu::QuantConv& conv) {
    const QuantConvArgs& args = random.args;
    if (args.output.batch != 1) return;
    reference::Compute(args, Range{0, args.output.height});
    std::vector<float>& memory = random.output().memory;
    const std::vector<float> expected = memory;
    const SomePixels some(args.output.height, args.output.width, random.dice());
    for (ThreadPool* pool : {&one_, &three_}) {
      std::vector<uint8_t> wanted;
      for (const PixelRun& run : some.runs) {
        for (int x = run.begin; x < run.end; ++x) {
          const bool differs = random.dice().OneIn(3);
          wanted.push_back(differs);
          if (!differs) continue;
          float* const pixel = args.output.Pixel(0, run.row, x);
          const int c = random.dice().Below(args.out_channels);
          if (args.gives_floats) {
            pixel[c] += 1.0f + pixel[c] * 0.5f;
          } else {
            SetByte(pixel, c, ByteOf(pixel, c, false) ^ random.dice().Within(1, 255));
          }
        }
      }
      std::vector<uint8_t> changed(wanted.size(), 7);
      ChangeTest test;
      test.changed = changed.data();
      conv.Run(args, some.Active(), &test, *pool);
      ASSERT_EQ(changed, wanted);
      ASSERT_EQ(FirstOther(memory, expected), -1);
    }
  });
}

TEST(QuantFamilyTest, EndsWithAWayForAnyWeights) {
  ForEachCpuTarget([] {
    ASSERT_FALSE(cpu::ChooseQuantFamily().ways.empty());
    EXPECT_TRUE(cpu::ChooseQuantFamily().ways.back()->has_wide_weights);
  });
}

}  // namespace
}  // namespace cacheinf
