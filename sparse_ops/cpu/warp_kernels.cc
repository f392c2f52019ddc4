#include "sparse_ops/cpu/warp_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/warp_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

// Plain loops without branches, which compilers vectorise; vectors round doubles the same way.
template <bool kIsAffine>
HWY_INLINE void LocateFrom(const WarpArgs& args, int y, int x, int count, WarpSources* sources) {
  const auto& m = args.from_of_to.m;
  const double first_x = m[0][1] * y + m[0][2];
  const double first_y = m[1][1] * y + m[1][2];
  const double first_w = m[2][1] * y + m[2][2];
  const double parts = kPositionParts;
  const double u_end = parts * args.from.width;
  const double v_end = parts * args.from.height;
  for (int i = 0; i < count; ++i) {
    const double column = x + i;
    const double w = kIsAffine ? 1.0 : m[2][0] * column + first_w;
    const double from_x = m[0][0] * column + first_x;
    const double from_y = m[1][0] * column + first_y;
    const double u = parts * (kIsAffine ? from_x : from_x / w) + (parts / 2 + 0.5);
    const double v = parts * (kIsAffine ? from_y : from_y / w) + (parts / 2 + 0.5);
    const bool is_in_view = (w > 0.0) & (w < std::numeric_limits<double>::infinity()) &  //
                            (u >= 0.0) & (u < u_end) & (v >= 0.0) & (v < v_end);
    // Not negative, so that cutting off rounds down.
    sources->columns[i] = static_cast<int32_t>(is_in_view ? u : -1.0);
    sources->rows[i] = static_cast<int32_t>(is_in_view ? v : -1.0);
  }
}

// Turns positions that count from the border into those of WarpSources.
HWY_INLINE void ToTaps(Interpolation interpolation, int size, int count, int32_t* positions) {
  if (interpolation == Interpolation::kNearest) {
    for (int i = 0; i < count; ++i) {
      const int32_t whole = positions[i] & ~(kPositionParts - 1);
      positions[i] = positions[i] < 0 ? WarpSources::kOutOfView : whole;
    }
    return;
  }
  const int32_t last = kPositionParts * (size - 1);
  for (int i = 0; i < count; ++i) {
    const int32_t inside = std::min(std::max(positions[i] - kPositionParts / 2, 0), last);
    positions[i] = positions[i] < 0 ? WarpSources::kOutOfView : inside;
  }
}

void Locate(const WarpArgs& args, int y, int x, int count, WarpSources* sources) {
  const auto& w = args.from_of_to.m[2];
  // Then W is 1 everywhere, and dividing by it has no effect.
  const bool is_affine = w[0] == 0.0 && w[1] == 0.0 && w[2] == 1.0;
  sources->count = count;
  if (is_affine) {
    LocateFrom<true>(args, y, x, count, sources);
  } else {
    LocateFrom<false>(args, y, x, count, sources);
  }
  ToTaps(args.interpolation, args.from.width, count, sources->columns);
  ToTaps(args.interpolation, args.from.height, count, sources->rows);
}

constexpr float kPart = 1.0f / kPositionParts;

HWY_INLINE Floats Mix(Floats a, Floats b, Floats a_weight, Floats b_weight) {
  return Fma(b, b_weight, hn::Mul(a, a_weight));
}

// to[i] = mix(a[i], b[i], weight).
HWY_INLINE void MixPixels(const float* a, const float* b, float weight, int channels, float* to) {
  const Floats a_weight = hn::Set(FloatTag(), 1.0f - weight);
  const Floats b_weight = hn::Set(FloatTag(), weight);
  for (int c = 0; c < channels; c += kLanes) {
    const int64_t rest = channels - c;
    StoreFirst(Mix(LoadFirst(a + c, rest), LoadFirst(b + c, rest), a_weight, b_weight), to + c,
               rest);
  }
}

// Mixes two rows of two neighbouring pixels each.
HWY_INLINE void MixRows(const float* upper, const float* lower, int64_t next, float column_weight,
                        float row_weight, int channels, float* to) {
  const Floats left = hn::Set(FloatTag(), 1.0f - column_weight);
  const Floats right = hn::Set(FloatTag(), column_weight);
  const Floats above = hn::Set(FloatTag(), 1.0f - row_weight);
  const Floats below = hn::Set(FloatTag(), row_weight);
  for (int c = 0; c < channels; c += kLanes) {
    const int64_t rest = channels - c;
    const Floats top =
        Mix(LoadFirst(upper + c, rest), LoadFirst(upper + next + c, rest), left, right);
    const Floats bottom =
        Mix(LoadFirst(lower + c, rest), LoadFirst(lower + next + c, rest), left, right);
    StoreFirst(Mix(top, bottom, above, below), to + c, rest);
  }
}

// How many pixels from `first` on copy pixels that lie side by side as they do.
HWY_INLINE int CountCopiedTogether(const WarpSources& sources, int first) {
  const int32_t row = sources.rows[first];
  int32_t column = sources.columns[first];
  int i = first + 1;
  for (; i < sources.count; ++i) {
    column += kPositionParts;
    if (sources.rows[i] != row || sources.columns[i] != column) break;
  }
  return i - first;
}

void Fetch(const WarpSources& sources, const ConstImageView& from, int image, float* to,
           int64_t to_pixel_stride) {
  const int channels = from.channels;
  const bool lie_end_to_end = from.pixel_stride == channels && to_pixel_stride == channels;
  for (int i = 0; i < sources.count;) {
    const int32_t row = sources.rows[i];
    const int32_t column = sources.columns[i];
    if (row < 0) {
      ++i;
      continue;
    }
    const float* pixel = from.Pixel(image, row / kPositionParts, column / kPositionParts);
    float* out = to + i * to_pixel_stride;
    const float row_weight = static_cast<float>(row % kPositionParts) * kPart;
    const float column_weight = static_cast<float>(column % kPositionParts) * kPart;
    int done = 1;
    if (row_weight != 0.0f && column_weight != 0.0f) {
      MixRows(pixel, pixel + from.row_stride, from.pixel_stride, column_weight, row_weight,
              channels, out);
    } else if (column_weight != 0.0f) {
      MixPixels(pixel, pixel + from.pixel_stride, column_weight, channels, out);
    } else if (row_weight != 0.0f) {
      MixPixels(pixel, pixel + from.row_stride, row_weight, channels, out);
    } else {
      if (lie_end_to_end) done = CountCopiedTogether(sources, i);
      std::memcpy(out, pixel, static_cast<size_t>(channels) * done * sizeof(float));
    }
    i += done;
  }
}

}  // namespace

const WarpKernels& TargetWarpKernels() {
  static constexpr WarpKernels kKernels = {Locate, Fetch};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(WarpKernels)
#endif  // HWY_ONCE
