#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

// Folds x scale + shift with constants (batch norm, bias, layer scale, the normalisation of a
// picture) into the weights of the operator before it, or of the one after it.

namespace cacheinf::pass {
namespace {

// activation(x scale + shift), with one scale and shift per index of the requested axes.
struct Affine {
  ValueId x = kNone;
  std::vector<float> scale;
  std::vector<float> shift;
  Function activation;
};

std::vector<float> Floats(const Tensor& tensor) {
  return std::vector<float>(tensor.data(), tensor.data() + tensor.count());
}

bool AllFinite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

bool AllZero(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return value == 0.0f; });
}

// A binary operator with a constant operand, as an affine over these axes of the other operand.
std::optional<Affine> BinaryAsAffine(const Rewriter& rewriter, const Operator& op, int first_axis,
                                     int axis_count) {
  const auto& binary = *op.As<op::Binary>();
  const bool is_left = rewriter.value(op.inputs[0]).is_constant();
  const ValueId constant = op.inputs[is_left ? 0 : 1];
  const ValueId x = op.inputs[is_left ? 1 : 0];
  if (!rewriter.value(constant).is_constant() || rewriter.value(x).is_constant()) {
    return std::nullopt;
  }
  const auto spread =
      SpreadOver(rewriter.constant(constant), rewriter.shape(x), first_axis, axis_count);
  if (!spread) return std::nullopt;
  Affine affine{x, *spread, *spread, binary.activation};
  switch (binary.kind) {
    case BinaryKind::kAdd:
      affine.scale.assign(spread->size(), 1.0f);
      break;
    case BinaryKind::kSubtract:
      affine.scale.assign(spread->size(), is_left ? -1.0f : 1.0f);
      if (!is_left) {
        for (float& shift : affine.shift) shift = -shift;
      }
      break;
    case BinaryKind::kMultiply:
      affine.shift.assign(spread->size(), 0.0f);
      break;
    case BinaryKind::kDivide:
      if (is_left) return std::nullopt;
      for (float& scale : affine.scale) scale = 1.0f / scale;
      affine.shift.assign(spread->size(), 0.0f);
      break;
    default:
      return std::nullopt;
  }
  if (!AllFinite(affine.scale) || !AllFinite(affine.shift)) return std::nullopt;
  return affine;
}

std::optional<Affine> AsAffine(const Rewriter& rewriter, const Operator& op, int first_axis,
                               int axis_count) {
  if (op.As<op::Binary>() != nullptr) {
    return BinaryAsAffine(rewriter, op, first_axis, axis_count);
  }
  const auto* scale_shift = op.As<op::ScaleShift>();
  if (scale_shift == nullptr || first_axis != 1 || axis_count != 1 ||
      !scale_shift->channel_order.empty() ||
      scale_shift->activation.kind == Function::Kind::kPRelu) {
    return std::nullopt;
  }
  return Affine{op.inputs[0], Floats(rewriter.constant(op.inputs[1])),
                Floats(rewriter.constant(op.inputs[2])), scale_shift->activation};
}

// Folds an affine into the constant operands of the operator before it, by output channel.
class AffineFolder {
 public:
  AffineFolder(Rewriter& rewriter, OpId id) : rewriter_(rewriter), id_(id) {}

  // Folds operator `id`, if it is an affine, into the operator that computes its x.
  bool FoldIntoProducer() {
    for (ValueId input : rewriter_.op(id_).inputs) {
      if (rewriter_.Producer(input) == nullptr || !rewriter_.IsReadOnce(input)) continue;
      // A copy: adding constants and operators moves them.
      producer_ = *rewriter_.Producer(input);
      const auto rank = static_cast<int>(rewriter_.shape(input).size());
      if (const auto* conv = producer_.As<op::Conv>()) return FoldIntoConv(*conv);
      if (const auto* linear = producer_.As<op::Linear>()) return FoldIntoLinear(*linear, rank - 1);
      if (const auto* scale_shift = producer_.As<op::ScaleShift>()) {
        return FoldIntoScaleShift(*scale_shift);
      }
      if (const auto* norm = producer_.As<op::LayerNorm>()) {
        return FoldIntoNorm(*norm, norm->first_axis, norm->axis_count);
      }
      if (const auto* norm = producer_.As<op::GroupNorm>()) return FoldIntoNorm(*norm, 1, 1);
    }
    return false;
  }

  // Turns a binary operator on a map into a ScaleShift, if it is an affine over the channels.
  void MakeScaleShift() {
    const Operator op = rewriter_.op(id_);
    if (op.As<op::Binary>() == nullptr || !rewriter_.value(op.outputs[0]).is_map()) return;
    const auto affine = AsAffine(rewriter_, op, 1, 1);
    if (!affine || rewriter_.shape(affine->x) != rewriter_.shape(op.outputs[0])) return;
    const ValueId scale = Vector(op.name + ".scale", affine->scale);
    const ValueId shift = Vector(op.name + ".shift", affine->shift);
    rewriter_.Replace(id_, op::ScaleShift{affine->activation, {}}, {affine->x, scale, shift});
  }

