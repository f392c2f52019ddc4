#include <optional>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

// Turns function(producer) into the producer alone; the slope of a PReLU becomes its last input.
void FuseActivation(Rewriter& rewriter, OpId id, const op::Activation& activation) {
  const std::vector<ValueId>& own_inputs = rewriter.op(id).inputs;
  const Operator* producer = rewriter.Producer(own_inputs[0]);
  if (producer == nullptr || !rewriter.IsReadOnce(own_inputs[0])) return;
  const bool is_prelu = activation.function.kind == Function::Kind::kPRelu;
  Attributes fused = producer->attributes;
  std::vector<ValueId> inputs = producer->inputs;
  if (auto* conv = std::get_if<op::Conv>(&fused)) {
    if (!IsIdentity(conv->activation)) return;
    conv->activation = activation.function;
    conv->activation_before_residual = false;
    if (is_prelu) {
      conv->has_slope = true;
      inputs.push_back(own_inputs[1]);
    }
  } else if (auto* scale_shift = std::get_if<op::ScaleShift>(&fused)) {
    if (!IsIdentity(scale_shift->activation)) return;
    scale_shift->activation = activation.function;
    if (is_prelu) inputs.push_back(own_inputs[1]);
  } else if (is_prelu) {
    return;
  } else if (auto* linear = std::get_if<op::Linear>(&fused)) {
    if (!IsIdentity(linear->activation)) return;
    linear->activation = activation.function;
  } else if (auto* binary = std::get_if<op::Binary>(&fused)) {
    if (!IsIdentity(binary->activation)) return;
    binary->activation = activation.function;
  } else {
    return;
  }
  rewriter.Replace(id, producer->name, std::move(fused), std::move(inputs));
}

// The convolution in `conv_id` with `residual` added to it and `after` applied to the sum.
std::optional<op::Conv> WithResidual(const Rewriter& rewriter, ValueId conv_id, ValueId residual,
                                     const Function& after) {
  const auto* conv = rewriter.ProducedBy<op::Conv>(conv_id);
  if (conv == nullptr || conv->has_residual || !rewriter.IsReadOnce(conv_id) ||
      rewriter.value(residual).is_constant() ||
      rewriter.value(conv_id).type != DataType::kFloat32 ||
      rewriter.shape(conv_id) != rewriter.shape(residual)) {
    return std::nullopt;
  }
  op::Conv fused = *conv;
  fused.has_residual = true;
  if (IsIdentity(conv->activation)) {
    fused.activation = after;
    fused.activation_before_residual = false;
  } else if (IsIdentity(after)) {
    fused.activation_before_residual = true;
  } else {
    return std::nullopt;
  }
  return fused;
}

// Turns a + b with a convolution on one side into that convolution's residual sum. If both are
// convolutions, the later one takes it: then its inputs wait the shortest time.
void FuseResidual(Rewriter& rewriter, OpId id, const op::Binary& sum) {
  std::vector<ValueId> operands = rewriter.op(id).inputs;
  if (rewriter.value(operands[0]).producer > rewriter.value(operands[1]).producer) {
    std::swap(operands[0], operands[1]);
  }
  for (int side : {1, 0}) {
    const ValueId residual = operands[1 - side];
    const auto fused = WithResidual(rewriter, operands[side], residual, sum.activation);
    if (!fused) continue;
    const Operator& conv = *rewriter.Producer(operands[side]);
    std::vector<ValueId> inputs = conv.inputs;
    inputs.insert(inputs.begin() + (fused->has_bias ? 3 : 2), residual);
    rewriter.Replace(id, conv.name, *fused, std::move(inputs));
    return;
  }
}

}  // namespace

bool Fuse(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const Attributes attributes = rewriter.op(id).attributes;
    if (const auto* activation = std::get_if<op::Activation>(&attributes)) {
      FuseActivation(rewriter, id, *activation);
    } else if (const auto* binary = std::get_if<op::Binary>(&attributes)) {
      if (binary->kind == BinaryKind::kAdd) FuseResidual(rewriter, id, *binary);
    }
  });
}

}  // namespace cacheinf::pass
