#include "sparse_ops/bf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "sparse_ops/cpu/conv.h"
#include "sparse_ops/reference/reference.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cpu/family.h"
#include "tests/sparse_ops/cpu/targets.h"

// BF16's numbers, and what only it can get wrong; its convolutions are in the table of cases.

namespace cacheinf {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float Rounded(float x) { return FromBf16(RoundToBf16(x)); }

class ForcedBf16 {
 public:
  explicit ForcedBf16(cpu::Bf16Choice choice) { cpu::SetBf16Choice(choice); }
  ~ForcedBf16() { cpu::SetBf16Choice(cpu::Bf16Choice::kAsProcessorSays); }
};

TEST(Bf16Test, RoundsToNearestEven) {
  EXPECT_EQ(Rounded(1.0f), 1.0f);
  EXPECT_EQ(Rounded(0x1.01p0f), 1.0f);           // half way to 0x1.02p0
  EXPECT_EQ(Rounded(0x1.010002p0f), 0x1.02p0f);  // beyond
  EXPECT_EQ(Rounded(0x1.03p0f), 0x1.04p0f);      // half way from 0x1.02p0
  EXPECT_EQ(Rounded(-0x1.ffp3f), -16.0f);
  EXPECT_EQ(Rounded(0x1.fefffep127f), 0x1.fep127f);
  EXPECT_EQ(Rounded(0x1.ffp127f), kInfinity);
  EXPECT_EQ(Rounded(-kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(Rounded(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(Rounded(std::numeric_limits<float>::signaling_NaN())));
}

TEST(Bf16Test, HasNoDenormals) {
  EXPECT_EQ(RoundToBf16(0x1p-126f), 0x0080);
  EXPECT_EQ(RoundToBf16(0x1.fffffcp-127f), 0x0000);
  EXPECT_EQ(RoundToBf16(-0x1.fffffcp-127f), 0x8000);
}

TEST(Bf16Test, SumsThatAreTinyAfterRoundingAreZeroOfTheirSign) {
  constexpr float kSmallest = 0x1p-126f;
  EXPECT_EQ(Bf16MultiplyAdd(0x1p-63f, 0x1p-63f, 0.0f), kSmallest);
  EXPECT_EQ(Bf16MultiplyAdd(0x1p-64f, 0x1.fep-63f, 0.0f), 0.0f);
  EXPECT_TRUE(std::signbit(Bf16MultiplyAdd(-0x1p-64f, 0x1.fep-63f, 0.0f)));
  // Of 24 bits however small, half a bit below 2^-126 becomes it, three quarters do not.
  EXPECT_EQ(Bf16MultiplyAdd(-0x1p-75f, 0x1p-76f, kSmallest), kSmallest);
  EXPECT_EQ(Bf16MultiplyAdd(-0x1.8p-75f, 0x1p-76f, kSmallest), 0.0f);
  EXPECT_EQ(Bf16MultiplyAdd(-0x1p-60f, 0x1p-66f, kSmallest), 0.0f);
}

// Products and sums on both sides of the smallest normal number.
TEST(CpuBf16Test, TinySumsHaveTheReferencesBitsOnEveryTarget) {
  const unsigned seed = 20261101;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const auto numbers = [&random](size_t count, int smallest_exponent) {
    std::vector<float> drawn(count);
    for (float& number : drawn) {
      const float fraction = std::uniform_real_distribution<float>(-2.0f, 2.0f)(random);
      number = std::ldexp(fraction, smallest_exponent + static_cast<int>(random() % 8));
    }
    return drawn;
  };
  const int inputs = 21;
  const int outputs = 70;
  const int width = 29;
  const std::vector<float> weights = numbers(size_t{inputs} * outputs, -70);
  const std::vector<float> input = numbers(size_t{inputs} * width, -64);
  std::vector<float> expected(size_t{outputs} * width);
  ConvArgs args;
  args.precision = Precision::kBf16;
  args.input = {input.data(), 1, 1, width, inputs, 0, 0, inputs};
  args.weights = weights.data();
  args.output = {expected.data(), 1, 1, width, outputs, 0, 0, outputs};
  reference::Conv(args, {0, 1});
  const auto zeros = std::count(expected.begin(), expected.end(), 0.0f);
  EXPECT_GT(zeros, 20);
  EXPECT_LT(zeros, outputs * width - 20);
  const auto denormals = std::count_if(expected.begin(), expected.end(), [](float number) {
    return std::fpclassify(number) == FP_SUBNORMAL;
  });
  EXPECT_EQ(denormals, 0);

  ThreadPool pool(1);
  ForEachCpuTarget([&] {
    std::vector<float> output(expected.size());
    const cpu::Conv conv(args);
    std::vector<float> scratch(conv.ScratchFloats(1));
    conv.Run(args.input, {}, {output.data(), 1, 1, width, outputs, 0, 0, outputs}, Range{0, 1},
             nullptr, pool, scratch.data());
    EXPECT_EQ(std::memcmp(output.data(), expected.data(), output.size() * sizeof(float)), 0);
  });
}

// A weight that BF16 rounds to infinity makes NaN of the zeros outside the picture.
TEST(CpuBf16Test, TapsOutsideThePictureCountWhereRoundedWeightsAreInfinite) {
  const std::vector<float> input(16, 0.0f);
  std::vector<float> weights(size_t{16} * 9, 0.0f);
  weights[0] = std::numeric_limits<float>::max();
  const std::vector<float> bias(1, 1.0f);
  float output = 0.0f;
  ConvArgs args;
  args.precision = Precision::kBf16;
  args.spec.rows = args.spec.columns = {3, 1, 1, 1, 1};
  args.input = {input.data(), 1, 1, 1, 16, 0, 0, 16};
  args.weights = weights.data();
  args.bias = bias.data();
  args.output = {&output, 1, 1, 1, 1, 0, 0, 1};
  ThreadPool pool(1);
  const cpu::Conv conv(args);
  std::vector<float> scratch(conv.ScratchFloats(1));
  conv.Run(args.input, {}, args.output, Range{0, 1}, nullptr, pool, scratch.data());
  EXPECT_TRUE(std::isnan(output));
}

// Where the processor has the instructions, the other tests use them.
TEST(CpuBf16Test, TheEmulationHasTheBitsOfTheInstructions) {
  if (!cpu::HasBf16Instructions()) {
    GTEST_SKIP() << "the processor does not say that it has AVX512-BF16";
  }
  const ForcedBf16 emulated(cpu::Bf16Choice::kEmulated);
  std::vector<OperatorCase> cases;
  std::copy_if(OperatorCases().begin(), OperatorCases().end(), std::back_inserter(cases),
               [](const OperatorCase& c) { return c.name.starts_with("conv_bf16"); });
  ASSERT_FALSE(cases.empty());
  ThreadPool pool(2);
  ExpectReferenceBits(cases, OnlyFamily(CpuFamily(pool)), 20261102);
}

}  // namespace
}  // namespace cacheinf
