#include "sparse_ops/reference/reduce_lanes.h"

#include <cmath>
#include <limits>

#include "sparse_ops/function.h"

namespace cacheinf::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float Add(float a, float b) { return a + b; }
float Maximum(float a, float b) { return Combine(BinaryKind::kMaximum, a, b); }
float Minimum(float a, float b) { return Combine(BinaryKind::kMinimum, a, b); }

}  // namespace

int64_t CountAlong(const ConstTensorView& shape, const AxisSet& axes) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; ++i) {
    if (axes[i]) count *= shape.dims[i];
  }
  return count;
}

float SumOver(const float* data, const ConstTensorView& shape, const AxisSet& axes) {
  return ReduceAxes(data, shape, axes, 0, 0.0f, Add, Add);
}

float SumOfSquaredDistances(const float* data, const ConstTensorView& shape, const AxisSet& axes,
                            float center) {
  const auto add_square = [center](float lane, float x) {
    const float distance = x - center;
    return std::fma(distance, distance, lane);
  };
  return ReduceAxes(data, shape, axes, 0, 0.0f, add_square, Add);
}

float MaximumOver(const float* data, const ConstTensorView& shape, const AxisSet& axes) {
  return ReduceAxes(data, shape, axes, 0, -kInfinity, Maximum, Maximum);
}

float MinimumOver(const float* data, const ConstTensorView& shape, const AxisSet& axes) {
  return ReduceAxes(data, shape, axes, 0, kInfinity, Minimum, Minimum);
}

}  // namespace cacheinf::reference
