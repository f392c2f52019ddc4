#include "sparse_ops/cpu/products.h"

#include <algorithm>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/parts.h"
#include "sparse_ops/cpu/pixel_kernels.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf::cpu {
namespace {

// Views the rows of a tensor's last dimension as pixels of a one-row picture. False unless they are
// contiguous and lie at equal distances.
template <typename T>
bool AsPixels(const BasicTensorView<T>& view, BasicImageView<T>* image) {
  const int last = view.rank - 1;
  if (view.dims[last] != 1 && view.strides[last] != 1) return false;
  int64_t rows = 1;
  int64_t step = view.dims[last];
  for (int axis = last - 1; axis >= 0; --axis) {
    if (view.dims[axis] == 1) continue;
    if (rows == 1) step = view.strides[axis];
    if (view.strides[axis] != step * rows) return false;
    rows *= view.dims[axis];
  }
  *image = {
      view.data,   1,           1,   static_cast<int>(rows), static_cast<int>(view.dims[last]),
      rows * step, rows * step, step};
  return true;
}

// A matrix of MatMul: the last two dimensions at one index of the others.
template <typename T>
struct Matrix {
  T* data;
  int rows;
  int columns;
  int64_t row_step;
  int64_t column_step;
};

template <typename T>
Matrix<T> MatrixAt(const BasicTensorView<T>& view, int64_t index) {
  const int rank = view.rank;
  T* data = view.data;
  for (int axis = rank - 3; axis >= 0; --axis) {
    data += index % view.dims[axis] * view.strides[axis];
    index /= view.dims[axis];
  }
  return {data, static_cast<int>(view.dims[rank - 2]), static_cast<int>(view.dims[rank - 1]),
          view.strides[rank - 2], view.strides[rank - 1]};
}

// One product. Copies the right matrix into the order of the kernels, and the left one if its rows
// are not contiguous.
class Product {
 public:
  Product(const Matrix<const float>& a, const Matrix<const float>& b, const Matrix<float>& out,
          float* scratch)
      : kernels_(ChoosePixelKernels()),
        a_(a),
        b_(b),
        out_(out),
        block_width_(kernels_.max_vectors * kernels_.lanes),
        blocks_(DivideUp(b.columns, block_width_)),
        packed_b_(scratch),
        packed_a_(scratch + PackedFloats(b.rows, b.columns)) {}

  static size_t PackedFloats(int rows, int columns) {
    const PixelKernels& kernels = ChoosePixelKernels();
    const int width = kernels.max_vectors * kernels.lanes;
    return static_cast<size_t>(rows) * static_cast<size_t>(DivideUp(columns, width) * width);
  }

  void Run(ThreadPool& pool) {
    pool.ParallelFor(blocks_, [&](int block, int) { PackB(block); });
    if (a_.column_step != 1 && a_.columns != 1) PackA(pool);
    const int lists = DivideUp(a_.rows, kListPixels);
    pool.ParallelFor(blocks_ * lists,
                     [&](int index, int) { RunList(index / lists, index % lists); });
  }

 private:
  void PackB(int block) {
    const int first = block * block_width_;
    const int columns = std::min(block_width_, b_.columns - first);
    float* to = packed_b_ + static_cast<size_t>(block) * block_width_ * b_.rows;
    const int width = WidthOf(block);
    for (int k = 0; k < b_.rows; ++k) {
      const float* from = b_.data + k * b_.row_step + first * b_.column_step;
      for (int i = 0; i < columns; ++i) to[i] = from[i * b_.column_step];
      std::fill(to + columns, to + width, 0.0f);
      to += width;
    }
  }

  void PackA(ThreadPool& pool) {
    pool.ParallelFor(a_.rows, [&](int row, int) {
      float* to = packed_a_ + static_cast<size_t>(row) * a_.columns;
      for (int k = 0; k < a_.columns; ++k) {
        to[k] = a_.data[row * a_.row_step + k * a_.column_step];
      }
    });
    a_.data = packed_a_;
    a_.row_step = a_.columns;
    a_.column_step = 1;
  }

  int WidthOf(int block) const {
    const int columns = std::min(block_width_, b_.columns - block * block_width_);
    return DivideUp(columns, kernels_.lanes) * kernels_.lanes;
  }

