#include "sparse_ops/cpu/quant_kernels.h"

#include <cstring>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/quant_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/instructions.h"
#include "sparse_ops/cpu/vector_ops-inl.h"
#include "sparse_ops/eight_bits.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

using SumTag = hn::ScalableTag<int32_t>;
using SumVector = hn::Vec<SumTag>;

constexpr int kMostWidth = 4 * kLanes;

// --- What becomes of sums in memory ----------------------------------------------------------

// numbers[i] = Clamped(rne(x[i]), zero_point, low, high); NaN gives low.
HWY_INLINE void StoreRounded(Floats x, int zero_point, int low, int high, int32_t* numbers) {
  constexpr VectorOps ops;
  const Floats moved = hn::Add(ops.Round(x), ops.Set(static_cast<float>(zero_point)));
  const Floats least = ops.Set(static_cast<float>(low));
  const Floats most = ops.Set(static_cast<float>(high));
  const Floats above = ops.Select(ops.Lt(least, moved), moved, least);
  const Floats clamped = ops.Select(ops.Lt(above, most), above, most);
  hn::StoreU(hn::ConvertTo(SumTag(), clamped), SumTag(), numbers);
}

// The floats that `count` bytes stand for.
void ToFloats(const uint8_t* bytes, const Steps& steps, int count, float* floats) {
  for (int i = 0; i < count; ++i) {
    const int q = steps.is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i];
    floats[i] = steps.scale * static_cast<float>(q - steps.zero_point);
  }
}

using FewBytesTag = hn::Rebind<uint8_t, SumTag>;  // as many as a vector has sums

constexpr int kBytesTogether = 8;

// Whether any of `count` bytes differ.
HWY_INLINE bool Differ(const uint8_t* a, const uint8_t* b, int count) {
  uint64_t difference = 0;
  int i = 0;
  for (; i + kBytesTogether <= count; i += kBytesTogether) {
    uint64_t of_a;
    uint64_t of_b;
    std::memcpy(&of_a, a + i, kBytesTogether);
    std::memcpy(&of_b, b + i, kBytesTogether);
    difference |= of_a ^ of_b;
  }
  for (; i < count; ++i) difference |= static_cast<uint64_t>(a[i] ^ b[i]);
  return difference != 0;
}

HWY_INLINE void CopyBytes(const uint8_t* from, int count, uint8_t* to) {
  int i = 0;
  for (; i + kBytesTogether <= count; i += kBytesTogether) {
    std::memcpy(to + i, from + i, kBytesTogether);
  }
  for (; i < count; ++i) to[i] = from[i];
}

// FinishSums, where bytes are stored as the sums are rounded, and nothing is added.
void FinishRounded(const QuantBlock& block, const QuantList& list, int first, int count,
                   const int32_t* sums) {
  constexpr VectorOps ops;
  const QuantEpilogue& epilogue = *list.epilogue;
  const Floats zero_point = ops.Set(static_cast<float>(epilogue.zero_point));
  const Floats low = ops.Set(static_cast<float>(epilogue.low));
  const Floats high = ops.Set(static_cast<float>(epilogue.high));
  const auto flip = hn::Set(FewBytesTag(), static_cast<uint8_t>(epilogue.flip));
  const int width = block.vectors * kLanes;
  uint8_t fresh[HWY_MAX(kMostWidth, kBytesTogether)];
  for (int p = 0; p < count; ++p, sums += width) {
    for (int i = 0; i < width; i += kLanes) {
      const Floats sum = hn::ConvertTo(FloatTag(), hn::LoadU(SumTag(), sums + i));
      const Floats steps = hn::Mul(sum, hn::LoadU(FloatTag(), block.multipliers + i));
      const Floats moved = hn::Add(ops.Round(steps), zero_point);
      const auto number = hn::ConvertTo(SumTag(), ops.Smaller(ops.Larger(moved, low), high));
      auto bytes = hn::DemoteTo(FewBytesTag(), number);
      if (!epilogue.has_table) bytes = hn::Xor(bytes, flip);
      hn::StoreU(bytes, FewBytesTag(), fresh + i);
    }
    for (int i = 0; i < width && epilogue.has_table; ++i) fresh[i] = epilogue.bytes[fresh[i]];
    const int pixel = first + p;
    auto* const stored = reinterpret_cast<uint8_t*>(list.outputs[pixel]) + block.first_output;
    if (list.changed != nullptr) {
      if (!Differ(stored, fresh, block.outputs)) continue;
      __atomic_store_n(list.changed[pixel], 1, __ATOMIC_RELAXED);
    }
    CopyBytes(fresh, block.outputs, stored);
  }
}

