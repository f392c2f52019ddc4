// What a device answers its threads, and the number formats that they compute with.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/function.h"
#include "tests/sparse_ops/case_checks.h"
#include "tests/sparse_ops/cuda/devices.h"
#include "tests/sparse_ops/cuda/thread_kernels.h"

namespace cacheinf {
namespace cuda {
namespace {

template <class Device>
class DeviceThreadTest : public OnDevice<Device> {};

TYPED_TEST_SUITE(DeviceThreadTest, Devices);

TYPED_TEST(DeviceThreadTest, WarpsAndBlocksAnswerAsDeviceHSays) {
  constexpr int kThreads = AskWarp::kThreads;
  std::vector<int> values(kThreads);
  for (int i = 0; i < kThreads; ++i) values[i] = i * 5 % 41 - (i >= kWarp ? 3 : 0);
  std::vector<int> expected(AskWarp::kAnswers * kThreads);
  int even = 0;
  for (const int value : values) even += value % 2 == 0 ? 1 : 0;
  for (int i = 0; i < kThreads; ++i) {
    const int lane = i % kWarp;
    const int* const warp = values.data() + i / kWarp * kWarp;
    unsigned ballot = 0;
    bool any = false;
    bool all = true;
    for (int l = 0; l < kWarp; ++l) {
      if (warp[l] % 3 == 0) ballot |= 1u << l;
      any |= warp[l] == 40;
      all &= warp[l] < 40;
    }
    const int answers[AskWarp::kAnswers] = {warp[(lane * 7 + 3) % kWarp],
                                            lane < 3 ? warp[lane] : warp[lane - 3],
                                            lane + 5 >= kWarp ? warp[lane] : warp[lane + 5],
                                            warp[lane ^ 9],
                                            static_cast<int>(ballot),
                                            any ? 1 : 0,
                                            all ? 1 : 0,
                                            std::accumulate(warp, warp + kWarp, 0),
                                            even,
                                            0};
    for (int op = 0; op < AskWarp::kAnswers; ++op) expected[op * kThreads + i] = answers[op];
  }
  auto& device = this->device();
  auto stream = device.MakeStream();
  const auto in = ToDevice(device, stream, values);
  const Buffer<TypeParam, int> out(device, expected.size());
  device.Launch(stream, {1}, AskWarp{in.data(), out.data()});
  EXPECT_EQ(ToHost(device, stream, out.data(), expected.size()), expected);
}

TYPED_TEST(DeviceThreadTest, AtomicsLoseNothing) {
  auto& device = this->device();
  auto stream = device.MakeStream();
  const auto numbers = ToDevice(device, stream, std::vector<int>{5, 0, 7, 100});
  const auto mask = ToDevice(device, stream, std::vector<uint64_t>{~uint64_t{0}});
  device.Launch(stream, {4},
                ChangeAtOnce{numbers.data(), reinterpret_cast<unsigned*>(numbers.data() + 1),
                             mask.data(), numbers.data() + 2, numbers.data() + 3});
  EXPECT_EQ(ToHost(device, stream, numbers.data(), 4),
            (std::vector<int>{5 + 255 * 128, (1 << 20) - 1, 255, 0}));
  EXPECT_EQ(ToHost(device, stream, mask.data(), 1)[0], ~uint64_t{0} << 50);
}

TYPED_TEST(DeviceThreadTest, MatrixInstructionsMultiplyTiles) {
  auto& device = this->device();
  if (device.facts().compute_major < 8) GTEST_SKIP() << "this device has none of them";
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const MatrixKind kind : {MatrixKind::kTf32, MatrixKind::kHalf, MatrixKind::kBfloat16}) {
    const int depth = kind == MatrixKind::kTf32 ? 8 : 16;
    const auto rounded = [kind](float x) {
      if (kind == MatrixKind::kTf32) return FromBits(ToTf32(x));
      return kind == MatrixKind::kHalf ? FromHalf(ToHalf(x)) : FromBfloat16(ToBfloat16(x));
    };
    std::vector<float> a(static_cast<size_t>(16 * depth));
    std::vector<float> b(static_cast<size_t>(depth * 8));
    std::vector<float> sums(16 * 8);
    for (auto* const matrix : {&a, &b, &sums}) {
      for (float& x : *matrix) x = normal(random);
    }
    auto stream = device.MakeStream();
    const auto device_a = ToDevice(device, stream, a);
    const auto device_b = ToDevice(device, stream, b);
    const auto device_sums = ToDevice(device, stream, sums);
    device.Launch(stream, {1},
                  MultiplyTile{kind, device_a.data(), device_b.data(), device_sums.data()});
    const std::vector<float> actual = ToHost(device, stream, device_sums.data(), sums.size());
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        float in_order = sums[row * 8 + column];
        double magnitude = std::fabs(in_order);
        for (int k = 0; k < depth; ++k) {
          const float x = rounded(a[row * depth + k]);
          const float w = rounded(b[k * 8 + column]);
          in_order = std::fma(x, w, in_order);
          magnitude += std::fabs(x * w);
        }
        const float result = actual[row * 8 + column];
        if (std::is_same_v<TypeParam, EmulatedDevice>) {
          EXPECT_EQ(result, in_order) << static_cast<int>(kind) << " " << row << " " << column;
        } else {
          EXPECT_NEAR(result, in_order, magnitude * 0x1p-20)
              << static_cast<int>(kind) << " " << row << " " << column;
        }
      }
    }
  }
}

