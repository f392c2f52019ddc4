#include "sparse_ops/cpu/row_kernels.h"

#include <cmath>

#include "sparse_ops/cpu/targets.h"
#include "sparse_ops/function.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/row_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

// The 16 lanes of ops.h, in as many vectors as they need.
constexpr int kSumLanes = 16;
constexpr int kVectors = kSumLanes / kLanes;
static_assert(kVectors * kLanes == kSumLanes, "vectors of at most 16 lanes");

// Adds element i to lane i % 16 by `accumulate`; lanes beyond the last element keep their number.
// load(i, left) gives the elements from i on, of which at least the first `left` count.
HWY_INLINE float Reduce(const auto& load, int64_t count, float start, const auto& accumulate,
                        const auto& combine) {
  Floats vectors[kVectors];
  for (Floats& vector : vectors) vector = hn::Set(FloatTag(), start);
  int64_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = accumulate(vectors[v], load(i + v * kLanes, kLanes));
    }
  }
  for (int v = 0; i < count; ++v, i += kLanes) {
    const Floats next = accumulate(vectors[v], load(i, count - i));
    vectors[v] =
        count - i >= kLanes ? next : hn::IfThenElse(FirstLanes(count - i), next, vectors[v]);
  }
  HWY_ALIGN float lanes[kSumLanes];
  for (int v = 0; v < kVectors; ++v) hn::Store(vectors[v], FloatTag(), lanes + v * kLanes);
  for (int half = kSumLanes / 2; half >= 1; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

struct Numbers {
  const float* in;

  HWY_INLINE Floats operator()(int64_t i, int64_t left) const { return LoadFirst(in + i, left); }
};

template <BinaryKind kind>
HWY_INLINE float ReduceBy(const float* in, int64_t count, float start) {
  return Reduce(
      Numbers{in}, count, start,
      [](Floats lane, Floats x) { return Combine<kind>(VectorOps(), lane, x); },
      [](float a, float b) { return scalar::Combine<kind>(scalar::Ops(), a, b); });
}

HWY_INLINE float Add(float a, float b) { return a + b; }

float Sum(const float* in, int64_t count) { return ReduceBy<BinaryKind::kAdd>(in, count, 0.0f); }

float Maximum(const float* in, int64_t count) {
  return ReduceBy<BinaryKind::kMaximum>(in, count, -HUGE_VALF);
}

float Minimum(const float* in, int64_t count) {
  return ReduceBy<BinaryKind::kMinimum>(in, count, HUGE_VALF);
}

void LayerNorm(const float* in, int64_t count, float epsilon, const float* scale,
               const float* shift, float* out) {
  const auto total = static_cast<float>(count);
  const Floats mean = hn::Set(FloatTag(), Sum(in, count) / total);
  const float squares = Reduce(
      Numbers{in}, count, 0.0f,
      [&](Floats lane, Floats x) {
        const Floats distance = hn::Sub(x, mean);
        return Fma(distance, distance, lane);
      },
      Add);
  const float variance = squares / total;
  const Floats inverse = hn::Set(FloatTag(), 1.0f / std::sqrt(variance + epsilon));
  for (int64_t i = 0; i < count; i += kLanes) {
    Floats y = hn::Mul(hn::Sub(LoadFirst(in + i, count - i), mean), inverse);
    if (scale != nullptr) {
      y = Fma(y, LoadFirst(scale + i, count - i), LoadFirst(shift + i, count - i));
    }
    StoreFirst(y, out + i, count - i);
  }
}

void Normalise(const float* in, int64_t count, const float* means, const float* inverse_deviations,
               const float* scale, const float* shift, float* out) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rest = count - i;
    const Floats distance = hn::Sub(LoadFirst(in + i, rest), LoadFirst(means + i, rest));
    Floats y = hn::Mul(distance, LoadFirst(inverse_deviations + i, rest));
    if (scale != nullptr) y = Fma(y, LoadFirst(scale + i, rest), LoadFirst(shift + i, rest));
    StoreFirst(y, out + i, rest);
  }
}

// e^(in - largest), `largest` in all lanes.
__attribute__((flatten)) HWY_INLINE Floats ExpOfDistance(Floats x, Floats largest) {
  return Exp(VectorOps(), hn::Sub(x, largest));
}

__attribute__((flatten)) void Softmax(const float* in, int64_t count, float* out) {
  const Floats largest = hn::Set(FloatTag(), Maximum(in, count));
  for (int64_t i = 0; i < count; i += kLanes) {
    StoreFirst(ExpOfDistance(LoadFirst(in + i, count - i), largest), out + i, count - i);
  }
  const Floats sum = hn::Set(FloatTag(), Sum(out, count));
  for (int64_t i = 0; i < count; i += kLanes) {
    StoreFirst(hn::Div(LoadFirst(out + i, count - i), sum), out + i, count - i);
  }
}

__attribute__((flatten)) void LogSoftmax(const float* in, int64_t count, float* out) {
  const Floats largest = hn::Set(FloatTag(), Maximum(in, count));
  const float sum = Reduce(
      Numbers{in}, count, 0.0f,
      [&](Floats lane, Floats x) { return hn::Add(lane, ExpOfDistance(x, largest)); }, Add);
  const Floats log_sum = hn::Set(FloatTag(), scalar::Log(scalar::Ops(), sum));
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats distance = hn::Sub(LoadFirst(in + i, count - i), largest);
    StoreFirst(hn::Sub(distance, log_sum), out + i, count - i);
  }
}

int64_t ArgMax(const float* in, int64_t count) {
  const Floats least = hn::Set(FloatTag(), -HUGE_VALF);
  const auto load = [&](int64_t i) {
    const Floats x = LoadFirst(in + i, count - i);
    return count - i >= kLanes ? x : hn::IfThenElse(FirstLanes(count - i), x, least);
  };
  // Finds the largest number, or whether there is a NaN, then the first place that holds it.
  const Floats first = load(0);
  Floats lanes = first;
  FloatMask nans = hn::IsNaN(first);
  for (int64_t i = kLanes; i < count; i += kLanes) {
    const Floats x = load(i);
    lanes = hn::Max(lanes, x);
    nans = hn::Or(nans, hn::IsNaN(x));
  }
  const Floats largest = hn::MaxOfLanes(FloatTag(), lanes);
  const bool has_nan = !hn::AllFalse(FloatTag(), nans);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats x = i == 0 ? first : load(i);
    const FloatMask hit = has_nan ? hn::IsNaN(x) : hn::Eq(x, largest);
    const intptr_t lane = hn::FindFirstTrue(FloatTag(), hit);
    if (lane >= 0) return i + lane;
  }
  return 0;
}

}  // namespace

const RowKernels& TargetRowKernels() {
  static constexpr RowKernels kKernels = {Sum,       Maximum, Minimum,    LayerNorm,
                                          Normalise, Softmax, LogSoftmax, ArgMax};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(RowKernels)
#endif
