#include "sparse_ops/cpu/bf16_kernels.h"

#include <atomic>

#include "sparse_ops/bf16.h"
#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/bf16_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/simd-inl.h"

// BF16 emulated with the instructions that every target has.

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kPixels = 6;  // of a tile
static_assert(kListPixels % kPixels == 0, "tiles end where lists do");

using BitsTag = hn::RebindToUnsigned<FloatTag>;

HWY_INLINE Floats UpperOfPairs(Floats pairs) {
  const auto bits = hn::BitCast(BitsTag(), pairs);
  return hn::BitCast(FloatTag(), hn::And(bits, hn::Set(BitsTag(), 0xffff0000u)));
}

HWY_INLINE Floats LowerOfPairs(Floats pairs) {
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::BitCast(BitsTag(), pairs)));
}

HWY_NOINLINE Floats MultiplyAddOneByOne(Floats x, Floats w, Floats sum) {
  HWY_ALIGN float xs[kLanes];
  HWY_ALIGN float ws[kLanes];
  HWY_ALIGN float sums[kLanes];
  hn::Store(x, FloatTag(), xs);
  hn::Store(w, FloatTag(), ws);
  hn::Store(sum, FloatTag(), sums);
  for (int i = 0; i < kLanes; ++i) sums[i] = Bf16MultiplyAdd(xs[i], ws[i], sums[i]);
  return hn::Load(FloatTag(), sums);
}

// Bf16MultiplyAdd.
HWY_INLINE Floats MultiplyAdd(Floats x, Floats w, Floats sum) {
  const Floats result = Fma(x, w, sum);
  const Floats magnitude = hn::Abs(result);
  const auto may_be_tiny = hn::And(hn::Gt(magnitude, hn::Zero(FloatTag())),
                                   hn::Le(magnitude, hn::Set(FloatTag(), 0x1p-126f)));
  if (HWY_LIKELY(hn::AllFalse(FloatTag(), may_be_tiny))) return result;
  return MultiplyAddOneByOne(x, w, sum);
}

// The sums of one vector of channels, kPixels pixels from first_pixel on.
HWY_NOINLINE void SumVector(const ConvBlock& block, const PixelList& list, int first_pixel,
                            int vector, float* sums) {
  const int width = block.vectors * kLanes;
  Floats tile[kPixels];
  CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) tile[p] = hn::Zero(FloatTag());
  for (int t = 0; t < list.taps; ++t) {
    const int64_t tap = list.weight_taps == nullptr ? t : list.weight_taps[t];
    const float* weights = block.weights + tap * block.inputs * width + vector * kLanes;
    const float* const* inputs = list.inputs + t * kListPixels + first_pixel;
    for (int i = 0; i < block.inputs; ++i) {
      const Floats w = hn::Load(FloatTag(), weights + int64_t{i} * width);
      CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
        const Floats x = hn::Set(FloatTag(), inputs[p][i]);
        tile[p] = MultiplyAdd(UpperOfPairs(x), UpperOfPairs(w), tile[p]);
        tile[p] = MultiplyAdd(LowerOfPairs(x), LowerOfPairs(w), tile[p]);
      }
    }
  }
  CACHEINF_UNROLL for (int p = 0; p < kPixels; ++p) {
    hn::StoreU(tile[p], FloatTag(), sums + p * width + vector * kLanes);
  }
}

void ConvPixels(const ConvBlock& block, const PixelList& list) {
  constexpr int kMaxVectors = 4;
  const PixelKernels& kernels = ChoosePixelKernels();
  HWY_ALIGN float sums[kPixels * kMaxVectors * kLanes];
  for (int pixel = 0; pixel < list.count; pixel += kPixels) {
    for (int v = 0; v < block.vectors; ++v) SumVector(block, list, pixel, v, sums);
    kernels.finish(block, list, pixel, HWY_MIN(kPixels, list.count - pixel), sums);
  }
}

void ToPairs(const float* numbers, int count, float* pairs) {
  for (int i = 0; i < count; i += 2) {
    uint32_t bits = RoundToBf16(numbers[i]);
    if (i + 1 < count) bits |= uint32_t{RoundToBf16(numbers[i + 1])} << 16;
    std::memcpy(pairs + i / 2, &bits, sizeof(bits));
  }
}

}  // namespace

const Bf16Kernels& TargetBf16Emulation() {
  static constexpr Bf16Kernels kKernels = {ToPairs, ConvPixels};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cacheinf {
namespace cpu {
HWY_EXPORT(TargetBf16Emulation);

namespace {
std::atomic<Bf16Choice> bf16_choice{Bf16Choice::kAsProcessorSays};
}

void SetBf16Choice(Bf16Choice choice) { bf16_choice = choice; }

const Bf16Kernels& ChooseBf16Kernels() {
  constexpr int kInstructionLanes = 16;
  const Bf16Choice choice = bf16_choice;
  const bool by_instructions = choice == Bf16Choice::kInstructions ||
                               (choice == Bf16Choice::kAsProcessorSays && HasBf16Instructions());
  // Tests may have chosen a target of fewer lanes.
  if (by_instructions && ChoosePixelKernels().lanes == kInstructionLanes) {
    return InstructionBf16Kernels();
  }
  return HWY_DYNAMIC_DISPATCH(TargetBf16Emulation)();
}

}  // namespace cpu
}  // namespace cacheinf
#endif
