#include "sparse_ops/cpu/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cacheinf {
namespace {

// Zeros outside the picture times infinity are NaN, however far outside they lie.
TEST(CpuConvTest, TapsOutsideThePictureCountWhereWeightsAreInfinite) {
  constexpr int kSize = 6;
  constexpr int kIn = 40;
  constexpr int kOut = 33;
  const std::vector<float> input(size_t{kSize} * kSize * kIn, 0.5f);
  std::vector<float> weights(size_t{kOut} * kIn * 9, 0.0f);
  weights[0] = HUGE_VALF;
  const std::vector<float> bias(kOut, 1.0f);
  std::vector<float> output(size_t{kSize} * kSize * kOut);
  ConvArgs args;
  args.spec.rows = args.spec.columns = {3, 1, 12, 12, 12};
  args.input = {input.data(), 1, kSize, kSize, kIn, 0, kSize * kIn, kIn};
  args.weights = weights.data();
  args.bias = bias.data();
  args.output = {output.data(), 1, kSize, kSize, kOut, 0, kSize * kOut, kOut};
  ThreadPool pool(1);
  const cpu::Conv conv(args);
  std::vector<float> scratch(conv.ScratchFloats(1));
  conv.Run(args.input, {}, args.output, Range{0, kSize}, nullptr, pool, scratch.data());
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      EXPECT_TRUE(std::isnan(args.output.Pixel(0, y, x)[0])) << y << " " << x;
      EXPECT_EQ(args.output.Pixel(0, y, x)[1], 1.0f) << y << " " << x;
    }
  }
}

}  // namespace
}  // namespace cacheinf
