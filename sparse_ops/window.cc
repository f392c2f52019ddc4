#include "sparse_ops/window.h"

#include <algorithm>

#include "sparse_ops/ops.h"
#include "sparse_ops/resize_taps.h"

namespace cacheinf {
namespace {

int64_t PaddedReads(const AxisWindow& axis, int64_t out) {
  const PadMode mode = axis.kind == AxisWindow::Kind::kReflect ? PadMode::kReflect : PadMode::kEdge;
  return PaddedIndex(mode, out - axis.window.pad_begin, axis.in_size);
}

// Calls visit(in) for every input index that output `out` reads, in no particular order, possibly
// more than once.
void ForEachRead(const AxisWindow& axis, int out, const auto& visit) {
  const WindowAxis& window = axis.window;
  const auto visit_inside = [&](int64_t in) {
    if (in >= 0 && in < axis.in_size) visit(static_cast<int>(in));
  };
  switch (axis.kind) {
    case AxisWindow::Kind::kSliding: {
      const int64_t of_tile = out / axis.tile * axis.tile;
      for (int64_t o = of_tile; o < of_tile + axis.tile; ++o) {
        const int64_t first = o * window.stride - window.pad_begin;
        for (int64_t k = 0; k < window.kernel; ++k) visit_inside(first + k * window.dilation);
      }
      return;
    }
    case AxisWindow::Kind::kTransposed: {
      const int64_t last = static_cast<int64_t>(out) + window.pad_begin;
      for (int64_t k = 0; k < window.kernel; ++k) {
        const int64_t scaled = last - k * window.dilation;
        if (scaled % window.stride == 0) visit_inside(scaled / window.stride);
      }
      return;
    }
    case AxisWindow::Kind::kResize: {
      const ResizeTaps taps = TapsOf(axis.resize, axis.is_rows, axis.in_size, axis.out_size, out);
      std::for_each_n(taps.index, taps.count, visit);
      return;
    }
    case AxisWindow::Kind::kReflect:
    case AxisWindow::Kind::kEdge:
      visit_inside(PaddedReads(axis, out));
      return;
    case AxisWindow::Kind::kBroadcast:
      visit(0);
      return;
    case AxisWindow::Kind::kWhole:
      for (int in = 0; in < axis.in_size; ++in) visit(in);
      return;
  }
}

void Include(Range& hull, int index) {
  if (hull.empty()) {
    hull = {index, index + 1};
  } else {
    hull.begin = std::min(hull.begin, index);
    hull.end = std::max(hull.end, index + 1);
  }
}

Range Clip(Range range, int size) {
  const Range clipped{std::max(range.begin, 0), std::min(range.end, size)};
  return clipped.empty() ? Range{} : clipped;
}

}  // namespace

bool AxisWindow::Reads(int out, int in) const {
  if (out < 0 || out >= out_size || in < 0 || in >= in_size) return false;
  // Whether the window has a tap at this distance behind its first one.
  const auto is_tap = [&](int64_t distance) {
    return distance >= 0 && distance % window.dilation == 0 &&
           distance / window.dilation < window.kernel;
  };
  const int64_t stride = window.stride;
  switch (kind) {
    case Kind::kSliding: {
      const int64_t of_tile = out / tile * tile;
      for (int64_t o = of_tile; o < of_tile + tile; ++o) {
        if (is_tap(in - (o * stride - window.pad_begin))) return true;
      }
      return false;
    }
    case Kind::kTransposed:
      return is_tap(out - (in * stride - window.pad_begin));
    case Kind::kResize: {
      const ResizeTaps taps = TapsOf(resize, is_rows, in_size, out_size, out);
      return std::find(taps.index, taps.index + taps.count, in) != taps.index + taps.count;
    }
    case Kind::kReflect:
    case Kind::kEdge:
      return PaddedReads(*this, out) == in;
    case Kind::kBroadcast:
      return in == 0;
    case Kind::kWhole:
      return true;
  }
  return false;
}

Range AxisWindow::Needed(Range out) const {
  out = Clip(out, out_size);
  if (out.empty()) return {};
  if (kind == Kind::kWhole) return {0, in_size};
  Range needed;
  for (int o = out.begin; o < out.end; ++o) {
    ForEachRead(*this, o, [&](int in) { Include(needed, in); });
  }
  return needed;
}

Range AxisWindow::Touched(Range in) const {
  in = Clip(in, in_size);
  if (in.empty()) return {};
  if (kind == Kind::kWhole) return {0, out_size};
  Range touched;
  for (int o = 0; o < out_size; ++o) {
    ForEachRead(*this, o, [&](int i) {
      if (i >= in.begin && i < in.end) Include(touched, o);
    });
  }
  return touched;
}

AxisWindow AxisWindow::Identity(int size) { return Sliding(size, size, WindowAxis{}); }

AxisWindow AxisWindow::Sliding(int in_size, int out_size, const WindowAxis& window) {
  AxisWindow axis;
  axis.in_size = in_size;
  axis.out_size = out_size;
  axis.window = window;
  return axis;
}

}  // namespace cacheinf
