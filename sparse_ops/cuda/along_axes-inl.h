#ifndef CACHEINF_SPARSE_OPS_CUDA_ALONG_AXES_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_ALONG_AXES_INL_H_

#include <algorithm>
#include <numeric>

#include "sparse_ops/cuda/group_kernels.h"
#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/row_kernels.h"

namespace cacheinf::cuda {
namespace along_axes {

using AxisSet = std::array<bool, TensorView::kMaxRank>;

inline Rows RowsOf(const ConstTensorView& input, const TensorView& output, int axis,
                   const Pixels& pixels) {
  return {TensorWalk<2>(input, pixels, {input.strides, output.strides}, axis), input.data,
          output.data};
}

// Nests the axes of `shape` that are in `along`.
inline Nest NestOf(const ConstTensorView& shape, const AxisSet& along) {
  Nest nest;
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (!along[static_cast<size_t>(axis)]) continue;
    nest.sizes[nest.rank] = static_cast<int>(shape.dims[axis]);
    nest.strides[nest.rank++] = shape.strides[axis];
  }
  nest.split = nest.rank - 1;
  while (nest.split > 0 && nest.rows * nest.sizes[nest.split - 1] <= Nest::kMostRows) {
    --nest.split;
    nest.row_steps[nest.split] = nest.rows;
    nest.rows *= nest.sizes[nest.split];
  }
  for (int axis = 0; axis < nest.split; ++axis) nest.steps *= nest.sizes[axis];
  std::iota(nest.by_stride, nest.by_stride + nest.rank, 0);
  std::stable_sort(nest.by_stride, nest.by_stride + nest.rank,
                   [&](int a, int b) { return nest.strides[a] > nest.strides[b]; });
  return nest;
}

inline float CountOf(const Nest& nest) {
  int64_t count = 1;
  for (int i = 0; i < nest.rank; ++i) count *= nest.sizes[i];
  return static_cast<float>(count);
}

inline int Positions(const OuterAxes& axes) {
  int positions = 1;
  for (int i = 0; i < axes.rank; ++i) positions *= axes.sizes[i];
  return positions;
}

// REQUIRES: more than one reduced axis.
void LaunchReduceGroups(const auto& to, const ReduceArgs& args, const int* gate) {
  const ConstTensorView& input = args.input;
  const auto is_reduced = [&](int axis) { return args.reduced[static_cast<size_t>(axis)]; };
  ReduceGroups kernel = {};
  kernel.nest = NestOf(input, args.reduced);
  int beside = InnermostOf(input);
  if (is_reduced(beside) || kernel.nest.split > 0) beside = -1;
  kernel.side_by_side = 1;
  for (int axis = 0; axis < input.rank; ++axis) {
    if (is_reduced(axis)) continue;
    if (axis == beside) {
      kernel.strides.inner[0] = input.strides[axis];
      kernel.strides.inner[1] = args.output.strides[axis];
      kernel.side_by_side = static_cast<int>(input.dims[axis]);
      continue;
    }
    kernel.strides.outer[0][kernel.axes.rank] = input.strides[axis];
    kernel.strides.outer[1][kernel.axes.rank] = args.output.strides[axis];
    kernel.axes.sizes[kernel.axes.rank++] = static_cast<int>(input.dims[axis]);
  }
  kernel.per_block = std::min(kWarp, Nest::kMostRows / kernel.nest.rows);
  kernel.count = CountOf(kernel.nest);
  kernel.kind = args.kind;
  kernel.input = input.data;
  kernel.output = args.output.data;
  kernel.gate = gate;
  to.Launch({Positions(kernel.axes), DividedUp(kernel.side_by_side, kernel.per_block)}, kernel,
            Nest::kSharedBytes);
}

// Fills in the rest of a kernel whose nest, axes and strides are set.
template <class Device, class Args>
void LaunchGroups(const Launcher<Device>& to, const Args& args, const Pixels& pixels,
                  NormalizeGroups kernel) {
  kernel.epsilon = args.epsilon;
  kernel.count = CountOf(kernel.nest);
  kernel.input = args.input.data;
  kernel.output = args.output.data;
  kernel.scale = args.scale;
  kernel.shift = args.shift;
  kernel.gate = pixels.count;
  to.Launch({Positions(kernel.axes)}, kernel, Nest::kSharedBytes);
}

}  // namespace along_axes

