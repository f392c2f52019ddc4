#include "sparse_ops/cuda/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/active_set.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/case_memory.h"
#include "tests/sparse_ops/case_table.h"
#include "tests/sparse_ops/cases.h"
#include "tests/sparse_ops/cuda/devices.h"
#include "tests/sparse_ops/cuda/family.h"
#include "tests/sparse_ops/rounding_error.h"

namespace cacheinf {
namespace cuda {
namespace {

// Values of ConvOptions::small_tiles_up_to.
enum Tiles : int { kByCount = -1, kLarge = 0, kSmall = std::numeric_limits<int>::max() };

template <class Device>
PreparedCall Prepare(Device& device, const ConvArgs& args, const ConvOptions& options) {
  return CudaFamily(device, options).prepare(args);
}

// The case without gaps, so that fours of channels are aligned.
OperatorCase Packed(const OperatorCase& c) {
  return {c.name + "_packed", [c](const OperatorFamily& family, CaseOptions options) {
            options.is_packed = true;
            return c.Prepare(family, options);
          }};
}

// Those of every form, each with gaps and without, and random ones.
std::vector<OperatorCase> ConvCases() {
  std::vector<OperatorCase> convolutions;
  for (const OperatorCase& c : OperatorCases()) {
    if (c.name.starts_with("conv_")) convolutions.push_back(Packed(c));
    if (c.name.starts_with("conv_") || c.name.starts_with("random_conv_")) {
      convolutions.push_back(c);
    }
  }
  return convolutions;
}

// Every `step`th case from `first` on.
std::vector<OperatorCase> Some(const std::vector<OperatorCase>& cases, size_t first, size_t step) {
  std::vector<OperatorCase> some;
  for (size_t i = first; i < cases.size(); i += step) some.push_back(cases[i]);
  return some;
}

int OutputSize(const WindowAxis& axis, bool transposed, int in_size) {
  const int reach = (axis.kernel - 1) * axis.dilation + 1;
  const int padding = axis.pad_begin + axis.pad_end;
  if (transposed) return (in_size - 1) * axis.stride - padding + reach;
  return in_size + padding < reach ? 0 : (in_size + padding - reach) / axis.stride + 1;
}

template <class Device>
class CudaConvTest : public OnDevice<Device> {
 protected:
  void ExpectBits(const std::vector<OperatorCase>& cases, Tiles tiles, int64_t most_products,
                  unsigned seed) {
    this->UseSeed(seed);
    ConvOptions options;
    options.small_tiles_up_to = tiles;
    EXPECT_EQ(CheckReferenceBits(
                  cases, OnlyFamily(CudaFamily(this->device(), options, most_products)), seed),
              "");
  }
};
TYPED_TEST_SUITE(CudaConvTest, Devices);
template <class Device>
class SlowCudaConvTest : public CudaConvTest<Device> {};
TYPED_TEST_SUITE(SlowCudaConvTest, Devices);

template <class Device>
class CudaMatrixConvTest : public OnDevice<Device> {
 protected:
  void ExpectSameBits(const std::vector<OperatorCase>& cases, int64_t most_products, unsigned seed);
};
TYPED_TEST_SUITE(CudaMatrixConvTest, MatrixDevices);
template <class Device>
class SlowCudaMatrixConvTest : public CudaMatrixConvTest<Device> {};
TYPED_TEST_SUITE(SlowCudaMatrixConvTest, MatrixDevices);

// Each case takes one of the shapes of tiles; cases with gaps and without alternate.
TYPED_TEST(CudaConvTest, SmallCasesHaveTheReferencesBitsAtAnyPixels) {
  constexpr int64_t kMostProducts = 500000;
  const std::vector<OperatorCase> cases = ConvCases();
  ASSERT_GT(cases.size(), 50u);
  this->ExpectBits(Some(cases, 0, 3), Tiles::kLarge, kMostProducts, 1);
  this->ExpectBits(Some(cases, 1, 3), Tiles::kSmall, kMostProducts, 2);
  this->ExpectBits(Some(cases, 2, 3), Tiles::kByCount, kMostProducts, 3);
}

TYPED_TEST(SlowCudaConvTest, EveryCaseHasTheReferencesBitsAtAnyPixels) {
  constexpr int64_t kMostProducts = std::numeric_limits<int64_t>::max();
  const std::vector<OperatorCase> cases = ConvCases();
  unsigned seed = 10;
  for (const Tiles tiles : {Tiles::kByCount, Tiles::kLarge, Tiles::kSmall}) {
    this->ExpectBits(cases, tiles, kMostProducts, ++seed);
  }
}

TYPED_TEST(CudaConvTest, AChangeTestFindsAndStoresWhatTheReferenceDoesWithAnyTiles) {
  constexpr int64_t kMostProducts = 700000;
  unsigned seed = 0;
  for (const Tiles tiles : {Tiles::kByCount, Tiles::kLarge, Tiles::kSmall}) {
    this->UseSeed(++seed);
    ConvOptions options;
    options.small_tiles_up_to = tiles;
    const Families families = OnlyFamily(CudaFamily(this->device(), options, kMostProducts));
    EXPECT_EQ(CheckChanges(Some(ConvCases(), seed, 9), families, seed), "");
  }
}

// A small convolution with operands of its own.
struct Problem {
  explicit Problem(const ConvSpec& spec, int in_channels, int out_channels, int size, unsigned seed)
      : memory(seed, {false, false, /*is_packed=*/true}) {
    args.spec = spec;
    args.input = AsImage(memory.Map({1, in_channels, size, size}));
    args.weights = memory.Floats(int64_t{in_channels} * out_channels / spec.groups *
                                 spec.rows.kernel * spec.columns.kernel);
    args.output =
        AsImage(memory.OutputMap({1, out_channels, OutputSize(spec.rows, spec.transposed, size),
                                  OutputSize(spec.columns, spec.transposed, size)}));
  }
  // The output's memory is the case's own.
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  float* input() { return const_cast<float*>(args.input.data); }
  int inputs() const { return args.input.channels * args.input.height * args.input.width; }
  float* weights() { return const_cast<float*>(args.weights); }
  int weight_count() const {
    return args.input.channels / args.spec.groups * args.output.channels * args.spec.rows.kernel *
           args.spec.columns.kernel;
  }

