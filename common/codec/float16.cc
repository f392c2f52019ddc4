#include "common/codec/float16.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cacheinf {
namespace {

constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint32_t kBeyondHalves = 0x47800000;  // 65536
constexpr uint32_t kLeastNormal = 0x38800000;   // 2^-14, the least half with all its bits
constexpr uint32_t kHalfsLargest = 0x7bff;
constexpr uint32_t kHalfsInfinity = 0x7c00;
constexpr uint32_t kHalfsNan = 0x7e00;
constexpr int kShift = 13;                  // a float has this many more bits of fraction
constexpr uint32_t kExponents = 112 << 23;  // a float's exponent is larger by this

// No branches, so that the compiler vectorises it.
uint16_t ToHalf(uint32_t bits) {
  const uint32_t sign = bits & 0x80000000;
  const uint32_t size = bits ^ sign;
  // Small numbers: a sum with 1/2 has a last bit worth 2^-24, so it is rounded as the half must be.
  const float sum = std::bit_cast<float>(size) + 0.5F;
  const uint32_t small = std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5F);
  const uint32_t is_odd = size >> kShift & 1;
  const uint32_t normal = (size - kExponents + 0xfff + is_odd) >> kShift;
  uint32_t half = size < kLeastNormal ? small : std::min(normal, kHalfsLargest);
  half = size >= kBeyondHalves ? kHalfsLargest : half;
  half = size == kInfinity ? kHalfsInfinity : half;
  half = size > kInfinity ? kHalfsNan : half;
  return static_cast<uint16_t>(half | sign >> 16);
}

uint32_t FromHalf(uint32_t half) {
  const uint32_t size = half & 0x7fff;
  const uint32_t normal = (size << kShift) + kExponents;
  const float small =
      std::bit_cast<float>((size << kShift) + kLeastNormal) - std::bit_cast<float>(kLeastNormal);
  uint32_t bits = size < 0x400 ? std::bit_cast<uint32_t>(small) : normal;
  bits = size >= kHalfsInfinity ? normal + kExponents : bits;
  return bits | (half & 0x8000) << 16;
}

}  // namespace

void ToHalves(const uint8_t* floats, size_t count, uint8_t* halves) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, floats + i * sizeof(bits), sizeof(bits));
    const uint16_t half = ToHalf(bits);
    std::memcpy(halves + i * sizeof(half), &half, sizeof(half));
  }
}

void FromHalves(const uint8_t* halves, size_t count, uint8_t* floats) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, halves + i * sizeof(half), sizeof(half));
    const uint32_t bits = FromHalf(half);
    std::memcpy(floats + i * sizeof(bits), &bits, sizeof(bits));
  }
}

}  // namespace cacheinf
