#include "common/backend/host/relaid.h"

#include "common/backend/operator_call.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf {
namespace {

constexpr int kMapRank = 4;
constexpr int kChannels = 1;
constexpr int kColumns = 3;
constexpr size_t kAlignment = 16;  // floats

// The axis that the operator works along; kNone if that is the channels, or several.
int WorkingAxis(const Operator& op) {
  const auto unless_channels = [](int axis) { return axis == kChannels ? kNone : axis; };
  if (op.As<op::MatMul>() || op.As<op::Linear>() || op.As<op::QuantLinear>()) return kColumns;
  if (const auto* softmax = op.As<op::Softmax>()) return unless_channels(softmax->axis);
  if (const auto* arg_max = op.As<op::ArgMax>()) return unless_channels(arg_max->axis);
  if (const auto* norm = op.As<op::LayerNorm>()) {
    return norm->axis_count == 1 ? unless_channels(norm->first_axis) : kNone;
  }
  if (const auto* reduce = op.As<op::Reduce>()) {
    return reduce->axes.size() == 1 ? unless_channels(reduce->axes[0]) : kNone;
  }
  return kNone;
}

size_t Rounded(size_t floats) { return (floats + kAlignment - 1) / kAlignment * kAlignment; }

size_t FloatsOf(const Graph& graph, ValueId value) {
  const Shape& shape = graph.value(value).shape;
  return shape.size() == kMapRank ? Rounded(static_cast<size_t>(ElementCount(shape))) : 0;
}

}  // namespace

Relaid RelaidOf(const Graph& graph, const Operator& op) {
  Relaid relaid;
  relaid.axis = WorkingAxis(op);
  if (relaid.axis == kNone) return {};
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!IsParameter(op, i)) relaid.floats += FloatsOf(graph, op.inputs[i]);
  }
  relaid.includes_output = !op.As<op::ArgMax>() && !op.As<op::Reduce>();
  if (relaid.includes_output) relaid.floats += FloatsOf(graph, op.outputs[0]);
  if (relaid.floats == 0) return {};
  return relaid;
}

bool IsToBeRelaid(const ConstTensorView& tensor, int axis) {
  return tensor.rank == kMapRank && tensor.dims[axis] != 1 && tensor.strides[axis] != 1;
}

TensorView LaidAlong(const ConstTensorView& tensor, int axis, float* memory) {
  return PackedView(memory, tensor, axis);
}

size_t RelaidFloats(const ConstTensorView& tensor) {
  size_t count = 1;
  for (int i = 0; i < tensor.rank; ++i) count *= static_cast<size_t>(tensor.dims[i]);
  return Rounded(count);
}

}  // namespace cacheinf
