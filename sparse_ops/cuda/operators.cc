#include "sparse_ops/cuda/operators.h"

#include "sparse_ops/cuda/along_axes-inl.h"
#include "sparse_ops/cuda/detection-inl.h"
#include "sparse_ops/cuda/emulated/device.h"
#include "sparse_ops/cuda/kept_maps-inl.h"
#include "sparse_ops/cuda/pointwise-inl.h"
#include "sparse_ops/cuda/products-inl.h"
#include "sparse_ops/cuda/windows-inl.h"
#ifdef CACHEINF_HAS_CUDA
#include "sparse_ops/cuda/real/device.h"
#endif

namespace cacheinf::cuda {

template <class Device, class Args>
void Compute(Device& device, typename Device::Stream& stream, const Args& args,
             const Pixels& pixels) {
  Compute(Launcher<Device>{device, stream}, args, pixels);
}

#define CACHEINF_OPERATOR(Args)                                                   \
  template void Compute(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream, \
                        const Args& args, const Pixels& pixels)

#define CACHEINF_ALL_OPERATORS                                                                \
  CACHEINF_OPERATOR(ActivationArgs);                                                          \
  CACHEINF_OPERATOR(ScaleShiftArgs);                                                          \
  CACHEINF_OPERATOR(BinaryArgs);                                                              \
  CACHEINF_OPERATOR(CopyArgs);                                                                \
  CACHEINF_OPERATOR(GatherArgs);                                                              \
  CACHEINF_OPERATOR(GatherElementsArgs);                                                      \
  CACHEINF_OPERATOR(PadArgs);                                                                 \
  CACHEINF_OPERATOR(PoolArgs);                                                                \
  CACHEINF_OPERATOR(AdaptivePoolArgs);                                                        \
  CACHEINF_OPERATOR(ResizeArgs);                                                              \
  CACHEINF_OPERATOR(DepthToSpaceArgs);                                                        \
  CACHEINF_OPERATOR(SpaceToDepthArgs);                                                        \
  CACHEINF_OPERATOR(LayerNormArgs);                                                           \
  CACHEINF_OPERATOR(SoftmaxArgs);                                                             \
  CACHEINF_OPERATOR(ArgMaxArgs);                                                              \
  CACHEINF_OPERATOR(TopKArgs);                                                                \
  CACHEINF_OPERATOR(ReduceArgs);                                                              \
  CACHEINF_OPERATOR(GroupNormArgs);                                                           \
  CACHEINF_OPERATOR(LinearArgs);                                                              \
  CACHEINF_OPERATOR(MatMulArgs);                                                              \
  CACHEINF_OPERATOR(DecodeBoxesArgs);                                                         \
  CACHEINF_OPERATOR(NonMaxSuppressionArgs);                                                   \
  template void Warp(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,                \
                     const WarpArgs& args, const Homography* from_of_to);                     \
  template void CopyPiece(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,           \
                          const ConstTensorView& piece, int axis, int64_t offset,             \
                          const TensorView& output, const Pixels& pixels);                    \
  template void Settle(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,              \
                       const ConstImageView& fresh, const ImageView& stored,                  \
                       const SettleArgs& args, const Pixels& pixels);                         \
  template void Shift(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,               \
                      const TensorView& map, int rows, int columns, float* scratch);          \
  template void GatherPixels(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,        \
                             const ConstImageView& map, const Pixels& pixels, float* packed); \
  template void ScatterPixels(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,       \
                              const float* packed, const Pixels& pixels, const ImageView& map)

#define CACHEINF_DEVICE EmulatedDevice
CACHEINF_ALL_OPERATORS;
#undef CACHEINF_DEVICE
#ifdef CACHEINF_HAS_CUDA
#define CACHEINF_DEVICE RealDevice
CACHEINF_ALL_OPERATORS;
#undef CACHEINF_DEVICE
#endif

}  // namespace cacheinf::cuda
