#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_

#include <cstdint>

namespace cacheinf::cuda {

// The format of the numbers that a convolution multiplies. It always sums in single precision.
enum class Precision : uint8_t {
  kExact,  // single precision: the bits of ops.h
  // Matrix instructions, which need compute capability 8.0. They round inputs and weights to the
  // nearest number of this format. The bits depend on the GPU, but not on active pixels or tiles.
  kTf32,
  kHalf,
  kBfloat16,
};

// Whether a convolution has tiles; small groups would leave them mostly empty.
constexpr bool HasTiles(int groups, int group_inputs, int group_outputs) {
  constexpr int kFewInputs = 8;
  constexpr int kFewOutputs = 16;
  return groups == 1 || (group_inputs >= kFewInputs && group_outputs >= kFewOutputs);
}

struct ConvOptions {
  // Convolutions of small groups, such as depthwise ones, are always exact.
  Precision precision = Precision::kExact;
  // Up to this many pixels take small tiles, more take large ones; the bits are the same. Negative:
  // as many as large tiles could not keep the whole device busy with.
  int small_tiles_up_to = -1;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_
