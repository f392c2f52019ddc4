#ifndef CACHEINF_SPARSE_OPS_BF16_H_
#define CACHEINF_SPARSE_OPS_BF16_H_

#include <cmath>
#include <cstdint>
#include <cstring>

// BF16 numbers, the upper halves of floats, and the one step that builds sums of their products.
// Both do what the instructions of AVX512-BF16 do (VCVTNEPS2BF16, VDPBF16PS), which know no
// denormals; here they are defined for every machine.

namespace cacheinf {

// To nearest even. A denormal becomes zero of its sign, a NaN stays one.
inline uint16_t RoundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  if (magnitude < 0x00800000u) return static_cast<uint16_t>(bits >> 16 & 0x8000u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float FromBf16(uint16_t number) {
  const uint32_t bits = uint32_t{number} << 16;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// fma(x, w, sum), or zero of its sign if that is smaller than the smallest normal float, 2^-126,
// when rounded to 24 bits however small it is (tiny after rounding, as IEEE 754 calls it).
// REQUIRES: x and w are BF16 numbers; no argument is a denormal.
inline float Bf16MultiplyAdd(float x, float w, float sum) {
  constexpr float kSmallest = 0x1p-126f;
  constexpr double kRoundsToSmallest = 0x1.ffffffp-127;
  const float result = std::fma(x, w, sum);
  if (result == 0.0f || !(std::fabs(result) <= kSmallest)) return result;
  // So close to the smallest, a double holds x w + sum closely enough to tell.
  const double wide = static_cast<double>(x) * w + sum;
  return std::fabs(wide) < kRoundsToSmallest ? std::copysign(0.0f, result) : result;
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_BF16_H_
