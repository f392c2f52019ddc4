#ifndef CACHEINF_SPARSE_OPS_CPU_BLEND_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_BLEND_KERNELS_H_

#include <cstdint>

// Resizing of 8-bit pictures in integers: the same bytes on every machine.

namespace cacheinf::cpu {

inline constexpr int kBlendBits = 11;   // weights of two neighbours are of 1 / 2048
inline constexpr int kMixedBits = 7;    // what is left of them in a row that mix_columns writes
inline constexpr int kWeightBits = 22;  // weights of weigh_rows

// The two neighbours that a sample on an axis blends.
struct BlendTap {
  int first = 0;
  int second = 0;
  int weight = 0;  // of the second, in 1 / 2048
};

// The neighbours that a sample on an axis weighs.
struct BlendWindow {
  int first = 0;
  int count = 0;
};

struct BlendKernels {
  // Sums of each byte over some rows, `stride` bytes apart. REQUIRES: 256 rows at most.
  void (*sum_rows)(const uint8_t* first, int64_t stride, int rows, int count,
                   uint16_t* sums) = nullptr;
  // Sums each cell of `cell` pixels in a row of such sums of 3-channel pixels, times `scale` /
  // 2^24, rounded to nearest. Reads up to one sum beyond the cells.
  void (*average_cells)(const uint16_t* sums, int cell, uint32_t scale, int count,
                        uint8_t* out) = nullptr;
  // The weighted sum of two rows of bytes, in 1 / 2048.
  void (*blend_rows)(const uint8_t* first, const uint8_t* second, int weight, int count,
                     int32_t* sums) = nullptr;
  // Blends those sums along a row of 3-channel pixels and rounds to nearest; reverses the channels
  // if `reverses`. Reads up to one sum beyond the row.
  void (*blend_columns)(const int32_t* sums, const BlendTap* taps, int count, bool reverses,
                        uint8_t* out) = nullptr;
  // Blends a row of `width` 3-channel pixels along it, in 1 / 128, rounded down; reverses the
  // channels if `reverses`. Writes up to one sum beyond. REQUIRES: taps in order, `second` no more
  // than one pixel behind `first`.
  void (*mix_columns)(const uint8_t* row, int width, const BlendTap* taps, int count, bool reverses,
                      int16_t* out) = nullptr;
  // Blends two such rows: each times its weight is rounded down to 1 / 4, and their sum to nearest.
  void (*mix_rows)(const int16_t* first, const int16_t* second, int weight, int count,
                   uint8_t* out) = nullptr;
  // Sums the window of each sample in a row of `width` 3-channel pixels, times its weights,
  // `stride` from one sample's to the next; reverses the channels if `reverses`. Writes up to one
  // sum beyond. REQUIRES: windows in order; sums below 2^31.
  void (*weigh_columns)(const uint8_t* row, int width, const BlendWindow* windows,
                        const int32_t* weights, int stride, int count, bool reverses,
                        int32_t* sums) = nullptr;
  // Sums rows of bytes times their weights, in 1 / 2^kWeightBits, rounded to nearest. REQUIRES:
  // weights that add up to 1, apart from their rounding.
  void (*weigh_rows)(const uint8_t* const* rows, const int32_t* weights, int row_count, int count,
                     uint8_t* out) = nullptr;
};

// The kernels for the best target of this machine.
const BlendKernels& ChooseBlendKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_BLEND_KERNELS_H_
