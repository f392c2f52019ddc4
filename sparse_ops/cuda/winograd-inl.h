#ifndef CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_INL_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sparse_ops/cuda/conv-inl.h"
#include "sparse_ops/cuda/product_kernels.h"
#include "sparse_ops/cuda/winograd.h"
#include "sparse_ops/cuda/winograd_kernels.h"

namespace cacheinf::cuda {
namespace winograd {

inline std::vector<float> PackWeights(const ConvArgs& args) {
  const int groups = args.spec.groups;
  const auto inputs = static_cast<size_t>(args.input.channels / groups);
  const auto outputs = static_cast<size_t>(args.output.channels / groups);
  const size_t of_place = static_cast<size_t>(args.output.channels) * inputs;
  std::vector<float> packed(kWinogradPlaces * of_place);
  const float* taps = args.weights;
  for (size_t output = 0; output < static_cast<size_t>(args.output.channels); ++output) {
    for (size_t input = 0; input < inputs; ++input, taps += 9) {
      const auto weights = WinogradWeights(taps);
      const size_t at = (output / outputs * inputs + input) * outputs + output % outputs;
      for (size_t place = 0; place < kWinogradPlaces; ++place) {
        packed[place * of_place + at] = weights[place];
      }
    }
  }
  return packed;
}

inline int TilesAcross(const ImageView& output) { return DividedUp(output.width, kWinogradTile); }
inline int64_t TilesOf(const ImageView& output) {
  return int64_t{DividedUp(output.height, kWinogradTile)} * TilesAcross(output);
}

}  // namespace winograd

template <class Device>
Winograd<Device>::Winograd(Device& device, Arena<Device>& arena, const ConvArgs& args)
    : device_(device), spec_(args.spec) {
  typename Device::Stream stream = device.MakeStream();
  const std::vector<float> weights = winograd::PackWeights(args);
  const std::vector<float> bias = conv::BiasOf(args);
  const std::vector<float> slopes = conv::SlopesOf(args);
  weights_ = conv::Upload(device, stream, arena, weights);
  bias_ = conv::Upload(device, stream, arena, bias);
  slopes_ = conv::Upload(device, stream, arena, slopes);
  device.Synchronize(stream);
  work_.groups = args.spec.groups;
  work_.group_inputs = args.input.channels / args.spec.groups;
  work_.group_outputs = args.output.channels / args.spec.groups;
  work_.bias = bias_.data();
  work_.slopes = slopes_.data();
  work_.activation = args.activation.function;
  work_.activation_before_residual = args.activation_before_residual;
}

template <class Device>
size_t Winograd<Device>::ScratchFloats(const ConstImageView& input, const ImageView& output) {
  const int64_t channels = int64_t{output.batch} * (input.channels + output.channels);
  return static_cast<size_t>(1 + winograd::TilesOf(output) * (2 + kWinogradPlaces * channels));
}

template <class Device>
void Winograd<Device>::Run(typename Device::Stream& stream, const ConstImageView& input,
                           const ConstImageView& residual, const ImageView& output,
                           const Pixels& pixels, float* scratch) const {
  if (pixels.most == 0 || output.batch == 0) return;
  ConvWork work = work_;
  work.input = input;
  work.residual = residual;
  work.output = output;
  work.pixels = pixels;
  WinogradTiles tiles;
  tiles.across = winograd::TilesAcross(output);
  tiles.most = static_cast<int>(winograd::TilesOf(output));
  tiles.count = reinterpret_cast<int*>(scratch);
  tiles.active = reinterpret_cast<unsigned*>(scratch + 1);
  tiles.list = reinterpret_cast<int*>(scratch + 1 + tiles.most);
  float* const transformed = scratch + 1 + 2 * int64_t{tiles.most};
  const int64_t of_inputs = int64_t{tiles.most} * input.channels;
  const int64_t of_outputs = int64_t{tiles.most} * output.channels;
  float* const products = transformed + output.batch * kWinogradPlaces * of_inputs;

  device_.Fill(stream, scratch, 0, (1 + static_cast<size_t>(tiles.most)) * sizeof(float));
  device_.Launch(stream, {DividedUp(pixels.most, ListWinogradTiles::kThreads)},
                 ListWinogradTiles{work, tiles});
  // A pixel activates one tile.
  const int64_t most = std::min(tiles.most, pixels.most);
  device_.Launch(stream,
                 {DividedUp(most * input.channels, TransformWinogradInput::kThreads), output.batch},
                 TransformWinogradInput{work, tiles, spec_.rows.pad_begin, spec_.columns.pad_begin,
                                        transformed});

  using Product = MultiplyMatrices;
  Product product = {};
  product.axes.rank = 3;
  const int sizes[3] = {output.batch, kWinogradPlaces, work.groups};
  const int64_t of_group = int64_t{work.group_inputs} * work.group_outputs;
  const int64_t strides[3][3] = {
      {kWinogradPlaces * of_inputs, 0, kWinogradPlaces * of_outputs},
      {of_inputs, work.groups * of_group, of_outputs},
      {work.group_inputs, of_group, work.group_outputs},
  };
  for (int axis = 0; axis < 3; ++axis) {
    product.axes.sizes[axis] = sizes[axis];
    for (const int operand : {Product::kA, Product::kB, Product::kOutput}) {
      product.strides.outer[operand][axis] = strides[axis][operand];
    }
  }
  product.a = {transformed, input.channels, 1};
  product.b = {weights_.data(), work.group_outputs, 1};
  product.rows = static_cast<int>(most);
  product.row_count = tiles.count;
  product.columns = work.group_outputs;
  product.depth = work.group_inputs;
  product.output = products;
  product.output_row_stride = output.channels;
  product.output_column_stride = 1;
  device_.Launch(stream, product.blocks(), product, Product::kSharedBytes);

  const int quads = DividedUp(output.channels, kQuad);
  device_.Launch(stream, {DividedUp(most * quads, TransformWinogradOutput::kThreads), output.batch},
                 TransformWinogradOutput{work, tiles, products});
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_INL_H_