 private:
  bool FoldIntoConv(const op::Conv& before) {
    const auto affine = AsAffine(rewriter_, rewriter_.op(id_), 1, 1);
    if (!affine || !IsIdentity(before.activation) || before.has_residual) return false;
    const Tensor weights = rewriter_.constant(producer_.inputs[1]);
    const int64_t kernel = weights.shape()[2] * weights.shape()[3];
    std::vector<float> scaled = Floats(weights);
    if (before.spec.transposed) {
      const int64_t in_channels = weights.shape()[0];
      const int64_t out_a_group = weights.shape()[1];
      const int64_t in_a_group = in_channels / before.spec.groups;
      for (int64_t in = 0; in < in_channels; ++in) {
        for (int64_t out = 0; out < out_a_group; ++out) {
          const int64_t channel = in / in_a_group * out_a_group + out;
          Scale(scaled, (in * out_a_group + out) * kernel, kernel, affine->scale[channel]);
        }
      }
    } else {
      const int64_t row = weights.shape()[1] * kernel;
      for (int64_t out = 0; out < weights.shape()[0]; ++out) {
        Scale(scaled, out * row, row, affine->scale[out]);
      }
    }
    op::Conv conv = before;
    conv.has_bias = true;
    conv.activation = affine->activation;
    Replace(std::move(conv), weights.shape(), std::move(scaled),
            Bias(before.has_bias ? 2 : 0, *affine));
    return true;
  }

  bool FoldIntoLinear(const op::Linear& before, int axis) {
    const auto affine = AsAffine(rewriter_, rewriter_.op(id_), axis, 1);
    if (!affine || !IsIdentity(before.activation)) return false;
    const Tensor weights = rewriter_.constant(producer_.inputs[1]);
    std::vector<float> scaled = Floats(weights);
    const int64_t row = weights.shape()[1];
    for (int64_t out = 0; out < weights.shape()[0]; ++out) {
      Scale(scaled, out * row, row, affine->scale[out]);
    }
    Replace(op::Linear{true, affine->activation}, weights.shape(), std::move(scaled),
            Bias(before.has_bias ? 2 : 0, *affine));
    return true;
  }

  bool FoldIntoScaleShift(const op::ScaleShift& before) {
    const auto affine = AsAffine(rewriter_, rewriter_.op(id_), 1, 1);
    if (!affine || !IsIdentity(before.activation)) return false;
    std::vector<float> scale = Floats(rewriter_.constant(producer_.inputs[1]));
    for (size_t i = 0; i < scale.size(); ++i) scale[i] *= affine->scale[i];
    const auto channels = static_cast<int64_t>(scale.size());
    op::ScaleShift merged = before;
    merged.activation = affine->activation;
    Replace(std::move(merged), {channels}, std::move(scale), Bias(2, *affine));
    return true;
  }

  template <typename Norm>
  bool FoldIntoNorm(Norm norm, int first_axis, int axis_count) {
    const auto affine = AsAffine(rewriter_, rewriter_.op(id_), first_axis, axis_count);
    if (!affine || !IsIdentity(affine->activation)) return false;
    const Shape& in = rewriter_.shape(producer_.inputs[0]);
    const Shape shape(in.begin() + first_axis, in.begin() + first_axis + axis_count);
    std::vector<float> scale = affine->scale;
    std::vector<float> shift = affine->shift;
    if (norm.has_affine) {
      const float* old_scale = rewriter_.constant(producer_.inputs[1]).data();
      for (size_t i = 0; i < scale.size(); ++i) scale[i] *= old_scale[i];
      shift = Bias(2, *affine);
    }
    norm.has_affine = true;
    const ValueId new_scale = rewriter_.AddConstant(producer_.name + ".scale", shape, scale);
    const ValueId new_shift = rewriter_.AddConstant(producer_.name + ".shift", shape, shift);
    rewriter_.Replace(id_, producer_.name, norm, {producer_.inputs[0], new_scale, new_shift});
    return true;
  }

  static void Scale(std::vector<float>& values, int64_t begin, int64_t count, float factor) {
    for (int64_t i = begin; i < begin + count; ++i) values[static_cast<size_t>(i)] *= factor;
  }

  // The producer's bias, input `index` (0: none), after the affine.
  std::vector<float> Bias(size_t index, const Affine& affine) const {
    std::vector<float> bias = affine.shift;
    if (index == 0) return bias;
    const float* before = rewriter_.constant(producer_.inputs[index]).data();
    for (size_t i = 0; i < bias.size(); ++i) bias[i] += before[i] * affine.scale[i];
    return bias;
  }

