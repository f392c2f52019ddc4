#ifndef CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_
#define CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/function.h"

// The functions of function.h within kernels, of `count` numbers at a time: the choice of the
// function is made once for all of them.

namespace cacheinf {
namespace cuda {

// numbers[i] = f(numbers[i]), for kPRelu with slopes[i].
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

// The same of a function that is not kPRelu.
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

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_FUNCTIONS_H_
