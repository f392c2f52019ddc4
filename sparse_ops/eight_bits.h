#ifndef CACHEINF_SPARSE_OPS_EIGHT_BITS_H_
#define CACHEINF_SPARSE_OPS_EIGHT_BITS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/host_device.h"
#include "sparse_ops/specs.h"

// 8-bit maps, and the rounding that all operators on them share.
//
// An 8-bit map lies in memory as a map of 32-bit words: channel c of a pixel is byte c % 4 (from
// the lowest) of word c / 4. A view of it counts words as channels. Spare bytes of the last word
// hold the zero point, so that equal maps have equal bits. Operators that only move pixels or words
// are those of maps of floats.

namespace cacheinf {

inline constexpr int kBytesOfWord = 4;

// How many words a pixel takes.
constexpr int WordCount(int channels) { return (channels + kBytesOfWord - 1) / kBytesOfWord; }

// The number in channel c of a pixel.
CACHEINF_HOST_DEVICE inline int ByteOf(const float* pixel, int c, bool is_signed) {
  const auto byte = reinterpret_cast<const unsigned char*>(pixel)[c];
  return is_signed ? static_cast<int>(static_cast<signed char>(byte)) : static_cast<int>(byte);
}

CACHEINF_HOST_DEVICE inline void SetByte(float* pixel, int c, int number) {
  reinterpret_cast<unsigned char*>(pixel)[c] = static_cast<unsigned char>(number);
}

// Fills the spare bytes of the pixel's last word.
CACHEINF_HOST_DEVICE inline void FillSpare(float* pixel, int channels, int zero_point) {
  for (int c = channels; c < WordCount(channels) * kBytesOfWord; ++c) SetByte(pixel, c, zero_point);
}

// rounded + zero_point within [low, high]; NaN gives low. `rounded` is whole, infinite or NaN.
CACHEINF_HOST_DEVICE inline int Clamped(float rounded, int zero_point, int low, int high) {
  const float moved = rounded + static_cast<float>(zero_point);
  if (!(moved > static_cast<float>(low))) return low;
  return moved < static_cast<float>(high) ? static_cast<int>(moved) : high;
}

// clamp(rne(x / scale) + zero_point): the 8-bit number that is nearest to x, ties to even.
CACHEINF_HOST_DEVICE inline int ToSteps(float x, const Steps& steps) {
  return Clamped(std::nearbyint(x / steps.scale), steps.zero_point, steps.low(), steps.high());
}

// scale (q - zero_point)
CACHEINF_HOST_DEVICE inline float FromSteps(int q, const Steps& steps) {
  return steps.scale * static_cast<float>(q - steps.zero_point);
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_EIGHT_BITS_H_
