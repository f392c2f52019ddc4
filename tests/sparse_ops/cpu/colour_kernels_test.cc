#include "sparse_ops/cpu/colour_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

constexpr uint32_t kSeed = 5;
constexpr uint8_t kUntouched = 77;

// One byte longer, to detect writes beyond the end.
std::vector<uint8_t> Room(int count) {
  return std::vector<uint8_t>(static_cast<size_t>(count) + 1, kUntouched);
}

std::vector<uint8_t> RandomBytes(int count, std::mt19937& random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  // Include extremes.
  for (uint8_t& byte : bytes) {
    const uint32_t number = random();
    byte = static_cast<uint8_t>(number % 4 == 0 ? (number >> 8) % 2 * 255 : number >> 16);
  }
  return bytes;
}

// Red, green, blue of the pixel.
std::array<int64_t, 3> ColoursOf(const std::vector<uint8_t>& row, size_t x, bool is_blue_first) {
  const size_t first = is_blue_first ? 2 : 0;
  return {row[3 * x + first], row[3 * x + 1], row[3 * x + 2 - first]};
}

int64_t Weighted(const std::array<int64_t, 3>& colours, int64_t red, int64_t green, int64_t blue) {
  return colours[0] * red + colours[1] * green + colours[2] * blue;
}

// Rounded to nearest.
int64_t Divided(int64_t number, int bits) { return (number + (int64_t{1} << (bits - 1))) >> bits; }

TEST(ColourKernelsTest, EveryTargetGivesTheSameLumaAndDifferencesAndWritesNoByteMore) {
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    for (const int count : {2, 14, 16, 30, 126, 128, 130, 300}) {
      const std::vector<uint8_t> upper = RandomBytes(3 * count, random);
      const std::vector<uint8_t> lower = RandomBytes(3 * count, random);
      for (const bool is_blue_first : {false, true}) {
        std::vector<uint8_t> upper_luma = Room(count);
        std::vector<uint8_t> lower_luma = Room(count);
        std::vector<uint8_t> u = Room(count / 2);
        std::vector<uint8_t> v = Room(count / 2);
        cpu::ChooseColourKernels().to_yuv(upper.data(), lower.data(), is_blue_first, count,
                                          upper_luma.data(), lower_luma.data(), u.data(), v.data());
        for (size_t x = 0; x < static_cast<size_t>(count); ++x) {
          const auto luma = [&](const std::vector<uint8_t>& row) {
            return 16 + Divided(Weighted(ColoursOf(row, x, is_blue_first), 16829, 33039, 6416), 16);
          };
          ASSERT_EQ(upper_luma[x], luma(upper)) << x << " of " << count;
          ASSERT_EQ(lower_luma[x], luma(lower)) << x << " of " << count;
        }
        for (size_t pair = 0; pair < static_cast<size_t>(count) / 2; ++pair) {
          std::array<int64_t, 3> sums = {};
          for (const auto* const row : {&upper, &lower}) {
            for (const size_t x : {2 * pair, 2 * pair + 1}) {
              const auto colours = ColoursOf(*row, x, is_blue_first);
              for (size_t c = 0; c < 3; ++c) sums[c] += colours[c];
            }
          }
          ASSERT_EQ(u[pair], 128 + Divided(Weighted(sums, -9714, -19071, 28785), 18)) << pair;
          ASSERT_EQ(v[pair], 128 + Divided(Weighted(sums, 28785, -24103, -4682), 18)) << pair;
        }
        for (const auto* const row : {&upper_luma, &lower_luma, &u, &v}) {
          EXPECT_EQ(row->back(), kUntouched) << "written beyond " << count;
        }
      }
    }
  });
}

TEST(ColourKernelsTest, EveryTargetGivesTheSameColoursAndWritesNoByteMore) {
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    for (const int count : {1, 2, 15, 16, 17, 33, 127, 128, 129, 301}) {
      const std::vector<uint8_t> luma = RandomBytes(count, random);
      const std::vector<uint8_t> u = RandomBytes((count + 1) / 2, random);
      const std::vector<uint8_t> v = RandomBytes((count + 1) / 2, random);
      for (const bool is_blue_first : {false, true}) {
        std::vector<uint8_t> pixels = Room(3 * count);
        cpu::ChooseColourKernels().from_yuv(luma.data(), u.data(), v.data(), is_blue_first, count,
                                            pixels.data());
        for (size_t x = 0; x < static_cast<size_t>(count); ++x) {
          const int64_t light = 76309 * (int64_t{luma[x]} - 16);
          const int64_t du = int64_t{u[x / 2]} - 128;
          const int64_t dv = int64_t{v[x / 2]} - 128;
          const auto level = [&](int64_t sum) {
            return std::clamp<int64_t>(Divided(light + sum, 16), 0, 255);
          };
          const std::array<int64_t, 3> colours = {
              level(104597 * dv), level(-25675 * du - 53279 * dv), level(132201 * du)};
          ASSERT_EQ(ColoursOf(pixels, x, is_blue_first), colours) << x << " of " << count;
        }
        EXPECT_EQ(pixels.back(), kUntouched) << "written beyond " << count;
      }
    }
  });
}

}  // namespace
}  // namespace cacheinf
