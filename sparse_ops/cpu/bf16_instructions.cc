#include "sparse_ops/cpu/ahead_of_tile.h"
#include "sparse_ops/cpu/bf16_kernels.h"

// Convolutions with the instructions of AVX512-BF16, which no version of Highway that we build with
// has. Machines without them never come here: ChooseBf16Kernels sees to it.

#if defined(__x86_64__)

#include <immintrin.h>

// On every function that uses them, and not on the whole file: what it takes from headers must run
// on any machine.
#define CACHEINF_AVX512_BF16 __attribute__((target("avx512f,avx512bf16")))
#define CACHEINF_UNROLL _Pragma("GCC unroll 32")

namespace cacheinf {
namespace cpu {
namespace {

constexpr int kLanes = 16;
constexpr int kMaxVectors = 4;
constexpr int kStepPairs = 16;  // from one look ahead to the next

// What 32 registers hold, as in pixel_kernels.cc.
constexpr int TilePixels(int vectors) { return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6; }

template <int kPixels, int kVectors>
CACHEINF_AVX512_BF16 __attribute__((noinline)) void ConvTile(const ConvBlock& block,
                                                             const PixelList& list, int first_pixel,
                                                             int pixels, float* memory) {
  constexpr int kWidth = kVectors * kLanes;
  for (int p = 0; p < pixels; ++p) {
    const float* const output = list.outputs[first_pixel + p] + block.first_output;
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(output + v * kLanes);
  }
  __m512 sums[kPixels][kVectors];
  CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_setzero_ps();
  }
  const int steps = list.taps * ((block.inputs + kStepPairs - 1) / kStepPairs);
  AheadOfTile ahead(list.ahead, first_pixel, first_pixel + pixels, list.count, steps);
  const float* weights = block.weights;
  for (int t = 0; t < list.taps; ++t) {
    if (list.weight_taps != nullptr) {
      weights = block.weights + int64_t{list.weight_taps[t]} * block.inputs * kWidth;
    }
    const float* const* tap = list.inputs + t * kListPixels + first_pixel;
    const float* input[kPixels];
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) input[p] = tap[p];
    for (int i = 0; i < block.inputs;) {
      ahead.Fetch();
      const int end = i + kStepPairs < block.inputs ? i + kStepPairs : block.inputs;
      for (; i < end; ++i) {
        __m512i weight[kVectors];
        CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
          weight[v] = _mm512_castps_si512(_mm512_load_ps(weights + v * kLanes));
        }
        CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
          const __m512i x = _mm512_castps_si512(_mm512_set1_ps(input[p][i]));
          CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
            sums[p][v] = _mm512_dpbf16_ps(sums[p][v], (__m512bh)x, (__m512bh)weight[v]);
          }
        }
        weights += kWidth;
      }
    }
  }
  CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      _mm512_store_ps(memory + p * kWidth + v * kLanes, sums[p][v]);
    }
  }
}

// Full tiles, then the smallest tile that holds the rest.
template <int kVectors>
void ConvTiles(const ConvBlock& block, const PixelList& list) {
  constexpr int kFull = TilePixels(kVectors);
  constexpr int kHalf = (kFull + 1) / 2;
  const PixelKernels& kernels = ChoosePixelKernels();
  alignas(64) float sums[kFull * kVectors * kLanes];
  for (int pixel = 0; pixel < list.count;) {
    const int left = list.count - pixel;
    const int pixels = left < kFull ? left : kFull;
    if (left > kHalf) {
      ConvTile<kFull, kVectors>(block, list, pixel, pixels, sums);
    } else if (left > 1) {
      ConvTile<kHalf, kVectors>(block, list, pixel, pixels, sums);
    } else {
      ConvTile<1, kVectors>(block, list, pixel, pixels, sums);
    }
    kernels.finish(block, list, pixel, pixels, sums);
    pixel += pixels;
  }
}

void ConvPixels(const ConvBlock& block, const PixelList& list) {
  switch (block.vectors) {
    case 1:
      return ConvTiles<1>(block, list);
    case 2:
      return ConvTiles<2>(block, list);
    case 3:
      return ConvTiles<3>(block, list);
    default:
      return ConvTiles<kMaxVectors>(block, list);
  }
}

CACHEINF_AVX512_BF16 __mmask16 FirstLanes(int count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

CACHEINF_AVX512_BF16 void ToPairs(const float* numbers, int count, float* pairs) {
  for (int i = 0; i < count; i += 2 * kLanes) {
    const int left = count - i;
    const __m512 lower = _mm512_maskz_loadu_ps(FirstLanes(left), numbers + i);
    const __m512 upper = _mm512_maskz_loadu_ps(FirstLanes(left - kLanes), numbers + i + kLanes);
    const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(upper, lower);
    _mm512_mask_storeu_epi32(pairs + i / 2, FirstLanes((left + 1) / 2), rounded);
  }
}

}  // namespace

bool HasBf16Instructions() { return __builtin_cpu_supports("avx512bf16"); }

const Bf16Kernels& InstructionBf16Kernels() {
  static constexpr Bf16Kernels kKernels = {ToPairs, ConvPixels};
  return kKernels;
}

}  // namespace cpu
}  // namespace cacheinf

#else

#include <stdexcept>

namespace cacheinf {
namespace cpu {

bool HasBf16Instructions() { return false; }

const Bf16Kernels& InstructionBf16Kernels() {
  throw std::logic_error("this processor has no AVX512-BF16");
}

}  // namespace cpu
}  // namespace cacheinf

#endif
