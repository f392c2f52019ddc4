#include "common/model/passes/rewriter.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace cacheinf {

Rewriter::Rewriter(Graph& graph)
    : graph_(graph),
      original_count_(static_cast<OpId>(graph.operators.size())),
      is_alive_(graph.operators.size(), false),
      position_(graph.operators.size()),
      readers_(graph.values.size()),
      output_count_(graph.values.size(), 0) {
  std::iota(position_.begin(), position_.end(), 0);
  for (ValueId id : graph_.outputs) ++output_count_[id];
  for (OpId id = original_count_ - 1; id >= 0; --id) {
    if (IsUnused(op(id))) {
      changed_ = true;
    } else {
      is_alive_[id] = true;
      AddReads(id);
    }
  }
}

const Operator* Rewriter::Producer(ValueId id) const {
  const OpId producer = value(id).producer;
  return producer == kNone ? nullptr : &op(producer);
}

bool Rewriter::IsReadOnce(ValueId id) const { return !IsOutput(id) && readers_[id].size() == 1; }

std::optional<float> Rewriter::Scalar(ValueId id) const {
  const Tensor& tensor = constant(id);
  if (tensor.empty() || tensor.count() != 1) return std::nullopt;
  return *tensor.data();
}

ValueId Rewriter::NewValue(Value value) {
  graph_.values.push_back(std::move(value));
  readers_.emplace_back();
  output_count_.push_back(0);
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId Rewriter::AddConstant(std::string name, Shape shape, std::vector<float> values) {
  Tensor tensor(shape, std::move(values));
  return NewValue(
      {std::move(name), std::move(shape), DataType::kFloat32, kNone, std::move(tensor)});
}

ValueId Rewriter::AddReshaped(const Tensor& tensor, std::string name, Shape shape) {
  const auto owner = std::make_shared<const Tensor>(tensor);
  Tensor reshaped(shape, std::shared_ptr<const float>(owner, owner->data()));
  return NewValue(
      {std::move(name), std::move(shape), DataType::kFloat32, kNone, std::move(reshaped)});
}

ValueId Rewriter::InsertBefore(OpId at, std::string name, Attributes attributes,
                               std::vector<ValueId> inputs) {
  const auto id = static_cast<OpId>(graph_.operators.size());
  Operator added{name, std::move(attributes), std::move(inputs), {}};
  const InferredOutput inferred = InferShapes(graph_, added).front();
  added.outputs = {NewValue(
      {std::move(name), inferred.shape, inferred.type, id, {}, inferred.channels, inferred.steps})};
  graph_.operators.push_back(std::move(added));
  is_alive_.push_back(true);
  position_.push_back(at);
  AddReads(id);
  changed_ = true;
  return op(id).outputs.front();
}

void Rewriter::Replace(OpId at, Attributes attributes, std::vector<ValueId> inputs) {
  Operator& target = graph_.operators[at];
  RemoveReads(at);
  std::vector<ValueId> released = std::exchange(target.inputs, std::move(inputs));
  target.attributes = std::move(attributes);
  AddReads(at);
  ReleaseUnused(std::move(released));
  changed_ = true;
}

void Rewriter::Replace(OpId at, std::string name, Attributes attributes,
                       std::vector<ValueId> inputs) {
  graph_.operators[at].name = std::move(name);
  Replace(at, std::move(attributes), std::move(inputs));
}

void Rewriter::ReplaceByConstant(OpId at, Tensor tensor) {
  Value& result = graph_.values[op(at).outputs.front()];
  result.producer = kNone;
  result.constant = std::move(tensor);
  Kill(at);
}

bool Rewriter::ReplaceByValue(OpId at, ValueId by) {
  const ValueId old = op(at).outputs.front();
  if (shape(old) != shape(by) || value(old).type != value(by).type ||
      value(old).channels != value(by).channels || !(value(old).steps == value(by).steps)) {
    return false;
  }
  if (!IsOutput(old)) {
    Redirect(old, by);
    Kill(at);
    return true;
  }
  // The graph output keeps its value and so its name; it is now computed where `by` was.
  const OpId producer = value(by).producer;
  if (producer == kNone || IsOutput(by)) return false;
  graph_.operators[at].outputs.clear();
  std::vector<ValueId>& outputs = graph_.operators[producer].outputs;
  std::ranges::replace(outputs, by, old);
  graph_.values[old].producer = producer;
  Redirect(by, old);
  Kill(at);
  return true;
}

void Rewriter::AddReads(OpId at) {
  for (ValueId input : op(at).inputs) readers_[input].push_back(at);
}

void Rewriter::RemoveReads(OpId at) {
  for (ValueId input : op(at).inputs) {
    std::vector<OpId>& readers = readers_[input];
    readers.erase(std::ranges::find(readers, at));
  }
}

bool Rewriter::IsUnused(const Operator& op) const {
  return std::ranges::all_of(op.outputs,
                             [this](ValueId id) { return readers_[id].empty() && !IsOutput(id); });
}

void Rewriter::Kill(OpId at) {
  RemoveReads(at);
  is_alive_[at] = false;
  changed_ = true;
  ReleaseUnused(std::exchange(graph_.operators[at].inputs, {}));
}

void Rewriter::ReleaseUnused(std::vector<ValueId> candidates) {
  while (!candidates.empty()) {
    const OpId producer = value(candidates.back()).producer;
    candidates.pop_back();
    if (producer == kNone || !is_alive_[producer] || !IsUnused(op(producer))) continue;
    RemoveReads(producer);
    is_alive_[producer] = false;
    const std::vector<ValueId> inputs = std::exchange(graph_.operators[producer].inputs, {});
    candidates.insert(candidates.end(), inputs.begin(), inputs.end());
  }
}

void Rewriter::Redirect(ValueId from, ValueId to) {
  std::vector<OpId> readers = std::exchange(readers_[from], {});
  for (OpId reader : readers) {
    std::vector<ValueId>& inputs = graph_.operators[reader].inputs;
    std::ranges::replace(inputs, from, to);
  }
  readers_[to].insert(readers_[to].end(), readers.begin(), readers.end());
}

bool Rewriter::Finish() {
  std::vector<OpId> order;
  for (size_t id = 0; id < graph_.operators.size(); ++id) {
    if (is_alive_[id]) order.push_back(static_cast<OpId>(id));
  }
  // An added operator comes before the one that it was added for, after those added earlier.
  std::ranges::stable_sort(order, [this](OpId a, OpId b) {
    const bool a_is_original = a < original_count_;
    const bool b_is_original = b < original_count_;
    return std::pair(position_[a], a_is_original) < std::pair(position_[b], b_is_original);
  });

  std::vector<bool> is_kept(graph_.values.size(), false);
  for (ValueId id : graph_.inputs) is_kept[id] = true;
  for (ValueId id : graph_.outputs) is_kept[id] = true;
  for (OpId id : order) {
    for (ValueId input : op(id).inputs) is_kept[input] = true;
    for (ValueId output : op(id).outputs) is_kept[output] = true;
  }
  std::vector<ValueId> new_id(graph_.values.size(), kNone);
  std::vector<Value> values;
  for (size_t id = 0; id < graph_.values.size(); ++id) {
    if (!is_kept[id]) continue;
    new_id[id] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph_.values[id]));
  }
  changed_ = changed_ || values.size() != graph_.values.size();

  std::vector<Operator> operators;
  for (OpId id : order) {
    Operator kept = std::move(graph_.operators[id]);
    for (ValueId& input : kept.inputs) input = new_id[input];
    for (ValueId& output : kept.outputs) {
      output = new_id[output];
      values[output].producer = static_cast<OpId>(operators.size());
    }
    operators.push_back(std::move(kept));
  }
  for (ValueId& id : graph_.inputs) id = new_id[id];
  for (ValueId& id : graph_.outputs) id = new_id[id];
  graph_.values = std::move(values);
  graph_.operators = std::move(operators);
  return changed_;
}

std::optional<std::vector<float>> SpreadOver(const Tensor& constant, const Shape& shape,
                                             int first_axis, int axis_count) {
  const auto rank = static_cast<int>(shape.size());
  const int missing = rank - static_cast<int>(constant.shape().size());
  if (missing < 0) return std::nullopt;
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t dim = axis < missing ? 1 : constant.shape()[axis - missing];
    const bool is_inside = axis >= first_axis && axis < first_axis + axis_count;
    if (is_inside) count *= shape[axis];
    if (dim != 1 && (!is_inside || dim != shape[axis])) return std::nullopt;
  }
  if (count > std::max(kMaxWrittenOut, constant.count())) return std::nullopt;
  // All other dimensions have size one, so the constant's own order is the order of the axes.
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    int64_t stride = 1;
    for (int axis = first_axis + axis_count - 1; axis >= first_axis; --axis) {
      const int64_t index = rest % shape[axis];
      rest /= shape[axis];
      const int64_t dim = axis < missing ? 1 : constant.shape()[axis - missing];
      if (dim != 1) offset += index * stride;
      stride *= dim;
    }
    values[static_cast<size_t>(i)] = constant.data()[offset];
  }
  return values;
}

}  // namespace cacheinf
