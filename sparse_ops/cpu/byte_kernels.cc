#include "sparse_ops/cpu/byte_kernels.h"

#include <algorithm>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/byte_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/instructions.h"
#include "sparse_ops/cpu/vector_ops-inl.h"
#include "sparse_ops/eight_bits.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

using NumberTag = hn::ScalableTag<int32_t>;
using FewBytesTag = hn::Rebind<uint8_t, NumberTag>;  // as many as a vector has floats

class ToBytes {
 public:
  explicit ToBytes(const Steps& steps)
      : scale_(kOps.Set(steps.scale)),
        zero_point_(kOps.Set(static_cast<float>(steps.zero_point))),
        low_(kOps.Set(static_cast<float>(steps.low()))),
        high_(kOps.Set(static_cast<float>(steps.high()))),
        lowest_(hn::Set(NumberTag(), steps.low())),
        flip_(hn::Set(FewBytesTag(), static_cast<uint8_t>(steps.is_signed ? 0x80 : 0))) {}

  HWY_INLINE hn::Vec<FewBytesTag> operator()(Floats x) const {
    const Floats moved = kOps.Add(kOps.Round(kOps.Div(x, scale_)), zero_point_);
    const Floats above = kOps.Select(kOps.Lt(low_, moved), moved, low_);
    const Floats clamped = kOps.Select(kOps.Lt(above, high_), above, high_);
    const auto from_lowest = hn::Sub(hn::ConvertTo(NumberTag(), clamped), lowest_);
    return hn::Xor(hn::DemoteTo(FewBytesTag(), from_lowest), flip_);
  }

 private:
  static constexpr VectorOps kOps{};

  Floats scale_;
  Floats zero_point_;
  Floats low_;
  Floats high_;
  hn::Vec<NumberTag> lowest_;
  hn::Vec<FewBytesTag> flip_;
};

void StepsOfFloats(const float* floats, const Steps& steps, int64_t count, uint8_t* bytes) {
  const ToBytes to_bytes(steps);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(to_bytes(hn::LoadU(FloatTag(), floats + i)), FewBytesTag(), bytes + i);
  }
  if (i == count) return;
  HWY_ALIGN uint8_t last[kLanes];
  hn::StoreU(to_bytes(LoadFirst(floats + i, count - i)), FewBytesTag(), last);
  std::copy_n(last, count - i, bytes + i);
}

void FloatsOfSteps(const uint8_t* bytes, const Steps& steps, int64_t count, float* floats) {
  const uint8_t flip = steps.is_signed ? 0x80 : 0;
  const auto flips = hn::Set(FewBytesTag(), flip);
  const auto zero_point = hn::Set(NumberTag(), steps.zero_point - steps.low());
  const Floats scale = hn::Set(FloatTag(), steps.scale);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto from_lowest =
        hn::PromoteTo(NumberTag(), hn::Xor(hn::LoadU(FewBytesTag(), bytes + i), flips));
    const Floats above = hn::ConvertTo(FloatTag(), hn::Sub(from_lowest, zero_point));
    hn::StoreU(hn::Mul(scale, above), FloatTag(), floats + i);
  }
  for (; i < count; ++i) {
    const int q = steps.is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i];
    floats[i] = FromSteps(q, steps);
  }
}

template <typename Byte>
void LargestOf(const uint8_t* const* inputs, int input_count, int64_t count, uint8_t* out) {
  const hn::ScalableTag<Byte> tag;
  const auto load = [&](int input, int64_t i) {
    return hn::LoadU(tag, reinterpret_cast<const Byte*>(inputs[input]) + i);
  };
  constexpr int64_t kTogether = HWY_LANES(uint8_t);
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    auto largest = load(0, i);
    for (int k = 1; k < input_count; ++k) largest = hn::Max(largest, load(k, i));
    hn::StoreU(largest, tag, reinterpret_cast<Byte*>(out) + i);
  }
  for (; i < count; ++i) {
    auto largest = static_cast<Byte>(inputs[0][i]);
    for (int k = 1; k < input_count; ++k) {
      largest = std::max(largest, static_cast<Byte>(inputs[k][i]));
    }
    out[i] = static_cast<uint8_t>(largest);
  }
}

void Largest(const uint8_t* const* inputs, int input_count, bool is_signed, int64_t count,
             uint8_t* out) {
  if (is_signed) return LargestOf<int8_t>(inputs, input_count, count, out);
  LargestOf<uint8_t>(inputs, input_count, count, out);
}

void LookUp(const uint8_t* table, const uint8_t* bytes, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = table[bytes[i]];
}

}  // namespace
}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_TARGET == HWY_AVX3
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vbmi")
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

void LookUpTogether(const uint8_t* table, const uint8_t* bytes, int64_t count, uint8_t* out) {
  constexpr int64_t kTogether = 64;
  __m512i parts[4];
  CACHEINF_UNROLL for (int i = 0; i < 4; ++i) {
    parts[i] = _mm512_loadu_si512(table + i * kTogether);
  }
  for (int64_t i = 0; i < count; i += kTogether) {
    const int64_t some = HWY_MIN(kTogether, count - i);
    const auto mask = static_cast<__mmask64>(~uint64_t{0} >> (kTogether - some));
    const __m512i numbers = _mm512_maskz_loadu_epi8(mask, bytes + i);
    const __m512i below = _mm512_permutex2var_epi8(parts[0], numbers, parts[1]);
    const __m512i above = _mm512_permutex2var_epi8(parts[2], numbers, parts[3]);
    const __m512i both = _mm512_mask_mov_epi8(below, _mm512_movepi8_mask(numbers), above);
    _mm512_mask_storeu_epi8(out + i, mask, both);
  }
}

}  // namespace
}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

ByteKernels MakeKernels() {
  ByteKernels kernels = {StepsOfFloats, FloatsOfSteps, Largest, LookUp};
#if HWY_TARGET == HWY_AVX3
  if (MachineInstructions().has_avx512_vbmi) kernels.look_up = LookUpTogether;
#endif
  return kernels;
}

}  // namespace

const ByteKernels& TargetByteKernels() {
  static const ByteKernels kKernels = MakeKernels();
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(ByteKernels)
#endif
