#ifndef CACHEINF_SPARSE_OPS_CPU_QUANT_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_QUANT_KERNELS_H_

#include <cstdint>

namespace cacheinf::cpu {

// What a vector family does for convolutions of 8-bit maps (quant_conv.h).
struct QuantKernels {
  static constexpr int kPixels = 4;  // together

  // Output channels that come together: a block.
  int lanes = 0;

  // Adds the products of some pairs of inputs to sums[pixel][channel], for all channels of `blocks`
  // blocks. `patches` has kPixels rows of 2 * pairs numbers, `weights` for each block and pair as
  // many pairs as there are lanes. Strides count numbers.
  void (*add)(const int16_t* patches, int patch_stride, int pairs, const int16_t* weights,
              int64_t block_stride, int blocks, int32_t* sums, int sum_stride) = nullptr;

  // numbers[i] = Clamped(rne(sums[i] multipliers[i]), zero_point, low, high), for whole blocks.
  // REQUIRES: finite multipliers.
  void (*round)(const int32_t* sums, const float* multipliers, int count, int zero_point, int low,
                int high, int32_t* numbers) = nullptr;
};

// The kernels for the best target of this machine.
const QuantKernels& ChooseQuantKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_QUANT_KERNELS_H_
