// What ops.h says of 8-bit maps, worked out by hand.

#include "sparse_ops/eight_bits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

// A row of pixels, as words.
class Row {
 public:
  Row(int pixels, int channels) : words_(static_cast<size_t>(pixels * WordCount(channels))) {
    const int words = WordCount(channels);
    view_ = {words_.data(), 1, 1, pixels, words, 0, 0, words};
  }
  Row(int pixels, int channels, const std::vector<int>& numbers) : Row(pixels, channels) {
    for (int x = 0; x < pixels; ++x) {
      for (int c = 0; c < channels; ++c) {
        SetByte(view_.Pixel(0, 0, x), c, numbers[static_cast<size_t>(x * channels + c)]);
      }
    }
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  const ImageView& view() const { return view_; }

  // All bytes of a pixel, spare ones too.
  std::vector<int> Bytes(int x, bool is_signed = false) const {
    std::vector<int> bytes;
    for (int c = 0; c < view_.channels * kBytesOfWord; ++c) {
      bytes.push_back(ByteOf(view_.Pixel(0, 0, x), c, is_signed));
    }
    return bytes;
  }

 private:
  std::vector<float> words_;
  ImageView view_;
};

class FloatRow {
 public:
  FloatRow(int pixels, std::vector<float> numbers) : numbers_(std::move(numbers)) {
    const int channels = static_cast<int>(numbers_.size()) / pixels;
    view_ = {numbers_.data(), 1, 1, pixels, channels, 0, 0, channels};
  }
  const ImageView& view() const { return view_; }
  const std::vector<float>& numbers() const { return numbers_; }