  CaseMemory memory;
  ConvArgs args;
};

ConvSpec Spec(int kernel, int dilation = 1) {
  ConvSpec spec;
  const int pad = kernel / 2 * dilation;
  spec.rows = spec.columns = {kernel, 1, pad, pad, dilation};
  return spec;
}

// Where blocks share a pixel's channels, the test is a launch of its own.
TEST(CudaConvLaunchesTest, ATestIsPartOfAConvolutionWhereBlocksHaveWholePixels) {
  struct Form {
    int channels;
    int groups;
    int launches;
  };
  constexpr int kSize = 6;
  for (const Form form : {Form{1, 1, 1}, Form{32, 1, 1}, Form{33, 1, 1}, Form{64, 1, 1},
                          Form{65, 1, 2}, Form{64, 2, 2}, Form{8, 8, 2}}) {
    ConvSpec spec = Spec(3);
    spec.groups = form.groups;
    Problem problem(spec, 8, form.channels, kSize, 5);
    EmulatedDevice device;
    const PreparedCall call = Prepare(device, problem.args, {});
    const PixelRun run = {2, 1, 5};
    const int before_run[] = {0, 4};
    uint8_t changed[4] = {};
    const ChangeTest test = {0.0f, nullptr, changed};
    const int before = device.counts().launches;
    call(ActivePixels({0, kSize}, &run, before_run, 1), &test);
    EXPECT_EQ(device.counts().launches - before, form.launches)
        << form.channels << " channels in " << form.groups << " groups";
  }
}

// Sums that end at -0 stay -0, whatever is padded.
TYPED_TEST(CudaConvTest, KeepsTheSignOfZero) {
  for (const Tiles tiles : {Tiles::kLarge, Tiles::kSmall}) {
    Problem problem(Spec(1), 3, 5, 4, 1);
    for (int i = 0; i < problem.inputs(); ++i) problem.input()[i] = 1e-30f;
    for (int i = 0; i < problem.weight_count(); ++i) problem.weights()[i] = -1e-30f;
    ConvOptions options;
    options.small_tiles_up_to = tiles;
    Prepare(this->device(), problem.args, options)(Range{0, 4}, nullptr);
    for (const float number : problem.memory.output) {
      EXPECT_EQ(number, 0.0f);
      EXPECT_TRUE(std::signbit(number));
    }
  }
}

// Zeros outside the picture times infinity are NaN.
TYPED_TEST(CudaConvTest, TapsOutsideThePictureCountWhereWeightsAreInfinite) {
  constexpr int kSize = 5;
  Problem problem(Spec(3, kSize), 9, 18, kSize, 2);
  problem.weights()[0] = HUGE_VALF;
  Prepare(this->device(), problem.args, {})(Range{0, kSize}, nullptr);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      EXPECT_TRUE(std::isnan(problem.args.output.Pixel(0, y, x)[0])) << y << " " << x;
      EXPECT_TRUE(std::isfinite(problem.args.output.Pixel(0, y, x)[1])) << y << " " << x;
    }
  }
}

constexpr Precision kRoundings[] = {Precision::kTf32, Precision::kHalf, Precision::kBfloat16};

// Some output must be wrong by at least this share of the bound, or nothing was rounded.
constexpr double kLeastError = 0.02;

TYPED_TEST(CudaMatrixConvTest, ErrsByRoundingAlone) {
  ConvSpec transposed;
  transposed.rows = transposed.columns = {4, 2, 1, 1, 1};
  transposed.transposed = true;
  ConvSpec grouped = Spec(3);
  grouped.groups = 2;
  struct Form {
    ConvSpec spec;
    int in_channels;
    int out_channels;
  };
  const Form forms[] = {{Spec(1), 70, 33}, {Spec(3), 3, 7},      {Spec(3), 20, 40},
                        {Spec(7), 3, 8},   {transposed, 12, 20}, {grouped, 24, 40}};
  for (const Precision precision : kRoundings) {
    for (const Form& form : forms) {
      const std::string where = "precision " + std::to_string(static_cast<int>(precision)) + ", " +
                                std::to_string(form.in_channels) + " to " +
                                std::to_string(form.out_channels);
      Problem problem(form.spec, form.in_channels, form.out_channels, 7, 3);
      const Range rows = AllPixels(problem.args.output);
      reference::Compute(problem.args, rows);
      const std::vector<float> expected = problem.memory.output;
      const std::vector<double> bounds =
          RoundingErrorBounds(problem.args, problem.memory.output, RoundingOf(precision));
      ConvOptions options;
      options.precision = precision;
      Prepare(this->device(), problem.args, options)(rows, nullptr);
      double largest = 0.0;
      for (size_t i = 0; i < expected.size(); ++i) {
        const double error = std::fabs(double{problem.memory.output[i]} - double{expected[i]});
        ASSERT_LE(error, bounds[i]) << where << ", number " << i;
        largest = std::max(largest, error / bounds[i]);
      }
      EXPECT_GT(largest, kLeastError) << where << ": nothing was rounded";
    }
  }
}

// Expects the pixels of a dense run with other tiles where a run asked for them, and marks
// elsewhere.
template <class Device>
void CudaMatrixConvTest<Device>::ExpectSameBits(const std::vector<OperatorCase>& cases,
                                                int64_t most_products, unsigned seed) {
  this->UseSeed(seed);
  std::mt19937 random(seed);
  for (const Precision precision : kRoundings) {
    for (const OperatorCase& c : cases) {
      ConvOptions options;
      options.precision = precision;
      options.small_tiles_up_to = Tiles::kLarge;
      const PreparedCase dense = c.Prepare(CudaFamily(this->device(), options, most_products));
      if (!dense.run) continue;
      dense.run(dense.rows(), nullptr);
      for (const Tiles tiles : {Tiles::kLarge, Tiles::kSmall, Tiles::kByCount}) {
        options.small_tiles_up_to = tiles;
        const PreparedCase actual = c.Prepare(CudaFamily(this->device(), options));
        const std::vector<float> marks = actual.output();
        for (const ActiveSet::Shape shape : ActiveSet::kShapes) {
          const ActiveSet active(shape, dense.rows().end, dense.columns(), dense.rows(), random);
          std::vector<float> expected = marks;
          const ImageView map = AsImage(dense.map());
          for (const PixelRun& run : active.runs()) {
            for (int n = 0; n < map.batch; ++n) {
              for (int x = run.begin; x < run.end; ++x) {
                const float* const pixel = map.Pixel(n, run.row, x);
                std::copy_n(pixel, map.channels,
                            expected.begin() + (pixel - dense.output().data()));
              }
            }
          }
          actual.memory->output = marks;
          actual.run(active.pixels(), nullptr);
          ASSERT_EQ(Difference(actual.output(), expected), "")
              << c.name << ", precision " << static_cast<int>(precision) << ", " << active.count()
              << " pixels, seed " << seed;
        }
      }
    }
  }
}

TYPED_TEST(CudaMatrixConvTest, GivesTheSameBitsForAnyPixelsAndTiles) {
  constexpr unsigned kSeed = 4;
  this->ExpectSameBits(Some(ConvCases(), kSeed, 16), 300000, kSeed);
}

// The narrow and the middle kernel of each precision, which test in their epilogue.
TYPED_TEST(CudaMatrixConvTest, AChangeTestFindsAndStoresWhatTheReferenceDoesWithAnyTiles) {
  const auto conv_to = [](int channels) {
    Table table;
    table.Add("conv_to_" + std::to_string(channels), [channels](CaseMemory& memory) {
      constexpr int kInputs = 6;
      ConvArgs args;
      args.spec = Spec(3);
      args.input = AsImage(memory.Map({1, kInputs, 7, 9}));
      args.weights = memory.Floats(int64_t{kInputs} * channels * 9);
      args.output = AsImage(memory.OutputMap({1, channels, 7, 9}));
      return args;
    });
    return table.cases[0];
  };
  unsigned seed = 20261125;
  for (const Precision precision : kRoundings) {
    for (const Tiles tiles : {Tiles::kLarge, Tiles::kSmall}) {
      this->UseSeed(++seed);
      ConvOptions options;
      options.precision = precision;
      options.small_tiles_up_to = tiles;
      EXPECT_EQ(CheckChanges({conv_to(20), conv_to(50)},
                             OnlyFamily(CudaFamily(this->device(), options)), seed),
                "")
          << "precision " << static_cast<int>(precision);
    }
  }
}

TYPED_TEST(SlowCudaMatrixConvTest, EveryCaseGivesTheSameBitsForAnyPixelsAndTiles) {
  constexpr int64_t kMostProducts = 300000;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    this->ExpectSameBits(ConvCases(), kMostProducts, seed);
  }
}

