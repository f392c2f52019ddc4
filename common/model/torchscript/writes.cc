// In-place operators of TorchScript, in a graph whose values never change. After one, every name of
// the written value stands for a new value, and so do its views and the value that it is a view of.

#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "common/model/graph/moves.h"
#include "common/model/torchscript/importer.h"

namespace cacheinf::torchscript {
namespace {

// Whether the schema says that the result shares memory with an argument.
bool GivesView(const torch::jit::Node& node) {
  if (node.maybeSchema() == nullptr || node.schema().returns().empty()) return false;
  const c10::AliasInfo* alias = node.schema().returns()[0].alias_info();
  return alias != nullptr && !alias->isWrite();
}

// Whether the operator copies its operand unless its numbers lie in order.
bool MayCopy(const torch::jit::Node& node) {
  const std::string name = node.kind().toUnqualString();
  return name == "reshape" || name == "reshape_as" || name == "flatten" || name == "contiguous";
}

// Whether it asks for another order in memory, into which it copies unless the numbers already lie
// so.
bool AsksForAnOrder(const torch::jit::Node& node) {
  if (!node.hasNamedInput("memory_format")) return false;
  const auto format = torch::jit::toIValue(node.namedInput("memory_format"));
  return format && format->isInt() &&
         format->toInt() > static_cast<int64_t>(at::MemoryFormat::Preserve);
}

bool Mentions(const Slot& slot, ValueId value) {
  if (slot.is_tensor()) return slot.value == value;
  return std::any_of(slot.elements.begin(), slot.elements.end(),
                     [value](const Slot& element) { return Mentions(element, value); });
}

void RenameIn(Slot& slot, ValueId old, ValueId fresh) {
  if (slot.is_tensor() && slot.value == old) slot.value = fresh;
  for (Slot& element : slot.elements) RenameIn(element, old, fresh);
}

bool IsReadAfter(const torch::jit::Value& name, const torch::jit::Node& node) {
  return std::any_of(name.uses().begin(), name.uses().end(), [&node](const torch::jit::Use& use) {
    if (use.user == &node) return false;
    return use.user->owningBlock() != node.owningBlock() || node.isBefore(use.user);
  });
}

// The one axis that a slice cuts; -1 if it cuts none, nothing if it cuts several or has steps.
std::optional<int> SlicedAxis(const op::Slice& slice, const Shape& in) {
  int sliced = -1;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    if (slice.steps[axis] != 1) return std::nullopt;
    if (slice.sizes[axis] == in[axis]) continue;
    if (sliced >= 0) return std::nullopt;
    sliced = static_cast<int>(axis);
  }
  return sliced;
}

bool IsSameObject(const Slot& a, const Slot& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Slot::Kind::kCollection) return a.identity == b.identity;
  return a.is_concrete() && a.concrete.is(b.concrete);
}

void ReplaceObject(Slot& slot, const Slot& old, const Slot& fresh) {
  if (IsSameObject(slot, old)) {
    slot = fresh;
    return;
  }
  for (Slot& element : slot.elements) ReplaceObject(element, old, fresh);
}

}  // namespace

// Changes a list or dictionary that holds something computed from the picture. (RunConcrete leaves
// all others to LibTorch.)
bool Importer::RunListWrite(const Node& node, const std::vector<Slot>& arguments) {
  const std::string name = node.kind().toQualString();
  const bool is_append = name == "aten::append";
  const bool is_set = name == "aten::_set_item";
  const bool is_extend = name == "aten::extend" || name == "aten::add_";
  if (!is_append && !is_set && !is_extend) return false;
  const std::optional<std::vector<Slot>> elements = ElementsOf(arguments[0]);
  const bool is_dictionary =
      !arguments[0].keys.empty() ||
      (arguments[0].is_concrete() && arguments[0].concrete.isGenericDict()) ||
      (arguments[0].kind == Slot::Kind::kCollection && is_set);
  if (!elements && !is_dictionary) return false;  // a tensor
  const bool is_concrete = std::all_of(arguments.begin(), arguments.end(),
                                       [](const Slot& slot) { return slot.is_concrete(); });
  if (is_concrete) return false;

  if (!elements && !arguments[0].concrete.toGenericDict().empty()) {
    Refuse(node, "adds what is computed to a dictionary of constants");
  }
  Slot changed = Slot::Collection(elements.value_or(std::vector<Slot>()));
  changed.keys = arguments[0].keys;
  if (is_append) {
    changed.elements.push_back(arguments[1]);
  } else if (is_extend) {
    const std::optional<std::vector<Slot>> added = ElementsOf(arguments[1]);
    if (!added) Refuse(node, "adds something that is not a list to a list");
    changed.elements.insert(changed.elements.end(), added->begin(), added->end());
  } else if (arguments[1].is_concrete() && arguments[1].concrete.isString()) {
    const std::string& key = arguments[1].concrete.toStringRef();
    const auto found = std::find(changed.keys.begin(), changed.keys.end(), key);
    if (found != changed.keys.end()) {
      changed.elements[static_cast<size_t>(found - changed.keys.begin())] = arguments[2];
    } else {
      changed.keys.push_back(key);
      changed.elements.push_back(arguments[2]);
    }
  } else if (arguments[1].is_concrete() && arguments[1].concrete.isInt()) {
    const int64_t size = static_cast<int64_t>(changed.elements.size());
    int64_t index = arguments[1].concrete.toInt();
    if (index < 0) index += size;
    if (index < 0 || index >= size) Refuse(node, "sets an element that its list does not have");
    changed.elements[static_cast<size_t>(index)] = arguments[2];
  } else {
    Refuse(node, "has a key that depends on what the picture shows");
  }
  const Slot& old = arguments[0];
  for (auto& [value, slot] : slots_) ReplaceObject(slot, old, changed);
  for (auto& [attribute, slot] : written_attributes_) ReplaceObject(slot, old, changed);
  if (node.outputs().size() == 1) slots_[node.output()] = changed;
  return true;
}