// out = a b + out by one warpgroup: a 64 × k, b k × 8 n, row by row. b's core matrices lie in
// shared memory at these distances.
template <int n>
struct MultiplyWarpgroupTile {
  static constexpr const char* kName = "MultiplyWarpgroupTile";
  static constexpr int kThreads = 128;
  static constexpr int kColumns = 8 * n;

  MatrixKind kind;
  int leading_bytes;
  int stride_bytes;
  const float* a;
  const float* b;
  float* out;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int per_word = kind == MatrixKind::kTf32 ? 1 : 2;
    const int depth = 8 * per_word;
    const auto word_of = [&](float low, float high) {
      if (kind == MatrixKind::kTf32) return ToTf32(low);
      return kind == MatrixKind::kHalf ? PackHalves(low, high) : PackBfloat16s(low, high);
    };
    auto* const shared = thread.template Shared<unsigned>(kBegin);
    for (int i = thread.ThreadIndex(); i < 8 * kColumns; i += kThreads) {
      const int word = i % 8;
      const int column = i / 8;
      const float* const from = b + word * per_word * kColumns + column;
      thread.Store(shared + word / 4 * leading_bytes / 4 + column / 8 * stride_bytes / 4 +
                       column % 8 * 4 + word % 4,
                   word_of(thread.Load(from), thread.Load(from + (per_word - 1) * kColumns)));
    }
    thread.ShowToWarpgroup();
    thread.Barrier();
    const int g = thread.Lane() / 4;
    const int t = thread.Lane() % 4;
    float* const own = out + (16 * thread.Warp() + g) * kColumns + 2 * t;
    float sums[n][4];
    unsigned words[4];
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < n; ++j) {
        sums[j][i] = thread.Load(own + i / 2 * 8 * kColumns + 8 * j + i % 2);
      }
      const float* const from =
          a + (16 * thread.Warp() + g + i % 2 * 8) * depth + (t + i / 2 * 4) * per_word;
      words[i] = word_of(thread.Load(from), thread.Load(from + per_word - 1));
    }
    thread.FenceWarpgroup(sums, words);
    const uint64_t matrix = thread.WarpgroupMatrix(shared, leading_bytes, stride_bytes);
    if (kind == MatrixKind::kTf32) {
      thread.MultiplyWarpgroupTf32(sums, words, matrix);
    } else if (kind == MatrixKind::kHalf) {
      thread.MultiplyWarpgroupHalf(sums, words, matrix);
    } else {
      thread.MultiplyWarpgroupBfloat16(sums, words, matrix);
    }
    thread.CommitWarpgroup();
    thread.template WaitForWarpgroup<0>(sums);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < n; ++j) {
        thread.Store(own + i / 2 * 8 * kColumns + 8 * j + i % 2, sums[j][i]);
      }
    }
  }

 private:
  static constexpr size_t kBegin = 48;
};

