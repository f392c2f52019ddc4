#include "sparse_ops/reference/change.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sparse_ops/eight_bits.h"
#include "sparse_ops/reference/reduce_lanes.h"

namespace cacheinf::reference {

bool IsChange(const ChangeTest& test, int channels, const float* fresh, const float* stored) {
  if (test.threshold == 0.0f) {
    return std::memcmp(fresh, stored, static_cast<size_t>(channels) * sizeof(float)) != 0;
  }
  const bool has_bytes = test.numbers != PixelNumbers::kFloats;
  const bool is_signed = test.numbers == PixelNumbers::kSignedBytes;
  const auto number = [&](const float* pixel, int64_t c) {
    return has_bytes ? static_cast<float>(ByteOf(pixel, static_cast<int>(c), is_signed)) : pixel[c];
  };
  const int64_t count = int64_t{channels} * (has_bytes ? kBytesOfWord : 1);
  const float sum = ReduceInLanes(
      count, 0.0f,
      [&](int64_t c) { return (number(fresh, c) - number(stored, c)) * test.inverse_spread[c]; },
      [](float lane, float change) { return std::fma(change, change, lane); },
      [](float low, float high) { return low + high; });
  return !(std::sqrt(sum / static_cast<float>(count)) <= test.threshold);
}

void StorePixels(const ConstImageView& fresh, const ImageView& stored, const ActivePixels& pixels,
                 const ChangeTest* test) {
  const auto store = [&](int n, int y, int x) {
    std::copy_n(fresh.Pixel(n, y, x), stored.channels, stored.Pixel(n, y, x));
  };
  for (int n = 0; n < stored.batch; ++n) {
    if (!pixels.is_sparse) {
      for (int y = pixels.rows.begin; y < pixels.rows.end; ++y) {
        for (int x = 0; x < stored.width; ++x) store(n, y, x);
      }
      continue;
    }
    int number = 0;
    for (int i = 0; i < pixels.run_count; ++i) {
      const PixelRun& run = pixels.runs[i];
      for (int x = run.begin; x < run.end; ++x, ++number) {
        const bool is_change =
            test == nullptr || IsChange(*test, stored.channels, fresh.Pixel(n, run.row, x),
                                        stored.Pixel(n, run.row, x));
        if (is_change || test->stores_all) store(n, run.row, x);
        if (test != nullptr) test->changed[number] = is_change ? 1 : 0;
      }
    }
  }
}

}  // namespace cacheinf::reference