// One pixel's values on their way through an epilogue. Lengths are whole vectors.
class PixelValues {
 public:
  PixelValues(const QuantBlock& block, const QuantEpilogue& epilogue, const int32_t* sums)
      : block_(block), epilogue_(epilogue), sums_(sums), width_(block.vectors * kLanes) {}

  const uint8_t* bytes() const { return bytes_; }
  const float* floats() const { return values_; }

  void Compute(const float* residual) {
    if (epilogue_.rounds_sums) {
      RoundSums();
      if (residual == nullptr && !epilogue_.gives_floats) return;
      ToFloats(bytes_, epilogue_.addend, block_.outputs, values_);
      if (residual == nullptr) return;
    } else {
      ScaleSums();
    }
    const bool is_first = epilogue_.activation_before_residual;
    if (residual != nullptr && !is_first) AddResidual(residual);
    if (epilogue_.apply != nullptr) {
      epilogue_.apply(epilogue_.activation, values_, values_, block_.outputs);
    }
    if (residual != nullptr && is_first) AddResidual(residual);
    if (!epilogue_.gives_floats) RoundValues();
  }

 private:
  void RoundSums() {
    for (int i = 0; i < width_; i += kLanes) {
      const Floats sum = hn::ConvertTo(FloatTag(), hn::LoadU(SumTag(), sums_ + i));
      const Floats steps = hn::Mul(sum, hn::LoadU(FloatTag(), block_.multipliers + i));
      StoreRounded(steps, epilogue_.zero_point, epilogue_.low, epilogue_.high, numbers_ + i);
    }
    if (epilogue_.has_table) {
      for (int i = 0; i < width_; ++i) bytes_[i] = epilogue_.bytes[numbers_[i]];
    } else {
      for (int i = 0; i < width_; ++i)
        bytes_[i] = static_cast<uint8_t>(numbers_[i] ^ epilogue_.flip);
    }
  }

  void ScaleSums() {
    for (int i = 0; i < width_; i += kLanes) {
      const Floats sum = hn::ConvertTo(FloatTag(), hn::LoadU(SumTag(), sums_ + i));
      const Floats scaled = hn::Mul(sum, hn::LoadU(FloatTag(), block_.multipliers + i));
      hn::StoreU(scaled, FloatTag(), values_ + i);
    }
  }

  void AddResidual(const float* residual) {
    const float* addends = residual + block_.first_output;
    if (!epilogue_.is_residual_float) {
      const auto* const bytes = reinterpret_cast<const uint8_t*>(residual) + block_.first_output;
      ToFloats(bytes, epilogue_.residual, block_.outputs, residuals_);
      addends = residuals_;
    }
    for (int i = 0; i < block_.outputs; ++i) values_[i] += addends[i];
  }

  void RoundValues() {
    const Floats scale = hn::Set(FloatTag(), epilogue_.steps.scale);
    for (int i = 0; i < width_; i += kLanes) {
      const Floats steps = hn::Div(hn::LoadU(FloatTag(), values_ + i), scale);
      StoreRounded(steps, epilogue_.steps.zero_point, epilogue_.least, epilogue_.most,
                   numbers_ + i);
    }
    for (int i = 0; i < width_; ++i) bytes_[i] = static_cast<uint8_t>(numbers_[i]);
  }

  const QuantBlock& block_;
  const QuantEpilogue& epilogue_;
  const int32_t* sums_;
  int width_;
  HWY_ALIGN int32_t numbers_[kMostWidth];
  HWY_ALIGN float values_[kMostWidth] = {};
  HWY_ALIGN float residuals_[kMostWidth];
  uint8_t bytes_[kMostWidth];
};

// Stores what the sums of pixels [first, first + count) of a list become, [pixel][vector][lane].
HWY_NOINLINE void FinishSums(const QuantBlock& block, const QuantList& list, int first, int count,
                             const int32_t* sums) {
  const QuantEpilogue& epilogue = *list.epilogue;
  if (epilogue.rounds_sums && list.residuals == nullptr && !epilogue.gives_floats) {
    return FinishRounded(block, list, first, count, sums);
  }
  for (int p = 0; p < count; ++p) {
    const int pixel = first + p;
    PixelValues values(block, *list.epilogue, sums + p * block.vectors * kLanes);
    values.Compute(list.residuals == nullptr ? nullptr : list.residuals[pixel]);
    const bool is_float = list.epilogue->gives_floats;
    const void* const fresh = is_float ? static_cast<const void*>(values.floats()) : values.bytes();
    const size_t unit = is_float ? sizeof(float) : 1;
    auto* const stored = reinterpret_cast<uint8_t*>(list.outputs[pixel]) +
                         unit * static_cast<size_t>(block.first_output);
    const size_t length = unit * static_cast<size_t>(block.outputs);
    if (list.changed != nullptr) {
      if (std::memcmp(stored, fresh, length) == 0) continue;
      __atomic_store_n(list.changed[pixel], 1, __ATOMIC_RELAXED);
    }
    std::memcpy(stored, fresh, length);
  }
}

