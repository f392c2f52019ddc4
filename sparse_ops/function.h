#ifndef CACHEINF_SPARSE_OPS_FUNCTION_H_
#define CACHEINF_SPARSE_OPS_FUNCTION_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "sparse_ops/host_device.h"
#include "sparse_ops/specs.h"

// Functions of one number, whose bits we define ourselves in function_core.inc.

namespace cacheinf {

namespace scalar {

// The number type of function_core.inc: one float.
struct Ops {
  using F = float;
  using I = int32_t;
  using M = bool;

  CACHEINF_HOST_DEVICE F Set(float x) const { return x; }
  CACHEINF_HOST_DEVICE F Add(F a, F b) const { return a + b; }
  CACHEINF_HOST_DEVICE F Sub(F a, F b) const { return a - b; }
  CACHEINF_HOST_DEVICE F Mul(F a, F b) const { return a * b; }
  CACHEINF_HOST_DEVICE F Div(F a, F b) const { return a / b; }
  CACHEINF_HOST_DEVICE F Sqrt(F a) const { return std::sqrt(a); }
  CACHEINF_HOST_DEVICE F MulAdd(F x, F y, F z) const { return std::fma(x, y, z); }
  CACHEINF_HOST_DEVICE F Abs(F a) const { return std::fabs(a); }
  CACHEINF_HOST_DEVICE F Neg(F a) const { return -a; }
  CACHEINF_HOST_DEVICE F Floor(F a) const { return std::floor(a); }
  CACHEINF_HOST_DEVICE F Ceil(F a) const { return std::ceil(a); }
  CACHEINF_HOST_DEVICE F Round(F a) const { return std::nearbyint(a); }
  CACHEINF_HOST_DEVICE F Larger(F a, F b) const { return a > b ? a : b; }
  CACHEINF_HOST_DEVICE F Smaller(F a, F b) const { return a < b ? a : b; }
  CACHEINF_HOST_DEVICE M Lt(F a, F b) const { return a < b; }
  CACHEINF_HOST_DEVICE M Eq(F a, F b) const { return a == b; }
  CACHEINF_HOST_DEVICE M IsNaN(F a) const { return a != a; }
  CACHEINF_HOST_DEVICE F Select(M m, F yes, F no) const { return m ? yes : no; }
  CACHEINF_HOST_DEVICE I Bits(F a) const {
    I bits;
    std::memcpy(&bits, &a, sizeof(bits));
    return bits;
  }
  CACHEINF_HOST_DEVICE F FromBits(I bits) const {
    F a;
    std::memcpy(&a, &bits, sizeof(a));
    return a;
  }
  CACHEINF_HOST_DEVICE I SetInt(int32_t a) const { return a; }
  CACHEINF_HOST_DEVICE F ToFloat(I a) const { return static_cast<float>(a); }
  CACHEINF_HOST_DEVICE I AddInt(I a, I b) const {
    return static_cast<I>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  CACHEINF_HOST_DEVICE I SubInt(I a, I b) const {
    return static_cast<I>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
  }
  CACHEINF_HOST_DEVICE I AndInt(I a, I b) const { return a & b; }
  CACHEINF_HOST_DEVICE I XorInt(I a, I b) const { return a ^ b; }
  template <int n>
  CACHEINF_HOST_DEVICE I ShiftLeft(I a) const {
    return static_cast<I>(static_cast<uint32_t>(a) << n);
  }
  template <int n>
  CACHEINF_HOST_DEVICE I ShiftRight(I a) const {
    return a >> n;
  }
};

#include "sparse_ops/function_core.inc"

}  // namespace scalar

// The function's value. For kPRelu, alpha is the slope.
float Apply(const Function& function, float x);

// a op b.
float Combine(BinaryKind kind, float a, float b);

float Exp(float x);
float Log(float x);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_FUNCTION_H_