 private:
  std::vector<float> numbers_;
  ImageView view_;
};

const ActivePixels kAll = Range{0, 1};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(EightBitsTest, RoundingTakesTiesToEvenAndStaysWithinTheNumbers) {
  const Steps steps = {0.5f, 10, false};
  EXPECT_EQ(ToSteps(0.25f, steps), 10);
  EXPECT_EQ(ToSteps(0.75f, steps), 12);
  EXPECT_EQ(ToSteps(-0.75f, steps), 8);
  EXPECT_EQ(ToSteps(-100.0f, steps), 0);
  EXPECT_EQ(ToSteps(kInfinity, steps), 255);
  EXPECT_EQ(ToSteps(kNaN, steps), 0);
  EXPECT_EQ(ToSteps(-1e30f, {0.5f, 10, true}), -128);
  EXPECT_EQ(FromSteps(0, steps), -5.0f);
}

TEST(EightBitsTest, QuantisingFillsWhatTheLastWordHasToSpareWithTheZeroPoint) {
  FloatRow floats(1, {0.0f, 1.0f, -1.0f, 2.0f, 50.0f});
  Row bytes(1, 5);
  const Steps steps = {1.0f, -7, true};
  reference::Compute(QuantiseArgs{steps, floats.view(), bytes.view()}, kAll);
  EXPECT_EQ(bytes.Bytes(0, true), (std::vector<int>{-7, -6, -8, -5, 43, -7, -7, -7}));
  FloatRow again(1, std::vector<float>(5));
  reference::Compute(DequantiseArgs{steps, bytes.view(), again.view()}, kAll);
  EXPECT_EQ(again.numbers(), floats.numbers());
}

// Two channels, two outputs, kernel 1×3: taps outside the picture count as zero, not as the byte 0.
TEST(EightBitsTest, AConvolutionSumsWholeNumbersAndRoundsOnce) {
  const Row input(2, 2, {13, 10, 8, 20});  // 3, 0 and -2, 10 around the zero point 10
  Row weights(2 * 3, 4);
  const auto set = [&](int output, int tap, int channel, int w) {
    SetByte(weights.view().Pixel(0, 0, output * 3 + tap), channel, w);
  };
  set(0, 0, 0, 5);   // left
  set(0, 1, 0, 2);   // middle
  set(0, 1, 1, -1);  // middle
  set(0, 2, 1, 7);   // right
  for (int tap = 0; tap < 3; ++tap) {
    for (int channel = 0; channel < 2; ++channel) set(1, tap, channel, 4);
  }
  set(1, 1, 0, 5);
  const std::vector<int> bias = {1, 0};
  const std::vector<int> zeros = {0, 4};
  const std::vector<float> scales = {0.5f, 2.0f};
  QuantConvArgs args;
  args.spec.columns = {3, 1, 1, 1, 1};
  args.in_channels = 2;
  args.out_channels = 2;
  args.input_steps = {1.0f, 10, false};
  args.input = input.view();
  args.weights = weights.view().data;
  args.weight_zeros = zeros.data();
  args.bias = bias.data();
  args.scales = scales.data();
  // Pixel 0: 1 + 3·2 - 0 + 10·7 = 77; output 1 sees only the middle's first weight, 1: 3.
  // Pixel 1: 1 + 3·5 + -2·2 - 10 = 2; -2.
  FloatRow floats(2, std::vector<float>(4));
  args.gives_floats = true;
  args.output = floats.view();
  reference::Compute(args, kAll);
  EXPECT_EQ(floats.numbers(), (std::vector<float>{38.5f, 6.0f, 1.0f, -4.0f}));

  Row bytes(2, 2);
  args.gives_floats = false;
  args.rounds_sums = true;
  args.sum_steps = args.steps = {1.0f, 3, false};
  args.low = 3;
  args.high = 40;
  args.output = bytes.view();
  reference::Compute(args, kAll);
  EXPECT_EQ(bytes.Bytes(0), (std::vector<int>{40, 9, 3, 3}));  // 38.5 is a tie: 38 + 3 > 40
  EXPECT_EQ(bytes.Bytes(1), (std::vector<int>{4, 3, 3, 3}));

  // A table by the byte of the rounded sum; then a residual of 8 bits in steps of 2.
  std::vector<int> table(256);
  for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = i / 2 - 100;
  args.table = table.data();
  args.table_steps = args.steps = {0.5f, -90, true};
  reference::Compute(args, kAll);
  EXPECT_EQ(bytes.Bytes(0, true), (std::vector<int>{-80, -96, -90, -90}));
  EXPECT_EQ(bytes.Bytes(1, true), (std::vector<int>{-98, -99, -90, -90}));
  const Row addend(2, 2, {0, 5, 1, 1});
  args.residual = addend.view();
  args.residual_steps = {2.0f, 1, false};
  args.steps = {1.0f, 7, false};
  reference::Compute(args, kAll);
  EXPECT_EQ(bytes.Bytes(0), (std::vector<int>{10, 12, 7, 7}));  // 5 - 2, -3 + 8
  EXPECT_EQ(bytes.Bytes(1), (std::vector<int>{3, 3, 7, 7}));    // -4; -4.5 is a tie: -4

  // Sums that are not rounded, with such a residual, and ReLU after the sum.
  args.table = nullptr;
  args.steps = {1.0f, 3, false};
  const Row residual(2, 2, {0, 5, 1, 1});
  args.rounds_sums = false;
  args.residual = residual.view();
  args.residual_steps = {2.0f, 1, false};
  args.activation.kind = Function::Kind::kRelu;
  args.low = 0;
  args.high = 255;
  reference::Compute(args, kAll);
  EXPECT_EQ(bytes.Bytes(0), (std::vector<int>{39, 17, 3, 3}));  // 36.5 is a tie: 36
  EXPECT_EQ(bytes.Bytes(1), (std::vector<int>{4, 3, 3, 3}));
}

TEST(EightBitsTest, ATableIsReadByTheStoredByte) {
  std::vector<int> entries(256);
  for (int i = 0; i < 256; ++i) entries[static_cast<size_t>(i)] = 255 - i;
  const Row input(1, 2, {-1, 4});
  Row output(1, 2);
  reference::Compute(TableArgs{entries.data(), 2, {1.0f, 9, false}, input.view(), output.view()},
                     kAll);
  EXPECT_EQ(output.Bytes(0), (std::vector<int>{0, 251, 9, 9}));
}

TEST(EightBitsTest, SumsAndProductsAreOfTheFloatsThatNumbersStandFor) {
  const Row a(1, 1, {12});
  const Row b(1, 1, {-4});
  Row output(1, 1);
  QuantBinaryArgs args;
  args.channels = 1;
  args.a_steps = {0.5f, 10, false};  // 1
  args.b_steps = {1.0f, -7, true};   // 3
  args.steps = {0.25f, 1, false};
  args.a = a.view();
  args.b = b.view();
  args.output = output.view();
  reference::Compute(args, kAll);
  EXPECT_EQ(output.Bytes(0), (std::vector<int>{17, 1, 1, 1}));
  args.kind = BinaryKind::kMultiply;
  reference::Compute(args, kAll);
  EXPECT_EQ(output.Bytes(0)[0], 13);
}

TEST(EightBitsTest, PoolsLeaveOutWhatIsOutsideThePicture) {
  const Row input(3, 1, {-5, -100, 7});
  Row output(3, 1);
  QuantPoolArgs args;
  args.spec.columns = {2, 1, 1, 1, 1};
  args.channels = 1;
  args.input_steps = {2.0f, -1, true};
  args.steps = args.input_steps;
  args.input = input.view();
  args.output = output.view();
  reference::Compute(args, kAll);
  EXPECT_EQ(output.Bytes(0, true), (std::vector<int>{-5, -1, -1, -1}));
  EXPECT_EQ(output.Bytes(1, true)[0], -5);
  EXPECT_EQ(output.Bytes(2, true)[0], 7);
  args.spec.kind = PoolSpec::Kind::kAverage;
  args.steps = {1.0f, 0, true};
  reference::Compute(args, kAll);
  EXPECT_EQ(output.Bytes(0, true)[0], -8);    // -4 · 2
  EXPECT_EQ(output.Bytes(1, true)[0], -103);  // (-4 - 99) / 2 · 2
  EXPECT_EQ(output.Bytes(2, true)[0], -91);   // (-99 + 8) / 2 · 2
}

}  // namespace
}  // namespace cacheinf