// --- Depthwise, for any kernel ---------------------------------------------------------------

// The numbers of a vector of channels, of which `count` exist.
HWY_INLINE SumVector LoadNumbers(const uint8_t* from, int count, uint8_t flip) {
  HWY_ALIGN uint8_t some[kLanes] = {};
  if (count < kLanes) {
    std::memcpy(some, from, static_cast<size_t>(count));
    from = some;
  }
  const auto bytes = hn::LoadU(FewBytesTag(), from);
  return hn::PromoteTo(SumTag(), hn::Xor(bytes, hn::Set(FewBytesTag(), flip)));
}

void RunDepthwise(const QuantBlock& block, const QuantList& list) {
  const uint8_t flip = block.flips_inputs ? 0x80 : 0;
  const int width = block.vectors * kLanes;
  const auto* const weights = static_cast<const int32_t*>(block.weights);
  HWY_ALIGN int32_t sums[kMostWidth];
  for (int p = 0; p < list.count; ++p) {
    for (int c = 0; c < width; c += kLanes) {
      const int count = block.outputs - c;
      SumVector sum = hn::LoadU(SumTag(), block.sums + c);
      for (int t = 0; t < list.segments && count > 0; ++t) {
        const uint8_t* const input = list.inputs[t * list.stride + p] + block.first_input + c;
        const SumVector numbers = LoadNumbers(input, count, flip);
        sum = hn::Add(sum, hn::Mul(numbers, hn::LoadU(SumTag(), weights + t * width + c)));
      }
      hn::StoreU(sum, SumTag(), sums + c);
    }
    FinishSums(block, list, p, 1, sums);
  }
}

// --- Bytes as 16-bit numbers -----------------------------------------------------------------

namespace wide {

#if HWY_TARGET == HWY_SCALAR
struct Dot {
  static constexpr int kWeightBytes = 8;
  static constexpr int kMaxVectors = 1;
  static constexpr int TilePixels(int) { return 2; }

  struct Sum {
    uint32_t sum;
  };
  struct Weights {
    int16_t of[4];
  };
  struct Numbers {
    uint8_t of[4];
  };

  static Sum Start(const int32_t* sums) { return {static_cast<uint32_t>(sums[0])}; }
  static Weights LoadWeights(const uint8_t* from) {
    Weights weights;
    std::memcpy(weights.of, from, sizeof(weights.of));
    return weights;
  }
  template <bool kFlips>
  static Numbers Load(const uint8_t* from) {
    constexpr uint8_t kFlip = kFlips ? 0x80 : 0;
    Numbers numbers;
    for (int i = 0; i < 4; ++i) numbers.of[i] = from[i] ^ kFlip;
    return numbers;
  }
  static void Add(const Numbers& numbers, const Weights& weights, Sum& sum) {
    for (int i = 0; i < 4; ++i) {
      sum.sum += static_cast<uint32_t>(numbers.of[i] * weights.of[i % 2 * 2 + i / 2]);
    }
  }
  static void Store(const Sum& sum, int32_t* to) { *to = static_cast<int32_t>(sum.sum); }
};
#else
struct Dot {
  using PairTag = hn::ScalableTag<int16_t>;
  using Pairs = hn::Vec<PairTag>;

  static constexpr int kWeightBytes = 8 * kLanes;
  static constexpr int kMaxVectors = 2;
#if HWY_TARGET == HWY_AVX2
  static constexpr int TilePixels(int vectors) { return vectors == 1 ? 8 : 4; }
#elif HWY_TARGET == HWY_AVX3
  static constexpr int TilePixels(int vectors) { return vectors == 1 ? 12 : 8; }
#else
  static constexpr int TilePixels(int vectors) { return vectors == 1 ? 8 : 4; }
#endif