void Importer::NoteViews(const Node& node, const Slot& source, Slot& result) {
  if (!source.is_tensor()) return;
  const bool may_be_copy = AsksForAnOrder(node);
  const bool is_copy =
      node.kind() == c10::aten::clone ||
      (node.kind() == c10::aten::contiguous && !may_be_copy && !LiesInOrder(source.value)) ||
      (node.kind() == c10::aten::to && result.is_tensor() && result.value != source.value);
  if ((is_copy || may_be_copy) && result.is_tensor() && result.value == source.value) {
    // A separate value, so that a write to one leaves the other alone.
    const Shape shape = graph_.value(source.value).shape;
    result.value = graph_.AddOne(NameOf(node), op::Reshape{shape}, {source.value});
    if (!is_copy) views_[result.value] = {source.value, /*is_certain=*/false};
    return;
  }
  if (is_copy || !GivesView(node)) return;
  const bool is_certain = !MayCopy(node) || LiesInOrder(source.value);
  const auto note = [&](const Slot& slot) {
    if (slot.is_tensor() && slot.value != source.value) {
      views_[slot.value] = {source.value, is_certain};
    }
  };
  note(result);
  for (const Slot& element : result.elements) note(element);
}

ValueId Importer::Overwrite(const Node& node, const Slot& target, ValueId result) {
  if (!target.is_tensor()) Refuse(node, "writes what is computed into a constant tensor");
  if (target.value == result) return result;
  const std::vector<ValueId> family = FamilyOf(target.value);
  const bool is_writable = std::all_of(family.begin(), family.end(),
                                       [this](ValueId member) { return IsWritable(member); });
  if (is_writable) return Update(node, target.value, result);

  // Only the target's new value is known, not those of other members.
  for (const ValueId member : family) {
    if (member != target.value && IsReadAfter(member, node)) {
      Refuse(node, "overwrites a part of another tensor in a way that is not supported");
    }
    views_.erase(member);
  }
  Rename(target.value, result);
  return result;
}

// `old` has become `fresh`: returns the value that stands for it from now on.
ValueId Importer::Update(const Node& node, ValueId old, ValueId fresh) {
  const auto link = views_.find(old);
  if (link != views_.end()) {
    const std::vector<OpId> path = *ViewPath(old);
    const ValueId parent = link->second.parent;
    views_.erase(link);
    const ValueId new_parent = Update(node, parent, *WriteBack(node, path, fresh));
    // Read from the parent again, so that later writes reach it.
    fresh = Reapply(node, path, new_parent);
    views_[fresh] = {new_parent, true};
  }
  Rename(old, fresh);
  UpdateViews(node, old, fresh);
  return fresh;
}

void Importer::UpdateViews(const Node& node, ValueId old, ValueId fresh) {
  std::vector<ValueId> views;
  for (const auto& [view, link] : views_) {
    if (link.parent == old) views.push_back(view);
  }
  std::sort(views.begin(), views.end());
  for (const ValueId view : views) {
    const ValueId renewed = Reapply(node, *ViewPath(view), fresh);
    views_.erase(view);
    views_[renewed] = {fresh, true};
    Rename(view, renewed);
    UpdateViews(node, view, renewed);
  }
}

void Importer::Rename(ValueId old, ValueId fresh) {
  for (auto& [name, slot] : slots_) RenameIn(slot, old, fresh);
  for (auto& [attribute, slot] : written_attributes_) RenameIn(slot, old, fresh);
}

// The operators that made a view of its parent, last one first; nothing unless all of them only
// show numbers.
std::optional<std::vector<OpId>> Importer::ViewPath(ValueId view) const {
  const ValueId parent = views_.at(view).parent;
  std::vector<OpId> path;
  for (ValueId value = view; value != parent;) {
    const OpId producer = graph_.value(value).producer;
    if (producer == kNone) return std::nullopt;
    const Operator& op = graph_.operators[producer];
    if (!op.As<op::Reshape>() && !op.As<op::Permute>() && !op.As<op::Slice>() &&
        !op.As<op::Gather>()) {
      return std::nullopt;
    }
    path.push_back(producer);
    value = op.inputs[0];
  }
  return path;
}

