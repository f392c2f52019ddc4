// Compiled once a target; include after hwy/highway.h.
#if defined(CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
#undef CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
#else
#define CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "sparse_ops/cpu/simd-inl.h"
#include "sparse_ops/specs.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {

// Numbers of function_core.inc: one vector.
struct VectorOps {
  using IntTag = hn::RebindToSigned<FloatTag>;
  using F = Floats;
  using I = hn::Vec<IntTag>;
  using M = FloatMask;

  HWY_INLINE F Set(float x) const { return hn::Set(FloatTag(), x); }
  HWY_INLINE F Add(F a, F b) const { return hn::Add(a, b); }
  HWY_INLINE F Sub(F a, F b) const { return hn::Sub(a, b); }
  HWY_INLINE F Mul(F a, F b) const { return hn::Mul(a, b); }
  HWY_INLINE F Div(F a, F b) const { return hn::Div(a, b); }
  HWY_INLINE F Sqrt(F a) const { return hn::Sqrt(a); }
  HWY_INLINE F MulAdd(F x, F y, F z) const { return Fma(x, y, z); }
  HWY_INLINE F Abs(F a) const { return hn::Abs(a); }
  HWY_INLINE F Neg(F a) const { return hn::Neg(a); }
#if HWY_TARGET == HWY_SCALAR
  // Highway's own lose the sign of zero here.
  HWY_INLINE F Floor(F a) const { return Set(std::floor(hn::GetLane(a))); }
  HWY_INLINE F Ceil(F a) const { return Set(std::ceil(hn::GetLane(a))); }
  HWY_INLINE F Round(F a) const { return Set(std::nearbyint(hn::GetLane(a))); }
#else
  HWY_INLINE F Floor(F a) const { return hn::Floor(a); }
  HWY_INLINE F Ceil(F a) const { return hn::Ceil(a); }
  HWY_INLINE F Round(F a) const { return hn::Round(a); }
#endif
  HWY_INLINE M Lt(F a, F b) const { return hn::Lt(a, b); }
  HWY_INLINE M Eq(F a, F b) const { return hn::Eq(a, b); }
  HWY_INLINE M IsNaN(F a) const { return hn::IsNaN(a); }
  HWY_INLINE F Select(M m, F yes, F no) const { return hn::IfThenElse(m, yes, no); }
  HWY_INLINE I Bits(F a) const { return hn::BitCast(IntTag(), a); }
  HWY_INLINE F FromBits(I bits) const { return hn::BitCast(FloatTag(), bits); }
  HWY_INLINE I SetInt(int32_t a) const { return hn::Set(IntTag(), a); }
  HWY_INLINE F ToFloat(I a) const { return hn::ConvertTo(FloatTag(), a); }
  HWY_INLINE I AddInt(I a, I b) const { return hn::Add(a, b); }
  HWY_INLINE I SubInt(I a, I b) const { return hn::Sub(a, b); }
  HWY_INLINE I AndInt(I a, I b) const { return hn::And(a, b); }
  HWY_INLINE I XorInt(I a, I b) const { return hn::Xor(a, b); }
  template <int n>
  HWY_INLINE I ShiftLeft(I a) const {
    return hn::ShiftLeft<n>(a);
  }
  template <int n>
  HWY_INLINE I ShiftRight(I a) const {
    return hn::ShiftRight<n>(a);
  }
};

#include "sparse_ops/function_core.inc"

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#endif  // CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
