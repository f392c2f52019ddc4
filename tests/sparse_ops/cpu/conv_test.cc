#include "sparse_ops/cpu/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <sstream>
#include <vector>

#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

// A map in memory of its own, with room between its pixels and rows that nobody may write to.
class PaddedMap {
 public:
  static constexpr float kGuard = 12345.0f;

  PaddedMap(int batch, int height, int width, int channels, int gap) {
    view_ = {nullptr, batch, height, width, channels, 0, 0, 0};
    view_.pixel_stride = channels + gap;
    view_.row_stride = width * view_.pixel_stride + gap;
    view_.batch_stride = height * view_.row_stride + gap;
    memory_.assign(static_cast<size_t>(batch * view_.batch_stride), kGuard);
    view_.data = memory_.data();
  }

  void Randomise(std::mt19937& random) {
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (int n = 0; n < view_.batch; ++n) {
      for (int y = 0; y < view_.height; ++y) {
        for (int x = 0; x < view_.width; ++x) {
          for (int c = 0; c < view_.channels; ++c) view_.Pixel(n, y, x)[c] = uniform(random);
        }
      }
    }
  }

  PaddedMap Copy() const {
    PaddedMap copy = *this;
    copy.view_.data = copy.memory_.data();
    return copy;
  }

  const ImageView& view() const { return view_; }
  bool HasBitsOf(const PaddedMap& other) const {
    return std::memcmp(memory_.data(), other.memory_.data(), memory_.size() * sizeof(float)) == 0;
  }

 private:
  std::vector<float> memory_;
  ImageView view_;
};

std::vector<float> RandomNumbers(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = uniform(random);
  return numbers;
}

int Between(int low, int high, std::mt19937& random) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

WindowAxis RandomAxis(bool transposed, std::mt19937& random) {
  WindowAxis axis;
  axis.kernel = Between(1, 4, random);
  axis.stride = Between(1, 3, random);
  axis.dilation = Between(0, 5, random) == 0 ? Between(3, 9, random) : Between(1, 2, random);
  const int reach = (axis.kernel - 1) * axis.dilation;
  axis.pad_begin = Between(transposed ? 0 : -1, reach, random);
  axis.pad_end = Between(transposed ? 0 : -1, reach, random);
  return axis;
}

int OutputSize(int size, const WindowAxis& axis, bool transposed) {
  const int reach = (axis.kernel - 1) * axis.dilation;
  if (transposed) return (size - 1) * axis.stride + reach + 1 - axis.pad_begin - axis.pad_end;
  const int room = size + axis.pad_begin + axis.pad_end - reach - 1;
  return room < 0 ? 0 : room / axis.stride + 1;
}

// Everything that one convolution needs, drawn at random.
struct RandomConv {
  ConvSpec spec;
  PaddedMap input{1, 1, 1, 1, 0};
  PaddedMap residual{1, 1, 1, 1, 0};
  PaddedMap expected{1, 1, 1, 1, 0};
  std::vector<float> weights;
  std::vector<float> bias;
  std::vector<float> slopes;
  ConvArgs args;
  std::string description;

  enum class Map { kSmall, kWideOfFewChannels };

