#ifndef CACHEINF_SPARSE_OPS_CPU_FUNCTIONS_H_
#define CACHEINF_SPARSE_OPS_CPU_FUNCTIONS_H_

#include <cstdint>

#include "sparse_ops/specs.h"

// Functions of one and of two numbers (sparse_ops/function.h) on contiguous numbers.

namespace cacheinf::cpu {

// out[i] = f(in[i]); `out` may be `in`.
using FunctionKernel = void (*)(const Function& function, const float* in, float* out,
                                int64_t count);

// Equally spaced pixels, and where their new values go (in place, too).
struct PixelMap {
  const float* in = nullptr;
  int64_t in_step = 0;
  float* out = nullptr;
  int64_t out_step = 0;
  int pixels = 0;
  int channels = 0;
};

// For channel c: x < 0 ? x slopes[c] : x.
using PReluKernel = void (*)(const float* slopes, const PixelMap& map);

// out[i] = a[i] op b[i]; `out` may be `a` or `b`.
using BinaryKernel = void (*)(const float* a, const float* b, float* out, int64_t count);

struct BinaryKernels {
  BinaryKernel both = nullptr;
  BinaryKernel one_a = nullptr;  // a[0] for every i
  BinaryKernel one_b = nullptr;  // b[0] for every i
};

// out[i] = fma(in[i], scale[i], shift[i]); `out` may be `in`.
using ScaleShiftKernel = void (*)(const float* scale, const float* shift, const float* in,
                                  float* out, int64_t count);

// For channel c: fma(x, scale[c], shift[c]).
using ScaleShiftPixelsKernel = void (*)(const float* scale, const float* shift,
                                        const PixelMap& map);

struct FunctionKernels {
  FunctionKernel (*function)(Function::Kind kind) = nullptr;  // for kPRelu, `alpha` is the slope
  PReluKernel prelu = nullptr;
  BinaryKernels (*binary)(BinaryKind kind) = nullptr;
  ScaleShiftKernel scale_shift = nullptr;
  ScaleShiftPixelsKernel scale_shift_pixels = nullptr;
};

// The kernels for the best target of this machine.
const FunctionKernels& ChooseFunctionKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_FUNCTIONS_H_
