#ifndef CACHEINF_SPARSE_OPS_RESIZE_TAPS_H_
#define CACHEINF_SPARSE_OPS_RESIZE_TAPS_H_

#include <cmath>

#include "sparse_ops/host_device.h"
#include "sparse_ops/specs.h"

namespace cacheinf {

// The input of one output index of a resized axis. An index may appear twice (at the border).
struct ResizeTaps {
  static constexpr int kMaxCount = 4;

  int count = 0;
  int index[kMaxCount] = {};     // ascending, within the input
  float weight[kMaxCount] = {};  // a single tap weighs 1
};

// The steps of TapsOf below.
namespace resize {

struct Axis {
  float scale;  // output over input, 0: from the sizes
  int in_size;
  int out_size;

  CACHEINF_HOST_DEVICE float Unscale(float x) const {
    if (scale != 0.0f) return x / scale;
    return x * (static_cast<float>(in_size) / static_cast<float>(out_size));
  }
};

// Where output index `out` lies on the input axis, if pixel centres are at whole numbers.
CACHEINF_HOST_DEVICE inline float SourceCoordinate(ResizeSpec::Coordinates coordinates,
                                                   const Axis& axis, int out) {
  const auto x = static_cast<float>(out);
  using Coordinates = ResizeSpec::Coordinates;
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return axis.Unscale(x + 0.5f) - 0.5f;
    case Coordinates::kPytorchHalfPixel:
      return axis.out_size == 1 ? 0.0f : axis.Unscale(x + 0.5f) - 0.5f;
    case Coordinates::kAlignCorners:
      return axis.out_size == 1
                 ? 0.0f
                 : x * static_cast<float>(axis.in_size - 1) / static_cast<float>(axis.out_size - 1);
    case Coordinates::kAsymmetric:
      return axis.Unscale(x);
    case Coordinates::kHalfPixelSymmetric: {
      const auto in_size = static_cast<float>(axis.in_size);
      const auto out_size = static_cast<float>(axis.out_size);
      const float unrounded = axis.scale != 0.0f ? axis.scale * in_size : out_size;
      const float offset = in_size / 2 * (1 - out_size / unrounded);
      return offset + axis.Unscale(x + 0.5f) - 0.5f;
    }
  }
  return x;
}

CACHEINF_HOST_DEVICE inline float RoundTo(ResizeSpec::Rounding rounding, float x) {
  using Rounding = ResizeSpec::Rounding;
  switch (rounding) {
    case Rounding::kRoundPreferFloor:
      return std::ceil(x - 0.5f);
    case Rounding::kRoundPreferCeil:
      return std::floor(x + 0.5f);
    case Rounding::kFloor:
      return std::floor(x);
    case Rounding::kCeil:
      return std::ceil(x);
  }
  return x;
}

// x, bounded to [0, last index]; 0 for NaN.
CACHEINF_HOST_DEVICE inline float Bounded(float x, int size) {
  const auto last = static_cast<float>(size - 1);
  const float from_zero = 0.0f < x ? x : 0.0f;
  return last < from_zero ? last : from_zero;
}

// x as an index. x is bounded as a float first, because it may not fit an int.
CACHEINF_HOST_DEVICE inline int Clamped(float x, int size) {
  return static_cast<int>(Bounded(x, size));
}

// The cubic convolution kernel with parameter a at distance `d` from the sample.
CACHEINF_HOST_DEVICE inline float CubicWeight(float a, float d) {
  if (d <= 1.0f) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

}  // namespace resize

// The taps of output index `out` along the rows (`is_rows`) or columns of a map, in the float
// arithmetic of ONNX Runtime if the spec states a scale, or of PyTorch if the sizes give it. Lists
// taps of weight 0, too; input indices never fall as `out` grows. REQUIRES: sizes of at least 1.
CACHEINF_HOST_DEVICE inline ResizeTaps TapsOf(const ResizeSpec& spec, bool is_rows, int in_size,
                                              int out_size, int out) {
  const resize::Axis axis{is_rows ? spec.scale_rows : spec.scale_columns, in_size, out_size};
  const float source = resize::SourceCoordinate(spec.coordinates, axis, out);
  ResizeTaps taps;
  switch (spec.kind) {
    case ResizeSpec::Kind::kNearest:
      taps.count = 1;
      taps.index[0] = resize::Clamped(resize::RoundTo(spec.rounding, source), in_size);
      taps.weight[0] = 1.0f;
      break;
    case ResizeSpec::Kind::kLinear: {
      const float inside = resize::Bounded(source, in_size);
      const int first = static_cast<int>(inside);
      taps.count = 2;
      taps.index[0] = first;
      taps.index[1] = first + 1 < in_size ? first + 1 : in_size - 1;
      taps.weight[1] = inside - static_cast<float>(first);
      taps.weight[0] = 1.0f - taps.weight[1];
      break;
    }
    case ResizeSpec::Kind::kCubic: {
      const float whole = std::floor(source);
      const float fraction = source - whole;
      taps.count = 4;
      for (int i = 0; i < taps.count; ++i) {
        const auto offset = static_cast<float>(i - 1);
        taps.index[i] = resize::Clamped(whole + offset, in_size);
        taps.weight[i] = resize::CubicWeight(spec.cubic_a, std::fabs(fraction - offset));
      }
      break;
    }
  }
  return taps;
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_RESIZE_TAPS_H_
