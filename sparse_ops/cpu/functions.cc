#include "sparse_ops/cpu/functions.h"

#include <cstddef>
#include <utility>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/functions.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

// Flattened, because calling functions of function_core.inc with vectors would push their constants
// out of registers.
#define CACHEINF_FLATTEN __attribute__((flatten))

// As many vectors as 32 registers hold, or 16.
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
// next vector. Takes as many pixels as stay in the first-level cache.
HWY_INLINE void ForEachVector(const PixelMap& map, const auto& fn) {
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

// One entry per kind.
template <int... kinds>
FunctionKernel KernelOf(Function::Kind kind, std::integer_sequence<int, kinds...>) {
  static constexpr FunctionKernel kKernels[] = {MapFunction<static_cast<Function::Kind>(kinds)>...};
  return kKernels[static_cast<size_t>(kind)];
}

template <int... kinds>
BinaryKernels BinaryKernelsOf(BinaryKind kind, std::integer_sequence<int, kinds...>) {
  static constexpr BinaryKernels kKernels[] = {
      {MapBinary<static_cast<BinaryKind>(kinds), false, false>,
       MapBinary<static_cast<BinaryKind>(kinds), true, false>,
       MapBinary<static_cast<BinaryKind>(kinds), false, true>}...};
  return kKernels[static_cast<size_t>(kind)];
}

FunctionKernel KernelOf(Function::Kind kind) {
  return KernelOf(kind, std::make_integer_sequence<int, Function::kKinds>());
}

BinaryKernels BinaryKernelsOf(BinaryKind kind) {
  return BinaryKernelsOf(kind, std::make_integer_sequence<int, kBinaryKinds>());
}

}  // namespace

const FunctionKernels& TargetFunctionKernels() {
  static constexpr FunctionKernels kKernels = {KernelOf, MapPRelu, BinaryKernelsOf, MapScaleShift,
                                               MapScaleShiftPixels};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(FunctionKernels)
#endif
