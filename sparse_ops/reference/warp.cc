#include "sparse_ops/warp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sparse_ops/reference/reference.h"

namespace cacheinf::reference {
namespace {

// One axis of a pixel's source: pixel `index` of the old map, and the next one with this weight.
struct Tap {
  int index = 0;
  float weight = 0.0f;
};

struct Source {
  bool is_in_view = false;
  Tap row;
  Tap column;
};

Tap TapAt(Interpolation interpolation, double position, int size) {
  const int from_border = static_cast<int>(std::floor(position));
  if (interpolation == Interpolation::kNearest) return {from_border / kPositionParts, 0.0f};
  const int from_centre =
      std::clamp(from_border - kPositionParts / 2, 0, kPositionParts * (size - 1));
  return {from_centre / kPositionParts,
          static_cast<float>(from_centre % kPositionParts) / static_cast<float>(kPositionParts)};
}

Source SourceOf(const WarpArgs& args, int y, int x) {
  const auto& m = args.from_of_to.m;
  const double from_x = m[0][0] * x + (m[0][1] * y + m[0][2]);
  const double from_y = m[1][0] * x + (m[1][1] * y + m[1][2]);
  const double w = m[2][0] * x + (m[2][1] * y + m[2][2]);
  const double u = 1024.0 * (from_x / w) + 512.5;
  const double v = 1024.0 * (from_y / w) + 512.5;
  const int height = args.from.height;
  const int width = args.from.width;
  const bool is_in_view = w > 0 && w < std::numeric_limits<double>::infinity() &&  //
                          u >= 0 && u < static_cast<double>(kPositionParts) * width && v >= 0 &&
                          v < static_cast<double>(kPositionParts) * height;
  if (!is_in_view) return {};
  return {true, TapAt(args.interpolation, v, height), TapAt(args.interpolation, u, width)};
}

float Mix(float a, float b, float weight) { return std::fma(b, weight, a * (1.0f - weight)); }

float ValueAt(const ConstImageView& from, int n, const Source& source, int channel) {
  const auto row_value = [&](int y) {
    const float a = from.Pixel(n, y, source.column.index)[channel];
    if (source.column.weight == 0.0f) return a;
    return Mix(a, from.Pixel(n, y, source.column.index + 1)[channel], source.column.weight);
  };
  const float a = row_value(source.row.index);
  if (source.row.weight == 0.0f) return a;
  return Mix(a, row_value(source.row.index + 1), source.row.weight);
}

}  // namespace

void Compute(const WarpArgs& args) {
  for (int y = 0; y < args.to.height; ++y) {
    for (int x = 0; x < args.to.width; ++x) {
      if (!args.wanted.Test(y, x)) continue;
      const Source source = SourceOf(args, y, x);
      if (!source.is_in_view) {
        if (args.out_of_view.words != nullptr) args.out_of_view.Set(y, x);
        continue;
      }
      for (int n = 0; n < args.to.batch; ++n) {
        for (int channel = 0; channel < args.to.channels; ++channel) {
          args.to.Pixel(n, y, x)[channel] = ValueAt(args.from, n, source, channel);
        }
      }
    }
  }
}

}  // namespace cacheinf::reference
