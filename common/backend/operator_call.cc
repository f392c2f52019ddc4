#include "common/backend/operator_call.h"

namespace cacheinf {
namespace {

std::vector<DetectionHead> HeadsOf(const std::vector<op::DecodeBoxes::Scale>& scales) {
  std::vector<DetectionHead> heads;
  for (const op::DecodeBoxes::Scale& scale : scales) {
    DetectionHead head;
    head.stride = scale.stride;
    head.anchors = scale.anchors.data();
    head.anchor_count = static_cast<int>(scale.anchors.size() / 2);
    heads.push_back(head);
  }
  return heads;
}

OperatorCall::Boxes BoxesOf(const Graph& graph, const Operator& op,
                            const std::vector<DetectionHead>& heads) {
  const Shape first = graph.value(op.inputs[0]).shape_of_numbers();
  if (heads.empty()) return {static_cast<size_t>(first[0]), static_cast<size_t>(first[1])};
  OperatorCall::Boxes boxes;
  boxes.numbers = static_cast<size_t>(first[1] / heads[0].anchor_count);
  for (size_t i = 0; i < heads.size(); ++i) {
    const Shape& map = graph.value(op.inputs[i]).shape;
    boxes.count += static_cast<size_t>(map[2] * map[3] * heads[i].anchor_count);
  }
  return boxes;
}

}  // namespace

bool IsParameter(const Operator& op, size_t input) {
  if (const auto* conv = op.As<op::Conv>()) {
    const size_t residual = 2 + conv->has_bias;
    return input > 0 && !(conv->has_residual && input == residual);
  }
  if (op.As<op::QuantConv>()) return input == 1;
  const bool has_parameters = op.As<op::Linear>() || op.As<op::ScaleShift>() ||
                              op.As<op::LayerNorm>() || op.As<op::GroupNorm>() ||
                              op.As<op::Activation>() || op.As<op::QuantLinear>();
  return has_parameters && input > 0;
}

OperatorCall::OperatorCall(const Graph& graph, const Operator& op)
    : graph(&graph), op(&op), is_local(IsLocal(graph, op)) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    parameters.push_back(IsParameter(op, i) ? graph.value(op.inputs[i]).constant.data() : nullptr);
  }
  if (const auto* scale_shift = op.As<op::ScaleShift>(); scale_shift != nullptr) {
    const std::vector<int>& order = scale_shift->channel_order;
    channel_order = order.empty() ? nullptr : order.data();
  }
  if (const auto* gather = op.As<op::Gather>()) indices = gather->indices.data();
  if (const auto* decode = op.As<op::DecodeBoxes>()) heads = HeadsOf(decode->scales);
  if (const auto* suppression = op.As<op::NonMaxSuppression>()) {
    heads = HeadsOf(suppression->scales);
    for (size_t i = 0; i < heads.size(); ++i) {
      const Value& map = graph.value(op.inputs[i]);
      heads[i].is_eight_bit = map.is_eight_bit();
      heads[i].steps = map.steps;
    }
    boxes = BoxesOf(graph, op, heads);
    static_assert(sizeof(NonMaxSuppressionArgs::Candidate) % sizeof(float) == 0);
    scratch_floats = boxes.count * sizeof(NonMaxSuppressionArgs::Candidate) / sizeof(float);
    if (!heads.empty()) scratch_floats += boxes.numbers;
  }
}

}  // namespace cacheinf
