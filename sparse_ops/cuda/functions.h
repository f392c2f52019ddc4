#ifndef CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_
#define CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_

#include <utility>

#include "sparse_ops/function.h"
#include "sparse_ops/host_device.h"

// The functions of function.h for kernels, with the same bits.

namespace cacheinf {
namespace cuda {

// One copy for all kernels of a file: they are long.
#ifdef __CUDACC__
#define CACHEINF_NOT_INLINE __noinline__
#else
#define CACHEINF_NOT_INLINE
#endif

namespace internal {

template <int... kinds>
CACHEINF_HOST_DEVICE float ApplyOneOf(const Function& function, float x,
                                      std::integer_sequence<int, kinds...>) {
  float value = x;
  // Compiles to a switch.
  const bool is_known = ((function.kind == static_cast<Function::Kind>(kinds) &&
                          (value = scalar::Evaluate<static_cast<Function::Kind>(kinds)>(
                               scalar::Ops(), x, function.alpha, function.beta),
                           true)) ||
                         ...);
  static_cast<void>(is_known);
  return value;
}

template <int... kinds>
CACHEINF_HOST_DEVICE float CombineByOneOf(BinaryKind kind, float a, float b,
                                          std::integer_sequence<int, kinds...>) {
  float value = a;
  const bool is_known =
      ((kind == static_cast<BinaryKind>(kinds) &&
        (value = scalar::Combine<static_cast<BinaryKind>(kinds)>(scalar::Ops(), a, b), true)) ||
       ...);
  static_cast<void>(is_known);
  return value;
}

CACHEINF_HOST_DEVICE CACHEINF_NOT_INLINE inline float ApplyLong(const Function& function, float x) {
  return ApplyOneOf(function, x, std::make_integer_sequence<int, Function::kKinds>());
}

}  // namespace internal

// The function's value. For kPRelu, alpha is the slope.
CACHEINF_HOST_DEVICE inline float ApplyFunction(const Function& function, float x) {
  if (function.kind == Function::Kind::kIdentity) return x;
  return internal::ApplyLong(function, x);
}

// a op b.
CACHEINF_HOST_DEVICE CACHEINF_NOT_INLINE inline float CombineNumbers(BinaryKind kind, float a,
                                                                     float b) {
  return internal::CombineByOneOf(kind, a, b, std::make_integer_sequence<int, kBinaryKinds>());
}

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_
