#ifndef CACHEINF_SPARSE_OPS_CPU_COLOUR_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_COLOUR_KERNELS_H_

#include <cstdint>

// Colours of ITU-R BT.601, luma 16 to 235, in integers of 1 / 65536: the same bytes on every
// machine. 2 × 2 pixels share the chroma of their mean.

namespace cacheinf::cpu {

// Pixels are red, green, blue, or the reverse if `is_blue_first`.
struct ColourKernels {
  // Turns two rows of `count` pixels into two rows of luma and one of each colour difference.
  // REQUIRES: an even count.
  void (*to_yuv)(const uint8_t* upper, const uint8_t* lower, bool is_blue_first, int count,
                 uint8_t* upper_luma, uint8_t* lower_luma, uint8_t* u, uint8_t* v) = nullptr;
  // Writes a row of `count` pixels; two neighbours share one pair of differences.
  void (*from_yuv)(const uint8_t* luma, const uint8_t* u, const uint8_t* v, bool is_blue_first,
                   int count, uint8_t* pixels) = nullptr;
};

// The kernels for the best target of this machine.
const ColourKernels& ChooseColourKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_COLOUR_KERNELS_H_
