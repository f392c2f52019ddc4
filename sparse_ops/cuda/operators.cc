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

namespace cacheinf {
namespace cuda {

#define CACHEINF_LOCAL(Args)                                                      \
  template void Compute(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream, \
                        const Args& args, const Pixels& pixels)
#define CACHEINF_WHOLE(Args) \
  template void Compute(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream, const Args& args)

#define CACHEINF_ALL_OPERATORS                                                                \
  CACHEINF_LOCAL(ActivationArgs);                                                             \
  CACHEINF_LOCAL(ScaleShiftArgs);                                                             \
  CACHEINF_LOCAL(BinaryArgs);                                                                 \
  CACHEINF_LOCAL(CopyArgs);                                                                   \
  CACHEINF_LOCAL(GatherArgs);                                                                 \
  CACHEINF_LOCAL(PadArgs);                                                                    \
  CACHEINF_LOCAL(PoolArgs);                                                                   \
  CACHEINF_LOCAL(AdaptivePoolArgs);                                                           \
  CACHEINF_LOCAL(ResizeArgs);                                                                 \
  CACHEINF_LOCAL(DepthToSpaceArgs);                                                           \
  CACHEINF_LOCAL(SpaceToDepthArgs);                                                           \
  CACHEINF_LOCAL(LayerNormArgs);                                                              \
  CACHEINF_LOCAL(SoftmaxArgs);                                                                \
  CACHEINF_LOCAL(ArgMaxArgs);                                                                 \
  CACHEINF_LOCAL(ReduceArgs);                                                                 \
  CACHEINF_WHOLE(GroupNormArgs);                                                              \
  CACHEINF_WHOLE(LinearArgs);                                                                 \
  CACHEINF_WHOLE(MatMulArgs);                                                                 \
  CACHEINF_WHOLE(DecodeBoxesArgs);                                                            \
  CACHEINF_WHOLE(NonMaxSuppressionArgs);                                                      \
  CACHEINF_WHOLE(WarpArgs);                                                                   \
  template void CopyPiece(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,           \
                          const ConstTensorView& piece, int axis, int64_t offset,             \
                          const TensorView& output, const Pixels& pixels);                    \
  template void Settle(CACHEINF_DEVICE& device, CACHEINF_DEVICE::Stream& stream,              \
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

}  // namespace cuda
}  // namespace cacheinf
