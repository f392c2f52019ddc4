#include "sparse_ops/cpu/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/winograd.h"
#include "tests/sparse_ops/case_memory.h"

namespace cacheinf {
namespace {

constexpr double kUnit = 0x1p-24;  // of rounding

int Between(int low, int high, std::mt19937& random) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

// A map of random numbers, with gaps, in separate memory.
struct RandomMap {
  CaseMemory memory;
  ImageView view;

  RandomMap(int batch, int height, int width, int channels, std::mt19937& random)
      : memory(random(), CaseOptions()),
        view(AsImage(memory.InPlaceMap({batch, channels, height, width}))) {}
};

// A 3x3 convolution drawn at random.
struct RandomConv {
  int groups;
  int in_channels;
  int out_channels;
  RandomMap input;
  RandomMap residual;
  ConvArgs args;
  std::string description;

  explicit RandomConv(std::mt19937& random)
      : groups(Between(0, 3, random) == 0 ? Between(2, 3, random) : 1),
        in_channels(groups * Between(1, 70, random)),
        out_channels(groups * Between(1, 70, random)),
        input(Between(1, 2, random), Between(1, 22, random), Between(1, 22, random), in_channels,
              random),
        residual(1, 1, 1, 1, random) {
    args.spec.groups = groups;
    args.spec.rows = {3, 1, Between(input.view.height == 1 ? 1 : 0, 2, random), 1, 1};
    args.spec.columns = {3, 1, Between(input.view.width == 1 ? 1 : 0, 2, random), 1, 1};
    args.input = input.view;
    residual = MapLikeOutput(random);
    args.output = residual.view;
    args.weights = input.memory.Floats(int64_t{out_channels} * in_channels / groups * 9);
    if (Between(0, 3, random) != 0) args.bias = input.memory.Floats(out_channels);
    if (Between(0, 1, random) != 0) args.residual = residual.view;
    args.activation_before_residual = Between(0, 1, random) != 0;
    using Kind = Function::Kind;
    constexpr Kind kKinds[] = {Kind::kIdentity, Kind::kRelu, Kind::kSilu, Kind::kPRelu,
                               Kind::kClip};
    args.activation.function = {kKinds[Between(0, 4, random)], -0.5f, 0.5f};
    if (args.activation.function.kind == Kind::kPRelu) {
      args.activation.slopes = input.memory.Floats(out_channels);
      args.activation.one_slope = Between(0, 1, random) != 0;
    }
    std::ostringstream text;
    text << groups << " groups, channels " << in_channels << " to " << out_channels << ", map "
         << input.view.height << "x" << input.view.width << " to " << residual.view.height << "x"
         << residual.view.width << ", function " << static_cast<int>(args.activation.function.kind);
    description = text.str();
  }

  RandomMap MapLikeOutput(std::mt19937& random) const {
    return {input.view.batch, input.view.height + args.spec.rows.pad_begin - 1,
            input.view.width + args.spec.columns.pad_begin - 1, out_channels, random};
  }

