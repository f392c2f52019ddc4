#ifndef CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_
#define CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_

#include <cstdint>

#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/ops.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

// All operators but convolutions, queued on a device's stream, with the bits of ops.h. Whatever the
// arguments point to lies on the device: operands, parameters, indices, heads, anchors, masks,
// scratch. Compiled for EmulatedDevice and, in builds with CUDA, for RealDevice.
//
// REQUIRES: tensors of less than 2^31 elements, and batches of less than 2^16 images.

namespace cacheinf {
namespace cuda {

// ---------------------------------------------------------------------------------------------
// Compute the pixels of an output that is a map. Compute any other output whole, unless the pixels'
// count, which only the device may know, is 0.

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

// Copies one operand of a concatenation along `axis` into `output`, from index `offset` on. Of a
// map it copies the pixels of the output that lie in the piece.
template <class Device>
void CopyPiece(Device& device, typename Device::Stream& stream, const ConstTensorView& piece,
               int axis, int64_t offset, const TensorView& output, const Pixels& pixels);

// ---------------------------------------------------------------------------------------------
// Compute outputs whole, maps too, unless the pixels' count is 0.

template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const GatherElementsArgs& args,
             const Pixels& pixels = {});
template <class Device>
void Compute(Device& device, typename Device::Stream& stream, const TopKArgs& args,
             const Pixels& pixels = {});
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

// Stores what changed of the pixels, which are the active ones. REQUIRES: `fresh` is as large as
// `stored` and shares no memory with it.
template <class Device>
void Settle(Device& device, typename Device::Stream& stream, const ConstImageView& fresh,
            const ImageView& stored, const SettleArgs& args, const Pixels& pixels);

// As warp.h says, with the homography on the device.
template <class Device>
void Warp(Device& device, typename Device::Stream& stream, const WarpArgs& args,
          const Homography* from_of_to);

// Moves what (y + rows, x + columns) holds to pixel (y, x). Pixels for which that lies outside the
// map may hold anything afterwards. `scratch` has room for one image of the map. REQUIRES: the
// map's pixels lie end to end.
template <class Device>
void Shift(Device& device, typename Device::Stream& stream, const TensorView& map, int rows,
           int columns, float* scratch);

// Packs all channels of the pixels, pixel by pixel, image after image; and unpacks them.
template <class Device>
void GatherPixels(Device& device, typename Device::Stream& stream, const ConstImageView& map,
                  const Pixels& pixels, float* packed);
template <class Device>
void ScatterPixels(Device& device, typename Device::Stream& stream, const float* packed,
                   const Pixels& pixels, const ImageView& map);

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_
