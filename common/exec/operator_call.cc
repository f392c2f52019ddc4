#include "common/exec/operator_call.h"

namespace cacheinf {
namespace {

std::vector<DetectionHead> HeadsOf(const op::DecodeBoxes& decode) {
  std::vector<DetectionHead> heads;
  for (const op::DecodeBoxes::Scale& scale : decode.scales) {
    DetectionHead head;
    head.stride = scale.stride;
    head.anchors = scale.anchors.data();
    head.anchor_count = static_cast<int>(scale.anchors.size() / 2);
    heads.push_back(head);
  }
  return heads;
}

}  // namespace

bool IsParameter(const Operator& op, size_t input) {
  if (const auto* conv = op.As<op::Conv>()) {
    const size_t residual = 2 + conv->has_bias;
    return input > 0 && !(conv->has_residual && input == residual);
  }
  const bool has_parameters = op.As<op::Linear>() || op.As<op::ScaleShift>() ||
                              op.As<op::LayerNorm>() || op.As<op::GroupNorm>() ||
                              op.As<op::Activation>();
  return has_parameters && input > 0;
}

OperatorCall::OperatorCall(const Graph& graph, const Operator& op)
    : graph(&graph), op(&op), is_local(IsLocal(graph, op)) {
  if (const auto* decode = op.As<op::DecodeBoxes>()) heads = HeadsOf(*decode);
  if (op.As<op::NonMaxSuppression>()) {
    static_assert(sizeof(NonMaxSuppressionArgs::Candidate) % sizeof(float) == 0);
    const auto boxes = static_cast<size_t>(graph.value(op.inputs[0]).shape[0]);
    scratch_floats = boxes * sizeof(NonMaxSuppressionArgs::Candidate) / sizeof(float);
  }
}

}  // namespace cacheinf
