#include "sparse_ops/cpu/blend_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

constexpr int kUnit = 1 << cpu::kBlendBits;
constexpr uint32_t kSeed = 17;

std::vector<uint8_t> RandomBytes(int count, std::mt19937& random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(BlendKernelsTest, EveryTargetSumsRowsAlike) {
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    for (const int count : {1, 15, 32, 33, 97}) {
      for (const int rows : {1, 3, 16}) {
        const int stride = count + 2;
        const std::vector<uint8_t> bytes = RandomBytes(stride * rows, random);
        std::vector<uint16_t> sums(static_cast<size_t>(count) + 1, 77);
        cpu::ChooseBlendKernels().sum_rows(bytes.data(), stride, rows, count, sums.data());
        for (int i = 0; i < count; ++i) {
          int sum = 0;
          for (int y = 0; y < rows; ++y) sum += bytes[static_cast<size_t>(y * stride + i)];
          EXPECT_EQ(sums[static_cast<size_t>(i)], sum) << i;
        }
        EXPECT_EQ(sums.back(), 77) << "written beyond the row";
      }
    }
  });
}

TEST(BlendKernelsTest, EveryTargetAveragesCellsAlikeAndWritesNoByteMore) {
  constexpr int kRows = 16;
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    for (const int count : {0, 1, 2, 33}) {
      for (const int cell : {1, 2, 5, 16}) {
        std::vector<uint16_t> sums(static_cast<size_t>(3 * cell * count) + 1);
        for (uint16_t& sum : sums) sum = static_cast<uint16_t>(random() % (255 * kRows + 1));
        std::fill_n(sums.begin(), std::min<size_t>(sums.size(), 3 * size_t{16}), 255 * kRows);
        const int pixels = cell * kRows;
        const auto scale = static_cast<uint32_t>(((1 << 24) + pixels / 2) / pixels);
        std::vector<uint8_t> out(static_cast<size_t>(3 * count) + 1, 77);
        cpu::ChooseBlendKernels().average_cells(sums.data(), cell, scale, count, out.data());
        for (int i = 0; i < 3 * count; ++i) {
          uint64_t sum = 0;
          for (int x = 0; x < cell; ++x) {
            sum += sums[static_cast<size_t>(3 * (i / 3 * cell + x) + i % 3)];
          }
          EXPECT_EQ(out[static_cast<size_t>(i)], (sum * scale + (1 << 23)) >> 24) << i;
        }
        EXPECT_EQ(out.back(), 77) << "written beyond the row";
      }
    }
  });
}

TEST(BlendKernelsTest, EveryTargetBlendsRowsAlike) {
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    for (const int count : {0, 1, 3, 15, 16, 17, 96, 193}) {
      const std::vector<uint8_t> first = RandomBytes(count, random);
      const std::vector<uint8_t> second = RandomBytes(count, random);
      const int weight = static_cast<int>(random() % kUnit);
      std::vector<int32_t> sums(first.size() + 1, -1);
      cpu::ChooseBlendKernels().blend_rows(first.data(), second.data(), weight, count, sums.data());
      for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(sums[i], first[i] * (kUnit - weight) + second[i] * weight) << i;
      }
      EXPECT_EQ(sums.back(), -1) << "written beyond the row";
    }
  });
}

TEST(BlendKernelsTest, EveryTargetBlendsColumnsAlikeAndWritesNoByteMore) {
  constexpr int kPixels = 50;
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    std::vector<int32_t> sums(3 * kPixels + 1);
    for (int32_t& sum : sums) sum = static_cast<int32_t>(random() % (255 * kUnit + 1));
    sums[0] = sums[3] = 255 * kUnit;
    for (const int count : {0, 1, 2, 3, 33}) {
      std::vector<cpu::BlendTap> taps;
      for (int i = 0; i < count; ++i) {
        const int first = i == 0 ? 0 : static_cast<int>(random() % kPixels);
        taps.push_back(
            {first, std::min(first + 1, kPixels - 1), static_cast<int>(random() % kUnit)});
      }
      for (const bool reverses : {false, true}) {
        std::vector<uint8_t> out(3 * taps.size() + 1, 77);
        cpu::ChooseBlendKernels().blend_columns(sums.data(), taps.data(), count, reverses,
                                                out.data());
        for (size_t i = 0; i < 3 * taps.size(); ++i) {
          const cpu::BlendTap& tap = taps[i / 3];
          const size_t channel = reverses ? 2 - i % 3 : i % 3;
          const int64_t sum =
              int64_t{sums[3 * static_cast<size_t>(tap.first) + channel]} * (kUnit - tap.weight) +
              int64_t{sums[3 * static_cast<size_t>(tap.second) + channel]} * tap.weight;
          EXPECT_EQ(out[i], (sum + kUnit * kUnit / 2) / (kUnit * kUnit)) << i;
        }
        EXPECT_EQ(out.back(), 77) << "written beyond the row";
      }
    }
  });
}

}  // namespace
}  // namespace cacheinf