  void RunList(int block, int list_index) const {
    ConvBlock conv;
    conv.weights = packed_b_ + static_cast<size_t>(block) * block_width_ * b_.rows;
    conv.vectors = WidthOf(block) / kernels_.lanes;
    conv.inputs = a_.columns;
    conv.first_output = block * block_width_;
    conv.outputs = std::min(block_width_, b_.columns - conv.first_output);
    const float* inputs[kListPixels];
    float* outputs[kListPixels];
    const int first = list_index * kListPixels;
    const int count = std::min(kListPixels, a_.rows - first);
    for (int p = 0; p < kListPixels; ++p) {
      const int row = first + std::min(p, count - 1);
      inputs[p] = a_.data + row * a_.row_step;
      outputs[p] = out_.data + row * out_.row_step;
    }
    PixelList list;
    list.count = count;
    list.taps = 1;
    list.inputs = inputs;
    list.outputs = outputs;
    kernels_.conv(conv, list);
  }

  const PixelKernels& kernels_;
  Matrix<const float> a_;
  Matrix<const float> b_;
  Matrix<float> out_;
  int block_width_;
  int blocks_;
  float* packed_b_;
  float* packed_a_;
};

}  // namespace

ConvArgs Linear::AsConv(const LinearArgs& args) {
  ConvArgs conv;
  conv.input.channels = static_cast<int>(args.input.dims[args.input.rank - 1]);
  conv.output.channels = static_cast<int>(args.output.dims[args.output.rank - 1]);
  conv.weights = args.weights;
  conv.bias = args.bias;
  conv.activation.function = args.activation;
  return conv;
}

void Linear::Run(const LinearArgs& args, ThreadPool& pool, float* scratch) const {
  ConstImageView input;
  ImageView output;
  if (!AsPixels(args.input, &input) || !AsPixels(args.output, &output)) {
    return reference::Compute(args);
  }
  conv_.Run(input, {}, output, Range{0, 1}, nullptr, pool, scratch);
}

size_t QuantLinear::ScratchFloats(const QuantLinearArgs& args) {
  int64_t rows = 1;
  for (int axis = 0; axis < args.input.rank - 1; ++axis) rows *= args.input.dims[axis];
  return static_cast<size_t>(rows * WordCount(args.product.in_channels));
}

void QuantLinear::Run(const QuantLinearArgs& args, ThreadPool& pool, float* scratch) const {
  ConstImageView input;
  QuantConvArgs product = args.product;
  if (!AsPixels(args.input, &input) || !AsPixels(args.output, &product.output)) {
    return reference::Compute(args);
  }
  const int words = WordCount(product.in_channels);
  const int64_t all = int64_t{input.width} * words;
  const ImageView rounded = {scratch, 1, 1, input.width, words, all, all, words};
  Compute(QuantiseArgs{product.input_steps, input, rounded}, Range{0, 1}, pool);
  product.input = rounded;
  conv_.Run(product, Range{0, 1}, nullptr, pool);
}

size_t MatMulScratchFloats(const MatMulArgs& args) {
  const auto a = MatrixAt(args.a, 0);
  const auto b = MatrixAt(args.b, 0);
  return Product::PackedFloats(b.rows, b.columns) +
         static_cast<size_t>(a.rows) * static_cast<size_t>(a.columns);
}

void MatMul(const MatMulArgs& args, ThreadPool& pool, float* scratch) {
  // As large as the output except in the two dimensions that are multiplied.
  TensorView shape = args.output;
  const int last = shape.rank - 1;
  if (shape.dims[last] != 1 && shape.strides[last] != 1) return reference::Compute(args);
  shape.dims[last - 1] = args.a.dims[args.a.rank - 2];
  shape.dims[last] = args.a.dims[args.a.rank - 1];
  const ConstTensorView a = BroadcastTo(args.a, shape);
  shape.dims[last - 1] = args.b.dims[args.b.rank - 2];
  shape.dims[last] = args.b.dims[args.b.rank - 1];
  const ConstTensorView b = BroadcastTo(args.b, shape);
  int64_t products = 1;
  for (int axis = 0; axis < last - 1; ++axis) products *= shape.dims[axis];
  for (int64_t i = 0; i < products; ++i) {
    Product(MatrixAt(a, i), MatrixAt(b, i), MatrixAt(args.output, i), scratch).Run(pool);
  }
}

}  // namespace cacheinf::cpu
