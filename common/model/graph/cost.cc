#include "common/model/graph/cost.h"

#include <variant>

namespace cacheinf {
namespace {

// The cost, in operations per element, of operators other than convolutions and matrix products.
// Rough, because these are bound by memory and together are a few percent of a network.
constexpr int64_t kNormOperations = 8;
constexpr int64_t kSoftmaxOperations = 4;

int64_t Elements(const Graph& graph, const std::vector<ValueId>& values) {
  int64_t count = 0;
  for (ValueId id : values) count += ElementCount(graph.value(id).shape);
  return count;
}

bool IsFunction(const Function& function) { return function.kind != Function::Kind::kIdentity; }

struct MultiplyAdds {
  const Graph& graph;
  const Operator& op;

  int64_t operator()(const op::Conv& conv) const {
    const Shape& weights = graph.value(op.inputs[1]).shape;
    const int64_t a_pixel = ElementCount(weights);
    // In a transposed convolution each input pixel meets every weight; in any other each output
    // pixel does.
    const Shape& map = graph.value(conv.spec.transposed ? op.inputs[0] : op.outputs[0]).shape;
    return map[0] * map[2] * map[3] * a_pixel;
  }
  int64_t operator()(const op::QuantConv&) const {
    const Shape& weights = graph.value(op.inputs[1]).shape;
    const Shape& map = graph.value(op.outputs[0]).shape;
    const Value& input = graph.value(op.inputs[0]);
    const auto& conv = *op.As<op::QuantConv>();
    return map[0] * map[2] * map[3] * weights[0] * (input.channels / conv.spec.groups) *
           weights[2] * weights[3];
  }
  int64_t operator()(const op::Linear&) const {
    return Elements(graph, op.outputs) * graph.value(op.inputs[0]).shape.back();
  }
  int64_t operator()(const op::QuantLinear&) const {
    return Elements(graph, op.outputs) * graph.value(op.inputs[0]).shape.back();
  }
  int64_t operator()(const op::MatMul&) const {
    return Elements(graph, op.outputs) * graph.value(op.inputs[0]).shape.back();
  }
  template <typename T>
  int64_t operator()(const T&) const {
    return 0;
  }
};

// Operations per output element, besides multiply-adds.
struct OperationsEach {
  int64_t operator()(const op::Conv& conv) const {
    return conv.has_bias + conv.has_residual + IsFunction(conv.activation);
  }
  int64_t operator()(const op::Linear& linear) const {
    return linear.has_bias + IsFunction(linear.activation);
  }
  int64_t operator()(const op::ScaleShift& affine) const {
    return 2 + IsFunction(affine.activation);
  }
  int64_t operator()(const op::LayerNorm&) const { return kNormOperations; }
  int64_t operator()(const op::GroupNorm&) const { return kNormOperations; }
  int64_t operator()(const op::Activation&) const { return 1; }
  int64_t operator()(const op::Binary& binary) const { return 1 + IsFunction(binary.activation); }
  int64_t operator()(const op::Pool& pool) const {
    return int64_t{pool.spec.rows.kernel} * pool.spec.columns.kernel;
  }
  int64_t operator()(const op::Resize& resize) const {
    switch (resize.spec.kind) {
      case ResizeSpec::Kind::kNearest:
        return 0;
      case ResizeSpec::Kind::kLinear:
        return 2 * (4 + 2);
      case ResizeSpec::Kind::kCubic:
        return 2 * (16 + 4);
    }
    return 0;
  }
  int64_t operator()(const op::Softmax&) const { return kSoftmaxOperations; }
  template <typename T>
  int64_t operator()(const T&) const {
    return 0;
  }
};

// Operators that read each input element once.
bool CountsByInput(const Operator& op) {
  return op.As<op::AdaptivePool>() != nullptr || op.As<op::ArgMax>() != nullptr ||
         op.As<op::TopK>() != nullptr || op.As<op::Reduce>() != nullptr ||
         op.As<op::DecodeBoxes>() != nullptr || op.As<op::NonMaxSuppression>() != nullptr;
}

}  // namespace

OperatorCost CostOf(const Graph& graph, const Operator& op) {
  OperatorCost cost;
  cost.multiply_adds = std::visit(MultiplyAdds{graph, op}, op.attributes);
  cost.operations = 2 * cost.multiply_adds +
                    Elements(graph, op.outputs) * std::visit(OperationsEach{}, op.attributes) +
                    (CountsByInput(op) ? Elements(graph, op.inputs) : 0);
  return cost;
}

}  // namespace cacheinf
