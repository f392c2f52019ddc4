#ifndef CACHEINF_SPARSE_OPS_CUDA_NUMBERS_H_
#define CACHEINF_SPARSE_OPS_CUDA_NUMBERS_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "sparse_ops/host_device.h"

// Number formats of kernels, with the same bits on either device.
//
// A matrix instruction multiplies a tile of 16 × k by one of k × 8, and adds the product to 16 × 8
// sums. Lane l, with g = l / 4 and t = l % 4, holds
//   sums       [0], [1]: row g, columns 2 t and 2 t + 1; [2], [3]: row g + 8
//   k = 8, TF32: a word is a number
//     a        [0]: row g, k t; [1]: row g + 8, k t; [2]: row g, k t + 4; [3]: row g + 8, k t + 4
//     b        [0]: k t, column g; [1]: k t + 4, column g
//   k = 16, half and bfloat16: a word is two numbers, the first in its low half
//     a        [0]: row g, k 2 t and 2 t + 1; [1]: row g + 8, the same; [2]: row g, k 2 t + 8 and
//              2 t + 9; [3]: row g + 8, the same
//     b        [0]: k 2 t and 2 t + 1, column g; [1]: k 2 t + 8 and 2 t + 9
// A warpgroup's instruction multiplies 64 × k by k × 8 n. Warp w holds the rows from 16 w on, laid
// out as above; its sums [j] are of the columns from 8 j on. b lies in shared memory as core
// matrices: eight columns end to end, 16 bytes of numbers each, k ascending. Two core matrices,
// `leading_bytes` apart, hold all k of eight columns; the next eight columns are `stride_bytes`
// further. WarpgroupMatrix packs that into the PTX ISA's matrix descriptor, K-major without
// swizzle: address in bits 0 to 13, leading from bit 16, stride from bit 32, all in units of 16
// bytes; the other bits are 0.
//
// The products are exact. The stand-in computes sum = fma(a, b, sum) with k ascending. A GPU has an
// order and a rounding of its own, so results agree only to within that.

namespace cacheinf::cuda {

CACHEINF_HOST_DEVICE inline uint64_t MatrixDescriptor(uint32_t shared_address, int leading_bytes,
                                                      int stride_bytes) {
  const auto field = [](uint32_t bytes, int shift) {
    return static_cast<uint64_t>(bytes >> 4 & 0x3fffu) << shift;
  };
  return field(shared_address, 0) | field(static_cast<uint32_t>(leading_bytes), 16) |
         field(static_cast<uint32_t>(stride_bytes), 32);
}

// As wide as the widest load.
struct alignas(16) Float4 {
  float x, y, z, w;
};
struct alignas(8) Float2 {
  float x, y;
};

// x * y + z, rounded once.
CACHEINF_HOST_DEVICE inline float Fma(float x, float y, float z) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(x, y, z);
#else
  return std::fma(x, y, z);
#endif
}

CACHEINF_HOST_DEVICE inline uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
CACHEINF_HOST_DEVICE inline float FromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

CACHEINF_HOST_DEVICE inline int CountBits(uint64_t word) {
#ifdef __CUDA_ARCH__
  return __popcll(word);
#else
  return __builtin_popcountll(word);
#endif
}

// The place of the lowest bit. REQUIRES: there is one.
CACHEINF_HOST_DEVICE inline int LowestBit(unsigned word) {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(word)) - 1;
#else
  return __builtin_ctz(word);
#endif
}

// The nearest TF32 number, ties away from zero, as MultiplyTf32 takes it.
CACHEINF_HOST_DEVICE inline uint32_t ToTf32(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
#else
  const uint32_t bits = BitsOf(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & ~0x1fffu;
#endif
}

// The nearest bfloat16, ties to even.
CACHEINF_HOST_DEVICE inline uint16_t ToBfloat16(float x) {
  const uint32_t bits = BitsOf(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
CACHEINF_HOST_DEVICE inline float FromBfloat16(uint16_t bits) {
  return FromBits(static_cast<uint32_t>(bits) << 16);
}

// The nearest half, ties to even; 65520 and more are infinite.
CACHEINF_HOST_DEVICE inline uint16_t ToHalf(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Denormal: adding 1/2 leaves the multiples of 2^-24 in the low bits.
    const uint32_t rounded = BitsOf(FromBits(magnitude) + 0.5f) - 0x3f000000u;
    return static_cast<uint16_t>(sign | rounded);
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u;
  return static_cast<uint16_t>(sign | rounded >> 13);
}
CACHEINF_HOST_DEVICE inline float FromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0x1f) return FromBits(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return FromBits(sign | (exponent + 112) << 23 | fraction << 13);
}

// Two halves in a word. (A GPU's instruction for it rounds as ToHalf does.)
CACHEINF_HOST_DEVICE inline uint32_t PackHalves(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return ToHalf(low) | static_cast<uint32_t>(ToHalf(high)) << 16;
#endif
}
CACHEINF_HOST_DEVICE inline uint32_t PackBfloat16s(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return ToBfloat16(low) | static_cast<uint32_t>(ToBfloat16(high)) << 16;
#endif
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_NUMBERS_H_
