#include "common/exec/scroll.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/backend/operator_call.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/resize_taps.h"
#include "sparse_ops/window.h"

namespace cacheinf {
namespace {

// What one axis of a map becomes.
struct ShiftedAxis {
  int shift = 0;
  Range kept;
};

// The shift of an output whose input shifts by `in_shift` pixels, if it is a whole number.
std::optional<int> OutputShift(const AxisWindow& axis, int in_shift) {
  int64_t scaled = in_shift;
  int64_t by = 1;
  switch (axis.kind) {
    case AxisWindow::Kind::kSliding:
      by = axis.window.stride;
      break;
    case AxisWindow::Kind::kTransposed:
      scaled *= axis.window.stride;
      break;
    case AxisWindow::Kind::kResize:
      scaled *= axis.out_size;
      by = axis.in_size;
      break;
    case AxisWindow::Kind::kReflect:
    case AxisWindow::Kind::kEdge:
      break;
    case AxisWindow::Kind::kBroadcast:
    case AxisWindow::Kind::kWhole:
      return std::nullopt;
  }
  if (scaled % by != 0 || (scaled / by) % axis.tile != 0) return std::nullopt;
  return static_cast<int>(scaled / by);
}

// Whether outputs `out` and `out + out_shift` read, with the same weights, inputs that lie in_shift
// apart and all within the map.
bool ReadsAlike(const AxisWindow& axis, int out, int out_shift, int in_shift) {
  const auto lies_inside = [&](int64_t in) {
    return in >= 0 && in < axis.in_size && in + in_shift >= 0 && in + in_shift < axis.in_size;
  };
  const WindowAxis& window = axis.window;
  switch (axis.kind) {
    case AxisWindow::Kind::kSliding: {
      const int64_t first = int64_t{out} / axis.tile * axis.tile * window.stride - window.pad_begin;
      const int64_t last = first + int64_t{axis.tile - 1} * window.stride +
                           int64_t{window.kernel - 1} * window.dilation;
      return lies_inside(first) && lies_inside(last);
    }
    case AxisWindow::Kind::kTransposed: {
      const int64_t newest = int64_t{out} + window.pad_begin;
      for (int64_t k = 0; k < window.kernel; ++k) {
        const int64_t scaled = newest - k * window.dilation;
        if (scaled % window.stride == 0 && !lies_inside(scaled / window.stride)) return false;
      }
      return true;
    }
    case AxisWindow::Kind::kResize: {
      const auto taps_of = [&](int index) {
        return TapsOf(axis.resize, axis.is_rows, axis.in_size, axis.out_size, index);
      };
      const ResizeTaps now = taps_of(out);
      const ResizeTaps before = taps_of(out + out_shift);
      if (now.count != before.count) return false;
      for (int i = 0; i < now.count; ++i) {
        if (now.index[i] + in_shift != before.index[i] || now.weight[i] != before.weight[i]) {
          return false;
        }
      }
      return true;
    }
    case AxisWindow::Kind::kReflect:
    case AxisWindow::Kind::kEdge:
      return lies_inside(int64_t{out} - window.pad_begin);
    case AxisWindow::Kind::kBroadcast:
    case AxisWindow::Kind::kWhole:
      return false;
  }
  return false;
}

// The longest run of outputs that can be kept.
Range KeptOutputs(const AxisWindow& axis, int out_shift, int in_shift) {
  Range longest;
  Range run;
  for (int out = 0; out < axis.out_size; ++out) {
    const bool was_there = out + out_shift >= 0 && out + out_shift < axis.out_size;
    if (!was_there || !ReadsAlike(axis, out, out_shift, in_shift)) {
      run = {};
      continue;
    }
    run = run.empty() ? Range{out, out + 1} : Range{run.begin, out + 1};
    if (run.size() > longest.size()) longest = run;
  }
  return longest;
}

std::optional<ShiftedAxis> ShiftAxis(const AxisWindow& axis, int in_shift) {
  if (in_shift == 0) return ShiftedAxis{0, {0, axis.out_size}};
  const std::optional<int> shift = OutputShift(axis, in_shift);
  if (!shift) return std::nullopt;
  return ShiftedAxis{*shift, KeptOutputs(axis, *shift, in_shift)};
}

// Whether it is one pixel, such as a gate, which is the same wherever pixels are.
bool IsOnePixel(const Shape& shape) {
  const size_t spatial = std::min<size_t>(shape.size(), 2);
  return std::all_of(shape.end() - static_cast<std::ptrdiff_t>(spatial), shape.end(),
                     [](int64_t size) { return size == 1; });
}

class MapShifter {
 public:
  MapShifter(const Graph& graph, const Shift& picture) : graph_(graph), maps_(graph.values.size()) {
    for (ValueId input : graph.inputs) {
      const Value& value = graph.value(input);
      if (!value.is_map()) continue;
      maps_[input] = {true, picture, Kept(picture.rows, value.shape[2]),
                      Kept(picture.columns, value.shape[3])};
    }
    for (const Operator& op : graph.operators) {
      if (!IsLocal(graph, op)) continue;
      const ShiftedMap output = OutputOf(op);
      for (ValueId id : op.outputs) maps_[id] = output;
    }
  }

  std::vector<ShiftedMap> Take() { return std::move(maps_); }

 private:
  static Range Kept(int shift, int64_t size) {
    return Intersect({-shift, static_cast<int>(size) - shift}, {0, static_cast<int>(size)});
  }

  ShiftedMap OutputOf(const Operator& op) const {
    ShiftedMap output;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Value& input = graph_.value(op.inputs[i]);
      if (IsParameter(op, i) || IsOnePixel(input.shape)) continue;
      if (input.is_constant() || !input.is_map()) return {};
      const ShiftedMap through = Through(op, static_cast<int>(i));
      if (!through.is_known) return {};
      if (!output.is_known) {
        output = through;
        continue;
      }
      const Shift& shift = output.shift;
      if (shift.rows != through.shift.rows || shift.columns != through.shift.columns) return {};
      output.kept_rows = Intersect(output.kept_rows, through.kept_rows);
      output.kept_columns = Intersect(output.kept_columns, through.kept_columns);
    }
    return output;
  }

  ShiftedMap Through(const Operator& op, int input) const {
    const ShiftedMap& from = maps_[op.inputs[input]];
    if (!from.is_known) return {};
    const Window window = InputWindow(graph_, op, input);
    const std::optional<ShiftedAxis> rows = ShiftAxis(window.rows, from.shift.rows);
    const std::optional<ShiftedAxis> columns = ShiftAxis(window.columns, from.shift.columns);
    if (!rows || !columns) return {};
    return {true, {rows->shift, columns->shift}, rows->kept, columns->kept};
  }

  const Graph& graph_;
  std::vector<ShiftedMap> maps_;
};

}  // namespace

std::vector<ShiftedMap> ShiftMaps(const Graph& graph, const Shift& picture) {
  return MapShifter(graph, picture).Take();
}

int ShiftStep(const Graph& graph, int largest) {
  // Where not even a shift of 0 is known, no shift ever will be.
  const std::vector<ShiftedMap> still = ShiftMaps(graph, {});
  for (int step = 1; step <= largest; ++step) {
    const std::vector<ShiftedMap> moved = ShiftMaps(graph, {step, step});
    const bool all_known = std::equal(
        still.begin(), still.end(), moved.begin(),
        [](const ShiftedMap& a, const ShiftedMap& b) { return a.is_known == b.is_known; });
    if (all_known) return step;
  }
  return 0;
}

}  // namespace cacheinf
