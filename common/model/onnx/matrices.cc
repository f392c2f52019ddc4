#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/onnx/operators.h"

// Converters of matrix products and norms. The passes turn products with constants into linear
// operators, and fold what is multiplied and added into their weights.

namespace cacheinf {
namespace {

ValueId MultiplyBy(OnnxNode& node, ValueId x, float factor) {
  if (factor == 1.0f) return x;
  const ValueId constant = node.AddConstant("factor", {}, {factor});
  return node.Add(op::Binary{BinaryKind::kMultiply, {}}, {x, constant});
}

ValueId TransposedMatrix(OnnxNode& node, int input, bool transpose) {
  if (node.InputShape(input).size() != 2) {
    node.Fail("a matrix of shape ", ToString(node.InputShape(input)));
  }
  const ValueId x = node.Input(input);
  return transpose ? node.Add(op::Permute{{1, 0}}, {x}) : x;
}

// The weights of a linear operator, if the right factor is a constant matrix of 8-bit numbers with
// steps per column, or one for all; else kNone.
ValueId EightBitWeights(OnnxNode& node) {
  if (!node.IsConstant(1)) return kNone;
  const HostTensor matrix = node.Constant(1);
  const std::vector<float>& sizes = matrix.step_sizes();
  const bool fits = matrix.rank() == 2 && (sizes.size() == 1 || matrix.step_axis() == 1);
  if (sizes.empty() || !fits || matrix.count() == 0) return kNone;
  node.Charge(matrix.shape(), HostTensor::Type::kFloat);
  const int64_t rows = matrix.shape()[0];
  const int64_t columns = matrix.shape()[1];
  std::vector<float> transposed;
  transposed.reserve(static_cast<size_t>(matrix.count()));
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      transposed.push_back(matrix.floats()[static_cast<size_t>(row * columns + column)]);
    }
  }
  const ValueId id = node.AddConstant("weights", {columns, rows}, std::move(transposed));
  node.import().graph.values[static_cast<size_t>(id)].step_sizes = sizes;
  return id;
}

// A constant with one number per channel.
const std::vector<float>& ChannelConstant(OnnxNode& node, int input, int64_t channels) {
  const HostTensor& constant = node.FloatConstant(input);
  if (constant.count() != channels) {
    node.Fail("input number ", input + 1, " has shape ", ToString(constant.shape()), " for ",
              channels, " channels");
  }
  return constant.floats();
}

int64_t Channels(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  if (in.size() < 2) node.Fail("an input of shape ", ToString(in), " has no channels");
  return in[1];
}

// Adds a group norm; an input that is not a map is seen as a map of one row.
void AddGroupNorm(OnnxNode& node, const op::GroupNorm& norm, std::vector<float> scale,
                  std::vector<float> shift) {
  const Shape in = node.InputShape(0);
  const int64_t channels = Channels(node);
  ValueId x = node.Input(0);
  if (in.size() != 4) {
    x = node.Add(op::Reshape{{in[0], channels, 1, ElementCount(in) / (in[0] * channels)}}, {x});
  }
  const ValueId scale_id = node.AddConstant("scale", {channels}, std::move(scale));
  const ValueId shift_id = node.AddConstant("shift", {channels}, std::move(shift));
  x = node.Add(norm, {x, scale_id, shift_id});
  if (in.size() != 4) x = node.Add(op::Reshape{in}, {x});
  node.SetOutput(0, x);
}

void ConvertMatMul(OnnxNode& node) {
  const Shape a = node.InputShape(0);
  const Shape b = node.InputShape(1);
  if (a.empty() || b.empty()) node.Fail("a product with a scalar");
  // A vector is a row on the left and a column on the right; its dimension is dropped afterwards.
  ValueId left = node.Input(0);
  if (a.size() == 1) left = node.Add(op::Reshape{{1, a[0]}}, {left});
  ValueId product = kNone;
  const ValueId weights = b[0] == a.back() ? EightBitWeights(node) : kNone;
  if (weights != kNone) {
    product = node.Add(op::Linear{}, {left, weights});
  } else {
    ValueId right = node.Input(1);
    if (b.size() == 1) right = node.Add(op::Reshape{{b[0], 1}}, {right});
    product = node.Add(op::MatMul{}, {left, right});
  }
  Shape shape = node.ShapeOf(product);
  if (b.size() == 1) shape.pop_back();
  if (a.size() == 1) shape.erase(shape.end() - (b.size() == 1 ? 1 : 2));
  if (shape != node.ShapeOf(product)) product = node.Add(op::Reshape{shape}, {product});
  node.SetOutput(0, product);
}

