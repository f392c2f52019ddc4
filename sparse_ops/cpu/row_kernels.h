#ifndef CACHEINF_SPARSE_OPS_CPU_ROW_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_ROW_KERNELS_H_

#include <cstdint>

// Kernels over contiguous numbers: the channels of a pixel, or the last dimension of a tensor.

namespace cacheinf {
namespace cpu {

struct RowKernels {
  // In lanes, as ops.h says.
  float (*sum)(const float* in, int64_t count) = nullptr;
  float (*maximum)(const float* in, int64_t count) = nullptr;
  float (*minimum)(const float* in, int64_t count) = nullptr;

  // As LayerNormArgs says; scale and shift may be null.
  void (*layer_norm)(const float* in, int64_t count, float epsilon, const float* scale,
                     const float* shift, float* out) = nullptr;
  // (in - mean) inverse_deviation, then with scale fma(., scale, shift), each number by its own.
  void (*normalise)(const float* in, int64_t count, const float* means,
                    const float* inverse_deviations, const float* scale, const float* shift,
                    float* out) = nullptr;
  void (*softmax)(const float* in, int64_t count, float* out) = nullptr;
  void (*log_softmax)(const float* in, int64_t count, float* out) = nullptr;
  // As ArgMaxArgs says. REQUIRES: count >= 1.
  int64_t (*arg_max)(const float* in, int64_t count) = nullptr;
};

// Those for the best target that this machine has.
const RowKernels& ChooseRowKernels();

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_ROW_KERNELS_H_
