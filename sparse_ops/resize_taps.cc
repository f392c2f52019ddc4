#include "sparse_ops/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace cacheinf {
namespace {

using Coordinates = ResizeSpec::Coordinates;
using Kind = ResizeSpec::Kind;
using Rounding = ResizeSpec::Rounding;

struct Axis {
  float scale;  // output over input, 0: from the sizes
  int in_size;
  int out_size;

  float Unscale(float x) const {
    if (scale != 0.0f) return x / scale;
    return x * (static_cast<float>(in_size) / static_cast<float>(out_size));
  }
};

// Where output index `out` lies on the input axis, pixel centres being at whole numbers.
float SourceCoordinate(Coordinates coordinates, const Axis& axis, int out) {
  const auto x = static_cast<float>(out);
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

float RoundTo(Rounding rounding, float x) {
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

// x as an index, 0 for NaN; first bounded as a float, because it may not fit an int.
int Clamped(float x, int size) {
  return static_cast<int>(std::min(std::max(0.0f, x), static_cast<float>(size - 1)));
}

// The cubic convolution kernel with parameter a at distance `d` from the sample.
float CubicWeight(float a, float d) {
  if (d <= 1.0f) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

}  // namespace

ResizeTaps TapsOf(const ResizeSpec& spec, bool is_rows, int in_size, int out_size, int out) {
  const Axis axis{is_rows ? spec.scale_rows : spec.scale_columns, in_size, out_size};
  const float source = SourceCoordinate(spec.coordinates, axis, out);
  ResizeTaps taps;
  switch (spec.kind) {
    case Kind::kNearest:
      taps.count = 1;
      taps.index[0] = Clamped(RoundTo(spec.rounding, source), in_size);
      taps.weight[0] = 1.0f;
      break;
    case Kind::kLinear: {
      const float inside = std::min(std::max(0.0f, source), static_cast<float>(in_size - 1));
      const int first = static_cast<int>(inside);
      taps.count = 2;
      taps.index[0] = first;
      taps.index[1] = std::min(first + 1, in_size - 1);
      taps.weight[1] = inside - static_cast<float>(first);
      taps.weight[0] = 1.0f - taps.weight[1];
      break;
    }
    case Kind::kCubic: {
      const float whole = std::floor(source);
      const float fraction = source - whole;
      taps.count = 4;
      for (int i = 0; i < taps.count; ++i) {
        const auto offset = static_cast<float>(i - 1);
        taps.index[i] = Clamped(whole + offset, in_size);
        taps.weight[i] = CubicWeight(spec.cubic_a, std::fabs(fraction - offset));
      }
      break;
    }
  }
  return taps;
}

}  // namespace cacheinf
