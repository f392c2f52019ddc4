#ifndef CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_
#define CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_

#include <cstdint>

#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/ops.h"
#include "sparse_ops/views.h"
#include "sparse_ops/warp.h"

// All operators except convolutions, queued on a device's stream, with the bits of ops.h.
// Everything that the arguments point to lies on the device: operands, parameters, indices, heads,
// anchors, masks, scratch. Compiled for EmulatedDevice and, in builds with CUDA, for RealDevice.
//
// REQUIRES: tensors of less than 2^31 elements, and batches of less than 2^16 images.

namespace cacheinf::cuda {

// Computes the pixels of an output that is a map. Computes any other output whole, and maps of
// GatherElementsArgs, TopKArgs and GroupNormArgs too, unless the pixels' count, which only the
// device may know, is 0.
template <class Device, class Args>
void Compute(Device& device, typename Device::Stream& stream, const Args& args,
             const Pixels& pixels = {});

// Copies one operand of a concatenation along `axis` into `output`, from index `offset` on. In a
// map it copies the pixels of the output that lie in the piece.
template <class Device>
void CopyPiece(Device& device, typename Device::Stream& stream, const ConstTensorView& piece,
               int axis, int64_t offset, const TensorView& output, const Pixels& pixels);

// Stores those of the pixels, the active ones, that changed. REQUIRES: `fresh` is as large as
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

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_OPERATORS_H_
