#ifndef CACHEINF_TESTS_SPARSE_OPS_MASK_WIRE_SEEDS_H_
#define CACHEINF_TESTS_SPARSE_OPS_MASK_WIRE_SEEDS_H_

#include <string>
#include <vector>

#include "sparse_ops/mask/mask.h"
#include "sparse_ops/mask/wire.h"

namespace cacheinf {

inline std::string Encoded(ConstMaskView mask) {
  std::vector<uint8_t> bytes(MaxEncodedMaskBytes(mask.height, mask.width));
  const size_t size = EncodeMask(mask, bytes.data());
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

// Masks of every form as bytes: empty, full, runs, edges, bits.
inline std::vector<std::string> MaskSeeds() {
  std::vector<std::string> seeds;
  Mask mask(9, 130);
  seeds.push_back(Encoded(mask));
  mask.view().Set(4, 100);
  mask.view().Set(7, 129);
  seeds.push_back(Encoded(mask));
  SetRectangle({1, 8}, {20, 90}, mask);
  seeds.push_back(Encoded(mask));
  SetAll(mask);
  seeds.push_back(Encoded(mask));
  unsigned noise = 1;
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 130; ++x) {
      noise = noise * 1664525 + 1013904223;
      if (noise >> 31 != 0) mask.view().Clear(y, x);
    }
  }
  seeds.push_back(Encoded(mask));
  return seeds;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_MASK_WIRE_SEEDS_H_