  // The convolution's sums alone.
  ConvArgs WithoutEpilogue() const {
    ConvArgs plain = args;
    plain.bias = nullptr;
    plain.residual = ConstImageView();
    plain.activation = ChannelFunction();
    return plain;
  }
};

void RunWinograd(const ConvArgs& args, const ImageView& output) {
  const cpu::Winograd winograd(args);
  ThreadPool pool(1);
  std::vector<float> scratch(winograd.ScratchFloats(output, pool.threads()));
  winograd.Run(args.input, args.residual, output, Range{0, output.height}, nullptr, pool,
               scratch.data());
}

template <typename Fn>
void ForEachNumber(const ImageView& map, const Fn& fn) {
  for (int n = 0; n < map.batch; ++n) {
    for (int y = 0; y < map.height; ++y) {
      for (int x = 0; x < map.width; ++x) {
        for (int c = 0; c < map.channels; ++c) fn(n, y, x, c);
      }
    }
  }
}

// As users meet it: with many channels, whose errors partly cancel.
TEST(WinogradTest, RoundingErrorsAreAboutTwiceThoseOfTheReference) {
  std::mt19937 random(20260402);
  RandomMap input(1, 32, 32, 128, random);
  RandomMap exact_input(1, 32, 32, 128, random);
  RandomMap direct(1, 32, 32, 16, random);
  RandomMap actual(1, 32, 32, 16, random);
  ConvArgs args;
  args.spec.rows = args.spec.columns = {3, 1, 1, 1, 1};
  args.input = input.view;
  args.output = direct.view;
  args.weights = input.memory.Floats(16 * 128 * 9);
  reference::Compute(args, Range{0, 32});
  RunWinograd(args, actual.view);

  double squares_of_direct = 0.0;
  double squares = 0.0;
  double largest = 0.0;  // relative to the sum of |x w|
  ForEachNumber(actual.view, [&](int n, int y, int x, int c) {
    double sum = 0.0;
    double magnitude = 0.0;
    for (int tap = 0; tap < 9; ++tap) {
      const int row = y + tap / 3 - 1;
      const int column = x + tap % 3 - 1;
      if (row < 0 || row >= 32 || column < 0 || column >= 32) continue;
      for (int i = 0; i < 128; ++i) {
        const double product = double{args.input.Pixel(n, row, column)[i]} *
                               double{args.weights[(c * 128 + i) * 9 + tap]};
        sum += product;
        magnitude += std::fabs(product);
      }
    }
    const double error_of_direct = direct.view.Pixel(n, y, x)[c] - sum;
    const double error = actual.view.Pixel(n, y, x)[c] - sum;
    squares_of_direct += error_of_direct * error_of_direct;
    squares += error * error;
    largest = std::max(largest, std::fabs(error) / magnitude);
  });
  std::cout << "rms error " << std::sqrt(squares / squares_of_direct)
            << " times the reference's; largest " << largest / kUnit << " units of sum |x w|\n";
  EXPECT_LT(std::sqrt(squares / squares_of_direct), 2.5);
  EXPECT_LT(largest, 16 * kUnit);
}

// The epilogue as ConvArgs defines it, on sums that are right.
float Finish(const ConvArgs& args, float sum, int n, int y, int x, int c) {
  if (args.bias != nullptr) sum += args.bias[c];
  const float residual = args.residual.data == nullptr ? 0.0f : args.residual.Pixel(n, y, x)[c];
  const bool add = args.residual.data != nullptr;
  if (add && !args.activation_before_residual) sum += residual;
  Function function = args.activation.function;
  if (args.activation.slopes != nullptr) {
    function.alpha = args.activation.slopes[args.activation.one_slope ? 0 : c];
  }
  sum = Apply(function, sum);
  return add && args.activation_before_residual ? sum + residual : sum;
}

TEST(WinogradTest, TheEpilogueHasTheReferencesBits) {
  const unsigned seed = 20260403;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int i = 0; i < 40; ++i) {
    const RandomConv c(random);
    SCOPED_TRACE(c.description);
    const RandomMap sums = c.MapLikeOutput(random);
    const RandomMap actual = c.MapLikeOutput(random);
    RunWinograd(c.WithoutEpilogue(), sums.view);
    RunWinograd(c.args, actual.view);
    ForEachNumber(actual.view, [&](int n, int y, int x, int channel) {
      ASSERT_EQ(actual.view.Pixel(n, y, x)[channel],
                Finish(c.args, sums.view.Pixel(n, y, x)[channel], n, y, x, channel));
    });
    if (HasFatalFailure()) return;
  }
}

TEST(WinogradTest, OnlyPlainThreeByThreeConvolutionsCanRun) {
  ConvSpec spec;
  spec.rows = spec.columns = {3, 1, 1, 1, 1};
  EXPECT_TRUE(CanBeWinograd(spec));
  spec.groups = 4;
  EXPECT_TRUE(CanBeWinograd(spec));
  for (const WindowAxis& other : {WindowAxis{1, 1, 0, 0, 1}, WindowAxis{3, 2, 1, 1, 1},
                                  WindowAxis{3, 1, 1, 1, 2}, WindowAxis{5, 1, 1, 1, 1}}) {
    ConvSpec changed = spec;
    changed.rows = other;
    EXPECT_FALSE(CanBeWinograd(changed));
    changed = spec;
    changed.columns = other;
    EXPECT_FALSE(CanBeWinograd(changed));
  }
  spec.transposed = true;
  EXPECT_FALSE(CanBeWinograd(spec));
}

}  // namespace
}  // namespace cacheinf