// alpha a b + beta c
void ConvertGemm(OnnxNode& node) {
  const float alpha = node.Float("alpha", 1.0f);
  const float beta = node.Float("beta", 1.0f);
  const bool transpose_b = node.Flag("transB", false);
  const ValueId left = TransposedMatrix(node, 0, node.Flag("transA", false));
  ValueId product = kNone;
  if (node.IsConstant(1) && transpose_b && node.InputShape(1).size() == 2) {
    // Every exporter writes a linear layer like this.
    product = node.Add(op::Linear{}, {left, node.Input(1)});
  } else if (const ValueId weights = transpose_b ? kNone : EightBitWeights(node);
             weights != kNone) {
    product = node.Add(op::Linear{}, {left, weights});
  } else {
    product = node.Add(op::MatMul{}, {left, TransposedMatrix(node, 1, transpose_b)});
  }
  product = MultiplyBy(node, product, alpha);
  if (node.HasInput(2)) {
    const Shape shape = node.ShapeOf(product);
    if (BroadcastShapes(node.InputShape(2), shape) != shape) {
      node.Fail("an addend of shape ", ToString(node.InputShape(2)), " for a product of ",
                ToString(shape));
    }
    const ValueId addend = MultiplyBy(node, node.Input(2), beta);
    product = node.Add(op::Binary{BinaryKind::kAdd, {}}, {product, addend});
  }
  node.SetOutput(0, product);
}

void ConvertBatchNormalization(OnnxNode& node) {
  const int64_t channels = Channels(node);
  node.Ignore("momentum");
  if (node.Flag("training_mode", false)) node.Fail("training mode is not supported");
  if (!node.Flag("spatial", true)) node.Fail("attribute 'spatial' is not supported");
  const double epsilon = node.Float("epsilon", 1e-5f);
  const std::vector<float>& gamma = ChannelConstant(node, 1, channels);
  const std::vector<float>& beta = ChannelConstant(node, 2, channels);
  const std::vector<float>& mean = ChannelConstant(node, 3, channels);
  const std::vector<float>& variance = ChannelConstant(node, 4, channels);
  node.budget().Take(2 * channels, sizeof(float));
  std::vector<float> scale;
  std::vector<float> shift;
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double factor = gamma[c] / std::sqrt(variance[c] + epsilon);
    scale.push_back(static_cast<float>(factor));
    shift.push_back(static_cast<float>(beta[c] - mean[c] * factor));
  }
  const ValueId scale_id = node.AddConstant("scale", {channels}, std::move(scale));
  const ValueId shift_id = node.AddConstant("shift", {channels}, std::move(shift));
  node.SetOutput(0, node.Add(op::ScaleShift{}, {node.Input(0), scale_id, shift_id}));
}

void ConvertLayerNormalization(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  node.Ignore("stash_type");  // the precision of the statistics: ours is no lower
  op::LayerNorm norm;
  norm.first_axis = CheckedAxis(node.Int("axis", -1), static_cast<int>(in.size()));
  norm.axis_count = static_cast<int>(in.size()) - norm.first_axis;
  norm.epsilon = node.Float("epsilon", 1e-5f);
  norm.has_affine = true;
  const Shape normalised(in.begin() + norm.first_axis, in.end());
  const int64_t count = ElementCount(normalised);
  std::vector<ValueId> inputs = {node.Input(0)};
  const char* const names[] = {"scale", "shift"};
  for (int i = 1; i <= 2; ++i) {
    if (node.HasInput(i)) {
      ChannelConstant(node, i, count);
      inputs.push_back(node.AddConstant(names[i - 1], node.FloatConstant(i).Reshaped(normalised)));
    } else if (i == 2) {
      node.budget().Take(count, sizeof(float));
      inputs.push_back(
          node.AddConstant("shift", normalised, std::vector<float>(static_cast<size_t>(count))));
    } else {
      node.Fail("input number 2 is missing");
    }
  }
  node.SetOutput(0, node.Add(norm, std::move(inputs)));
}