  struct Sum {
    SumVector sum;
    SumVector other;  // stays zero where the target adds both to one
  };
  struct Weights {
    Pairs even;
    Pairs odd;
  };
  struct Numbers {
    Pairs even;
    Pairs odd;
  };

  static HWY_INLINE Sum Start(const int32_t* sums) {
    return {hn::LoadU(SumTag(), sums), hn::Zero(SumTag())};
  }
  static HWY_INLINE Weights LoadWeights(const uint8_t* from) {
    const auto* const pairs = reinterpret_cast<const int16_t*>(from);
    return {hn::LoadU(PairTag(), pairs), hn::LoadU(PairTag(), pairs + 2 * kLanes)};
  }
  template <bool kFlips>
  static HWY_INLINE Numbers Load(const uint8_t* from) {
    const hn::RebindToUnsigned<PairTag> bits;
    int32_t word;
    std::memcpy(&word, from, sizeof(word));
    auto both = hn::BitCast(bits, hn::Set(SumTag(), word));
    if (kFlips) both = hn::Xor(both, hn::Set(bits, uint16_t{0x8080}));
    return {hn::BitCast(PairTag(), hn::And(both, hn::Set(bits, uint16_t{0xff}))),
            hn::BitCast(PairTag(), hn::ShiftRight<8>(both))};
  }
  static HWY_INLINE void Add(const Numbers& numbers, const Weights& weights, Sum& sum) {
    sum.sum =
        hn::ReorderWidenMulAccumulate(SumTag(), numbers.even, weights.even, sum.sum, sum.other);
    sum.sum = hn::ReorderWidenMulAccumulate(SumTag(), numbers.odd, weights.odd, sum.sum, sum.other);
  }
  static HWY_INLINE void Store(const Sum& sum, int32_t* to) {
    hn::StoreU(hn::RearrangeToOddPlusEven(sum.sum, sum.other), SumTag(), to);
  }
};
#endif

#include "sparse_ops/cpu/quant_tiles.inc"

}  // namespace wide
}  // namespace
}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// --- Four bytes at once ----------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#if HWY_TARGET == HWY_AVX2
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avxvnni")
#else
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#endif
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {
namespace fours {

struct Dot {
  using Sum = SumVector;
  using Weights = SumVector;
  using Numbers = SumVector;

  static constexpr int kWeightBytes = 4 * kLanes;
#if HWY_TARGET == HWY_AVX2
  static constexpr int kMaxVectors = 2;
  static constexpr int TilePixels(int vectors) { return vectors == 1 ? 12 : 6; }
#else
  static constexpr int kMaxVectors = 4;
  static constexpr int TilePixels(int vectors) { return vectors <= 2 ? 12 : 6; }
#endif

  static HWY_INLINE Sum Start(const int32_t* sums) { return hn::LoadU(SumTag(), sums); }
  static HWY_INLINE Weights LoadWeights(const uint8_t* from) {
    return hn::LoadU(SumTag(), reinterpret_cast<const int32_t*>(from));
  }
  template <bool kFlips>
  static HWY_INLINE Numbers Load(const uint8_t* from) {
    int32_t word;
    std::memcpy(&word, from, sizeof(word));
    const SumVector all = hn::Set(SumTag(), word);
    return kFlips ? hn::Xor(all, hn::Set(SumTag(), static_cast<int32_t>(0x80808080u))) : all;
  }
  static HWY_INLINE void Add(const Numbers& numbers, const Weights& weights, Sum& sum) {
#if HWY_TARGET == HWY_AVX2
    sum = Sum{_mm256_dpbusd_avx_epi32(sum.raw, numbers.raw, weights.raw)};
#else
    sum = Sum{_mm512_dpbusd_epi32(sum.raw, numbers.raw, weights.raw)};
#endif
  }
  static HWY_INLINE void Store(const Sum& sum, int32_t* to) { hn::StoreU(sum, SumTag(), to); }
};

#include "sparse_ops/cpu/quant_tiles.inc"

}  // namespace fours
}  // namespace
}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

