// Compiled once per target; include after hwy/highway.h.
#if defined(CACHEINF_SPARSE_OPS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHEINF_SPARSE_OPS_CPU_SIMD_INL_H_
#undef CACHEINF_SPARSE_OPS_CPU_SIMD_INL_H_
#else
#define CACHEINF_SPARSE_OPS_CPU_SIMD_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/highway.h"

// Stands before loops over arrays of vectors: only full unrolling keeps the vectors in registers.
#undef CACHEINF_UNROLL
#define CACHEINF_UNROLL _Pragma("GCC unroll 32")

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
using FloatMask = hn::Mask<FloatTag>;

constexpr int kLanes = static_cast<int>(HWY_LANES(float));

// a b + c, rounded once, on every target.
HWY_INLINE Floats Fma(Floats a, Floats b, Floats c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  static_assert(kLanes == 1, "the only target without a fused multiply-add has one lane");
  return hn::Set(FloatTag(), std::fma(hn::GetLane(a), hn::GetLane(b), hn::GetLane(c)));
#endif
}

// c - a b, rounded once, on every target.
HWY_INLINE Floats NegFma(Floats a, Floats b, Floats c) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(a, b, c);
#else
  return Fma(hn::Neg(a), b, c);
#endif
}

HWY_INLINE FloatMask FirstLanes(int64_t count) {
  return hn::FirstN(FloatTag(), static_cast<size_t>(count));
}

#if HWY_TARGET == HWY_NEON
// Highway's masked accesses would read the whole vector here and write it back, a race with the
// thread that owns the rest.
HWY_INLINE Floats MaskedLoadFirst(const float* from, int64_t count) {
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(FloatTag(), lanes);
}

HWY_INLINE void MaskedStoreFirst(Floats values, float* to, int64_t count) {
  HWY_ALIGN float lanes[kLanes];
  hn::Store(values, FloatTag(), lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}
#else
HWY_INLINE Floats MaskedLoadFirst(const float* from, int64_t count) {
  return hn::MaskedLoad(FirstLanes(count), FloatTag(), from);
}

HWY_INLINE void MaskedStoreFirst(Floats values, float* to, int64_t count) {
  hn::BlendedStore(values, FirstLanes(count), FloatTag(), to);
}
#endif

// Loads the first `count` lanes, at most kLanes. Others are zero; their memory is untouched.
HWY_INLINE Floats LoadFirst(const float* from, int64_t count) {
  if (count >= kLanes) return hn::LoadU(FloatTag(), from);
  return MaskedLoadFirst(from, count);
}

HWY_INLINE void StoreFirst(Floats values, float* to, int64_t count) {
  if (count >= kLanes) {
    hn::StoreU(values, FloatTag(), to);
  } else {
    MaskedStoreFirst(values, to, count);
  }
}

// Adds one vector of a pixel's channels to the lanes of ChangeTest's sum of squares.
HWY_INLINE Floats AddSquaredChange(Floats lanes, Floats fresh, Floats stored,
                                   Floats inverse_spread) {
  const Floats change = hn::Mul(hn::Sub(fresh, stored), inverse_spread);
  return Fma(change, change, lanes);
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CACHEINF_SPARSE_OPS_CPU_SIMD_INL_H_
