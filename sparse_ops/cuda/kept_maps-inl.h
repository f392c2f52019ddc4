#ifndef CACHEINF_SPARSE_OPS_CUDA_KEPT_MAPS_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_KEPT_MAPS_INL_H_

#include "sparse_ops/cuda/change_kernels.h"
#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/pointwise_kernels.h"
#include "sparse_ops/cuda/warp_kernels.h"

namespace cacheinf::cuda {
namespace kept_maps {

void LaunchPack(const auto& to, const ImageView& map, float* packed, const Pixels& pixels,
                bool unpacks) {
  const PackPixels kernel = {Walk::OverMap(map.batch, map.height, map.width, map.channels, pixels),
                             map, packed, unpacks};
  to.Launch(kernel.walk.blocks(), kernel);
}

}  // namespace kept_maps

template <class Device>
void Settle(Device& device, typename Device::Stream& stream, const ConstImageView& fresh,
            const ImageView& stored, const SettleArgs& args, const Pixels& pixels) {
  const SettlePixels kernel = {pixels, fresh, stored, args};
  device.Launch(stream, {DividedUp(pixels.most, SettlePixels::kPixelsPerBlock)}, kernel);
}

template <class Device>
void Warp(Device& device, typename Device::Stream& stream, const WarpArgs& args,
          const Homography* from_of_to) {
  const WarpMap kernel = {args.interpolation, from_of_to,      args.to.batch, args.from, args.to,
                          args.wanted,        args.out_of_view};
  const int64_t pixels = int64_t{args.to.height} * args.to.width;
  device.Launch(stream, {DividedUp(pixels, WarpMap::kPixelsPerBlock)}, kernel);
}

template <class Device>
void GatherPixels(Device& device, typename Device::Stream& stream, const ConstImageView& map,
                  const Pixels& pixels, float* packed) {
  const ImageView unchanged = {const_cast<float*>(map.data),
                               map.batch,
                               map.height,
                               map.width,
                               map.channels,
                               map.batch_stride,
                               map.row_stride,
                               map.pixel_stride};
  kept_maps::LaunchPack(Launcher<Device>{device, stream}, unchanged, packed, pixels,
                        /*unpacks=*/false);
}

template <class Device>
void ScatterPixels(Device& device, typename Device::Stream& stream, const float* packed,
                   const Pixels& pixels, const ImageView& map) {
  kept_maps::LaunchPack(Launcher<Device>{device, stream}, map, const_cast<float*>(packed), pixels,
                        /*unpacks=*/true);
}

template <class Device>
void Shift(Device& device, typename Device::Stream& stream, const TensorView& map, int rows,
           int columns, float* scratch) {
  const int64_t height = map.dims[2];
  const int64_t width = map.dims[3];
  // Every pixel of an image moves equally far, so they move as one block of memory.
  const int64_t distance = rows * width + columns;
  const int64_t moved = height * width - (distance < 0 ? -distance : distance);
  if (moved <= 0 || distance == 0) return;
  const int64_t channels = map.strides[3];
  const size_t bytes = static_cast<size_t>(moved * channels) * sizeof(float);
  for (int64_t image = 0; image < map.dims[0]; ++image) {
    float* const first = map.data + image * map.strides[0];
    device.CopyOnDevice(stream, scratch, first + (distance > 0 ? distance : 0) * channels, bytes);
    device.CopyOnDevice(stream, first + (distance < 0 ? -distance : 0) * channels, scratch, bytes);
  }
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_KEPT_MAPS_INL_H_
