#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_

#include <cstdint>

namespace cacheinf {
namespace cuda {

// What a convolution multiplies. Sums are always of single precision.
enum class Precision : uint8_t {
  kExact,  // single precision: the bits of ops.h
  // Matrix instructions, which need a compute capability of 8.0. Inputs and weights are rounded to
  // the nearest number of this format; the bits do not depend on active pixels or tiles, but on the
  // GPU.
  kTf32,
  kHalf,
  kBfloat16,
};

// Whether a convolution has tiles, which small groups would leave mostly empty.
constexpr bool HasTiles(int groups, int group_inputs, int group_outputs) {
  constexpr int kFewInputs = 8;
  constexpr int kFewOutputs = 16;
  return groups == 1 || (group_inputs >= kFewInputs && group_outputs >= kFewOutputs);
}

struct ConvOptions {
  // Convolutions of small groups, depthwise ones among them, are exact in any case.
  Precision precision = Precision::kExact;
  // Up to this many pixels take small tiles, more take large ones; the bits are the same. Below 0:
  // as many as would not keep the whole device busy with large ones.
  int small_tiles_up_to = -1;
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_
