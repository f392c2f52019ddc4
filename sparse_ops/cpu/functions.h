#ifndef CACHEINF_SPARSE_OPS_CPU_FUNCTIONS_H_
#define CACHEINF_SPARSE_OPS_CPU_FUNCTIONS_H_

#include <cstdint>

#include "sparse_ops/specs.h"

// Functions of one and of two numbers (sparse_ops/function.h) on contiguous numbers.

namespace cacheinf {
namespace cpu {

// out[i] = f(in[i]); `out` may be `in`.
using FunctionKernel = void (*)(const Function& function, const float* in, float* out,
                                int64_t count);

// out[i] = in[i] < 0 ? in[i] slopes[i] : in[i]; `out` may be `in`.
using PReluKernel = void (*)(const float* slopes, const float* in, float* out, int64_t count);

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

struct FunctionKernels {
  FunctionKernel (*function)(Function::Kind kind) = nullptr;  // for kPRelu, `alpha` is the slope
  PReluKernel prelu = nullptr;
  BinaryKernels (*binary)(BinaryKind kind) = nullptr;
  ScaleShiftKernel scale_shift = nullptr;
};

// Those for the best target that this machine has.
const FunctionKernels& ChooseFunctionKernels();

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_FUNCTIONS_H_
