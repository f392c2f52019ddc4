#include "sparse_ops/cpu/change_kernels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "sparse_ops/eight_bits.h"
#include "sparse_ops/reference/change.h"
#include "tests/sparse_ops/cpu/targets.h"

namespace cacheinf {
namespace {

constexpr uint32_t kSeed = 23;

// Pixels of words whose bytes differ from those of `like` by little, or not at all.
std::vector<float> Near(const std::vector<float>& like, std::mt19937& random) {
  std::vector<uint8_t> bytes(like.size() * sizeof(float));
  std::memcpy(bytes.data(), like.data(), bytes.size());
  for (uint8_t& byte : bytes) {
    if (random() % 3 == 0) byte = static_cast<uint8_t>(byte + random() % 7 - 3);
  }
  std::vector<float> near(like.size());
  std::memcpy(near.data(), bytes.data(), bytes.size());
  return near;
}

TEST(ChangeKernelsTest, EveryTargetTellsChangesOfBytesApartAsTheReferenceDoes) {
  constexpr int kPixels = 37;
  ForEachCpuTarget([] {
    std::mt19937 random(kSeed);
    int changes = 0;
    int all = 0;
    for (const int words : {1, 2, 3, 4, 5, 9, 20}) {
      std::vector<float> stored(static_cast<size_t>(kPixels * words));
      for (float& word : stored) {
        const uint32_t bits = random();
        std::memcpy(&word, &bits, sizeof(word));
      }
      const std::vector<float> fresh = Near(stored, random);
      std::vector<float> inverse_spread(static_cast<size_t>(words * kBytesOfWord));
      for (float& inverse : inverse_spread)
        inverse = 0.1f + 0.01f * static_cast<float>(random() % 90);
      for (const PixelNumbers numbers :
           {PixelNumbers::kUnsignedBytes, PixelNumbers::kSignedBytes}) {
        ChangeTest test;
        test.threshold = 0.5f;
        test.inverse_spread = inverse_spread.data();
        test.numbers = numbers;
        std::vector<uint8_t> changed(kPixels, 2);
        cpu::ChooseChangeKernels().find(test, {fresh.data(), words}, {stored.data(), words},
                                        kPixels, words, changed.data());
        for (int i = 0; i < kPixels; ++i) {
          const bool expected =
              reference::IsChange(test, words, fresh.data() + i * words, stored.data() + i * words);
          EXPECT_EQ(changed[static_cast<size_t>(i)], expected ? 1 : 0)
              << words << " words, pixel " << i;
          changes += expected ? 1 : 0;
          ++all;
        }
      }
    }
    EXPECT_GT(changes, all / 5);
    EXPECT_LT(changes, all * 4 / 5);
  });
}

}  // namespace
}  // namespace cacheinf
