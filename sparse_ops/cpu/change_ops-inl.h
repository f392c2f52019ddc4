// Compiled once a target; include after hwy/highway.h.
#if defined(CACHEINF_SPARSE_OPS_CPU_CHANGE_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHEINF_SPARSE_OPS_CPU_CHANGE_OPS_INL_H_
#undef CACHEINF_SPARSE_OPS_CPU_CHANGE_OPS_INL_H_
#else
#define CACHEINF_SPARSE_OPS_CPU_CHANGE_OPS_INL_H_
#endif

#include <cstdint>

#include "sparse_ops/cpu/simd-inl.h"

// The change of a pixel, as ChangeTest defines it with a threshold.

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {

// The sum of all lanes, halves added to halves.
template <typename D>
HWY_INLINE float SumHalves(D, hn::Vec<D> lanes) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(lanes);
  } else {
    const hn::Half<D> half;  // targets of one lane have no UpperHalf: it is found through `half`
    return SumHalves(half, hn::Add(hn::LowerHalf(half, lanes), UpperHalf(half, lanes)));
  }
}

HWY_INLINE float SumOfSquaredChanges(const float* fresh, const float* stored, const float* scale,
                                     int channels) {
  constexpr int kSumLanes = 16;  // of ops.h
  constexpr int kVectors = kSumLanes / kLanes;
  Floats lanes[kVectors];
  for (Floats& lane : lanes) lane = hn::Zero(FloatTag());
  for (int first = 0; first < channels; first += kSumLanes) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      const int c = first + v * kLanes;
      // Numbers that are not there are squares of zero, which leave a sum as it is.
      if (c >= channels) break;
      const Floats difference =
          hn::Sub(LoadFirst(fresh + c, channels - c), LoadFirst(stored + c, channels - c));
      const Floats change = hn::Mul(difference, LoadFirst(scale + c, channels - c));
      lanes[v] = Fma(change, change, lanes[v]);
    }
  }
  CACHEINF_UNROLL for (int half = kVectors / 2; half >= 1; half /= 2) {
    CACHEINF_UNROLL for (int v = 0; v < half; ++v) lanes[v] = hn::Add(lanes[v], lanes[v + half]);
  }
  return SumHalves(FloatTag(), lanes[0]);
}

// changed[i] becomes 1 if a pixel with this sum of squared changes is a change, else 0. A NaN is
// one. REQUIRES: `sums` aligned, with room for whole vectors; they are lost.
HWY_INLINE void JudgeChanges(float* sums, int channels, float threshold, int pixels,
                             uint8_t* changed) {
  const Floats count = hn::Set(FloatTag(), static_cast<float>(channels));
  for (int i = 0; i < pixels; i += kLanes) {
    const Floats mean = hn::Div(hn::Load(FloatTag(), sums + i), count);
    hn::Store(hn::Sqrt(mean), FloatTag(), sums + i);
  }
  for (int i = 0; i < pixels; ++i) changed[i] = sums[i] <= threshold ? 0 : 1;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#endif  // CACHEINF_SPARSE_OPS_CPU_CHANGE_OPS_INL_H_
