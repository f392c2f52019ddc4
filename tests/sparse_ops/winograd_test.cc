#include "sparse_ops/cpu/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/change.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/cpu_targets.h"

namespace cacheinf {
namespace {

constexpr double kUnit = 0x1p-24;  // of rounding

int Between(int low, int high, std::mt19937& random) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

// A map of random numbers, with gaps, in memory of its own.
struct RandomMap {
  CaseMemory memory;
  ImageView view;

  RandomMap(int batch, int height, int width, int channels, std::mt19937& random)
      : memory(random(), CaseOptions()),
        view(AsImage(memory.InPlaceMap({batch, channels, height, width}))) {}

  void CopyFrom(const RandomMap& other) {
    std::copy(other.memory.output.begin(), other.memory.output.end(), memory.output.begin());
  }

  bool HasBitsOf(const RandomMap& other) const {
    return Difference(memory.output, other.memory.output).empty();
  }
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

  explicit RandomConv(std::mt19937& random, Range channels = {1, 71})
      : groups(Between(0, 3, random) == 0 ? Between(2, 3, random) : 1),
        in_channels(groups * Between(channels.begin, channels.end - 1, random)),
        out_channels(groups * Between(channels.begin, channels.end - 1, random)),
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

  // The sum alone.
  ConvArgs WithoutEpilogue() const {
    ConvArgs plain = args;
    plain.bias = nullptr;
    plain.residual = ConstImageView();
    plain.activation = ChannelFunction();
    return plain;
  }
};

void RunWinograd(const ConvArgs& args, const ImageView& output, const ActivePixels& pixels,
                 const ChangeTest* test, ThreadPool& pool) {
  const cpu::Winograd winograd(args);
  std::vector<float> scratch(winograd.ScratchFloats(output, pool.threads()));
  winograd.Run(args.input, args.residual, output, pixels, test, pool, scratch.data());
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

// A matrix of the transforms, of which only the magnitudes of entries matter here.
using Matrix = std::vector<std::vector<double>>;

struct Magnitudes {
  Matrix input = Matrix(6, std::vector<double>(6));    // B^T
  Matrix weights = Matrix(6, std::vector<double>(3));  // G
  Matrix output = Matrix(4, std::vector<double>(6));   // A^T

  // By Cook and Toom, from the points.
  Magnitudes() {
    const double a = cpu::kWinogradPoints[0];
    const double b = cpu::kWinogradPoints[1];
    const std::vector<double> points = {0.0, a, -a, b, -b};
    const auto polynomial_without = [&](size_t left_out) {
      std::vector<double> coefficients = {1.0};
      for (size_t m = 0; m < points.size(); ++m) {
        if (m == left_out) continue;
        coefficients.insert(coefficients.begin(), 0.0);
        for (size_t k = 0; k + 1 < coefficients.size(); ++k) {
          coefficients[k] -= points[m] * coefficients[k + 1];
        }
      }
      return coefficients;
    };
    for (size_t i = 0; i < 6; ++i) {
      const std::vector<double> row = polynomial_without(i);
      for (size_t k = 0; k < row.size(); ++k) input[i][k] = std::fabs(row[k]);
      if (i == 5) break;
      double divisor = 1.0;
      for (size_t m = 0; m < 5; ++m) divisor *= m == i ? 1.0 : std::fabs(points[i] - points[m]);
      const double point = std::fabs(points[i]);
      for (size_t k = 0; k < 3; ++k) weights[i][k] = std::pow(point, k) / divisor;
      for (size_t k = 0; k < 4; ++k) output[k][i] = std::pow(point, k);
    }
    weights[5][2] = 1.0;
    output[3][5] = 1.0;
  }
};

// m x m^T for the square x, both magnitudes.
Matrix Sandwich(const Matrix& m, const Matrix& x) {
  Matrix result(m.size(), std::vector<double>(m.size()));
  for (size_t i = 0; i < m.size(); ++i) {
    for (size_t j = 0; j < m.size(); ++j) {
      for (size_t k = 0; k < x.size(); ++k) {
        for (size_t l = 0; l < x.size(); ++l) result[i][j] += m[i][k] * x[k][l] * m[j][l];
      }
    }
  }
  return result;
}

// What the rounding errors of one output number are proportional to at most: the algorithm with
// every number replaced by its magnitude.
class ErrorScale {
 public:
  explicit ErrorScale(const ConvArgs& args) : args_(args) {
    const int inputs = args.input.channels / args.spec.groups;
    for (int64_t pair = 0; pair < int64_t{args.output.channels} * inputs; ++pair) {
      Matrix taps(3, std::vector<double>(3));
      for (size_t i = 0; i < 9; ++i) {
        taps[i / 3][i % 3] = std::fabs(args.weights[pair * 9 + static_cast<int64_t>(i)]);
      }
      weights_.push_back(Sandwich(magnitudes_.weights, taps));
    }
  }

  // Of the 4x4 pixels of the tile at (row, column), one output channel.
  Matrix OfTile(int image, int row, int column, int channel) const {
    const int inputs = args_.input.channels / args_.spec.groups;
    const int group = channel / (args_.output.channels / args_.spec.groups);
    Matrix sums(6, std::vector<double>(6));
    for (int input = 0; input < inputs; ++input) {
      const Matrix patch =
          Sandwich(magnitudes_.input, Patch(image, row, column, group * inputs + input));
      const Matrix& weights = weights_[static_cast<size_t>(channel * inputs + input)];
      for (size_t i = 0; i < 36; ++i)
        sums[i / 6][i % 6] += patch[i / 6][i % 6] * weights[i / 6][i % 6];
    }
    return Sandwich(magnitudes_.output, sums);
  }

 private:
  Matrix Patch(int image, int row, int column, int channel) const {
    Matrix patch(6, std::vector<double>(6));
    for (int i = 0; i < 36; ++i) {
      const int y = row - args_.spec.rows.pad_begin + i / 6;
      const int x = column - args_.spec.columns.pad_begin + i % 6;
      if (y < 0 || y >= args_.input.height || x < 0 || x >= args_.input.width) continue;
      patch[static_cast<size_t>(i / 6)][static_cast<size_t>(i % 6)] =
          std::fabs(args_.input.Pixel(image, y, x)[channel]);
    }
    return patch;
  }

  ConvArgs args_;
  Magnitudes magnitudes_;
  std::vector<Matrix> weights_;
};

// Every number on the way to an output passes at most 3 + 3 roundings of the input's transform, one
// of the weight, one a channel, and 4 + 4 of the output's transform.
TEST(WinogradTest, SumsAreWithinTheRoundingBoundOfTheReference) {
  const unsigned seed = 20260401;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  ThreadPool pool(1);
  for (int i = 0; i < 12; ++i) {
    const RandomConv c(random);
    SCOPED_TRACE(c.description);
    ConvArgs args = c.WithoutEpilogue();
    RandomMap expected = c.MapLikeOutput(random);
    args.output = expected.view;
    reference::Conv(args, {0, args.output.height});
    const RandomMap actual = c.MapLikeOutput(random);
    RunWinograd(args, actual.view, Range{0, args.output.height}, nullptr, pool);

    const ErrorScale scale(args);
    const int inputs = c.in_channels / c.groups;
    const double roundings = 15.0 + inputs + 9.0 * inputs;  // the reference's among them
    const auto expect_near = [&](int image, int row, int column, int channel) {
      const Matrix bound = scale.OfTile(image, row, column, channel);
      for (int y = 0; y < std::min(4, args.output.height - row); ++y) {
        for (int x = 0; x < std::min(4, args.output.width - column); ++x) {
          ASSERT_NEAR(actual.view.Pixel(image, row + y, column + x)[channel],
                      expected.view.Pixel(image, row + y, column + x)[channel],
                      bound[static_cast<size_t>(y)][static_cast<size_t>(x)] * roundings * kUnit)
              << "image " << image << ", " << row + y << ", " << column + x << ", channel "
              << channel;
        }
      }
    };
    for (int image = 0; image < args.output.batch; ++image) {
      for (int channel = 0; channel < c.out_channels; channel += 7) {
        for (int row = 0; row < args.output.height; row += 4) {
          for (int column = 0; column < args.output.width; column += 4) {
            expect_near(image, row, column, channel);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// As a user of the kernel meets it: many channels, where errors go their own ways.
TEST(WinogradTest, RoundingErrorsAreAboutTwiceThoseOfTheReference) {
  std::mt19937 random(20260402);
  ThreadPool pool(1);
  RandomMap input(1, 32, 32, 128, random);
  RandomMap exact_input(1, 32, 32, 128, random);
  RandomMap direct(1, 32, 32, 16, random);
  RandomMap actual(1, 32, 32, 16, random);
  ConvArgs args;
  args.spec.rows = args.spec.columns = {3, 1, 1, 1, 1};
  args.input = input.view;
  args.output = direct.view;
  args.weights = input.memory.Floats(16 * 128 * 9);
  reference::Conv(args, {0, 32});
  RunWinograd(args, actual.view, Range{0, 32}, nullptr, pool);

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
  ThreadPool pool(1);
  for (int i = 0; i < 40; ++i) {
    const RandomConv c(random);
    SCOPED_TRACE(c.description);
    const RandomMap sums = c.MapLikeOutput(random);
    const RandomMap actual = c.MapLikeOutput(random);
    RunWinograd(c.WithoutEpilogue(), sums.view, Range{0, sums.view.height}, nullptr, pool);
    RunWinograd(c.args, actual.view, Range{0, actual.view.height}, nullptr, pool);
    ForEachNumber(actual.view, [&](int n, int y, int x, int channel) {
      ASSERT_EQ(actual.view.Pixel(n, y, x)[channel],
                Finish(c.args, sums.view.Pixel(n, y, x)[channel], n, y, x, channel));
    });
    if (HasFatalFailure()) return;
  }
}

TEST(WinogradTest, BitsDoNotDependOnTargetThreadsSlicesOrActivePixelsAndNoOtherPixelIsWritten) {
  const unsigned seed = 20260404;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
  for (int i = 0; i < 60; ++i) {
    const RandomConv c(random);
    SCOPED_TRACE(c.description);
    const RandomMap dense = c.MapLikeOutput(random);
    const int height = dense.view.height;
    RunWinograd(c.args, dense.view, Range{0, height}, nullptr, pools[0]);
    const RandomMap before = c.MapLikeOutput(random);
    const int first_row = Between(0, height - 1, random);
    const Range rows = {first_row, Between(first_row + 1, height, random)};
    const ActiveSet active(ActiveSet::kShapes[i % std::size(ActiveSet::kShapes)], height,
                           dense.view.width, rows, random);
    RandomMap expected = c.MapLikeOutput(random);
    expected.CopyFrom(before);
    for (int n = 0; n < dense.view.batch; ++n) {
      for (const PixelRun& run : active.runs()) {
        for (int x = run.begin; x < run.end; ++x) {
          std::copy_n(dense.view.Pixel(n, run.row, x), c.out_channels,
                      expected.view.Pixel(n, run.row, x));
        }
      }
    }
    ForEachCpuTarget([&] {
      for (ThreadPool& pool : pools) {
        RandomMap sparse = c.MapLikeOutput(random);
        sparse.CopyFrom(before);
        RunWinograd(c.args, sparse.view, active.pixels(), nullptr, pool);
        ASSERT_EQ(Difference(sparse.memory.output, expected.memory.output), "")
            << pool.threads() << " threads, " << active.count() << " active pixels";
        RandomMap slices = c.MapLikeOutput(random);
        for (int row = 0; row < height;) {
          const int end = Between(row + 1, height, random);
          RunWinograd(c.args, slices.view, Range{row, end}, nullptr, pool);
          row = end;
        }
        ForEachNumber(dense.view, [&](int n, int y, int x, int channel) {
          ASSERT_EQ(slices.view.Pixel(n, y, x)[channel], dense.view.Pixel(n, y, x)[channel]);
        });
        if (testing::Test::HasFatalFailure()) return;
      }
    });
    if (HasFatalFailure()) return;
  }
}

// Of so many channels, threads share out the weights where there are few tiles.
TEST(WinogradTest, BitsDoNotDependOnThreadsThatShareWeights) {
  const unsigned seed = 20261121;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
  for (int i = 0; i < 8; ++i) {
    const RandomConv c(random, {130, 180});
    SCOPED_TRACE(c.description);
    const bool is_tested = c.input.view.batch == 1 && i % 2 == 0;
    const int height = c.args.output.height;
    const ActiveSet active(ActiveSet::kShapes[i % std::size(ActiveSet::kShapes)], height,
                           c.args.output.width, {0, height}, random);
    const RandomMap before = c.MapLikeOutput(random);
    std::vector<float> inverse_spread(static_cast<size_t>(c.out_channels), 0.1f);
    std::vector<uint8_t> changed[std::size(pools)];
    std::vector<RandomMap> outputs;
    outputs.reserve(std::size(pools));
    for (size_t p = 0; p < std::size(pools); ++p) {
      changed[p].resize(static_cast<size_t>(active.count()));
      const ChangeTest test = {0.05f, inverse_spread.data(), changed[p].data()};
      outputs.push_back(c.MapLikeOutput(random));
      outputs[p].CopyFrom(before);
      RunWinograd(c.args, outputs[p].view, active.pixels(), is_tested ? &test : nullptr, pools[p]);
      ASSERT_TRUE(outputs[p].HasBitsOf(outputs[0])) << pools[p].threads() << " threads";
      ASSERT_EQ(changed[p], changed[0]) << pools[p].threads() << " threads";
    }
    if (active.count() > 0 && !is_tested) {
      EXPECT_FALSE(outputs[0].HasBitsOf(before));
    }
  }
}

TEST(WinogradTest, OnlyChangedPixelsAreStoredWithAChangeTest) {
  const unsigned seed = 20260405;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  ThreadPool pools[] = {ThreadPool(1), ThreadPool(3)};
  int changes = 0;
  int pixels = 0;
  for (int i = 0; i < 30; ++i) {
    RandomConv c(random);
    if (c.input.view.batch != 1) continue;
    SCOPED_TRACE(c.description);
    const int height = c.args.output.height;
    const ActiveSet active(ActiveSet::kShapes[i % std::size(ActiveSet::kShapes)], height,
                           c.args.output.width, {0, height}, random);
    const RandomMap fresh = c.MapLikeOutput(random);
    RunWinograd(c.args, fresh.view, active.pixels(), nullptr, pools[0]);
    // Old values: the new ones but for some numbers.
    RandomMap before = c.MapLikeOutput(random);
    ForEachNumber(before.view, [&](int n, int y, int x, int channel) {
      float& number = before.view.Pixel(n, y, x)[channel];
      number = fresh.view.Pixel(n, y, x)[channel] + (random() % 40 == 0 ? 0.1f * number : 0.0f);
    });
    const std::vector<float> inverse_spread(static_cast<size_t>(c.out_channels), 1.0f);
    std::vector<uint8_t> expected_changed(static_cast<size_t>(active.count()));
    ChangeTest test = {i % 2 == 0 ? 0.0f : 0.02f, inverse_spread.data(), expected_changed.data()};
    RandomMap expected = c.MapLikeOutput(random);
    expected.CopyFrom(before);
    reference::StorePixels(fresh.view, expected.view, active.pixels(), &test);
    for (ThreadPool& pool : pools) {
      RandomMap actual = c.MapLikeOutput(random);
      actual.CopyFrom(before);
      std::vector<uint8_t> changed(expected_changed.size(), 7);
      test.changed = changed.data();
      RunWinograd(c.args, actual.view, active.pixels(), &test, pool);
      ASSERT_EQ(changed, expected_changed);
      ASSERT_TRUE(actual.HasBitsOf(expected)) << pool.threads() << " threads";
    }
    pixels += active.count();
    for (const uint8_t changed : expected_changed) changes += changed;
  }
  EXPECT_GT(changes, pixels / 20);
  EXPECT_LT(changes, pixels);
}

TEST(WinogradTest, WholeTilesHoldTheRowsAndNothingForNone) {
  EXPECT_EQ(cpu::Winograd::WholeTiles({5, 6}), (Range{4, 8}));
  EXPECT_EQ(cpu::Winograd::WholeTiles({4, 8}), (Range{4, 8}));
  EXPECT_EQ(cpu::Winograd::WholeTiles({3, 9}), (Range{0, 12}));
  EXPECT_TRUE(cpu::Winograd::WholeTiles({3, 3}).empty());
}

TEST(WinogradTest, OnlyPlainThreeByThreeConvolutionsCanRun) {
  ConvSpec spec;
  spec.rows = spec.columns = {3, 1, 1, 1, 1};
  EXPECT_TRUE(cpu::Winograd::CanRun(spec));
  spec.groups = 4;
  EXPECT_TRUE(cpu::Winograd::CanRun(spec));
  for (const WindowAxis& other : {WindowAxis{1, 1, 0, 0, 1}, WindowAxis{3, 2, 1, 1, 1},
                                  WindowAxis{3, 1, 1, 1, 2}, WindowAxis{5, 1, 1, 1, 1}}) {
    ConvSpec changed = spec;
    changed.rows = other;
    EXPECT_FALSE(cpu::Winograd::CanRun(changed));
    changed = spec;
    changed.columns = other;
    EXPECT_FALSE(cpu::Winograd::CanRun(changed));
  }
  spec.transposed = true;
  EXPECT_FALSE(cpu::Winograd::CanRun(spec));
}

}  // namespace
}  // namespace cacheinf
