#include "sparse_ops/cpu/change_test.h"

#include <cmath>

namespace cacheinf {
namespace cpu {

bool PixelTest::IsChange(const float* fresh, const float* stored) const {
  if (test_.threshold == 0.0f) {
    return std::memcmp(fresh, stored, static_cast<size_t>(channels_) * sizeof(float)) != 0;
  }
  const float sum = kernels_.sum_of_squared_changes(fresh, stored, test_.inverse_spread, channels_);
  // A NaN is a change.
  return !(std::sqrt(sum / static_cast<float>(channels_)) <= test_.threshold);
}

size_t TestScratchFloats(int width, int channels, int threads) {
  // A part's last run may begin with its last pixel.
  const size_t pixels = static_cast<size_t>(TestParts::PixelsOfPart(channels)) + width;
  return pixels * static_cast<size_t>(channels) * static_cast<size_t>(threads);
}

}  // namespace cpu
}  // namespace cacheinf
