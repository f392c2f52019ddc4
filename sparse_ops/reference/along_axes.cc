#include <cmath>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/reduce_lanes.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/tensor_walk.h"

namespace cacheinf::reference {
namespace {

AxisSet OneAxis(int axis) {
  AxisSet axes = {};
  axes[axis] = true;
  return axes;
}

// Calls visit(index) for every index along the axes not in `axes`; it is 0 along the others.
void ForEachAcross(const ConstTensorView& shape, const AxisSet& axes, const auto& visit) {
  ConstTensorView across = shape;
  for (int i = 0; i < shape.rank; ++i) {
    if (axes[i] && shape.dims[i] > 0) across.dims[i] = 1;
  }
  ForEachIndex(across, visit);
}

// Calls visit(index) for every index along `axes`; along the others it is as in `start`.
void ForEachAlong(const ConstTensorView& shape, const AxisSet& axes, const TensorIndex& start,
                  const auto& visit) {
  ConstTensorView along = shape;
  for (int i = 0; i < shape.rank; ++i) {
    if (!axes[i]) along.dims[i] = 1;
  }
  ForEachIndex(along, [&](const TensorIndex& offset) {
    TensorIndex index = start;
    for (int i = 0; i < shape.rank; ++i) index[i] += offset[i];
    visit(static_cast<const TensorIndex&>(index));
  });
}

struct Moments {
  float mean;
  float inverse_deviation;
};

Moments MomentsOf(const float* data, const ConstTensorView& shape, const AxisSet& axes,
                  float epsilon) {
  const auto count = static_cast<float>(CountAlong(shape, axes));
  const float mean = SumOver(data, shape, axes) / count;
  const float variance = SumOfSquaredDistances(data, shape, axes, mean) / count;
  return {mean, 1.0f / std::sqrt(variance + epsilon)};
}

}  // namespace

void Compute(const LayerNormArgs& args) {
  AxisSet axes = {};
  for (int i = 0; i < args.axis_count; ++i) axes[args.first_axis + i] = true;
  const ConstTensorView& input = args.input;
  ForEachAcross(input, axes, [&](const TensorIndex& start) {
    const Moments moments = MomentsOf(ElementAt(input, start), input, axes, args.epsilon);
    int64_t parameter = 0;
    ForEachAlong(input, axes, start, [&](const TensorIndex& index) {
      float value = (*ElementAt(input, index) - moments.mean) * moments.inverse_deviation;
      if (args.scale != nullptr) {
        value = std::fma(value, args.scale[parameter], args.shift[parameter]);
        ++parameter;
      }
      *ElementAt(args.output, index) = value;
    });
  });
}

void Compute(const GroupNormArgs& args) {
  AxisSet axes = {};
  for (int i = 1; i < args.input.rank; ++i) axes[i] = true;
  const int64_t group_channels = args.input.dims[1] / args.groups;
  for (int64_t n = 0; n < args.input.dims[0]; ++n) {
    for (int64_t first = 0; first < args.input.dims[1]; first += group_channels) {
      const ConstTensorView group =
          SliceAxis(SliceAxis(args.input, 0, n, 1), 1, first, group_channels);
      const TensorView output =
          SliceAxis(SliceAxis(args.output, 0, n, 1), 1, first, group_channels);
      const Moments moments = MomentsOf(group.data, group, axes, args.epsilon);
      ForEachIndex(group, [&](const TensorIndex& index) {
        const int64_t channel = first + index[1];
        float value = (*ElementAt(group, index) - moments.mean) * moments.inverse_deviation;
        if (args.scale != nullptr) {
          value = std::fma(value, args.scale[channel], args.shift[channel]);
        }
        *ElementAt(output, index) = value;
      });
    }
  }
}

void Compute(const SoftmaxArgs& args) {
  const AxisSet axes = OneAxis(args.axis);
  const int64_t count = args.input.dims[args.axis];
  const int64_t in_stride = args.input.strides[args.axis];
  const int64_t out_stride = args.output.strides[args.axis];
  ForEachAcross(args.input, axes, [&](const TensorIndex& start) {
    const float* in = ElementAt(args.input, start);
    float* out = ElementAt(args.output, start);
    const float largest = MaximumOver(in, args.input, axes);
    const auto add_exp = [&](float lane, float x) { return lane + Exp(x - largest); };
    const auto add = [](float a, float b) { return a + b; };
    const float sum = ReduceAxes(in, args.input, axes, 0, 0.0f, add_exp, add);
    const float log_sum = args.logarithm ? Log(sum) : 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      const float distance = in[i * in_stride] - largest;
      out[i * out_stride] = args.logarithm ? distance - log_sum : Exp(distance) / sum;
    }
  });
}

void Compute(const ArgMaxArgs& args) {
  const int64_t count = args.input.dims[args.axis];
  const int64_t stride = args.input.strides[args.axis];
  ForEachAcross(args.input, OneAxis(args.axis), [&](const TensorIndex& start) {
    const float* in = ElementAt(args.input, start);
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i) {
      const float value = in[i * stride];
      const float best_value = in[best * stride];
      const bool is_first_nan = std::isnan(value) && !std::isnan(best_value);
      if (value > best_value || is_first_nan) best = i;
    }
    *ElementAt(args.output, start) = static_cast<float>(best);
  });
}

void Compute(const TopKArgs& args) {
  const int64_t count = args.input.dims[args.axis];
  const int64_t stride = args.input.strides[args.axis];
  ForEachAcross(args.input, OneAxis(args.axis), [&](const TensorIndex& start) {
    const float* in = ElementAt(args.input, start);
    float* out = ElementAt(args.output, start);
    int64_t last = -1;
    for (int64_t k = 0; k < args.output.dims[args.axis]; ++k) {
      int64_t best = -1;
      for (int64_t i = 0; i < count; ++i) {
        const float value = in[i * stride];
        const bool is_left = last < 0 || ComesFirst(in[last * stride], last, value, i);
        if (is_left && (best < 0 || ComesFirst(value, i, in[best * stride], best))) best = i;
      }
      out[k * args.output.strides[args.axis]] = static_cast<float>(best);
      last = best;
    }
  });
}

void Compute(const ReduceArgs& args) {
  const auto count = static_cast<float>(CountAlong(args.input, args.reduced));
  ForEachIndex(args.output, [&](const TensorIndex& start) {
    const float* data = ElementAt(args.input, start);
    float value = 0.0f;
    switch (args.kind) {
      case ReduceKind::kMean:
        value = SumOver(data, args.input, args.reduced) / count;
        break;
      case ReduceKind::kSum:
        value = SumOver(data, args.input, args.reduced);
        break;
      case ReduceKind::kMax:
        value = MaximumOver(data, args.input, args.reduced);
        break;
      case ReduceKind::kMin:
        value = MinimumOver(data, args.input, args.reduced);
        break;
    }
    *ElementAt(args.output, start) = value;
  });
}

}  // namespace cacheinf::reference
