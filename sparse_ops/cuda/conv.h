#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_H_

#include <cstdint>

#include "sparse_ops/cuda/arena.h"
#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/cuda/conv_options.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/ops.h"

namespace cacheinf::cuda {

// A convolution (ConvArgs) with its packed weights on the device. Immutable, so several streams may
// run it at once.
template <class Device>
class Conv {
 public:
  // Copies what does not change between frames: spec, weights, bias, activation, and how many
  // channels input and output have. The pointers of `args` are the host's; the views' data may be
  // null. Throws DeviceError if the device lacks the precision. Device and arena must outlive this.
  Conv(Device& device, Arena<Device>& arena, const ConvArgs& args, const ConvOptions& options = {});

  static bool Has(const DeviceFacts& facts, Precision precision) {
    return precision == Precision::kExact || facts.compute_major >= 8;
  }

  // Whether Run takes a test. It does not where blocks share a pixel's channels: with groups, or
  // with more than 64 channels.
  bool CanTest() const;

  // Computes the pixels in every image of the batch. `residual` has null data if there is none.
  // With a test, settles the pixels in the same launch. REQUIRES: then they are the active ones,
  // and no operand shares memory with the output.
  void Run(typename Device::Stream& stream, const ConstImageView& input,
           const ConstImageView& residual, const ImageView& output, const Pixels& pixels,
           const SettleArgs& test = {}) const;

 private:
  template <Precision precision>
  void LaunchGemm(typename Device::Stream& stream, const ConvWork& work) const;
  template <class Gemms>
  void LaunchByOutputs(typename Device::Stream& stream, const ConvWork& work) const;
  template <class Gemm>
  void LaunchTiles(typename Device::Stream& stream, const ConvWork& work) const;
  template <bool is_depthwise>
  void LaunchDirect(typename Device::Stream& stream, const ConvWork& work) const;

  Device& device_;
  ConvSpec spec_;
  ConvOptions options_;
  int multiprocessors_;
  bool has_warpgroups_;
  bool is_direct_ = false;
  ConvWork work_;  // without the views
  template <typename T>
  using Memory = Buffer<Arena<Device>, T>;
  Memory<uint32_t> weights_;
  Memory<float> bias_;
  Memory<float> slopes_;
  Memory<PhaseTaps> row_taps_;
  Memory<PhaseTaps> column_taps_;
  Memory<int64_t> phase_weights_;
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_H_
