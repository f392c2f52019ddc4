#include <cmath>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/tensor_walk.h"

namespace cacheinf::reference {
namespace {

float Dot(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t count) {
  float sum = 0.0f;
  for (int64_t k = 0; k < count; ++k) sum = std::fma(a[k * a_stride], b[k * b_stride], sum);
  return sum;
}

// A matrix product's operand, with the output's outer dimensions and its own last two.
ConstTensorView WithOuterDims(const ConstTensorView& operand, const TensorView& output) {
  TensorView shape = output;
  for (int i = 1; i <= 2; ++i) shape.dims[shape.rank - i] = operand.dims[operand.rank - i];
  return BroadcastTo(operand, shape);
}

}  // namespace

void Compute(const LinearArgs& args) {
  const int last = args.input.rank - 1;
  const int64_t count = args.input.dims[last];
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    const int64_t out = index[last];
    TensorIndex from = index;
    from[last] = 0;
    float value = Dot(ElementAt(args.input, from), args.input.strides[last],
                      args.weights + out * count, 1, count);
    if (args.bias != nullptr) value += args.bias[out];
    *ElementAt(args.output, index) = Apply(args.activation, value);
  });
}

void Compute(const MatMulArgs& args) {
  const ConstTensorView a = WithOuterDims(args.a, args.output);
  const ConstTensorView b = WithOuterDims(args.b, args.output);
  const int row = args.output.rank - 2;
  const int column = args.output.rank - 1;
  ForEachIndex(args.output, [&](const TensorIndex& index) {
    TensorIndex a_index = index;
    TensorIndex b_index = index;
    a_index[column] = 0;
    b_index[row] = 0;
    *ElementAt(args.output, index) = Dot(ElementAt(a, a_index), a.strides[column],
                                         ElementAt(b, b_index), b.strides[row], a.dims[column]);
  });
}

}  // namespace cacheinf::reference
