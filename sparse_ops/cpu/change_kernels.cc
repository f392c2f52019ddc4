#include "sparse_ops/cpu/change_kernels.h"

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/change_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/change_ops-inl.h"
#include "sparse_ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kPixelsTogether = 16;

using BitsTag = hn::RebindToUnsigned<FloatTag>;

bool DiffersInABit(const float* fresh, const float* stored, int channels) {
  auto difference = hn::Zero(BitsTag());
  for (int c = 0; c < channels; c += kLanes) {
    const int count = channels - c;
    const auto a = hn::BitCast(BitsTag(), LoadFirst(fresh + c, count));
    const auto b = hn::BitCast(BitsTag(), LoadFirst(stored + c, count));
    difference = hn::Or(difference, hn::Xor(a, b));
  }
  return !hn::AllTrue(BitsTag(), hn::Eq(difference, hn::Zero(BitsTag())));
}

void FindDifferentBits(const PixelLine<const float>& fresh, const PixelLine<const float>& stored,
                       int pixels, int channels, uint8_t* changed) {
  for (int p = 0; p < pixels; ++p) {
    const bool differs =
        DiffersInABit(fresh.first + p * fresh.step, stored.first + p * stored.step, channels);
    changed[p] = differs ? 1 : 0;
  }
}

void FindChanges(const ChangeTest& test, const PixelLine<const float>& fresh,
                 const PixelLine<const float>& stored, int pixels, int channels, uint8_t* changed) {
  if (test.threshold == 0.0f) return FindDifferentBits(fresh, stored, pixels, channels, changed);
  for (int first = 0; first < pixels; first += kPixelsTogether) {
    const int together = HWY_MIN(kPixelsTogether, pixels - first);
    HWY_ALIGN float sums[kPixelsTogether] = {};  // of squares
    for (int i = 0; i < together; ++i) {
      sums[i] = SumOfSquaredChanges(fresh.first + (first + i) * fresh.step,
                                    stored.first + (first + i) * stored.step, test.inverse_spread,
                                    channels);
    }
    JudgeChanges(sums, channels, test.threshold, together, changed + first);
  }
}

void CopyPixels(const uint8_t* changed, uint8_t wanted, const PixelLine<const float>& from,
                const PixelLine<float>& to, int pixels, int channels) {
  for (int p = 0; p < pixels; ++p) {
    if (changed[p] != wanted) continue;
    const float* const in = from.first + p * from.step;
    float* const out = to.first + p * to.step;
    for (int c = 0; c < channels; c += kLanes) {
      StoreFirst(LoadFirst(in + c, channels - c), out + c, channels - c);
    }
  }
}

}  // namespace

const ChangeKernels& TargetChangeKernels() {
  static constexpr ChangeKernels kKernels = {FindChanges, CopyPixels};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace cacheinf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(ChangeKernels)
#endif
