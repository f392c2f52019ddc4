#include "sparse_ops/cpu/change_kernels.h"

#include <cstring>

#include "sparse_ops/cpu/targets.h"
#include "sparse_ops/eight_bits.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/change_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

constexpr int kPixelsTogether = 16;
constexpr int kVectors = kChangeLanes / kLanes;
static_assert(kVectors * kLanes == kChangeLanes, "vectors of at most 16 lanes");

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

// Adds halves to halves.
template <typename D>
HWY_INLINE float SumHalves(D, hn::Vec<D> lanes) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(lanes);
  } else {
    const hn::Half<D> half;  // targets of one lane have no UpperHalf: it is found through `half`
    return SumHalves(half, hn::Add(hn::LowerHalf(half, lanes), UpperHalf(half, lanes)));
  }
}

float SumLanes(const float* squares) {
  Floats lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) lanes[v] = hn::LoadU(FloatTag(), squares + v * kLanes);
  CACHEINF_UNROLL for (int half = kVectors / 2; half >= 1; half /= 2) {
    CACHEINF_UNROLL for (int v = 0; v < half; ++v) lanes[v] = hn::Add(lanes[v], lanes[v + half]);
  }
  return SumHalves(FloatTag(), lanes[0]);
}

void Judge(const ChangeTest& test, const float* squares, int pixels, int channels,
           uint8_t* changed) {
  const Floats count = hn::Set(FloatTag(), static_cast<float>(channels));
  for (int first = 0; first < pixels; first += kPixelsTogether) {
    const int together = HWY_MIN(kPixelsTogether, pixels - first);
    HWY_ALIGN float sums[kPixelsTogether] = {};
    for (int i = 0; i < together; ++i) sums[i] = SumLanes(squares + (first + i) * kChangeLanes);
    for (int i = 0; i < kPixelsTogether; i += kLanes) {
      const Floats mean = hn::Div(hn::Load(FloatTag(), sums + i), count);
      hn::Store(hn::Sqrt(mean), FloatTag(), sums + i);
    }
    // A NaN is a change.
    for (int i = 0; i < together; ++i) changed[first + i] = sums[i] <= test.threshold ? 0 : 1;
  }
}

void SquareChanges(const float* fresh, const float* stored, const float* scale, int channels,
                   float* squares) {
  Floats lanes[kVectors];
  for (Floats& lane : lanes) lane = hn::Zero(FloatTag());
  for (int first = 0; first < channels; first += kChangeLanes) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      const int c = first + v * kLanes;
      // Missing channels are squares of zero, which leave a sum as it is.
      if (c >= channels) break;
      lanes[v] =
          AddSquaredChange(lanes[v], LoadFirst(fresh + c, channels - c),
                           LoadFirst(stored + c, channels - c), LoadFirst(scale + c, channels - c));
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(lanes[v], FloatTag(), squares + v * kLanes);
}

using IntTag = hn::RebindToSigned<FloatTag>;
using BytesTag = hn::Rebind<uint8_t, FloatTag>;  // as many as a vector has floats

// The first `count` bytes, others zero.
HWY_INLINE hn::Vec<BytesTag> LoadBytes(const uint8_t* from, int count) {
  if (count >= kLanes) return hn::LoadU(BytesTag(), from);
  uint8_t some[kLanes] = {};
  std::memcpy(some, from, static_cast<size_t>(count));
  return hn::LoadU(BytesTag(), some);
}

// The differences of the first `count` bytes, others zero. Those of signed bytes are those of their
// bits with 128 added.
HWY_INLINE Floats DifferencesOfBytes(const uint8_t* fresh, const uint8_t* stored, int count,
                                     hn::Vec<BytesTag> flip) {
  const auto a = hn::PromoteTo(IntTag(), hn::Xor(LoadBytes(fresh, count), flip));
  const auto b = hn::PromoteTo(IntTag(), hn::Xor(LoadBytes(stored, count), flip));
  return hn::ConvertTo(FloatTag(), hn::Sub(a, b));
}

// The same of a pixel of words.
void SquareChangesOfBytes(const float* fresh, const float* stored, const float* scale, int words,
                          uint8_t flip, float* squares) {
  const auto* const fresh_bytes = reinterpret_cast<const uint8_t*>(fresh);
  const auto* const stored_bytes = reinterpret_cast<const uint8_t*>(stored);
  const auto flips = hn::Set(BytesTag(), flip);
  const int bytes = words * kBytesOfWord;
  Floats lanes[kVectors];
  for (Floats& lane : lanes) lane = hn::Zero(FloatTag());
  for (int first = 0; first < bytes; first += kChangeLanes) {
    CACHEINF_UNROLL for (int v = 0; v < kVectors; ++v) {
      const int c = first + v * kLanes;
      if (c >= bytes) break;
      const Floats difference =
          DifferencesOfBytes(fresh_bytes + c, stored_bytes + c, bytes - c, flips);
      lanes[v] = AddSquaredChange(lanes[v], difference, hn::Zero(FloatTag()),
                                  LoadFirst(scale + c, bytes - c));
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(lanes[v], FloatTag(), squares + v * kLanes);
}

void FindChanges(const ChangeTest& test, const PixelLine<const float>& fresh,
                 const PixelLine<const float>& stored, int pixels, int channels, uint8_t* changed) {
  if (test.threshold == 0.0f) return FindDifferentBits(fresh, stored, pixels, channels, changed);
  const bool has_bytes = test.numbers != PixelNumbers::kFloats;
  const uint8_t flip = test.numbers == PixelNumbers::kSignedBytes ? 0x80 : 0;
  for (int first = 0; first < pixels; first += kPixelsTogether) {
    const int together = HWY_MIN(kPixelsTogether, pixels - first);
    float squares[kPixelsTogether * kChangeLanes];
    for (int i = 0; i < together; ++i) {
      const float* const new_pixel = fresh.first + (first + i) * fresh.step;
      const float* const old_pixel = stored.first + (first + i) * stored.step;
      float* const of_pixel = squares + i * kChangeLanes;
      if (has_bytes) {
        SquareChangesOfBytes(new_pixel, old_pixel, test.inverse_spread, channels, flip, of_pixel);
      } else {
        SquareChanges(new_pixel, old_pixel, test.inverse_spread, channels, of_pixel);
      }
    }
    Judge(test, squares, together, has_bytes ? channels * kBytesOfWord : channels, changed + first);
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
  static constexpr ChangeKernels kKernels = {FindChanges, Judge, CopyPixels};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(ChangeKernels)
#endif