template <int n>
void ExpectWarpgroupProduct(MatrixKind kind, int leading_bytes, int stride_bytes) {
  constexpr int kColumns = 8 * n;
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  const int depth = kind == MatrixKind::kTf32 ? 8 : 16;
  const auto rounded = [kind](float x) {
    if (kind == MatrixKind::kTf32) return FromBits(ToTf32(x));
    return kind == MatrixKind::kHalf ? FromHalf(ToHalf(x)) : FromBfloat16(ToBfloat16(x));
  };
  std::vector<float> a(static_cast<size_t>(64 * depth));
  std::vector<float> b(static_cast<size_t>(depth * kColumns));
  std::vector<float> sums(64 * kColumns);
  for (auto* const matrix : {&a, &b, &sums}) {
    for (float& x : *matrix) x = normal(random);
  }
  EmulatedDevice::Options options;
  options.compute_major = 9;
  EmulatedDevice device(options);
  auto stream = device.MakeStream();
  const auto device_a = ToDevice(device, stream, a);
  const auto device_b = ToDevice(device, stream, b);
  const auto device_sums = ToDevice(device, stream, sums);
  device.Launch(stream, {1},
                MultiplyWarpgroupTile<n>{kind, leading_bytes, stride_bytes, device_a.data(),
                                         device_b.data(), device_sums.data()},
                size_t{16384});
  const std::vector<float> actual = ToHost(device, stream, device_sums.data(), sums.size());
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      float sum = sums[row * kColumns + column];
      for (int k = 0; k < depth; ++k) {
        sum = std::fma(rounded(a[row * depth + k]), rounded(b[k * kColumns + column]), sum);
      }
      ASSERT_EQ(actual[row * kColumns + column], sum)
          << static_cast<int>(kind) << " " << row << " " << column;
    }
  }
}

// The kernel writes b where the PTX ISA has core matrices, independently of what makes descriptors.
TEST(EmulatedWarpgroupTest, MultipliesWhatTheDescriptorSays) {
  for (const MatrixKind kind : {MatrixKind::kTf32, MatrixKind::kHalf, MatrixKind::kBfloat16}) {
    ExpectWarpgroupProduct<4>(kind, 32 * 16, 128);
    ExpectWarpgroupProduct<8>(kind, 64 * 16, 128);
    ExpectWarpgroupProduct<8>(kind, 128, 256);
    ExpectWarpgroupProduct<4>(kind, 144, 304);
  }
  EXPECT_EQ(MatrixDescriptor(0x12340, 0x400, 0x80), 0x0000000800401234u);
}