// On the stand-in warps and warpgroups compute the same bits, so a difference is a fault.
// Warpgroups must multiply all tiles of a layer: else a GPU's bits would depend on how many pixels
// there are.
TEST(CudaWarpgroupConvTest, WarpgroupsTakeAllTilesAndHaveTheBitsOfWarps) {
  constexpr int64_t kMostProducts = 200000;
  EmulatedDevice::Options with_warpgroups;
  with_warpgroups.compute_major = 9;
  EmulatedDevice by_warps;
  EmulatedDevice by_warpgroups(with_warpgroups);
  const std::vector<OperatorCase> cases = Some(ConvCases(), 0, 3);
  std::mt19937 random(6);
  const auto take_all = [&](const PreparedCase& c, const ActivePixels& pixels) {
    const EmulatedDevice::Counts before = by_warpgroups.counts();
    c.run(pixels, nullptr);
    const int kernels = by_warpgroups.counts().kernels - before.kernels;
    return by_warpgroups.counts().warpgroup_kernels - before.warpgroup_kernels == kernels;
  };
  int multiplied = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    ConvOptions options;
    options.precision = kRoundings[i % 3];
    options.small_tiles_up_to = Tiles::kLarge;
    const PreparedCase expected = cases[i].Prepare(CudaFamily(by_warps, options, kMostProducts));
    if (!expected.run) continue;
    expected.run(expected.rows(), nullptr);
    for (const Tiles tiles : {Tiles::kLarge, Tiles::kSmall, Tiles::kByCount}) {
      options.small_tiles_up_to = tiles;
      const PreparedCase actual = cases[i].Prepare(CudaFamily(by_warpgroups, options));
      const bool is_multiplied = take_all(actual, actual.rows());  // else exact, of small groups
      EXPECT_EQ(Difference(actual.output(), expected.output()), "") << cases[i].name;
      if (is_multiplied) ++multiplied;
      for (const ActiveSet::Shape shape : ActiveSet::kShapes) {
        const ActiveSet active(shape, actual.rows().end, actual.columns(), actual.rows(), random);
        if (active.count() == 0) continue;
        EXPECT_EQ(take_all(actual, active.pixels()), is_multiplied)
            << cases[i].name << ", " << active.count() << " pixels";
      }
    }
  }
  EXPECT_GT(multiplied, 60);
  EXPECT_EQ(by_warps.counts().warpgroup_kernels, 0);
}

}  // namespace
}  // namespace cuda
}  // namespace cacheinf
