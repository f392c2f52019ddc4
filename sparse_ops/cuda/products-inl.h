#ifndef CACHEINF_SPARSE_OPS_CUDA_PRODUCTS_INL_H_
#define CACHEINF_SPARSE_OPS_CUDA_PRODUCTS_INL_H_

#include "sparse_ops/cuda/operators.h"
#include "sparse_ops/cuda/product_kernels.h"

namespace cacheinf::cuda {
namespace products {

// Multiplies along the output's last two axes; all axes before them are outer ones. REQUIRES: `a`
// and `b` have the output's shape except for the depth.
inline MultiplyMatrices ProductOf(const ConstTensorView& a, const ConstTensorView& b,
                                  const TensorView& output, int64_t depth) {
  const int row = output.rank - 2;
  const int column = output.rank - 1;
  MultiplyMatrices kernel = {};
  for (int axis = 0; axis < row; ++axis) {
    kernel.axes.sizes[axis] = static_cast<int>(output.dims[axis]);
    kernel.strides.outer[MultiplyMatrices::kA][axis] = a.strides[axis];
    kernel.strides.outer[MultiplyMatrices::kB][axis] = b.strides[axis];
    kernel.strides.outer[MultiplyMatrices::kOutput][axis] = output.strides[axis];
  }
  kernel.axes.rank = row;
  kernel.a = {a.data, a.strides[row], a.strides[column]};
  kernel.b = {b.data, b.strides[row], b.strides[column]};
  kernel.rows = static_cast<int>(output.dims[row]);
  kernel.columns = static_cast<int>(output.dims[column]);
  kernel.depth = static_cast<int>(depth);
  kernel.output = output.data;
  kernel.output_row_stride = output.strides[row];
  kernel.output_column_stride = output.strides[column];
  return kernel;
}

// The operand, broadcast to the output's outer dimensions.
inline ConstTensorView WithOuterDims(const ConstTensorView& operand, const TensorView& output) {
  TensorView shape = output;
  for (int i = 1; i <= 2; ++i) {
    shape.dims[static_cast<size_t>(shape.rank - i)] =
        operand.dims[static_cast<size_t>(operand.rank - i)];
  }
  return BroadcastTo(operand, shape);
}

}  // namespace products

void Compute(const auto& to, const LinearArgs& args, const Pixels& pixels) {
  ConstTensorView input = args.input;
  TensorView output = args.output;
  if (input.rank == 1) {
    input = InsertAxis(input, 0);
    output = InsertAxis(output, 0);
  }
  const int last = input.rank - 1;
  // Weights are depth × outputs, the same for every outer position.
  ConstTensorView weights = input;
  weights.data = args.weights;
  weights.strides = {};
  weights.strides[static_cast<size_t>(last - 1)] = 1;
  weights.strides[static_cast<size_t>(last)] = input.dims[last];
  MultiplyMatrices kernel = products::ProductOf(input, weights, output, input.dims[last]);
  kernel.bias = args.bias;
  kernel.activation = args.activation;
  kernel.gate = pixels.count;
  to.Launch(kernel.blocks(), kernel, MultiplyMatrices::kSharedBytes);
}

void Compute(const auto& to, const MatMulArgs& args, const Pixels& pixels) {
  MultiplyMatrices kernel = products::ProductOf(
      products::WithOuterDims(args.a, args.output), products::WithOuterDims(args.b, args.output),
      args.output, args.a.dims[static_cast<size_t>(args.a.rank - 1)]);
  kernel.gate = pixels.count;
  to.Launch(kernel.blocks(), kernel, MultiplyMatrices::kSharedBytes);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_PRODUCTS_INL_H_
