#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

bool AllAre(const std::vector<int64_t>& numbers, int64_t expected) {
  return std::ranges::all_of(numbers, [expected](int64_t number) { return number == expected; });
}

template <typename T>
bool IsIota(const std::vector<T>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<T>(i)) return false;
  }
  return true;
}

bool IsUniform(const Tensor& tensor, float expected) {
  return !tensor.empty() && std::all_of(tensor.data(), tensor.data() + tensor.count(),
                                        [expected](float x) { return x == expected; });
}

bool IsUnitWindow(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
}

// Which input an operator passes on unchanged; kNone if it changes something. The caller compares
// shapes and types.
class IdentityFinder {
 public:
  IdentityFinder(const Rewriter& rewriter, const Operator& op) : rewriter_(rewriter), op_(op) {}

  ValueId Find() const {
    return std::visit([this](const auto& attributes) { return Passed(attributes); },
                      op_.attributes);
  }

 private:
  template <typename T>
  ValueId Passed(const T&) const {
    return kNone;
  }

  ValueId Passed(const op::Activation& activation) const {
    return IfIdentity(IsIdentity(activation.function));
  }
  ValueId Passed(const op::Reshape&) const { return IfIdentity(true); }
  ValueId Passed(const op::Expand&) const { return IfIdentity(true); }
  ValueId Passed(const op::Permute& permute) const { return IfIdentity(IsIota(permute.order)); }
  ValueId Passed(const op::Slice& slice) const {
    // If the shape stays the same, nothing is cut off and no step is larger than 1.
    return IfIdentity(slice.sizes == rewriter_.shape(op_.inputs[0]));
  }
  ValueId Passed(const op::Gather& gather) const {
    return IfIdentity(!gather.scalar && IsIota(gather.indices));
  }
  ValueId Passed(const op::Concat&) const { return IfIdentity(op_.inputs.size() == 1); }
  ValueId Passed(const op::Pad& pad) const {
    return IfIdentity(AllAre(pad.begins, 0) && AllAre(pad.ends, 0));
  }
  ValueId Passed(const op::DepthToSpace& shuffle) const { return IfIdentity(shuffle.block == 1); }
  ValueId Passed(const op::SpaceToDepth& shuffle) const { return IfIdentity(shuffle.block == 1); }
  ValueId Passed(const op::Pool& pool) const {
    const bool divides = pool.spec.kind == PoolSpec::Kind::kAverage && pool.spec.divisor > 1;
    return IfIdentity(IsUnitWindow(pool.spec.rows) && IsUnitWindow(pool.spec.columns) && !divides);
  }
  ValueId Passed(const op::AdaptivePool&) const { return IfIdentity(true); }
  ValueId Passed(const op::Resize& resize) const {
    const auto is_whole = [](float scale) { return scale == 0.0f || scale == 1.0f; };
    return IfIdentity(is_whole(resize.spec.scale_rows) && is_whole(resize.spec.scale_columns));
  }
  ValueId Passed(const op::Reduce&) const { return IfIdentity(true); }
  ValueId Passed(const op::ScaleShift& scale_shift) const {
    return IfIdentity(IsIdentity(scale_shift.activation) && IsIota(scale_shift.channel_order) &&
                      IsUniform(rewriter_.constant(op_.inputs[1]), 1.0f) &&
                      IsUniform(rewriter_.constant(op_.inputs[2]), 0.0f));
  }
  ValueId Passed(const op::Binary& binary) const {
    if (!IsIdentity(binary.activation)) return kNone;
    const Tensor& left = rewriter_.constant(op_.inputs[0]);
    const Tensor& right = rewriter_.constant(op_.inputs[1]);
    switch (binary.kind) {
      case BinaryKind::kAdd:
        if (IsUniform(left, 0.0f)) return op_.inputs[1];
        return IfIdentity(IsUniform(right, 0.0f));
      case BinaryKind::kSubtract:
        return IfIdentity(IsUniform(right, 0.0f));
      case BinaryKind::kMultiply:
        if (IsUniform(left, 1.0f)) return op_.inputs[1];
        return IfIdentity(IsUniform(right, 1.0f));
      case BinaryKind::kDivide:
      case BinaryKind::kPower:
        return IfIdentity(IsUniform(right, 1.0f));
      default:
        return kNone;
    }
    return kNone;
  }

  ValueId IfIdentity(bool is_identity) const { return is_identity ? op_.inputs[0] : kNone; }

  const Rewriter& rewriter_;
  const Operator& op_;
};

// An operand that was expanded only to match the other one does not need it.
void SkipExpands(Rewriter& rewriter, OpId id) {
  const Operator& op = rewriter.op(id);
  if (op.As<op::Binary>() == nullptr) return;
  const Shape& result = rewriter.shape(op.outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    if (rewriter.ProducedBy<op::Expand>(op.inputs[i]) == nullptr) continue;
    if (rewriter.shape(op.inputs[1 - i]) != result) continue;
    std::vector<ValueId> inputs = op.inputs;
    inputs[i] = rewriter.Producer(inputs[i])->inputs[0];
    rewriter.Replace(id, op.attributes, std::move(inputs));
    return;
  }
}

