#include "sparse_ops/cpu/change_test.h"

namespace cacheinf::cpu {

size_t TestScratchFloats(int width, int channels, int threads) {
  // A part's last run may begin with its last pixel.
  const size_t pixels = static_cast<size_t>(TestParts::PixelsOfPart(channels)) + width;
  return pixels * static_cast<size_t>(channels) * static_cast<size_t>(threads);
}

}  // namespace cacheinf::cpu
