#ifndef CACHEINF_SPARSE_OPS_FUNCTION_H_
#define CACHEINF_SPARSE_OPS_FUNCTION_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "sparse_ops/specs.h"

// Functions of one number, with our own bits. function_core.inc has the definitions.

namespace cacheinf {

namespace scalar {

// Numbers of function_core.inc: one float.
struct Ops {
  using F = float;
  using I = int32_t;
  using M = bool;

  F Set(float x) const { return x; }
  F Add(F a, F b) const { return a + b; }
  F Sub(F a, F b) const { return a - b; }
  F Mul(F a, F b) const { return a * b; }
  F Div(F a, F b) const { return a / b; }
  F Sqrt(F a) const { return std::sqrt(a); }
  F MulAdd(F x, F y, F z) const { return std::fma(x, y, z); }
  F Abs(F a) const { return std::fabs(a); }
  F Neg(F a) const { return -a; }
  F Floor(F a) const { return std::floor(a); }
  F Ceil(F a) const { return std::ceil(a); }
  F Round(F a) const { return std::nearbyint(a); }
  F Larger(F a, F b) const { return a > b ? a : b; }
  F Smaller(F a, F b) const { return a < b ? a : b; }
  M Lt(F a, F b) const { return a < b; }
  M Eq(F a, F b) const { return a == b; }
  M IsNaN(F a) const { return a != a; }
  F Select(M m, F yes, F no) const { return m ? yes : no; }
  I Bits(F a) const {
    I bits;
    std::memcpy(&bits, &a, sizeof(bits));
    return bits;
  }
  F FromBits(I bits) const {
    F a;
    std::memcpy(&a, &bits, sizeof(a));
    return a;
  }
  I SetInt(int32_t a) const { return a; }
  F ToFloat(I a) const { return static_cast<float>(a); }
  I AddInt(I a, I b) const {
    return static_cast<I>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  I SubInt(I a, I b) const {
    return static_cast<I>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
  }
  I AndInt(I a, I b) const { return a & b; }
  I XorInt(I a, I b) const { return a ^ b; }
  template <int n>
  I ShiftLeft(I a) const {
    return static_cast<I>(static_cast<uint32_t>(a) << n);
  }
  template <int n>
  I ShiftRight(I a) const {
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
