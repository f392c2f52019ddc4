#ifndef CACHEINF_SPARSE_OPS_CUDA_POINTWISE_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_POINTWISE_INL_H_

#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/pointwise_kernels.h"

namespace cacheinf::cuda {
namespace pointwise {

// The strides of an operand with one entry for every index along `axis`.
inline AxisStrides AlongAxis(int axis) {
  AxisStrides strides = {};
  strides[static_cast<size_t>(axis)] = 1;
  return strides;
}

// Maps each element of the output to the input's at the same index; or, with an `axis`, at the
// place that is given for its index along that axis. -1: no axis.
inline MapElements MapOf(const ConstTensorView& input, const TensorView& output,
                         const Pixels& pixels, int axis) {
  AxisStrides in = input.strides;
  AxisStrides index = {};
  if (axis >= 0) {
    in[static_cast<size_t>(axis)] = 0;
    index = AlongAxis(axis);
  }
  MapElements kernel{
      TensorWalk<MapElements::kOperands>(output, pixels, {output.strides, in, AlongAxis(1), index}),
      output.data, input.data};
  if (axis >= 0) kernel.place_stride = input.strides[static_cast<size_t>(axis)];
  return kernel;
}

inline void Activate(const ChannelFunction& activation, MapElements& kernel) {
  kernel.function = activation.function;
  if (activation.function.kind != Function::Kind::kPRelu) return;
  kernel.slopes = activation.slopes;
  kernel.one_slope = activation.one_slope;
}

inline Walk WalkOf(const TensorView& output, const Pixels& pixels) {
  return TensorWalk<1>(output, pixels, {output.strides}).walk;
}

void LaunchPad(const auto& to, const PadArgs& args, const Pixels& pixels, bool keeps_outside) {
  PadElements kernel = {WalkOf(args.output, pixels),
                        Axes(args.output),
                        Axes(args.input),
                        {},
                        args.output.data,
                        args.input.data,
                        args.mode,
                        args.value,
                        keeps_outside};
  for (int i = 0; i < args.output.rank; ++i) kernel.begins[i] = args.begins[i];
  to.Launch(kernel.walk.blocks(), kernel);
}

}  // namespace pointwise

void Compute(const auto& to, const ActivationArgs& args, const Pixels& pixels) {
  MapElements kernel = pointwise::MapOf(args.input, args.output, pixels, -1);
  pointwise::Activate(args.activation, kernel);
  to.Launch(kernel.elements.walk.blocks(), kernel);
}

void Compute(const auto& to, const ScaleShiftArgs& args, const Pixels& pixels) {
  MapElements kernel =
      pointwise::MapOf(args.input, args.output, pixels, args.channel_order != nullptr ? 1 : -1);
  kernel.scale = args.scale;
  kernel.shift = args.shift;
  kernel.places = args.channel_order;
  pointwise::Activate(args.activation, kernel);
  to.Launch(kernel.elements.walk.blocks(), kernel);
}

void Compute(const auto& to, const BinaryArgs& args, const Pixels& pixels) {
  const CombineElements kernel = {
      TensorWalk<CombineElements::kOperands>(
          args.output, pixels,
          {args.output.strides, BroadcastTo(args.a, args.output).strides,
           BroadcastTo(args.b, args.output).strides}),
      args.output.data,
      args.a.data,
      args.b.data,
      args.kind,
      args.activation};
  to.Launch(kernel.elements.walk.blocks(), kernel);
}

void Compute(const auto& to, const CopyArgs& args, const Pixels& pixels) {
  if (!args.in_logical_order) {
    const MapElements kernel = pointwise::MapOf(args.input, args.output, pixels, -1);
    to.Launch(kernel.elements.walk.blocks(), kernel);
    return;
  }
  const ReshapeElements kernel = {pointwise::WalkOf(args.output, pixels), Axes(args.output),
                                  Axes(args.input), args.output.data, args.input.data};
  to.Launch(kernel.walk.blocks(), kernel);
}

void Compute(const auto& to, const GatherArgs& args, const Pixels& pixels) {
  MapElements kernel = pointwise::MapOf(args.input, args.output, pixels, args.axis);
  kernel.long_places = args.indices;
  to.Launch(kernel.elements.walk.blocks(), kernel);
}

void Compute(const auto& to, const GatherElementsArgs& args, const Pixels& pixels) {
  AxisStrides in = args.input.strides;
  in[static_cast<size_t>(args.axis)] = 0;
  PickElements kernel = {
      TensorWalk<PickElements::kOperands>(
          args.output, WholeOf(args.output),
          {args.output.strides, in, BroadcastTo(args.indices, args.output).strides}),
      args.output.data,
      args.input.data,
      args.indices.data,
      args.input.dims[static_cast<size_t>(args.axis)],
      args.input.strides[static_cast<size_t>(args.axis)]};
  kernel.elements.walk.gate = pixels.count;
  to.Launch(kernel.elements.walk.blocks(), kernel);
}

void Compute(const auto& to, const PadArgs& args, const Pixels& pixels) {
  pointwise::LaunchPad(to, args, pixels, /*keeps_outside=*/false);
}

template <class Device>
void CopyPiece(Device& device, typename Device::Stream& stream, const ConstTensorView& piece,
               int axis, int64_t offset, const TensorView& output, const Pixels& pixels) {
  PadArgs args;
  args.begins[static_cast<size_t>(axis)] = offset;
  args.input = piece;
  args.output = output;
  pointwise::LaunchPad(Launcher<Device>{device, stream}, args, pixels, /*keeps_outside=*/true);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_POINTWISE_INL_H_