ValueId Importer::Reapply(const Node& node, const std::vector<OpId>& path, ValueId parent) {
  ValueId value = parent;
  for (auto op = path.rbegin(); op != path.rend(); ++op) {
    Attributes attributes = graph_.operators[*op].attributes;
    value = graph_.AddOne(NameOf(node), std::move(attributes), {value});
  }
  return value;
}

// The parent of a view, with the view's numbers put in place.
std::optional<ValueId> Importer::WriteBack(const Node& node, const std::vector<OpId>& path,
                                           ValueId view) {
  const auto add = [&](Attributes attributes, std::vector<ValueId> inputs) {
    return graph_.AddOne(NameOf(node), std::move(attributes), std::move(inputs));
  };
  // `whole`, with its entries from `begin` on along `axis` replaced.
  const auto put = [&](ValueId whole, ValueId part, int axis, int64_t begin) {
    const Shape in = graph_.value(whole).shape;
    const int64_t size = graph_.value(part).shape[axis];
    std::vector<ValueId> parts;
    const auto keep = [&](int64_t from, int64_t count) {
      if (count == 0) return;
      op::Slice slice = WholeSlice(in);
      slice.starts[axis] = from;
      slice.sizes[axis] = count;
      parts.push_back(add(std::move(slice), {whole}));
    };
    keep(0, begin);
    parts.push_back(part);
    keep(begin + size, in[axis] - begin - size);
    return parts.size() == 1 ? part : add(op::Concat{axis}, parts);
  };
  ValueId value = view;
  for (const OpId id : path) {
    const Operator op = graph_.operators[id];
    const ValueId whole = op.inputs[0];
    const Shape in = graph_.value(whole).shape;
    if (const auto* permute = op.As<op::Permute>()) {
      value = add(Inverse(*permute), {value});
    } else if (const auto* slice = op.As<op::Slice>()) {
      const std::optional<int> axis = SlicedAxis(*slice, in);
      if (!axis) return std::nullopt;
      if (*axis >= 0) value = put(whole, value, *axis, slice->starts[*axis]);
    } else if (const auto* gather = op.As<op::Gather>()) {
      if (gather->indices.size() != 1) return std::nullopt;
      Shape one = in;
      one[gather->axis] = 1;
      value = put(whole, add(op::Reshape{one}, {value}), gather->axis, gather->indices[0]);
    } else {
      value = add(op::Reshape{in}, {value});
    }
  }
  return value;
}

// The value and all that share memory with it.
std::vector<ValueId> Importer::FamilyOf(ValueId value) const {
  std::vector<ValueId> family = {value};
  const auto add = [&family](ValueId member) {
    if (std::find(family.begin(), family.end(), member) == family.end()) family.push_back(member);
  };
  for (size_t i = 0; i < family.size(); ++i) {
    for (const auto& [view, link] : views_) {
      if (view == family[i]) add(link.parent);
      if (link.parent == family[i]) add(view);
    }
  }
  return family;
}

// Whether new numbers can be carried from the parent to the view, and back.
bool Importer::IsWritable(ValueId member) const {
  const auto link = views_.find(member);
  if (link == views_.end()) return true;
  const std::optional<std::vector<OpId>> path = ViewPath(member);
  if (!link->second.is_certain || !path) return false;
  return std::all_of(path->begin(), path->end(), [this](OpId id) {
    const Operator& op = graph_.operators[id];
    if (const auto* slice = op.As<op::Slice>()) {
      return SlicedAxis(*slice, graph_.value(op.inputs[0]).shape).has_value();
    }
    const auto* gather = op.As<op::Gather>();
    return gather == nullptr || (gather->scalar && gather->indices.size() == 1);
  });
}

// Whether the numbers lie in the order of the dimensions, without gaps, in LibTorch.
bool Importer::LiesInOrder(ValueId value) const {
  for (auto link = views_.find(value); link != views_.end(); link = views_.find(value)) {
    const Operator& producer = graph_.operators[graph_.value(value).producer];
    if (!producer.As<op::Reshape>()) return false;
    value = link->second.parent;
  }
  return true;
}

bool Importer::IsReadAfter(ValueId value, const Node& node) const {
  const bool is_attribute =
      std::any_of(written_attributes_.begin(), written_attributes_.end(),
                  [value](const auto& entry) { return Mentions(entry.second, value); });
  return is_attribute || std::any_of(slots_.begin(), slots_.end(), [&](const auto& entry) {
           return Mentions(entry.second, value) && torchscript::IsReadAfter(*entry.first, node);
         });
}

}  // namespace cacheinf::torchscript
