#ifndef CACHEINF_SPARSE_OPS_REFERENCE_REDUCE_LANES_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_REDUCE_LANES_H_

#include <array>
#include <cstdint>

#include "sparse_ops/views.h"

namespace cacheinf::reference {

// Sums and maxima over axes in the order of ops.h.

using AxisSet = std::array<bool, TensorView::kMaxRank>;

inline constexpr int kLanes = 16;

// Puts element i of a row of `count` elements into lane i % 16, which starts at `start`; then
// combines the lanes in halves. value(i) returns an element; accumulate(lane, element) and
// combine(low, high) return the new lane.
float ReduceInLanes(int64_t count, float start, const auto& value, const auto& accumulate,
                    const auto& combine) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = start;
  for (int64_t i = 0; i < count; ++i) {
    float& lane = lanes[i % kLanes];
    lane = accumulate(lane, value(i));
  }
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// Reduces over `axes`, the last first: that one by `accumulate`, the others by `combine`. `data`
// points at the element with index 0 along all of them.
float ReduceAxes(const float* data, const ConstTensorView& shape, const AxisSet& axes, int first,
                 float start, const auto& accumulate, const auto& combine) {
  int axis = first;
  while (axis < shape.rank && !axes[axis]) ++axis;
  if (axis == shape.rank) return *data;
  bool is_last = true;
  for (int later = axis + 1; later < shape.rank; ++later) is_last = is_last && !axes[later];
  const auto inner = [&](int64_t i) {
    return ReduceAxes(data + i * shape.strides[axis], shape, axes, axis + 1, start, accumulate,
                      combine);
  };
  if (is_last) return ReduceInLanes(shape.dims[axis], start, inner, accumulate, combine);
  return ReduceInLanes(shape.dims[axis], start, inner, combine, combine);
}

// The number of elements along `axes`.
int64_t CountAlong(const ConstTensorView& shape, const AxisSet& axes);

float SumOver(const float* data, const ConstTensorView& shape, const AxisSet& axes);
float SumOfSquaredDistances(const float* data, const ConstTensorView& shape, const AxisSet& axes,
                            float center);
float MaximumOver(const float* data, const ConstTensorView& shape, const AxisSet& axes);
float MinimumOver(const float* data, const ConstTensorView& shape, const AxisSet& axes);

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_REDUCE_LANES_H_
