// Compiled once per target; include after hwy/highway.h.
#if defined(CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
#undef CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
#else
#define CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "sparse_ops/cpu/simd-inl.h"
#include "sparse_ops/host_device.h"
#include "sparse_ops/specs.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {

// The number type of function_core.inc: one vector.
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
  // Highway's versions lose the sign of zero here.
  HWY_INLINE F Floor(F a) const { return Set(std::floor(hn::GetLane(a))); }
  HWY_INLINE F Ceil(F a) const { return Set(std::ceil(hn::GetLane(a))); }
  HWY_INLINE F Round(F a) const { return Set(std::nearbyint(hn::GetLane(a))); }
#else
  HWY_INLINE F Floor(F a) const { return hn::Floor(a); }
  HWY_INLINE F Ceil(F a) const { return hn::Ceil(a); }
  HWY_INLINE F Round(F a) const { return hn::Round(a); }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // These instructions return their second operand unless the comparison holds.
  HWY_INLINE F Larger(F a, F b) const { return hn::Max(a, b); }
  HWY_INLINE F Smaller(F a, F b) const { return hn::Min(a, b); }
#else
  HWY_INLINE F Larger(F a, F b) const { return Select(Lt(b, a), a, b); }
  HWY_INLINE F Smaller(F a, F b) const { return Select(Lt(a, b), a, b); }
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

// The number type of function_core.inc: several vectors that go through a function side by side.
// One alone would stall at each step.
template <int kCount>
struct VectorGroupOps {
  struct F {
    VectorOps::F v[kCount];
  };
  struct I {
    VectorOps::I v[kCount];
  };
  struct M {
    VectorOps::M v[kCount];
  };

  // fn(i) for every vector.
  template <typename Result, typename Fn>
  HWY_INLINE static Result Each(const Fn& fn) {
    Result result;
    _Pragma("GCC unroll 8") for (int i = 0; i < kCount; ++i) result.v[i] = fn(i);
    return result;
  }

#define CACHEINF_EACH(Result, ...) \
  return Each<Result>([&]([[maybe_unused]] int i) { return kOne.__VA_ARGS__; })
  HWY_INLINE F Set(float x) const { CACHEINF_EACH(F, Set(x)); }
  HWY_INLINE F Add(F a, F b) const { CACHEINF_EACH(F, Add(a.v[i], b.v[i])); }
  HWY_INLINE F Sub(F a, F b) const { CACHEINF_EACH(F, Sub(a.v[i], b.v[i])); }
  HWY_INLINE F Mul(F a, F b) const { CACHEINF_EACH(F, Mul(a.v[i], b.v[i])); }
  HWY_INLINE F Div(F a, F b) const { CACHEINF_EACH(F, Div(a.v[i], b.v[i])); }
  HWY_INLINE F Sqrt(F a) const { CACHEINF_EACH(F, Sqrt(a.v[i])); }
  HWY_INLINE F MulAdd(F x, F y, F z) const { CACHEINF_EACH(F, MulAdd(x.v[i], y.v[i], z.v[i])); }
  HWY_INLINE F Abs(F a) const { CACHEINF_EACH(F, Abs(a.v[i])); }
  HWY_INLINE F Neg(F a) const { CACHEINF_EACH(F, Neg(a.v[i])); }
  HWY_INLINE F Floor(F a) const { CACHEINF_EACH(F, Floor(a.v[i])); }
  HWY_INLINE F Ceil(F a) const { CACHEINF_EACH(F, Ceil(a.v[i])); }
  HWY_INLINE F Round(F a) const { CACHEINF_EACH(F, Round(a.v[i])); }
  HWY_INLINE F Larger(F a, F b) const { CACHEINF_EACH(F, Larger(a.v[i], b.v[i])); }
  HWY_INLINE F Smaller(F a, F b) const { CACHEINF_EACH(F, Smaller(a.v[i], b.v[i])); }
  HWY_INLINE M Lt(F a, F b) const { CACHEINF_EACH(M, Lt(a.v[i], b.v[i])); }
  HWY_INLINE M Eq(F a, F b) const { CACHEINF_EACH(M, Eq(a.v[i], b.v[i])); }
  HWY_INLINE M IsNaN(F a) const { CACHEINF_EACH(M, IsNaN(a.v[i])); }
  HWY_INLINE F Select(M m, F yes, F no) const {
    CACHEINF_EACH(F, Select(m.v[i], yes.v[i], no.v[i]));
  }
  HWY_INLINE I Bits(F a) const { CACHEINF_EACH(I, Bits(a.v[i])); }
  HWY_INLINE F FromBits(I bits) const { CACHEINF_EACH(F, FromBits(bits.v[i])); }
  HWY_INLINE I SetInt(int32_t a) const { CACHEINF_EACH(I, SetInt(a)); }
  HWY_INLINE F ToFloat(I a) const { CACHEINF_EACH(F, ToFloat(a.v[i])); }
  HWY_INLINE I AddInt(I a, I b) const { CACHEINF_EACH(I, AddInt(a.v[i], b.v[i])); }
  HWY_INLINE I SubInt(I a, I b) const { CACHEINF_EACH(I, SubInt(a.v[i], b.v[i])); }
  HWY_INLINE I AndInt(I a, I b) const { CACHEINF_EACH(I, AndInt(a.v[i], b.v[i])); }
  HWY_INLINE I XorInt(I a, I b) const { CACHEINF_EACH(I, XorInt(a.v[i], b.v[i])); }
  template <int n>
  HWY_INLINE I ShiftLeft(I a) const {
    CACHEINF_EACH(I, template ShiftLeft<n>(a.v[i]));
  }
  template <int n>
  HWY_INLINE I ShiftRight(I a) const {
    CACHEINF_EACH(I, template ShiftRight<n>(a.v[i]));
  }
#undef CACHEINF_EACH

 private:
  static constexpr VectorOps kOne{};
};

#include "sparse_ops/function_core.inc"

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CACHEINF_SPARSE_OPS_CPU_VECTOR_OPS_INL_H_
