#ifndef CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_
#define CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_

#include <utility>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/function.h"
#include "sparse_ops/host_device.h"

// The functions of function.h, with the same bits, for kernels.

namespace cacheinf::cuda {

// Long functions, of which a file's kernels share one copy.
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
  // This compiles to a switch.
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

// For kPRelu, alpha is the slope.
CACHEINF_HOST_DEVICE inline float ApplyFunction(const Function& function, float x) {
  if (function.kind == Function::Kind::kIdentity) return x;
  return internal::ApplyLong(function, x);
}

CACHEINF_HOST_DEVICE CACHEINF_NOT_INLINE inline float CombineNumbers(BinaryKind kind, float a,
                                                                     float b) {
  return internal::CombineByOneOf(kind, a, b, std::make_integer_sequence<int, kBinaryKinds>());
}

// -------------------------------------------------------------------------------------------------
// `count` numbers at a time, without a call: the function is chosen once for all.

// numbers[i] = function(numbers[i]); for kPRelu with slopes[i].
template <int count, int first_kind = 0>
CACHEINF_KERNEL void ApplyTo(const Function& function, const float (&slopes)[count],
                             float (&numbers)[count]) {
  if constexpr (first_kind < Function::kKinds) {
    constexpr auto kKind = static_cast<Function::Kind>(first_kind);
    if (function.kind != kKind) return ApplyTo<count, first_kind + 1>(function, slopes, numbers);
    CACHEINF_UNROLL
    for (int i = 0; i < count; ++i) {
      const float alpha = kKind == Function::Kind::kPRelu ? slopes[i] : function.alpha;
      numbers[i] = scalar::Evaluate<kKind>(scalar::Ops(), numbers[i], alpha, function.beta);
    }
  }
}

// REQUIRES: a function other than kPRelu.
template <int count>
CACHEINF_KERNEL void ApplyTo(const Function& function, float (&numbers)[count]) {
  const float no_slopes[count] = {};
  ApplyTo(function, no_slopes, numbers);
}

// a[i] = a[i] op b[i].
template <int count, int first_kind = 0>
CACHEINF_KERNEL void CombineTo(BinaryKind kind, float (&a)[count], const float (&b)[count]) {
  if constexpr (first_kind < kBinaryKinds) {
    constexpr auto kKind = static_cast<BinaryKind>(first_kind);
    if (kind != kKind) return CombineTo<count, first_kind + 1>(kind, a, b);
    CACHEINF_UNROLL
    for (int i = 0; i < count; ++i) a[i] = scalar::Combine<kKind>(scalar::Ops(), a[i], b[i]);
  }
}

CACHEINF_HOST_DEVICE inline float Maximum(float a, float b) {
  return scalar::Combine<BinaryKind::kMaximum>(scalar::Ops(), a, b);
}
CACHEINF_HOST_DEVICE inline float Minimum(float a, float b) {
  return scalar::Combine<BinaryKind::kMinimum>(scalar::Ops(), a, b);
}
CACHEINF_HOST_DEVICE inline float ExpOf(float x) { return scalar::Exp(scalar::Ops(), x); }
CACHEINF_HOST_DEVICE inline float LogOf(float x) { return scalar::Log(scalar::Ops(), x); }

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_