// --- Rounding in registers -------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX3
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni,avx512vbmi")
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {
namespace in_registers {

using fours::Dot;

#include "sparse_ops/cpu/quant_tiles.inc"

// What a pixel has of a register of bytes.
template <int kBytes>
struct Bytes;

template <>
struct Bytes<64> {
  using Vector = __m512i;
  using Mask = __mmask64;
  static HWY_INLINE Vector Load(Mask mask, const uint8_t* from) {
    return _mm512_maskz_loadu_epi8(mask, from);
  }
  static HWY_INLINE void Store(Mask mask, Vector bytes, uint8_t* to) {
    _mm512_mask_storeu_epi8(to, mask, bytes);
  }
  static HWY_INLINE bool Differ(Mask mask, Vector a, Vector b) {
    return _mm512_mask_cmpneq_epi8_mask(mask, a, b) != 0;
  }
  static HWY_INLINE Vector Part(__m512i all, int) { return all; }
  static HWY_INLINE __m512i Join(const Vector* parts) { return parts[0]; }
};

template <>
struct Bytes<32> {
  using Vector = __m256i;
  using Mask = __mmask32;
  static HWY_INLINE Vector Load(Mask mask, const uint8_t* from) {
    return _mm256_maskz_loadu_epi8(mask, from);
  }
  static HWY_INLINE void Store(Mask mask, Vector bytes, uint8_t* to) {
    _mm256_mask_storeu_epi8(to, mask, bytes);
  }
  static HWY_INLINE bool Differ(Mask mask, Vector a, Vector b) {
    return _mm256_mask_cmpneq_epi8_mask(mask, a, b) != 0;
  }
  static HWY_INLINE Vector Part(__m512i all, int part) {
    return part == 0 ? _mm512_castsi512_si256(all) : _mm512_extracti64x4_epi64(all, 1);
  }
  static HWY_INLINE __m512i Join(const Vector* parts) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(parts[0]), parts[1], 1);
  }
};

template <>
struct Bytes<16> {
  using Vector = __m128i;
  using Mask = __mmask16;
  static HWY_INLINE Vector Load(Mask mask, const uint8_t* from) {
    return _mm_maskz_loadu_epi8(mask, from);
  }
  static HWY_INLINE void Store(Mask mask, Vector bytes, uint8_t* to) {
    _mm_mask_storeu_epi8(to, mask, bytes);
  }
  static HWY_INLINE bool Differ(Mask mask, Vector a, Vector b) {
    return _mm_mask_cmpneq_epi8_mask(mask, a, b) != 0;
  }
  static HWY_INLINE Vector Part(__m512i all, int part) {
    switch (part) {
      case 0:
        return _mm512_castsi512_si128(all);
      case 1:
        return _mm512_extracti32x4_epi32(all, 1);
      case 2:
        return _mm512_extracti32x4_epi32(all, 2);
      default:
        return _mm512_extracti32x4_epi32(all, 3);
    }
  }
  static HWY_INLINE __m512i Join(const Vector* parts) {
    const __m512i first = _mm512_castsi128_si512(parts[0]);
    const __m512i two = _mm512_inserti32x4(first, parts[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(two, parts[2], 2), parts[3], 3);
  }
};

// Two vectors of sums, rounded, as 16-bit numbers above or below the zero point's. Multipliers are
// below 1, so what they make of a sum fits 32 bits.
HWY_INLINE __m512i RoundTwo(__m512i a, __m512i b, const float* multipliers, int va, int vb,
                            __m512i zero_point) {
  const __m512 a_by = _mm512_loadu_ps(multipliers + va * kLanes);
  const __m512 b_by = _mm512_loadu_ps(multipliers + vb * kLanes);
  const __m512i a_steps = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(a), a_by));
  const __m512i b_steps = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(b), b_by));
  return _mm512_adds_epi16(_mm512_packs_epi32(a_steps, b_steps), zero_point);
}

// An epilogue in registers, all of it read once.
class Finisher {
 public:
  HWY_INLINE explicit Finisher(const QuantEpilogue& epilogue)
      : epilogue_(epilogue),
        low_(_mm512_set1_epi8(static_cast<char>(epilogue.low))),
        high_(_mm512_set1_epi8(static_cast<char>(epilogue.high))) {
    if (epilogue.has_table) {
      CACHEINF_UNROLL for (int i = 0; i < 4; ++i) {
        table_[i] = _mm512_load_si512(epilogue.bytes + 64 * i);
      }
    } else {
      table_[0] = _mm512_set1_epi8(static_cast<char>(epilogue.flip));
    }
  }

  // What is stored for these rounded sums.
  HWY_INLINE __m512i BytesOf(__m512i rounded) const {
    const __m512i numbers = _mm512_min_epu8(_mm512_max_epu8(rounded, low_), high_);
    if (!epilogue_.has_table) return _mm512_xor_si512(numbers, table_[0]);
    const __m512i below = _mm512_permutex2var_epi8(table_[0], numbers, table_[1]);
    const __m512i above = _mm512_permutex2var_epi8(table_[2], numbers, table_[3]);
    return _mm512_mask_mov_epi8(below, _mm512_movepi8_mask(numbers), above);
  }

