#include "sparse_ops/cpu/functions.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/functions.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

// Flattened: a function of function_core.inc called with vectors would lose its constants'
// registers.
#define CACHEINF_FLATTEN __attribute__((flatten))

// As many vectors as find room in 32 registers; or in 16.
constexpr int kGroup = HWY_TARGET == HWY_AVX2 ? 2 : 4;

template <Function::Kind kind>
CACHEINF_FLATTEN void MapFunction(const Function& function, const float* in, float* out,
                                  int64_t count) {
  using GroupOps = VectorGroupOps<kGroup>;
  constexpr GroupOps group_ops;
  const typename GroupOps::F alphas = group_ops.Set(function.alpha);
  const typename GroupOps::F betas = group_ops.Set(function.beta);
  int64_t i = 0;
  for (; i + kGroup * kLanes <= count; i += kGroup * kLanes) {
    const auto x = GroupOps::template Each<typename GroupOps::F>(
        [&](int v) { return hn::LoadU(FloatTag(), in + i + v * kLanes); });
    const auto y = Evaluate<kind>(group_ops, x, alphas, betas);
    for (int v = 0; v < kGroup; ++v) hn::StoreU(y.v[v], FloatTag(), out + i + v * kLanes);
  }
  constexpr VectorOps ops;
  const Floats alpha = ops.Set(function.alpha);
  const Floats beta = ops.Set(function.beta);
  for (; i < count; i += kLanes) {
    const Floats x = LoadFirst(in + i, count - i);
    StoreFirst(Evaluate<kind>(ops, x, alpha, beta), out + i, count - i);
  }
}

// Calls fn(channel, count, in, out, pixels) for every vector of channels of some pixels before the
// next vector: so many that they stay in the first-level cache.
template <typename Fn>
HWY_INLINE void ForEachVector(const PixelMap& map, const Fn& fn) {
  constexpr int kPartFloats = 4096;
  const int part = HWY_MAX(1, kPartFloats / map.channels);
  for (int first = 0; first < map.pixels; first += part) {
    const int end = HWY_MIN(map.pixels, first + part);
    for (int c = 0; c < map.channels; c += kLanes) {
      fn(c, HWY_MIN(kLanes, map.channels - c), map.in + first * map.in_step + c,
         map.out + first * map.out_step + c, end - first);
    }
  }
}

void MapPRelu(const float* slopes, const PixelMap& map) {
  constexpr VectorOps ops;
  ForEachVector(map, [&](int c, int count, const float* in, float* out, int pixels) {
    const Floats slope = LoadFirst(slopes + c, count);
    for (int p = 0; p < pixels; ++p, in += map.in_step, out += map.out_step) {
      const Floats x = LoadFirst(in, count);
      StoreFirst(Evaluate<Function::Kind::kPRelu>(ops, x, slope, slope), out, count);
    }
  });
}

void MapScaleShiftPixels(const float* scales, const float* shifts, const PixelMap& map) {
  ForEachVector(map, [&](int c, int count, const float* in, float* out, int pixels) {
    const Floats scale = LoadFirst(scales + c, count);
    const Floats shift = LoadFirst(shifts + c, count);
    for (int p = 0; p < pixels; ++p, in += map.in_step, out += map.out_step) {
      StoreFirst(Fma(LoadFirst(in, count), scale, shift), out, count);
    }
  });
}

void MapScaleShift(const float* scale, const float* shift, const float* in, float* out,
                   int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rest = count - i;
    StoreFirst(Fma(LoadFirst(in + i, rest), LoadFirst(scale + i, rest), LoadFirst(shift + i, rest)),
               out + i, rest);
  }
}

template <BinaryKind kind, bool kOneA, bool kOneB>
CACHEINF_FLATTEN void MapBinary(const float* a, const float* b, float* out, int64_t count) {
  constexpr VectorOps ops;
  const Floats one = ops.Set(kOneA ? *a : kOneB ? *b : 0.0f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats left = kOneA ? one : LoadFirst(a + i, count - i);
    const Floats right = kOneB ? one : LoadFirst(b + i, count - i);
    StoreFirst(Combine<kind>(ops, left, right), out + i, count - i);
  }
}

template <BinaryKind kind>
constexpr BinaryKernels BinaryKernelsOf() {
  return {MapBinary<kind, false, false>, MapBinary<kind, true, false>,
          MapBinary<kind, false, true>};
}

FunctionKernel KernelOf(Function::Kind kind) {
  using Kind = Function::Kind;
  switch (kind) {
#define CACHEINF_CASE(name) \
  case Kind::name:          \
    return MapFunction<Kind::name>
    CACHEINF_CASE(kIdentity);
    CACHEINF_CASE(kRelu);
    CACHEINF_CASE(kLeakyRelu);
    CACHEINF_CASE(kPRelu);
    CACHEINF_CASE(kElu);
    CACHEINF_CASE(kClip);
    CACHEINF_CASE(kSigmoid);
    CACHEINF_CASE(kHardSigmoid);
    CACHEINF_CASE(kSilu);
    CACHEINF_CASE(kHardSwish);
    CACHEINF_CASE(kGelu);
    CACHEINF_CASE(kGeluTanh);
    CACHEINF_CASE(kMish);
    CACHEINF_CASE(kTanh);
    CACHEINF_CASE(kSoftplus);
    CACHEINF_CASE(kExp);
    CACHEINF_CASE(kLog);
    CACHEINF_CASE(kErf);
    CACHEINF_CASE(kSqrt);
    CACHEINF_CASE(kReciprocal);
    CACHEINF_CASE(kAbs);
    CACHEINF_CASE(kNegate);
    CACHEINF_CASE(kFloor);
    CACHEINF_CASE(kCeil);
    CACHEINF_CASE(kRound);
    CACHEINF_CASE(kSin);
    CACHEINF_CASE(kCos);
#undef CACHEINF_CASE
  }
  return nullptr;
}

BinaryKernels BinaryKernelsOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return BinaryKernelsOf<BinaryKind::kAdd>();
    case BinaryKind::kSubtract:
      return BinaryKernelsOf<BinaryKind::kSubtract>();
    case BinaryKind::kMultiply:
      return BinaryKernelsOf<BinaryKind::kMultiply>();
    case BinaryKind::kDivide:
      return BinaryKernelsOf<BinaryKind::kDivide>();
    case BinaryKind::kPower:
      return BinaryKernelsOf<BinaryKind::kPower>();
    case BinaryKind::kMinimum:
      return BinaryKernelsOf<BinaryKind::kMinimum>();
    case BinaryKind::kMaximum:
      return BinaryKernelsOf<BinaryKind::kMaximum>();
  }
  return {};
}

}  // namespace

const FunctionKernels& TargetFunctionKernels() {
  static constexpr FunctionKernels kKernels = {KernelOf, MapPRelu, BinaryKernelsOf, MapScaleShift,
                                               MapScaleShiftPixels};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(FunctionKernels)
#endif