  explicit RandomConv(std::mt19937& random, Map map = Map::kSmall) {
    const bool is_wide = map == Map::kWideOfFewChannels;
    spec.transposed = !is_wide && Between(0, 3, random) == 0;
    int height;
    int width;
    int in_height;
    int in_width;
    do {
      spec.rows = RandomAxis(spec.transposed, random);
      spec.columns = RandomAxis(spec.transposed, random);
      in_height = Between(1, 12, random);
      in_width = is_wide ? Between(30, 160, random) : Between(1, 12, random);
      height = OutputSize(in_height, spec.rows, spec.transposed);
      width = OutputSize(in_width, spec.columns, spec.transposed);
    } while (height < 1 || width < 1);
    const bool depthwise = Between(0, 3, random) == 0;
    spec.groups = depthwise ? Between(1, 150, random) : Between(1, 3, random);
    int in_channels = spec.groups * (depthwise ? 1 : Between(1, 20, random));
    int out_channels = spec.groups * (depthwise ? 1 : Between(1, 150, random));
    const int batch = Between(1, 2, random);
    int gap = Between(0, 3, random);
    if (is_wide && !depthwise) {
      constexpr int kChannels[] = {3, 8, 16, 32};
      spec.groups = 1;
      in_channels = kChannels[Between(0, 3, random)];
      out_channels = Between(1, 70, random);
      gap = Between(0, 1, random);
    }

    input = PaddedMap(batch, in_height, in_width, in_channels, gap);
    residual = PaddedMap(batch, height, width, out_channels, gap);
    expected = PaddedMap(batch, height, width, out_channels, gap);
    input.Randomise(random);
    residual.Randomise(random);
    const size_t kernel = static_cast<size_t>(spec.rows.kernel * spec.columns.kernel);
    weights = RandomNumbers(static_cast<size_t>(in_channels * out_channels / spec.groups) * kernel,
                            random);
    bias = RandomNumbers(static_cast<size_t>(out_channels), random);
    if (Between(0, 5, random) == 0) bias[0] = -0.0f;
    slopes = RandomNumbers(static_cast<size_t>(out_channels), random);

    args.spec = spec;
    if (spec.groups == 1 && Between(0, 1, random) == 0) args.precision = Precision::kBf16;
    args.input = input.view();
    args.weights = weights.data();
    if (Between(0, 3, random) != 0) args.bias = bias.data();
    if (Between(0, 1, random) != 0) args.residual = residual.view();
    args.activation_before_residual = Between(0, 1, random) != 0;
    constexpr Function::Kind kKinds[] = {Function::Kind::kIdentity, Function::Kind::kRelu,
                                         Function::Kind::kSilu, Function::Kind::kPRelu,
                                         Function::Kind::kClip};
    args.activation.function = {kKinds[Between(0, 4, random)], -0.5f, 0.5f};
    if (args.activation.function.kind == Function::Kind::kPRelu) {
      args.activation.slopes = slopes.data();
      args.activation.one_slope = Between(0, 1, random) != 0;
    }
    args.output = expected.view();
    reference::Conv(args, {0, height});

    std::ostringstream text;
    text << (spec.transposed ? "transposed " : "") << "kernel " << spec.rows.kernel << "x"
         << spec.columns.kernel << " stride " << spec.rows.stride << "x" << spec.columns.stride
         << " groups " << spec.groups << " channels " << in_channels << " to " << out_channels
         << " map " << in_height << "x" << in_width << " to " << height << "x" << width
         << (args.precision == Precision::kBf16 ? " bf16" : "") << " function "
         << static_cast<int>(args.activation.function.kind);
    description = text.str();
  }
};

// The whole output in rows cut at random.
void RunInSlices(const cpu::Conv& conv, const RandomConv& c, const ImageView& output,
                 ThreadPool& pool, std::mt19937& random) {
  std::vector<float> scratch(conv.ScratchFloats(pool.threads()));
  for (int row = 0; row < output.height;) {
    const int end = Between(row + 1, output.height, random);
    conv.Run(c.args.input, c.args.residual, output, Range{row, end}, nullptr, pool, scratch.data());
    row = end;
  }
}

// What `dense` has at the active pixels, and `before` everywhere else.
PaddedMap OnlyActive(const PaddedMap& before, const PaddedMap& dense, const ActiveSet& active) {
  PaddedMap result = before.Copy();
  const ImageView& view = result.view();
  for (const PixelRun& run : active.runs()) {
    for (int n = 0; n < view.batch; ++n) {
      for (int x = run.begin; x < run.end; ++x) {
        std::copy_n(dense.view().Pixel(n, run.row, x), view.channels, view.Pixel(n, run.row, x));
      }
    }
  }
  return result;
}