std::vector<int> Compose(const std::vector<int>& first, const std::vector<int>& then) {
  std::vector<int> order;
  for (int axis : then) order.push_back(first[axis]);
  return order;
}

op::Slice Compose(const op::Slice& first, const op::Slice& then) {
  op::Slice slice = then;
  for (size_t d = 0; d < slice.starts.size(); ++d) {
    slice.starts[d] = first.starts[d] + then.starts[d] * first.steps[d];
    slice.steps[d] = slice.sizes[d] == 1 ? 1 : first.steps[d] * then.steps[d];
  }
  return slice;
}

// Whether the dimensions longer than one keep their order, so that no number moves.
bool MovesOnlyOnes(const std::vector<int>& order, const Shape& shape) {
  int last = -1;
  for (int axis : order) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The reduction that drops its dimensions itself, if the reshape only drops those that it keeps.
std::optional<op::Reduce> WithoutDimensions(const Rewriter& rewriter, const Operator& reshape) {
  const auto* reduce = rewriter.ProducedBy<op::Reduce>(reshape.inputs[0]);
  if (reduce == nullptr || !reduce->keep_dimensions || !rewriter.IsReadOnce(reshape.inputs[0])) {
    return std::nullopt;
  }
  Shape dropped;
  const Shape& kept = rewriter.shape(reshape.inputs[0]);
  for (size_t d = 0; d < kept.size(); ++d) {
    const auto axis = static_cast<int>(d);
    if (std::ranges::count(reduce->axes, axis) == 0) dropped.push_back(kept[d]);
  }
  if (dropped != rewriter.shape(reshape.outputs[0])) return std::nullopt;
  op::Reduce result = *reduce;
  result.keep_dimensions = false;
  return result;
}

void MergeReshape(Rewriter& rewriter, OpId id) {
  const Operator& op = rewriter.op(id);
  const Operator* before = rewriter.Producer(op.inputs[0]);
  if (before == nullptr) return;
  if (before->As<op::Reshape>() != nullptr) {
    rewriter.Replace(id, op.attributes, before->inputs);
  } else if (const auto reduce = WithoutDimensions(rewriter, op)) {
    rewriter.Replace(id, before->name, *reduce, before->inputs);
  }
}

void MergePermute(Rewriter& rewriter, OpId id, const op::Permute& permute) {
  const Operator& op = rewriter.op(id);
  if (MovesOnlyOnes(permute.order, rewriter.shape(op.inputs[0]))) {
    rewriter.Replace(id, op::Reshape{rewriter.shape(op.outputs[0])}, op.inputs);
  } else if (const auto* before = rewriter.ProducedBy<op::Permute>(op.inputs[0])) {
    rewriter.Replace(id, op::Permute{Compose(before->order, permute.order)},
                     rewriter.Producer(op.inputs[0])->inputs);
  }
}

void MergeSlice(Rewriter& rewriter, OpId id, const op::Slice& slice) {
  const Operator& op = rewriter.op(id);
  if (const auto* before = rewriter.ProducedBy<op::Slice>(op.inputs[0])) {
    rewriter.Replace(id, Compose(*before, slice), rewriter.Producer(op.inputs[0])->inputs);
  }
}

// Merges concatenations into their only reader, if that concatenates along the same axis.
void MergeConcat(Rewriter& rewriter, OpId id, const op::Concat& concat) {
  const Operator& op = rewriter.op(id);
  std::vector<ValueId> inputs;
  for (ValueId input : op.inputs) {
    const auto* inner = rewriter.ProducedBy<op::Concat>(input);
    if (inner != nullptr && inner->axis == concat.axis && rewriter.IsReadOnce(input)) {
      const std::vector<ValueId>& inner_inputs = rewriter.Producer(input)->inputs;
      inputs.insert(inputs.end(), inner_inputs.begin(), inner_inputs.end());
    } else {
      inputs.push_back(input);
    }
  }
  if (inputs != op.inputs) rewriter.Replace(id, concat, std::move(inputs));
}

}  // namespace

bool RemoveDead(Graph& graph) { return Rewriter(graph).Finish(); }

bool DropIdentities(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    SkipExpands(rewriter, id);
    const ValueId passed = IdentityFinder(rewriter, rewriter.op(id)).Find();
    if (passed != kNone) rewriter.ReplaceByValue(id, passed);
  });
}

bool MergeLayouts(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const Attributes attributes = rewriter.op(id).attributes;
    if (std::holds_alternative<op::Reshape>(attributes)) {
      MergeReshape(rewriter, id);
    } else if (const auto* permute = std::get_if<op::Permute>(&attributes)) {
      MergePermute(rewriter, id, *permute);
    } else if (const auto* slice = std::get_if<op::Slice>(&attributes)) {
      MergeSlice(rewriter, id, *slice);
    } else if (const auto* concat = std::get_if<op::Concat>(&attributes)) {
      MergeConcat(rewriter, id, *concat);
    }
  });
}

}  // namespace cacheinf::pass
