#ifndef CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_H_
#define CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_H_

#include <cstddef>

#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cuda {

// A convolution by Winograd, with the bits of sparse_ops/winograd.h and its weights on the device.
// Computes every tile that has an active pixel, and stores its active pixels.
template <class Device>
class Winograd {
 public:
  // Copies from `args` as Conv does. REQUIRES: CanBeWinograd(args.spec)
  Winograd(Device& device, Arena<Device>& arena, const ConvArgs& args);

  // How many numbers of scratch a run needs.
  static size_t ScratchFloats(const ConstImageView& input, const ImageView& output);

  // As Conv::Run, without a test. `scratch` lies on the device.
  void Run(typename Device::Stream& stream, const ConstImageView& input,
           const ConstImageView& residual, const ImageView& output, const Pixels& pixels,
           float* scratch) const;

 private:
  Device& device_;
  ConvSpec spec_;
  ConvWork work_;  // without the views
  template <typename T>
  using Memory = Buffer<Arena<Device>, T>;
  Memory<float> weights_;  // [place][group][input of the group][output of the group]
  Memory<float> bias_;
  Memory<float> slopes_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_H_