void CheckWholeMaps(RandomConv::Map map, int count, std::mt19937& random) {
  ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
  for (int i = 0; i < count; ++i) {
    const RandomConv c(random, map);
    SCOPED_TRACE(c.description);
    ForEachCpuTarget([&] {
      const cpu::Conv conv(c.args);
      for (ThreadPool& pool : pools) {
        PaddedMap output(c.args.output.batch, c.args.output.height, c.args.output.width,
                         c.args.output.channels,
                         static_cast<int>(c.args.output.pixel_stride) - c.args.output.channels);
        RunInSlices(conv, c, output.view(), pool, random);
        ASSERT_TRUE(output.HasBitsOf(c.expected)) << pool.threads() << " threads";
      }
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void CheckActivePixels(RandomConv::Map map, int count, std::mt19937& random) {
  ThreadPool pools[] = {ThreadPool(1), ThreadPool(3)};
  for (int i = 0; i < count; ++i) {
    const RandomConv c(random, map);
    SCOPED_TRACE(c.description);
    PaddedMap before = c.expected.Copy();
    before.Randomise(random);
    const int height = c.args.output.height;
    const int first_row = Between(0, height - 1, random);
    const Range rows = {first_row, Between(first_row + 1, height, random)};
    const ActiveSet active(ActiveSet::kShapes[i % std::size(ActiveSet::kShapes)], height,
                           c.args.output.width, rows, random);
    const PaddedMap expected = OnlyActive(before, c.expected, active);
    ForEachCpuTarget([&] {
      const cpu::Conv conv(c.args);
      for (ThreadPool& pool : pools) {
        std::vector<float> scratch(conv.ScratchFloats(pool.threads()));
        const PaddedMap output = before.Copy();
        conv.Run(c.args.input, c.args.residual, output.view(), active.pixels(), nullptr, pool,
                 scratch.data());
        ASSERT_TRUE(output.HasBitsOf(expected))
            << pool.threads() << " threads, " << active.count() << " active pixels";
      }
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CpuConvTest, RandomConvolutionsHaveTheReferencesBitsForAnyTargetThreadCountAndSlice) {
  const unsigned seed = 20260301;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  CheckWholeMaps(RandomConv::Map::kSmall, 80, random);
}

TEST(CpuConvTest, RandomActivePixelsHaveTheReferencesBitsAndNoOtherIsWritten) {
  const unsigned seed = 20260303;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  CheckActivePixels(RandomConv::Map::kSmall, 80, random);
}

// Rows long enough for tiles of neighbours, whose distance is known to some kernels.
TEST(CpuConvTest, WideMapsOfFewChannelsHaveTheReferencesBits) {
  const unsigned seed = 20260304;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  CheckWholeMaps(RandomConv::Map::kWideOfFewChannels, 60, random);
  CheckActivePixels(RandomConv::Map::kWideOfFewChannels, 60, random);
}

// Zeros outside the picture times infinity are NaN, as far as they may lie outside.
TEST(CpuConvTest, TapsOutsideThePictureCountWhereWeightsAreInfinite) {
  const PaddedMap input(1, 6, 6, 40, 0);
  std::vector<float> weights(size_t{33} * 40 * 9, 0.0f);
  weights[0] = HUGE_VALF;
  const std::vector<float> bias(33, 1.0f);
  ConvArgs args;
  args.spec.rows = args.spec.columns = {3, 1, 12, 12, 12};
  args.input = input.view();
  args.weights = weights.data();
  args.bias = bias.data();
  const PaddedMap output(1, 6, 6, 33, 0);
  args.output = output.view();
  ThreadPool pool(1);
  const cpu::Conv conv(args);
  std::vector<float> scratch(conv.ScratchFloats(1));
  conv.Run(args.input, {}, args.output, Range{0, 6}, nullptr, pool, scratch.data());
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 6; ++x) {
      EXPECT_TRUE(std::isnan(output.view().Pixel(0, y, x)[0])) << y << " " << x;
      EXPECT_EQ(output.view().Pixel(0, y, x)[1], 1.0f) << y << " " << x;
    }
  }
}

}  // namespace
}  // namespace cacheinf