  ValueId Vector(std::string name, std::vector<float> values) {
    const auto count = static_cast<int64_t>(values.size());
    return rewriter_.AddConstant(std::move(name), {count}, std::move(values));
  }

  // Replaces the affine by the producer with these attributes, weights and bias.
  void Replace(Attributes attributes, const Shape& shape, std::vector<float> weights,
               std::vector<float> bias) {
    // Weights that do not change keep what is known about them: that they are 8-bit numbers, say.
    const ValueId old_weights = producer_.inputs[1];
    const Tensor& old = rewriter_.constant(old_weights);
    const bool change = !std::equal(weights.begin(), weights.end(), old.data());
    const ValueId new_weights =
        change ? rewriter_.AddConstant(rewriter_.value(old_weights).name, shape, std::move(weights))
               : old_weights;
    const ValueId new_bias = Vector(producer_.name + ".bias", std::move(bias));
    rewriter_.Replace(id_, producer_.name, std::move(attributes),
                      {producer_.inputs[0], new_weights, new_bias});
  }

  Rewriter& rewriter_;
  OpId id_;
  Operator producer_;
};

bool HasPadding(const WindowAxis& axis) { return axis.pad_begin > 0 || axis.pad_end > 0; }

// Folds a scale and shift into the only reader, a convolution or linear operator. A shift would
// have to reach into zero padding, so it folds only if there is none.
bool FoldIntoReader(Rewriter& rewriter, OpId id) {
  const Operator reader = rewriter.op(id);
  const auto* conv = reader.As<op::Conv>();
  const auto* linear = reader.As<op::Linear>();
  if (conv == nullptr && linear == nullptr) return false;
  const ValueId between = reader.inputs[0];
  const auto* scale_shift = rewriter.ProducedBy<op::ScaleShift>(between);
  if (scale_shift == nullptr || !rewriter.IsReadOnce(between)) return false;
  const auto affine = AsAffine(rewriter, *rewriter.Producer(between), 1, 1);
  if (!affine || !IsIdentity(affine->activation)) return false;
  const bool has_shift = !AllZero(affine->shift);
  if (linear != nullptr && rewriter.shape(between).size() != 2) return false;
  if (conv != nullptr && has_shift &&
      (conv->spec.transposed || HasPadding(conv->spec.rows) || HasPadding(conv->spec.columns))) {
    return false;
  }

  const Tensor weights = rewriter.constant(reader.inputs[1]);
  const Shape& shape = weights.shape();
  const int64_t kernel = conv != nullptr ? shape[2] * shape[3] : 1;
  const int64_t groups = conv != nullptr ? conv->spec.groups : 1;
  const bool is_transposed = conv != nullptr && conv->spec.transposed;
  std::vector<float> scaled = Floats(weights);
  std::vector<double> added(static_cast<size_t>(is_transposed ? shape[1] * groups : shape[0]));
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      // Input channel of weights (i, j).
      const int64_t in = is_transposed ? i : i / (shape[0] / groups) * shape[1] + j;
      for (int64_t k = 0; k < kernel; ++k) {
        float& weight = scaled[static_cast<size_t>((i * shape[1] + j) * kernel + k)];
        if (!is_transposed) added[i] += double{weight} * affine->shift[in];
        weight *= affine->scale[in];
      }
    }
  }

  std::vector<ValueId> inputs = reader.inputs;
  inputs[0] = affine->x;
  const std::string name = rewriter.value(inputs[1]).name;
  inputs[1] = rewriter.AddConstant(name, Shape(shape), std::move(scaled));
  Attributes attributes = reader.attributes;
  if (has_shift) {
    const bool had_bias = conv != nullptr ? conv->has_bias : linear->has_bias;
    const Tensor old_bias = had_bias ? rewriter.constant(inputs[2]) : Tensor();
    std::vector<float> bias;
    for (size_t i = 0; i < added.size(); ++i) {
      bias.push_back(static_cast<float>(added[i] + (had_bias ? old_bias.data()[i] : 0.0f)));
    }
    const auto count = static_cast<int64_t>(bias.size());
    const ValueId new_bias = rewriter.AddConstant(reader.name + ".bias", {count}, std::move(bias));
    if (had_bias) {
      inputs[2] = new_bias;
    } else {
      inputs.insert(inputs.begin() + 2, new_bias);
      if (conv != nullptr) {
        std::get<op::Conv>(attributes).has_bias = true;
      } else {
        std::get<op::Linear>(attributes).has_bias = true;
      }
    }
  }
  rewriter.Replace(id, std::move(attributes), std::move(inputs));
  return true;
}

}  // namespace

bool FoldAffines(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    AffineFolder folder(rewriter, id);
    if (folder.FoldIntoProducer() || FoldIntoReader(rewriter, id)) return;
    folder.MakeScaleShift();
  });
}

}  // namespace cacheinf::pass
