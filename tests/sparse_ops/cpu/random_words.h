#ifndef CACHEINF_TESTS_SPARSE_OPS_CPU_RANDOM_WORDS_H_
#define CACHEINF_TESTS_SPARSE_OPS_CPU_RANDOM_WORDS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/views.h"

// Random 8-bit maps, and pixels of them.

namespace cacheinf {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int Below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }
  int Within(int low, int high) { return low + Below(high - low + 1); }
  bool OneIn(int count) { return Below(count) == 0; }
  float Uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  float SomeWord() {
    const uint32_t bits = random_();
    float word;
    std::memcpy(&word, &bits, sizeof(word));
    return word;
  }
  // Steps about as large as this.
  Steps SomeSteps(float scale) {
    Steps steps;
    steps.scale = scale * Uniform(0.5f, 2.0f);
    steps.is_signed = OneIn(2);
    steps.zero_point = OneIn(4) ? steps.low() : Within(steps.low(), steps.high());
    return steps;
  }

 private:
  std::mt19937 random_;
};

// A map of random words, perhaps with gaps between pixels and rows.
struct WordMap {
  std::vector<float> memory;
  ImageView view;

  WordMap(int batch, int height, int width, int words, Dice& dice) {
    const int pixel = words + (dice.OneIn(2) ? 0 : dice.Below(4));
    const int row = pixel * width + (dice.OneIn(2) ? 0 : dice.Below(5));
    memory.resize(static_cast<size_t>(batch) * height * row);
    for (float& word : memory) word = dice.SomeWord();
    view = {memory.data(), batch, height, width, words, int64_t{height} * row, row, pixel};
  }
};

// Fills the spare bytes of an 8-bit map as they must be.
inline void FillSpares(const ImageView& map, int channels, int zero_point) {
  for (int n = 0; n < map.batch; ++n) {
    for (int y = 0; y < map.height; ++y) {
      for (int x = 0; x < map.width; ++x) FillSpare(map.Pixel(n, y, x), channels, zero_point);
    }
  }
}

// Runs of pixels of some rows, as lists have them.
struct SomePixels {
  Range rows;
  std::vector<PixelRun> runs;
  std::vector<int> before = {0};

  SomePixels(int height, int width, Dice& dice) {
    rows.begin = dice.Below(height);
    rows.end = dice.Within(rows.begin + 1, height);
    const int longest = dice.OneIn(2) ? 3 : width;
    for (int y = rows.begin; y < rows.end; ++y) {
      for (int x = dice.Below(4); x < width;) {
        const int end = std::min(width, x + dice.Within(1, longest));
        runs.push_back({y, x, end});
        before.push_back(before.back() + end - x);
        x = end + dice.Within(1, 9);
      }
    }
  }

  ActivePixels Active() const {
    return {rows, runs.data(), before.data(), static_cast<int>(runs.size())};
  }
};

// The index of the first word with other bits; -1 if there is none.
inline int64_t FirstOther(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
      return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CPU_RANDOM_WORDS_H_