  HWY_INLINE __m512i WithResidual(__m512i bytes, __m512i residual) const {
    __m128i parts[4];
    CACHEINF_UNROLL for (int i = 0; i < 4; ++i) {
      const __m512 a = Values(Bytes<16>::Part(bytes, i), epilogue_.addend);
      const __m512 b = Values(Bytes<16>::Part(residual, i), epilogue_.residual);
      const Steps& steps = epilogue_.steps;
      const auto zero = static_cast<float>(steps.zero_point);
      const __m512 scaled = _mm512_div_ps(_mm512_add_ps(a, b), _mm512_set1_ps(steps.scale));
      const __m512 least = _mm512_set1_ps(static_cast<float>(epilogue_.least) - zero);
      const __m512 most = _mm512_set1_ps(static_cast<float>(epilogue_.most) - zero);
      const __m512i rounded = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, least), most));
      parts[i] =
          _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded, _mm512_set1_epi32(steps.zero_point)));
    }
    return Bytes<16>::Join(parts);
  }

  // The floats that bytes stand for, before a residual.
  HWY_INLINE __m512 FloatsOf(__m128i bytes) const { return Values(bytes, epilogue_.addend); }

 private:
  static HWY_INLINE __m512 Values(__m128i bytes, const Steps& steps) {
    const __m512i numbers =
        steps.is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
    const __m512i above = _mm512_sub_epi32(numbers, _mm512_set1_epi32(steps.zero_point));
    return _mm512_mul_ps(_mm512_set1_ps(steps.scale), _mm512_cvtepi32_ps(above));
  }

  const QuantEpilogue& epilogue_;
  __m512i low_;
  __m512i high_;
  __m512i table_[4];
};

// A vector of the sums of a tile, [pixel][vector][lane]. Beyond the last pixel it is repeated.
template <int kPixels, int kVectors>
HWY_INLINE __m512i SumsOf(const int32_t* sums, int pixel, int vector) {
  return _mm512_load_si512(sums + (HWY_MIN(pixel, kPixels - 1) * kVectors + vector) * kLanes);
}

// The rounded sums of the pixels from p on that fill a register of bytes, in order.
template <int kPixels, int kVectors>
HWY_INLINE __m512i RoundPixels(const int32_t* sums, const float* multipliers, int p,
                               __m512i zero_point) {
  if constexpr (kVectors == 4) {
    return _mm512_packus_epi16(
        RoundTwo(SumsOf<kPixels, kVectors>(sums, p, 0), SumsOf<kPixels, kVectors>(sums, p, 1),
                 multipliers, 0, 1, zero_point),
        RoundTwo(SumsOf<kPixels, kVectors>(sums, p, 2), SumsOf<kPixels, kVectors>(sums, p, 3),
                 multipliers, 2, 3, zero_point));
  } else if constexpr (kVectors == 2) {
    const __m512i both = _mm512_packus_epi16(
        RoundTwo(SumsOf<kPixels, kVectors>(sums, p, 0), SumsOf<kPixels, kVectors>(sums, p, 1),
                 multipliers, 0, 1, zero_point),
        RoundTwo(SumsOf<kPixels, kVectors>(sums, p + 1, 0),
                 SumsOf<kPixels, kVectors>(sums, p + 1, 1), multipliers, 0, 1, zero_point));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), both);
  } else {
    const __m512i all = _mm512_packus_epi16(
        RoundTwo(SumsOf<kPixels, kVectors>(sums, p, 0), SumsOf<kPixels, kVectors>(sums, p + 1, 0),
                 multipliers, 0, 0, zero_point),
        RoundTwo(SumsOf<kPixels, kVectors>(sums, p + 2, 0),
                 SumsOf<kPixels, kVectors>(sums, p + 3, 0), multipliers, 0, 0, zero_point));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, all);
  }
}

struct End {
  // Stores the floats that a part of a register of bytes stands for, of some channels of a pixel.
  static HWY_INLINE void StoreFloats(const Finisher& finisher, __m128i bytes, int count,
                                     uint8_t* changed, float* stored) {
    if (count <= 0) return;
    const auto mask = static_cast<__mmask16>(count >= kLanes ? 0xffff : (1 << count) - 1);
    const __m512i fresh = _mm512_castps_si512(finisher.FloatsOf(bytes));
    if (changed != nullptr) {
      if (_mm512_mask_cmpneq_epi32_mask(mask, fresh, _mm512_maskz_loadu_epi32(mask, stored)) == 0) {
        return;
      }
      __atomic_store_n(changed, 1, __ATOMIC_RELAXED);
    }
    _mm512_mask_storeu_epi32(stored, mask, fresh);
  }