TYPED_TEST(DeviceThreadTest, FunctionsHaveTheBitsOfTheHost) {
  std::mt19937 random(11);
  std::vector<float> numbers = {0.0f,
                                -0.0f,
                                1.0f,
                                -1.0f,
                                0.5f,
                                2.0f,
                                1e-40f,
                                -1e-40f,
                                88.0f,
                                90.0f,
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
  for (int i = 0; i < 300; ++i) {
    numbers.push_back(std::uniform_real_distribution<float>(-12.0f, 12.0f)(random));
  }
  for (int i = 0; i < 300; ++i) numbers.push_back(FromBits(static_cast<uint32_t>(random())));
  const int count = static_cast<int>(numbers.size());
  auto& device = this->device();
  auto stream = device.MakeStream();
  const auto in = ToDevice(device, stream, numbers);
  const Buffer<TypeParam, float> out(device, numbers.size());
  const Buffer<TypeParam, float> combined(device, numbers.size());
  for (int kind = 0; kind < Function::kKinds; ++kind) {
    const Function function = {static_cast<Function::Kind>(kind), 0.25f, 0.75f};
    const auto binary = static_cast<BinaryKind>(kind % kBinaryKinds);
    device.Launch(stream, {(count + 127) / 128},
                  ApplyFunctions{function, binary, in.data(), out.data(), combined.data(), count});
    std::vector<float> expected(numbers.size());
    std::vector<float> expected_combined(numbers.size());
    for (int i = 0; i < count; ++i) {
      expected[i] = Apply(function, numbers[i]);
      expected_combined[i] = Combine(binary, numbers[i], numbers[(i + 1) % count]);
    }
    EXPECT_EQ(Difference(ToHost(device, stream, out.data(), numbers.size()), expected), "")
        << "function " << kind;
    EXPECT_EQ(
        Difference(ToHost(device, stream, combined.data(), numbers.size()), expected_combined), "")
        << "binary " << kind % kBinaryKinds;
  }
}

// Spells out what compilers know of halves and bfloat16s.
TEST(DeviceNumbersTest, RoundingIsToTheNearest) {
  EXPECT_EQ(ToTf32(1.0f), BitsOf(1.0f));
  EXPECT_EQ(ToTf32(1.0f + 0x1p-11f), BitsOf(1.0f + 0x1p-10f)) << "a tie goes away from zero";
  EXPECT_EQ(ToTf32(-1.0f - 0x1p-11f), BitsOf(-1.0f - 0x1p-10f));
  EXPECT_EQ(ToTf32(1.0f + 0x1.8p-12f), BitsOf(1.0f));
  EXPECT_EQ(ToTf32(std::numeric_limits<float>::infinity()), 0x7f800000u);
  EXPECT_EQ(ToBfloat16(1.0f + 0x1p-8f), 0x3f80) << "a tie goes to even";
  EXPECT_EQ(ToBfloat16(1.0f + 0x1.8p-7f), 0x3f82);
  EXPECT_TRUE(std::isnan(FromBfloat16(ToBfloat16(FromBits(0x7f800001u)))));
  EXPECT_EQ(ToHalf(65519.9f), 0x7bff);
  EXPECT_EQ(ToHalf(65520.0f), 0x7c00) << "as large as infinity";
  EXPECT_EQ(ToHalf(-2.0f), 0xc000);
  EXPECT_EQ(ToHalf(1.0f + 0x1p-11f), 0x3c00) << "a tie goes to even";
  EXPECT_EQ(ToHalf(1.0f + 0x1.8p-10f), 0x3c02);
  EXPECT_EQ(ToHalf(0x1p-24f), 0x0001);
  EXPECT_EQ(ToHalf(0x1p-25f), 0x0000);
  EXPECT_EQ(ToHalf(0x1.8p-24f), 0x0002);
  EXPECT_EQ(ToHalf(0x1.ff8p-15f), 0x03ff) << "the largest denormal";
  EXPECT_TRUE(std::isnan(FromHalf(ToHalf(std::numeric_limits<float>::quiet_NaN()))));
  for (uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) continue;  // NaN
    ASSERT_EQ(ToHalf(FromHalf(static_cast<uint16_t>(half))), half);
  }
  // The middle between two halves rounds to the even one, anything past it to the nearer one.
  for (uint32_t half = 0; half < 0x7bff; ++half) {
    const float low = FromHalf(static_cast<uint16_t>(half));
    const float high = FromHalf(static_cast<uint16_t>(half + 1));
    const float middle = (low + high) / 2;
    ASSERT_EQ(ToHalf(middle), half % 2 == 0 ? half : half + 1);
    ASSERT_EQ(ToHalf(std::nextafter(middle, 0.0f)), half);
    ASSERT_EQ(ToHalf(std::nextafter(middle, high)), half + 1);
  }
}

}  // namespace
}  // namespace cuda
}  // namespace cacheinf
