#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_INL_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/conv.h"
#include "sparse_ops/cuda/conv_weights.h"

namespace cacheinf::cuda {
namespace conv {

template <class Device, typename T>
Buffer<Arena<Device>, T> Upload(Device& device, typename Device::Stream& stream,
                                Arena<Device>& arena, const std::vector<T>& values) {
  if (values.empty()) return {};
  Buffer<Arena<Device>, T> buffer(arena, values.size());
  device.CopyToDevice(stream, buffer.data(), values.data(), buffer.bytes());
  return buffer;
}

// One number per output channel; -0 where there is no bias, because adding it changes nothing.
inline std::vector<float> BiasOf(const ConvArgs& args) {
  std::vector<float> bias(static_cast<size_t>(args.output.channels), -0.0f);
  if (args.bias != nullptr) bias.assign(args.bias, args.bias + args.output.channels);
  return bias;
}

// One number per output channel for kPRelu, else none.
inline std::vector<float> SlopesOf(const ConvArgs& args) {
  std::vector<float> slopes;
  if (args.activation.function.kind != Function::Kind::kPRelu) return slopes;
  for (int c = 0; c < args.output.channels; ++c) {
    slopes.push_back(args.activation.slopes[args.activation.one_slope ? 0 : c]);
  }
  return slopes;
}

// Whether each four channels of a pixel, from the first on, can be copied at once.
inline bool HasAlignedFours(const ConstImageView& view) {
  return reinterpret_cast<uintptr_t>(view.data) % 16 == 0 && view.pixel_stride % 4 == 0 &&
         view.row_stride % 4 == 0 && (view.batch == 1 || view.batch_stride % 4 == 0);
}

// Up to this many output channels a narrower tile pays: they leave too much of a wider one empty.
constexpr int kNarrowOutputs = 32;
constexpr int kMiddleOutputs = 64;

}  // namespace conv

template <class Device>
Conv<Device>::Conv(Device& device, Arena<Device>& arena, const ConvArgs& args,
                   const ConvOptions& options)
    : device_(device),
      spec_(args.spec),
      options_(options),
      multiprocessors_(device.facts().multiprocessors),
      has_warpgroups_(device.facts().has_warpgroups) {
  const DeviceFacts facts = device.facts();
  if (!Has(facts, options.precision)) {
    throw DeviceError(facts.name + " has no matrix instructions for this precision");
  }
  const ConvWeights packed = PackConvWeights(args, options.precision);
  is_direct_ = packed.is_direct;

  const int outputs = args.output.channels;
  const std::vector<float> bias = conv::BiasOf(args);
  const std::vector<float> slopes = conv::SlopesOf(args);

  typename Device::Stream stream = device.MakeStream();
  weights_ = conv::Upload(device, stream, arena, packed.words);
  bias_ = conv::Upload(device, stream, arena, bias);
  slopes_ = conv::Upload(device, stream, arena, slopes);
  row_taps_ = conv::Upload(device, stream, arena, packed.row_taps);
  column_taps_ = conv::Upload(device, stream, arena, packed.column_taps);
  phase_weights_ = conv::Upload(device, stream, arena, packed.phase_weights);
  device.Synchronize(stream);

  work_.groups = args.spec.groups;
  work_.group_inputs = args.input.channels / args.spec.groups;
  work_.group_outputs = outputs / args.spec.groups;
  work_.padded_inputs = packed.padded_inputs;
  work_.padded_outputs = packed.padded_outputs;
  work_.rows = packed.rows;
  work_.columns = packed.columns;
  work_.row_taps = row_taps_.data();
  work_.column_taps = column_taps_.data();
  work_.weights = reinterpret_cast<const float*>(weights_.data());
  work_.phase_weights = phase_weights_.data();
  work_.bias = bias_.data();
  work_.slopes = slopes_.data();
  work_.activation = args.activation.function;
  work_.activation_before_residual = args.activation_before_residual;
}

template <class Device>
bool Conv<Device>::CanTest() const {
  return !is_direct_ && work_.groups == 1 && work_.group_outputs <= conv::kMiddleOutputs;
}

template <class Device>
void Conv<Device>::Run(typename Device::Stream& stream, const ConstImageView& input,
                       const ConstImageView& residual, const ImageView& output,
                       const Pixels& pixels, const SettleArgs& test) const {
  if (pixels.most == 0 || output.batch == 0) return;
  ConvWork work = work_;
  work.input = input;
  work.residual = residual;
  work.output = output;
  work.pixels = pixels;
  work.test = test;
  work.has_aligned_inputs = work.group_inputs % 4 == 0 && conv::HasAlignedFours(input);
  if (is_direct_) {
    const bool is_depthwise = work.group_inputs == 1 && work.group_outputs == 1;
    return is_depthwise ? LaunchDirect<true>(stream, work) : LaunchDirect<false>(stream, work);
  }
  switch (options_.precision) {
    case Precision::kExact:
      return LaunchGemm<Precision::kExact>(stream, work);
    case Precision::kTf32:
      return LaunchGemm<Precision::kTf32>(stream, work);
    case Precision::kHalf:
      return LaunchGemm<Precision::kHalf>(stream, work);
    case Precision::kBfloat16:
      return LaunchGemm<Precision::kBfloat16>(stream, work);
  }
}

template <class Device>
template <Precision precision>
void Conv<Device>::LaunchGemm(typename Device::Stream& stream, const ConvWork& work) const {
  if constexpr (Device::kHasWarpgroupKernels && precision != Precision::kExact) {
    if (has_warpgroups_) return LaunchByOutputs<WarpgroupGemms<precision>>(stream, work);
  }
  LaunchByOutputs<ConvGemms<precision>>(stream, work);
}

template <class Device>
template <class Gemms>
void Conv<Device>::LaunchByOutputs(typename Device::Stream& stream, const ConvWork& work) const {
  static_assert(Gemms::Narrow::kChannels >= conv::kNarrowOutputs, "a block has them all");
  static_assert(Gemms::Middle::kChannels >= conv::kMiddleOutputs, "a block has them all");
  if (work.group_outputs <= conv::kNarrowOutputs) {
    LaunchTiles<typename Gemms::Narrow>(stream, work);
  } else if (work.group_outputs <= conv::kMiddleOutputs) {
    LaunchTiles<typename Gemms::Middle>(stream, work);
  } else {
    LaunchTiles<typename Gemms::Wide>(stream, work);
  }
}

template <class Device>
template <class Gemm>
void Conv<Device>::LaunchTiles(typename Device::Stream& stream, const ConvWork& work) const {
  const int small_up_to = options_.small_tiles_up_to >= 0
                              ? options_.small_tiles_up_to
                              : Gemm::MostWithoutLargeTiles(work, multiprocessors_);
  const Blocks blocks = {Gemm::BlocksX(work, work.pixels.most, small_up_to), 1,
                         work.output.batch * work.rows.phases * work.columns.phases};
  device_.Launch(stream, blocks, Gemm{work, small_up_to}, Gemm::SharedBytes());
}

template <class Device>
template <bool is_depthwise>
void Conv<Device>::LaunchDirect(typename Device::Stream& stream, const ConvWork& work) const {
  const ImageView& output = work.output;
  const Walk walk =
      Walk::OverMap(output.batch, output.height, output.width, output.channels, work.pixels);
  device_.Launch(stream, walk.blocks(),
                 ConvDirect<is_depthwise>{work, walk, spec_.rows, spec_.columns, spec_.transposed});
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_INL_H_
