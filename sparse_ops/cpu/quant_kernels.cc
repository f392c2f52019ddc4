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

// Stores bytes as FinishSums does.
HWY_INLINE void StoreBytes(const QuantBlock& block, const QuantList& list, int pixel,
                           const uint8_t* fresh) {
  auto* const stored = reinterpret_cast<uint8_t*>(list.outputs[pixel]) + block.first_output;
  if (list.changed != nullptr) {
    if (!Differ(stored, fresh, block.outputs)) return;
    __atomic_store_n(list.changed[pixel], 1, __ATOMIC_RELAXED);
  }
  CopyBytes(fresh, block.outputs, stored);
}

// FinishSums, for sums that are rounded and stored as bytes, with nothing added.
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
    StoreBytes(block, list, first + p, fresh);
  }
}

// FinishSums, for bytes that a function makes of the sums, with nothing added: quantisers that do
// not round SiLU's input write that.
void FinishValues(const QuantBlock& block, const QuantList& list, int first, int count,
                  const int32_t* sums) {
  constexpr VectorOps ops;
  const QuantEpilogue& epilogue = *list.epilogue;
  const Floats scale = ops.Set(epilogue.steps.scale);
  const Floats zero_point = ops.Set(static_cast<float>(epilogue.steps.zero_point));
  const Floats least = ops.Set(static_cast<float>(epilogue.least));
  const Floats most = ops.Set(static_cast<float>(epilogue.most));
  const SumVector lowest = hn::Set(SumTag(), epilogue.steps.low());
  const auto flip =
      hn::Set(FewBytesTag(), static_cast<uint8_t>(epilogue.steps.is_signed ? 0x80 : 0));
  const int width = block.vectors * kLanes;  // a power of two
  const int together = kMostWidth / width;   // pixels
  HWY_ALIGN float values[kMostWidth];
  uint8_t fresh[HWY_MAX(kMostWidth, kBytesTogether)];
  for (int p = 0; p < count; p += together) {
    const int pixels = HWY_MIN(together, count - p);
    for (int i = 0; i < pixels * width; i += kLanes) {
      const Floats sum = hn::ConvertTo(FloatTag(), hn::LoadU(SumTag(), sums + p * width + i));
      const Floats scaled =
          hn::Mul(sum, hn::LoadU(FloatTag(), block.multipliers + (i & (width - 1))));
      hn::StoreU(scaled, FloatTag(), values + i);
    }
    if (epilogue.apply != nullptr) {
      epilogue.apply(epilogue.activation, values, values, pixels * width);
    }
    for (int i = 0; i < pixels * width; i += kLanes) {
      const Floats steps = hn::Div(hn::LoadU(FloatTag(), values + i), scale);
      const Floats moved = hn::Add(ops.Round(steps), zero_point);
      const Floats clamped = ops.Smaller(ops.Larger(moved, least), most);
      const auto number = hn::Sub(hn::ConvertTo(SumTag(), clamped), lowest);
      hn::StoreU(hn::Xor(hn::DemoteTo(FewBytesTag(), number), flip), FewBytesTag(), fresh + i);
    }
    for (int k = 0; k < pixels; ++k) StoreBytes(block, list, first + p + k, fresh + k * width);
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

// Stores the results of the sums, [pixel][vector][lane], of pixels [first, first + count) of a
// list.
HWY_NOINLINE void FinishSums(const QuantBlock& block, const QuantList& list, int first, int count,
                             const int32_t* sums) {
  const QuantEpilogue& epilogue = *list.epilogue;
  if (list.residuals == nullptr && !epilogue.gives_floats) {
    return epilogue.rounds_sums ? FinishRounded(block, list, first, count, sums)
                                : FinishValues(block, list, first, count, sums);
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

// Sums of products of 16-bit numbers, two to a lane.
struct PairSums {
#if HWY_TARGET == HWY_SCALAR
  uint32_t sum;

  void Start(const int32_t* sums) { sum = static_cast<uint32_t>(*sums); }
  void Add(SumVector first, SumVector second, SumVector weights) {
    const int32_t both = hn::GetLane(weights);
    sum += static_cast<uint32_t>(hn::GetLane(first) * static_cast<int16_t>(both) +
                                 hn::GetLane(second) * (both >> 16));
  }
  void Store(int32_t* to) const { *to = static_cast<int32_t>(sum); }
#else
  using PairTag = hn::ScalableTag<int16_t>;

  SumVector sum;
  SumVector other;  // stays zero where the target adds both to one

  HWY_INLINE void Start(const int32_t* sums) {
    sum = hn::LoadU(SumTag(), sums);
    other = hn::Zero(SumTag());
  }
  HWY_INLINE void Add(SumVector first, SumVector second, SumVector weights) {
    const SumVector both = hn::Or(first, hn::ShiftLeft<16>(second));
    sum = hn::ReorderWidenMulAccumulate(SumTag(), hn::BitCast(PairTag(), both),
                                        hn::BitCast(PairTag(), weights), sum, other);
  }
  HWY_INLINE void Store(int32_t* to) const {
    hn::StoreU(hn::RearrangeToOddPlusEven(sum, other), SumTag(), to);
  }
#endif
};

// The numbers of a vector of channels, of which `count` exist.
template <bool kIsWhole>
HWY_INLINE SumVector LoadNumbers(const uint8_t* from, int count, uint8_t flip) {
  HWY_ALIGN uint8_t some[kLanes];
  if constexpr (!kIsWhole) {
    for (int i = 0; i < kLanes; ++i) some[i] = i < count ? from[i] : uint8_t{0};
    from = some;
  }
  const auto bytes = hn::LoadU(FewBytesTag(), from);
  return hn::PromoteTo(SumTag(), hn::Xor(bytes, hn::Set(FewBytesTag(), flip)));
}

// The sums of a vector of channels of some pixels.
template <int kPixels, bool kIsWhole>
HWY_INLINE void SumDepthwise(const QuantBlock& block, const QuantList& list, int first, int channel,
                             int32_t* sums) {
  const uint8_t flip = block.flips_inputs ? 0x80 : 0;
  const int width = block.vectors * kLanes;
  const int count = block.outputs - channel;
  const int64_t offset = block.first_input + channel;
  const auto* weights = static_cast<const int32_t*>(block.weights) + channel;
  const uint8_t* const* inputs = list.inputs + first;
  PairSums of[kPixels];
  for (PairSums& sum : of) sum.Start(block.sums + channel);
  int t = 0;
  for (; t + 2 <= list.segments; t += 2, weights += width, inputs += 2 * list.stride) {
    const SumVector pair = hn::LoadU(SumTag(), weights);
    for (int p = 0; p < kPixels; ++p) {
      of[p].Add(LoadNumbers<kIsWhole>(inputs[p] + offset, count, flip),
                LoadNumbers<kIsWhole>(inputs[list.stride + p] + offset, count, flip), pair);
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    if (t < list.segments) {
      of[p].Add(LoadNumbers<kIsWhole>(inputs[p] + offset, count, flip), hn::Zero(SumTag()),
                hn::LoadU(SumTag(), weights));
    }
    of[p].Store(sums + p * width + channel);
  }
}

template <int kPixels>
void RunDepthwiseTile(const QuantBlock& block, const QuantList& list, int first) {
  const int width = block.vectors * kLanes;
  HWY_ALIGN int32_t sums[kPixels * kMostWidth] = {};
  for (int c = 0; c < width; c += kLanes) {
    if (c + kLanes <= block.outputs) {
      SumDepthwise<kPixels, true>(block, list, first, c, sums);
    } else if (c < block.outputs) {
      SumDepthwise<kPixels, false>(block, list, first, c, sums);
    }
  }
  FinishSums(block, list, first, kPixels, sums);
}

void RunDepthwise(const QuantBlock& block, const QuantList& list) {
  constexpr int kTogether = 4;
  int p = 0;
  for (; p + kTogether <= list.count; p += kTogether) RunDepthwiseTile<kTogether>(block, list, p);
  for (; p < list.count; ++p) RunDepthwiseTile<1>(block, list, p);
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

#include "sparse_ops/cpu/quant_in_registers.inc"

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