void Compute(const auto& to, const LayerNormArgs& args, const Pixels& pixels) {
  const ConstTensorView& input = args.input;
  if (args.axis_count == 1) {
    const NormalizeRows kernel = {along_axes::RowsOf(input, args.output, args.first_axis, pixels),
                                  args.epsilon, args.scale, args.shift};
    to.Launch(kernel.rows.blocks(), kernel);
    return;
  }
  along_axes::AxisSet along = {};
  NormalizeGroups kernel = {};
  for (int axis = 0; axis < input.rank; ++axis) {
    if (axis >= args.first_axis && axis < args.first_axis + args.axis_count) {
      along[static_cast<size_t>(axis)] = true;
      kernel.out_strides[axis - args.first_axis] = args.output.strides[axis];
      continue;
    }
    kernel.strides.outer[0][kernel.axes.rank] = input.strides[axis];
    kernel.strides.outer[1][kernel.axes.rank] = args.output.strides[axis];
    kernel.axes.sizes[kernel.axes.rank++] = static_cast<int>(input.dims[axis]);
  }
  kernel.nest = along_axes::NestOf(input, along);
  int64_t parameter_stride = 1;
  for (int i = kernel.nest.rank - 1; i >= 0; --i) {
    kernel.parameter_strides[i] = parameter_stride;
    parameter_stride *= kernel.nest.sizes[i];
  }
  along_axes::LaunchGroups(to, args, pixels, kernel);
}

void Compute(const auto& to, const GroupNormArgs& args, const Pixels& pixels) {
  const ConstTensorView& input = args.input;
  const int64_t channels = input.dims[1] / args.groups;
  NormalizeGroups kernel = {};
  kernel.axes = {2, {static_cast<int>(input.dims[0]), args.groups}};
  kernel.strides = {{{input.strides[0], channels * input.strides[1]},
                     {args.output.strides[0], channels * args.output.strides[1]},
                     {0, channels}}};
  kernel.parameter_strides[0] = 1;
  ConstTensorView group = SliceAxis(input, 1, 0, channels);
  along_axes::AxisSet along = {};
  for (int axis = 1; axis < input.rank; ++axis) {
    along[static_cast<size_t>(axis)] = true;
    kernel.out_strides[axis - 1] = args.output.strides[axis];
  }
  kernel.nest = along_axes::NestOf(group, along);
  along_axes::LaunchGroups(to, args, pixels, kernel);
}

void Compute(const auto& to, const SoftmaxArgs& args, const Pixels& pixels) {
  const SoftmaxRows kernel = {along_axes::RowsOf(args.input, args.output, args.axis, pixels),
                              args.logarithm};
  to.Launch(kernel.rows.blocks(), kernel);
}

void Compute(const auto& to, const ArgMaxArgs& args, const Pixels& pixels) {
  const FindLargestOfRows kernel = {along_axes::RowsOf(args.input, args.output, args.axis, pixels)};
  to.Launch(kernel.rows.blocks(), kernel);
}

void Compute(const auto& to, const TopKArgs& args, const Pixels& pixels) {
  ListLargestOfRows kernel = {
      along_axes::RowsOf(args.input, args.output, args.axis, WholeOf(args.output)),
      static_cast<int>(args.output.dims[static_cast<size_t>(args.axis)])};
  Walk& walk = kernel.rows.elements.walk;
  walk.gate = pixels.count;
  to.Launch({walk.pixels.most, walk.images, 1}, kernel, ListLargestOfRows::kSharedBytes);
}

void Compute(const auto& to, const ReduceArgs& args, const Pixels& pixels) {
  const ConstTensorView& input = args.input;
  int reduced = 0;
  int last = 0;
  for (int axis = 0; axis < input.rank; ++axis) {
    if (!args.reduced[static_cast<size_t>(axis)]) continue;
    ++reduced;
    last = axis;
  }
  if (reduced == 0) {
    CopyArgs copy;
    copy.input = input;
    copy.output = args.output;
    Compute(to, copy, pixels);
    return;
  }
  if (reduced == 1) {
    const ReduceRowsOfAxis kernel = {along_axes::RowsOf(input, args.output, last, pixels),
                                     args.kind};
    to.Launch(kernel.rows.blocks(), kernel);
    return;
  }
  along_axes::LaunchReduceGroups(to, args, pixels.count);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_ALONG_AXES_INL_H_