void ConvertInstanceNormalization(OnnxNode& node) {
  const int64_t channels = Channels(node);
  op::GroupNorm norm;
  norm.groups = CheckedInt(channels, 1, 1 << 24, "number of channels");
  norm.epsilon = node.Float("epsilon", 1e-5f);
  norm.has_affine = true;
  AddGroupNorm(node, norm, ChannelConstant(node, 1, channels), ChannelConstant(node, 2, channels));
}

void ConvertGroupNormalization(OnnxNode& node) {
  const int64_t channels = Channels(node);
  node.Ignore("stash_type");  // the precision of the statistics: ours is no lower
  op::GroupNorm norm;
  norm.groups = CheckedInt(node.Int("num_groups"), 1, 1 << 24, "number of groups");
  norm.epsilon = node.Float("epsilon", 1e-5f);
  norm.has_affine = true;
  if (channels % norm.groups != 0) node.Fail(norm.groups, " groups for ", channels, " channels");
  // Scale and bias had one number per group at first, and have one per channel now.
  const int64_t numbers = node.opset() < 21 ? norm.groups : channels;
  std::vector<float> affine[2];
  for (int i = 0; i < 2; ++i) {
    node.budget().Take(channels, sizeof(float));
    for (float value : ChannelConstant(node, i + 1, numbers)) {
      affine[i].insert(affine[i].end(), static_cast<size_t>(channels / numbers), value);
    }
  }
  AddGroupNorm(node, norm, std::move(affine[0]), std::move(affine[1]));
}

// x (bias + alpha / size sum of x^2 over neighbouring channels)^-beta, where a convolution of 1x1
// sums.
void ConvertLocalResponseNormalization(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  if (in.size() != 4) node.Fail("an input of shape ", ToString(in), " is not a picture");
  const int64_t channels = in[1];
  const int64_t size = CheckedInt(node.Int("size"), 1, 1 << 24, "number of channels to sum");
  const float share = node.Float("alpha", 1e-4f) / static_cast<float>(size);
  CheckedCount({channels, channels}, "its sum");
  node.budget().Take(channels * channels, sizeof(float));
  std::vector<float> weights(static_cast<size_t>(channels * channels));
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t first = std::max<int64_t>(c - (size - 1) / 2, 0);
    const int64_t last = std::min(c + size / 2, channels - 1);
    for (int64_t of = first; of <= last; ++of) {
      weights[static_cast<size_t>(c * channels + of)] = share;
    }
  }
  const std::vector<float> bias(static_cast<size_t>(channels), node.Float("bias", 1.0f));
  const ValueId x = node.Input(0);
  const ValueId square = node.Add(op::Binary{BinaryKind::kMultiply, {}}, {x, x});
  op::Conv sum;
  sum.has_bias = true;
  const ValueId divisor =
      node.Add(sum, {square, node.AddConstant("window", {channels, channels, 1, 1}, weights),
                     node.AddConstant("bias", {channels}, bias)});
  const ValueId beta = node.AddConstant("beta", {}, {node.Float("beta", 0.75f)});
  const ValueId power = node.Add(op::Binary{BinaryKind::kPower, {}}, {divisor, beta});
  node.SetOutput(0, node.Add(op::Binary{BinaryKind::kDivide, {}}, {x, power}));
}

}  // namespace

OnnxOperators OnnxMatrices() {
  return {
      {"MatMul", {ConvertMatMul}},
      {"Gemm", {ConvertGemm}},
      {"BatchNormalization", {ConvertBatchNormalization}},
      {"LayerNormalization", {ConvertLayerNormalization}},
      {"InstanceNormalization", {ConvertInstanceNormalization}},
      {"GroupNormalization", {ConvertGroupNormalization}},
      {"LRN", {ConvertLocalResponseNormalization}},
  };
}

}  // namespace cacheinf
