#include "sparse_ops/cpu/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include "sparse_ops/reference/reference.h"
#include "sparse_ops/winograd.h"
#include "tests/sparse_ops/case_memory.h"

namespace cacheinf {
namespace {

constexpr double kUnit = 0x1p-24;  // of rounding

// A map of random numbers, with gaps, in separate memory.
struct RandomMap {
  CaseMemory memory;
  ImageView view;

  RandomMap(int batch, int height, int width, int channels, std::mt19937& random)
      : memory(random(), CaseOptions()),
        view(AsImage(memory.InPlaceMap({batch, channels, height, width}))) {}
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
