#ifndef CACHEINF_SPARSE_OPS_CPU_BLEND_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_BLEND_KERNELS_H_

#include <cstdint>

// Bilinear resizing of 8-bit pictures in integers: the same bytes on every machine.

namespace cacheinf {
namespace cpu {

inline constexpr int kBlendBits = 11;  // weights are of 1 / 2048

// The two neighbours that a sample on an axis blends.
struct BlendTap {
  int first = 0;
  int second = 0;
  int weight = 0;  // of the second, in 1 / 2048
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
};

// The kernels for the best target of this machine.
const BlendKernels& ChooseBlendKernels();

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_BLEND_KERNELS_H_
