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

struct ConvOptions {
  // The bits are the same.
  enum class Tiles : uint8_t {
    kByCount,  // large ones where they keep the whole device busy
    kLarge,
    kSmall,
  };

  // Convolutions of small groups, depthwise ones among them, are exact in any case.
  Precision precision = Precision::kExact;
  Tiles tiles = Tiles::kByCount;
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_OPTIONS_H_