  template <int kPixels, int kVectors>
  static HWY_NOINLINE void Finish(const int32_t* sums, const QuantBlock& block,
                                  const QuantList& list, int first, int count) {
    constexpr int kTogether = 4 / kVectors;  // pixels in a register of bytes
    constexpr int kBytes = 64 / kTogether;
    using Pixel = Bytes<kBytes>;
    const auto mask = static_cast<typename Pixel::Mask>(
        block.outputs >= 64 ? ~uint64_t{0} : (uint64_t{1} << block.outputs) - 1);
    const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(list.epilogue->zero_point));
    const Finisher finisher(*list.epilogue);
    CACHEINF_UNROLL for (int p = 0; p < kPixels; p += kTogether) {
      if (p >= count) break;
      __m512i bytes =
          finisher.BytesOf(RoundPixels<kPixels, kVectors>(sums, block.multipliers, p, zero_point));
      if (list.residuals != nullptr) {
        typename Pixel::Vector residuals[kTogether];
        CACHEINF_UNROLL for (int i = 0; i < kTogether; ++i) {
          const float* const residual = list.residuals[first + HWY_MIN(p + i, count - 1)];
          residuals[i] =
              Pixel::Load(mask, reinterpret_cast<const uint8_t*>(residual) + block.first_output);
        }
        bytes = finisher.WithResidual(bytes, Pixel::Join(residuals));
      }
      if (list.epilogue->gives_floats) {
        CACHEINF_UNROLL for (int part = 0; part < 4; ++part) {
          const int i = part / (kBytes / kLanes);
          const int c = part % (kBytes / kLanes) * kLanes;
          if (p + i >= count) break;
          const int pixel = first + p + i;
          StoreFloats(finisher, Bytes<16>::Part(bytes, part), block.outputs - c,
                      list.changed == nullptr ? nullptr : list.changed[pixel],
                      list.outputs[pixel] + block.first_output + c);
        }
        continue;
      }
      CACHEINF_UNROLL for (int i = 0; i < kTogether; ++i) {
        if (p + i >= count) break;
        const int pixel = first + p + i;
        auto* const stored = reinterpret_cast<uint8_t*>(list.outputs[pixel]) + block.first_output;
        const typename Pixel::Vector fresh = Pixel::Part(bytes, i);
        if (list.changed != nullptr) {
          if (!Pixel::Differ(mask, fresh, Pixel::Load(mask, stored))) continue;
          __atomic_store_n(list.changed[pixel], 1, __ATOMIC_RELAXED);
        }
        Pixel::Store(mask, fresh, stored);
      }
    }
  }
};

// --- Depthwise -------------------------------------------------------------------------------

// The bytes of four rows of 64 channels, side by side: lane by lane four of one channel.
struct FourRows {
  __m512i vectors[4];

