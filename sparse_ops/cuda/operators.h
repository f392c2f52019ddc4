#ifndef CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_
#define CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_

#include <cstdint>

#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/ops.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

// All operators on a device but convolutions: what ops.h says, to the last bit. They queue their
// work on a stream. All that is pointed to lies on the device: operands, parameters, indices,
// heads, anchors, masks, scratch. Compiled for EmulatedDevice and, in builds with CUDA, for
// RealDevice.
//
// REQUIRES: tensors of less than 2^31 elements, and batches of less than 2^16 images.

namespace cacheinf {
namespace cuda {

// ---------------------------------------------------------------------------------------------
// Of outputs that are maps, those pixels; of any others all there is, unless the pixels' count is
// 0, which only the device may know.

template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const ActivationArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const ScaleShiftArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const BinaryArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const CopyArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const GatherArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const PadArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const PoolArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const AdaptivePoolArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const ResizeArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const DepthToSpaceArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const SpaceToDepthArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const LayerNormArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const SoftmaxArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const ArgMaxArgs& args,
             const Pixels& pixels);
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const ReduceArgs& args,
             const Pixels& pixels);

// One operand of a concatenation along `axis`: `output` is what all are concatenated to, `piece`
// goes to `offset` and on. Of a map, those pixels of the output that lie in the piece.
template <class Device>
void CopyPiece(Device& device, typename Device::Stream& stream, const ConstTensorView& piece,
               int axis, int64_t offset, const TensorView& output, const Pixels& pixels);

// ---------------------------------------------------------------------------------------------
// Computed whole, maps too, unless the pixels' count is 0.

template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const GroupNormArgs& args,
             const Pixels& pixels = {});
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const LinearArgs& args,
             const Pixels& pixels = {});
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const MatMulArgs& args,
             const Pixels& pixels = {});
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const DecodeBoxesArgs& args,
             const Pixels& pixels = {});
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const NonMaxSuppressionArgs& args,
             const Pixels& pixels = {});

// ---------------------------------------------------------------------------------------------
// Kept maps.

// Stores what is new of these pixels, which are active and lie in a map of their own, as large.
template <class Device>
void Settle(Device& device, typename Device::Stream& stream, const ConstImageView& fresh,
            const ImageView& stored, const SettleArgs& args, const Pixels& pixels);

// What warp.h says, but that the homography lies on the device.
template <class Device>
void Warp(Device& device, typename Device::Stream& stream, const WarpArgs& args,
          const Homography* from_of_to);

// Pixel (y, x) gets what (y + rows, x + columns) held, where that lies within the map; all others
// keep what they hold, or get anything. `scratch` has room for an image of the map.
// REQUIRES: a map whose pixels lie end to end.
template <class Device>
void Shift(Device& device, typename Device::Stream& stream, const TensorView& map, int rows,
           int columns, float* scratch);

// The numbers of these pixels, pixel by pixel, all channels, image after image.
template <class Device>
void GatherPixels(Device& device, typename Device::Stream& stream, const ConstImageView& map,
                  const Pixels& pixels, float* packed);
template <class Device>
void ScatterPixels(Device& device, typename Device::Stream& stream, const float* packed,
                   const Pixels& pixels, const ImageView& map);

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_
