#ifndef CACHEINF_SPARSE_OPS_CUDA_WINDOWS_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_WINDOWS_INL_H_

#include "sparse_ops/cuda/along_axes-inl.h"
#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/window_kernels.h"

namespace cacheinf::cuda {
namespace windows {

inline Walk WalkOf(const ImageView& output, const Pixels& pixels) {
  return Walk::OverMap(output.batch, output.height, output.width, output.channels, pixels);
}

template <typename T>
BasicTensorView<T> AsTensor(const BasicImageView<T>& image) {
  return {image.data,
          4,
          {image.batch, image.channels, image.height, image.width},
          {image.batch_stride, 1, image.row_stride, image.pixel_stride}};
}

void LaunchMoveBlocks(const auto& to, const BlockArgs& args, bool to_depth, const Pixels& pixels) {
  const MoveBlocks kernel = {
      WalkOf(args.output, pixels), args.block, args.order, to_depth, args.input, args.output};
  to.Launch(kernel.walk.blocks(), kernel);
}

}  // namespace windows

void Compute(const auto& to, const PoolArgs& args, const Pixels& pixels) {
  const PoolWindows kernel = {windows::WalkOf(args.output, pixels), args.spec, args.input,
                              args.output};
  to.Launch(kernel.walk.blocks(), kernel);
}

void Compute(const auto& to, const AdaptivePoolArgs& args, const Pixels& pixels) {
  if (args.kind == PoolSpec::Kind::kAverage && args.output.height == 1 && args.output.width == 1) {
    // The mean over the picture: a block's threads share it.
    if (pixels.most == 0) return;
    ReduceArgs mean;
    mean.reduced = {false, false, true, true};
    mean.input = windows::AsTensor(args.input);
    mean.output = windows::AsTensor(args.output);
    along_axes::LaunchReduceGroups(to, mean, pixels.count);
    return;
  }
  const PoolCells kernel = {windows::WalkOf(args.output, pixels), args.kind, args.input,
                            args.output};
  to.Launch(kernel.walk.blocks(), kernel);
}

void Compute(const auto& to, const ResizeArgs& args, const Pixels& pixels) {
  const ResizeMap kernel = {windows::WalkOf(args.output, pixels), args.spec, args.input,
                            args.output};
  to.Launch(kernel.walk.blocks(), kernel);
}

void Compute(const auto& to, const DepthToSpaceArgs& args, const Pixels& pixels) {
  windows::LaunchMoveBlocks(to, args, /*to_depth=*/false, pixels);
}

void Compute(const auto& to, const SpaceToDepthArgs& args, const Pixels& pixels) {
  windows::LaunchMoveBlocks(to, args, /*to_depth=*/true, pixels);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WINDOWS_INL_H_