  HWY_INLINE FourRows(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab_low = _mm512_unpacklo_epi8(a, b);
    const __m512i ab_high = _mm512_unpackhi_epi8(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi8(c, d);
    const __m512i cd_high = _mm512_unpackhi_epi8(c, d);
    vectors[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    vectors[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    vectors[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    vectors[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
  }
};

template <int kKernel, int kStride>
class DepthwiseTile {
 public:
  static constexpr int kPixels = 4;

  // Computes `count` pixels from this one of the row on.
  static HWY_NOINLINE void Run(const QuantBlock& block, const QuantRow& row, int first, int count) {
    constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
    const auto mask = static_cast<__mmask64>(
        block.outputs >= 64 ? ~uint64_t{0} : (uint64_t{1} << block.outputs) - 1);
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(block.flips_inputs ? 0x80 : 0));
    const auto* const weights = static_cast<const uint8_t*>(block.weights);
    Sums<kPixels, kVectors> sums;
    sums.Start(block.sums);
    CACHEINF_UNROLL for (int column = 0; column < kColumns; ++column) {
      const int x = row.first + first * kStride + column;
      CACHEINF_UNROLL for (int four = 0; four < kFours; ++four) {
        __m512i rows[4];
        CACHEINF_UNROLL for (int y = 0; y < 4; ++y) {
          rows[y] = _mm512_setzero_si512();
          if (four * 4 + y < kKernel) {
            const uint8_t* const from = Input(row, four * 4 + y, x) + block.first_input;
            rows[y] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, from), flips);
          }
        }
        const FourRows numbers(rows[0], rows[1], rows[2], rows[3]);
        CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
          const int tap = column - p * kStride;
          if (tap < 0 || tap >= kKernel) continue;
          CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
            const int unit = (tap * kFours + four) * kVectors + v;
            Dot::Add(SumVector{numbers.vectors[v]},
                     Dot::LoadWeights(weights + unit * Dot::kWeightBytes), sums.of[p][v]);
          }
        }
      }
    }
    float* outputs[kPixels];
    const float* residuals[kPixels];
    uint8_t* changed[kPixels];
    CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
      const int pixel = first + HWY_MIN(p, count - 1);
      outputs[p] = row.output + pixel * row.output_step;
      if (row.residual != nullptr) residuals[p] = row.residual + pixel * row.residual_step;
      changed[p] = row.changed == nullptr ? nullptr : row.changed + pixel;
    }
    QuantList list;
    list.count = count;
    list.outputs = outputs;
    if (row.residual != nullptr) list.residuals = residuals;
    if (row.changed != nullptr) list.changed = changed;
    list.epilogue = row.epilogue;
    HWY_ALIGN int32_t memory[kPixels * kVectors * kLanes];
    sums.Store(memory);
    End::Finish<kPixels, kVectors>(memory, block, list, 0, count);
  }

 private:
  static constexpr int kVectors = 4;
  static constexpr int kFours = (kKernel + 3) / 4;  // of rows

  static HWY_INLINE const uint8_t* Input(const QuantRow& row, int y, int x) {
    const bool is_inside = row.rows[y] != nullptr && x >= 0 && x < row.width;
    return is_inside ? row.rows[y] + x * row.pixel_bytes : row.outside;
  }
};

template <class Tile>
void RunTilesOfRow(const QuantBlock& block, const QuantRow& row) {
  for (int first = 0; first < row.count; first += Tile::kPixels) {
    Tile::Run(block, row, first, HWY_MIN(Tile::kPixels, row.count - first));
  }
}

void RunDepthwiseRow(const QuantBlock& block, const QuantRow& row) {
  if (row.kernel == 3) {
    if (row.stride == 1) return RunTilesOfRow<DepthwiseTile<3, 1>>(block, row);
    return RunTilesOfRow<DepthwiseTile<3, 2>>(block, row);
  }
  if (row.stride == 1) return RunTilesOfRow<DepthwiseTile<5, 1>>(block, row);
  RunTilesOfRow<DepthwiseTile<5, 2>>(block, row);
}

}  // namespace in_registers
}  // namespace
}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

constexpr QuantKernels kWide = {"16 bits",
                                kLanes,
                                wide::Dot::kMaxVectors,
                                /*has_wide_weights=*/true,
                                wide::Run<wide::EndInMemory>,
                                nullptr,
                                RunDepthwise,
                                nullptr};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
constexpr QuantKernels kFours = {"fours",
                                 kLanes,
                                 fours::Dot::kMaxVectors,
                                 /*has_wide_weights=*/false,
                                 fours::Run<fours::EndInMemory>,
                                 nullptr,
                                 RunDepthwise,
                                 nullptr};
#endif
#if HWY_TARGET == HWY_AVX3
constexpr QuantKernels kFoursInRegisters = {"fours, rounded in registers",
                                            kLanes,
                                            fours::Dot::kMaxVectors,
                                            /*has_wide_weights=*/false,
                                            fours::Run<fours::EndInMemory>,
                                            in_registers::Run<in_registers::End>,
                                            RunDepthwise,
                                            in_registers::RunDepthwiseRow};
#endif

QuantFamily MakeFamily() {
  QuantFamily family;
#if HWY_TARGET == HWY_AVX2
  if (MachineInstructions().has_avx_vnni) family.ways.push_back(&kFours);
#elif HWY_TARGET == HWY_AVX3
  const Instructions has = MachineInstructions();
  if (has.has_avx512_vnni && has.has_avx512_vbmi) family.ways.push_back(&kFoursInRegisters);
  if (has.has_avx512_vnni) family.ways.push_back(&kFours);
#endif
  family.ways.push_back(&kWide);
  return family;
}

}  // namespace

const QuantFamily& TargetQuantFamily() {
  static const QuantFamily kFamily = MakeFamily();
  return kFamily;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(QuantFamily)
#endif
