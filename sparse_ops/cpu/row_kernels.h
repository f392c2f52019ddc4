#ifndef CACHEINF_SPARSE_OPS_CPU_ROW_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_ROW_KERNELS_H_

#include <cstdint>

// Kernels over contiguous numbers: the channels of a pixel, or the last dimension of a tensor.

namespace cacheinf::cpu {

struct RowKernels {
  // In lanes, as ops.h says.
  float (*sum)(const float* in, int64_t count) = nullptr;
  float (*maximum)(const float* in, int64_t count) = nullptr;
  float (*minimum)(const float* in, int64_t count) = nullptr;

  // As LayerNormArgs says; scale and shift may be null.
  void (*layer_norm)(const float* in, int64_t count, float epsilon, const float* scale,
                     const float* shift, float* out) = nullptr;
  // (in - mean) inverse_deviation; with scale then fma(., scale, shift), element by element.
  void (*normalise)(const float* in, int64_t count, const float* means,
                    const float* inverse_deviations, const float* scale, const float* shift,
                    float* out) = nullptr;
  void (*softmax)(const float* in, int64_t count, float* out) = nullptr;
  void (*log_softmax)(const float* in, int64_t count, float* out) = nullptr;
  // As ArgMaxArgs says. REQUIRES: count >= 1.
  int64_t (*arg_max)(const float* in, int64_t count) = nullptr;
};

// The kernels for the best target of this machine.
const RowKernels& ChooseRowKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_ROW_KERNELS_H_
