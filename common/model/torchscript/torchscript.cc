#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/base/error.h"
#include "common/model/torchscript/importer.h"

namespace cacheinf {
namespace torchscript {
namespace {

constexpr int64_t kMaxLoopSteps = 10000;

// "aten::add_" -> "aten::add"; names such as "aten::__getitem__" stay.
std::string FunctionalName(const std::string& name) {
  const bool in_place = name.size() > 2 && name.back() == '_' && name[name.size() - 2] != '_';
  return in_place ? name.substr(0, name.size() - 1) : name;
}

Shape ShapeOf(const at::Tensor& tensor) { return tensor.sizes().vec(); }

// Concrete slots as a typed IValue of a collection, for LibTorch's own operators.
c10::IValue ToIValue(const std::vector<Slot>& elements, const c10::TypePtr& type) {
  if (const auto list_type = type->cast<c10::ListType>()) {
    c10::impl::GenericList list(list_type->getElementType());
    for (const Slot& element : elements) list.push_back(element.concrete);
    return list;
  }
  std::vector<c10::IValue> values;
  for (const Slot& element : elements) values.push_back(element.concrete);
  return c10::ivalue::Tuple::create(std::move(values));
}

bool IsEmpty(const at::Tensor& tensor) { return !tensor.defined() || tensor.numel() == 0; }

// None, or the LibTorch tensor that stands for it.
bool IsAbsent(const c10::IValue& value) {
  return value.isNone() || (value.isTensor() && !value.toTensor().defined());
}

bool AllConcrete(const std::vector<Slot>& slots) {
  return std::all_of(slots.begin(), slots.end(),
                     [](const Slot& slot) { return slot.is_concrete(); });
}

}  // namespace

std::optional<std::vector<Slot>> ElementsOf(const Slot& slot) {
  if (slot.kind == Slot::Kind::kCollection) return slot.elements;
  if (!slot.is_concrete()) return std::nullopt;
  const auto slots_of = [](c10::ArrayRef<c10::IValue> values) {
    std::vector<Slot> elements;
    for (const c10::IValue& value : values) elements.push_back(Slot::Concrete(value));
    return elements;
  };
  if (slot.concrete.isList()) return slots_of(slot.concrete.toListRef());
  if (slot.concrete.isTuple()) return slots_of(slot.concrete.toTupleRef().elements());
  return std::nullopt;
}

std::string OneSentence(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  text = text.substr(0, text.find("\nException raised from"));
  const size_t start = text.find_first_not_of(" \n\t");
  if (start == std::string::npos) return "LibTorch gives no reason";
  text = text.substr(start, text.find('\n', start) - start);
  constexpr size_t kLongest = 300;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

Tensor ToTensor(const at::Tensor& tensor) {
  if (tensor.is_complex()) throw InputError("it holds complex numbers, which are not supported");
  const at::Tensor plain = tensor.detach().to(at::kFloat).contiguous();
  const float* data = plain.data_ptr<float>();
  return Tensor(ShapeOf(plain), std::vector<float>(data, data + plain.numel()));
}

Slot Slot::Collection(std::vector<Slot> elements) {
  static std::atomic<int64_t> last_identity = 0;
  return {.kind = Kind::kCollection, .elements = std::move(elements), .identity = ++last_identity};
}

Importer::Importer(std::string model_name, std::vector<Shape> input_shapes)
    : input_shapes_(std::move(input_shapes)) {
  graph_.name = std::move(model_name);
}

Graph Importer::Run(const torch::jit::Graph& source, const torch::jit::Module& module) {
  std::vector<const torch::jit::Value*> inputs(source.inputs().begin(), source.inputs().end());
  if (inputs.empty()) throw InputError("its forward() has no input");
  slots_[inputs[0]] = Slot::Concrete(module._ivalue());
  slots_[inputs[0]].concrete.getSubValues(state_);
  inputs.erase(inputs.begin());
  if (inputs.size() != input_shapes_.size()) {
    throw InputError(
        "its forward() takes " + std::to_string(inputs.size()) +
        " input(s), and the file states no shapes: give one with --shape for each, " +
        "such as --shape 1x3x384x640" +
        (input_shapes_.empty() ? "" : "; " + std::to_string(input_shapes_.size()) + " were given"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->type()->isSubtypeOf(*c10::TensorType::get())) {
      throw InputError("its forward() takes an input that is not a tensor: '" +
                       inputs[i]->debugName() + "'");
    }
    std::string name = inputs[i]->debugNameBase();
    slots_[inputs[i]] = Slot::OfTensor(graph_.AddInput(std::move(name), input_shapes_[i]));
  }
  RunBlock(*source.block());
  if (source.outputs().size() != 1) throw InputError("its forward() returns nothing");
  AddOutputs(Find(*source.outputs()[0]), "output");
  if (graph_.outputs.empty()) throw InputError("its forward() returns nothing");
  return std::move(graph_);
}

void Importer::AddOutputs(const Slot& slot, const std::string& name) {
  switch (slot.kind) {
    case Slot::Kind::kConcrete:
      if (IsAbsent(slot.concrete)) return;  // an output that this network lacks
      if (slot.concrete.isTuple()) {
        const std::optional<std::vector<Slot>> elements = ElementsOf(slot);
        return AddOutputs(Slot::Collection(*elements), name);
      }
      if (!slot.concrete.isTensor()) {
        throw InputError("its forward() returns something that is not a tensor");
      }
      graph_.outputs.push_back(graph_.AddConstant(name, ToTensor(slot.concrete.toTensor())));
      return;
    case Slot::Kind::kTensor: {
      const bool is_computed = graph_.value(slot.value).producer != kNone;
      const bool is_named = std::count(graph_.outputs.begin(), graph_.outputs.end(), slot.value);
      if (is_computed && !is_named) graph_.values[slot.value].name = name;
      graph_.outputs.push_back(slot.value);
      return;
    }
    case Slot::Kind::kCollection:
      for (size_t i = 0; i < slot.elements.size(); ++i) {
        const std::string suffix = "_" + std::to_string(i);
        AddOutputs(slot.elements[i], slot.keys.empty() ? name + suffix : slot.keys[i]);
      }
  }
}

std::string Importer::NameOf(const Node& node) {
  std::string name = node.kind().toUnqualString();
  return name + "_" + std::to_string(name_counts_[name]++);
}

void Importer::Refuse(const Node& node, const std::string& why) const {
  throw InputError(std::string(node.kind().toQualString()) + " " + why);
}

const Slot& Importer::Find(const torch::jit::Value& value) const {
  const auto found = slots_.find(&value);
  if (found == slots_.end()) throw InputError("value '" + value.debugName() + "' is used unset");
  return found->second;
}

at::ScalarType Importer::TypeOf(ValueId value) const {
  const auto found = foreign_types_.find(value);
  if (found != foreign_types_.end()) return found->second;
  if (const OpId producer = graph_.value(value).producer; producer != kNone) {
    const Operator& op = graph_.operators[static_cast<size_t>(producer)];
    const bool moves_numbers = op.As<op::Reshape>() != nullptr || op.As<op::Permute>() != nullptr ||
                               op.As<op::Slice>() != nullptr || op.As<op::Gather>() != nullptr ||
                               op.As<op::Expand>() != nullptr;
    if (moves_numbers) return TypeOf(op.inputs[0]);
  }
  return graph_.value(value).type == DataType::kInt64 ? at::kLong : at::kFloat;
}

void Importer::Bind(const Node& node, Slot slot) {
  if (node.outputs().size() == 1) {
    slots_[node.outputs()[0]] = std::move(slot);
    return;
  }
  const std::optional<std::vector<Slot>> elements = ElementsOf(slot);
  if (!elements || elements->size() != node.outputs().size()) {
    Refuse(node, "gives another number of results than the file expects");
  }
  for (size_t i = 0; i < elements->size(); ++i) slots_[node.outputs()[i]] = (*elements)[i];
}

void Importer::RunBlock(const Block& block) {
  for (const Node* node : block.nodes()) RunNode(*node);
}

void Importer::RunNode(const Node& node) {
  if (node.kind() == c10::prim::If) return RunIf(node);
  if (node.kind() == c10::prim::Loop) return RunLoop(node);
  if (node.kind() == c10::aten::warn || node.kind() == c10::prim::Print) return;
  if (node.kind() == c10::prim::RaiseException) Refuse(node, "is reached for this input shape");

  std::vector<Slot> arguments;
  for (const torch::jit::Value* input : node.inputs()) arguments.push_back(Find(*input));
  RefuseToChangeState(node, arguments);
  if (RunStructural(node, arguments)) return;
  if (RunMethod(node, arguments)) return;
  if (RunContainerQuery(node, arguments)) return;
  if (RunListWrite(node, arguments)) return;
  if (RunQuery(node, arguments)) return;
  if (RunConcrete(node, arguments)) return;
  RunAtenCall(node, std::move(arguments));
}

void Importer::RunIf(const Node& node) {
  const Slot& condition = Find(*node.input(0));
  if (!condition.is_concrete()) {
    Refuse(node, "depends on what the picture shows; only control flow by shapes is supported");
  }
  const c10::IValue& value = condition.concrete;
  const bool taken = value.isTensor() ? value.toTensor().item().toBool() : value.toBool();
  const Block& block = *node.blocks()[taken ? 0 : 1];
  RunBlock(block);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    slots_[node.outputs()[i]] = Find(*block.outputs()[i]);
  }
}

void Importer::RunLoop(const Node& node) {
  const auto concrete = [&](const torch::jit::Value& value) {
    const Slot& slot = Find(value);
    if (!slot.is_concrete()) {
      Refuse(node, "depends on what the picture shows; only control flow by shapes is supported");
    }
    return slot.concrete;
  };
  const int64_t trips = concrete(*node.input(0)).toInt();
  bool goes_on = concrete(*node.input(1)).toBool();
  std::vector<Slot> carried;
  for (size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(Find(*node.input(i)));

  const Block& body = *node.blocks()[0];
  for (int64_t step = 0; goes_on && step < trips; ++step) {
    if (step >= kMaxLoopSteps) Refuse(node, "runs too long to be unrolled");
    slots_[body.inputs()[0]] = Slot::Concrete(step);
    for (size_t i = 0; i < carried.size(); ++i) slots_[body.inputs()[i + 1]] = carried[i];
    RunBlock(body);
    goes_on = concrete(*body.outputs()[0]).toBool();
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = Find(*body.outputs()[i + 1]);
  }
  for (size_t i = 0; i < carried.size(); ++i) slots_[node.outputs()[i]] = carried[i];
}

// Runs a method of a module that is known only by its interface; LibTorch does not inline it.
bool Importer::RunMethod(const Node& node, const std::vector<Slot>& arguments) {
  if (node.kind() != c10::prim::CallMethod || !arguments[0].is_concrete()) return false;
  const torch::jit::Function& method =
      arguments[0].concrete.toObjectRef().type()->getMethod(node.s(c10::attr::name));
  called_.push_back(torch::jit::toGraphFunction(method).graph()->copy());
  const torch::jit::Graph& graph = *called_.back();
  torch::jit::Inline(*called_.back());
  for (size_t i = 0; i < arguments.size(); ++i) slots_[graph.inputs()[i]] = arguments[i];
  RunBlock(*graph.block());
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    slots_[node.outputs()[i]] = Find(*graph.outputs()[i]);
  }
  return true;
}

// Operators of the language itself: building and taking apart lists, tuples and dictionaries.
bool Importer::RunStructural(const Node& node, const std::vector<Slot>& arguments) {
  using namespace c10;  // NOLINT: the symbols' own namespaces
  const Symbol kind = node.kind();
  const auto give = [&](Slot slot) {
    slots_[node.output()] = std::move(slot);
    return true;
  };
  if (kind == prim::Constant) {
    const std::optional<IValue> value = torch::jit::toIValue(node.output());
    if (value && value->isTensor()) state_.insert(*value);
    return give(Slot::Concrete(value ? *value : IValue()));
  }
  if (kind == prim::GetAttr) {
    if (!arguments[0].is_concrete() || !arguments[0].concrete.isObject()) return false;
    return give(ReadAttribute(node, arguments[0].concrete));
  }
  if (kind == prim::SetAttr) {
    WriteAttribute(node, arguments);
    return true;
  }
  if (kind == prim::ListConstruct || kind == prim::TupleConstruct) {
    return give(AllConcrete(arguments) ? Slot::Concrete(ToIValue(arguments, node.output()->type()))
                                       : Slot::Collection(arguments));
  }
  if (kind == aten::add && arguments.size() == 2 && !AllConcrete(arguments)) {
    const std::optional<std::vector<Slot>> first = ElementsOf(arguments[0]);
    const std::optional<std::vector<Slot>> second = ElementsOf(arguments[1]);
    if (!first || !second) return false;  // tensors
    Slot both = Slot::Collection(*first);
    both.elements.insert(both.elements.end(), second->begin(), second->end());
    return give(std::move(both));
  }
  if (kind == prim::DictConstruct) {
    Slot dictionary = Slot::Collection({});
    for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
      if (!arguments[i].is_concrete() || !arguments[i].concrete.isString()) {
        Refuse(node, "has keys that are not strings");
      }
      dictionary.keys.push_back(arguments[i].concrete.toStringRef());
      dictionary.elements.push_back(arguments[i + 1]);
    }
    return give(std::move(dictionary));
  }
  if (kind == prim::ListUnpack || kind == prim::TupleUnpack) {
    Bind(node, arguments[0]);
    return true;
  }
  if (kind == prim::TupleIndex || kind == aten::__getitem__) {
    const std::optional<std::vector<Slot>> elements = ElementsOf(arguments[0]);
    const bool has_keys =
        arguments[0].kind == Slot::Kind::kCollection && !arguments[0].keys.empty();
    if (has_keys && arguments[1].is_concrete() && arguments[1].concrete.isString()) {
      const std::vector<std::string>& keys = arguments[0].keys;
      const auto key = std::find(keys.begin(), keys.end(), arguments[1].concrete.toStringRef());
      if (key == keys.end()) Refuse(node, "asks for a key that its dictionary does not have");
      return give((*elements)[static_cast<size_t>(key - keys.begin())]);
    }
    if (!elements || !arguments[1].is_concrete() || !arguments[1].concrete.isInt()) return false;
    int64_t index = arguments[1].concrete.toInt();
    if (index < 0) index += static_cast<int64_t>(elements->size());
    if (index < 0 || index >= static_cast<int64_t>(elements->size())) {
      Refuse(node, "takes an element that its list does not have");
    }
    return give((*elements)[index]);
  }
  if (kind == prim::unchecked_cast || kind == prim::unchecked_unwrap_optional ||
      kind == prim::profile) {
    return give(arguments[0]);
  }
  return kind == prim::Uninitialized && give(Slot::Concrete(IValue()));
}

// Queries on, and parts of, a list or dictionary that holds something computed.
bool Importer::RunContainerQuery(const Node& node, const std::vector<Slot>& arguments) {
  if (arguments.empty() || arguments[0].kind != Slot::Kind::kCollection) return false;
  const std::vector<Slot>& elements = arguments[0].elements;
  const std::vector<std::string>& keys = arguments[0].keys;
  const std::string name = node.kind().toQualString();
  const auto give = [&](Slot slot) {
    slots_[node.output()] = std::move(slot);
    return true;
  };
  if (name == "aten::slice" && arguments.size() == 4 &&
      AllConcrete({arguments.begin() + 1, arguments.end()})) {
    const auto size = static_cast<int64_t>(elements.size());
    const auto bound = [size](const c10::IValue& value, int64_t otherwise) {
      if (value.isNone()) return otherwise;
      const int64_t at = value.toInt();
      return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    const int64_t step = arguments[3].concrete.toInt();
    if (step < 1) Refuse(node, "iterates over a list backwards");
    std::vector<Slot> part;
    for (int64_t i = bound(arguments[1].concrete, 0); i < bound(arguments[2].concrete, size);
         i += step) {
      part.push_back(elements[static_cast<size_t>(i)]);
    }
    return give(Slot::Collection(std::move(part)));
  }
  if (name == "aten::values") return give(Slot::Collection(elements));
  if (name == "aten::keys") {
    return give(Slot::Concrete(c10::List<std::string>(c10::ArrayRef<std::string>(keys))));
  }
  if (name == "aten::items") {
    std::vector<Slot> items;
    for (size_t i = 0; i < keys.size(); ++i) {
      items.push_back(Slot::Collection({Slot::Concrete(keys[i]), elements[i]}));
    }
    return give(Slot::Collection(std::move(items)));
  }
  if (name != "aten::__contains__" || !arguments[1].is_concrete() ||
      !arguments[1].concrete.isString()) {
    return false;
  }
  return give(Slot::Concrete(
      std::count(keys.begin(), keys.end(), arguments[1].concrete.toStringRef()) > 0));
}

// Queries on a computed tensor that can be answered without its numbers.
bool Importer::RunQuery(const Node& node, const std::vector<Slot>& arguments) {
  if (AllConcrete(arguments)) return false;
  using namespace c10;  // NOLINT: the symbols' own namespaces
  const Symbol kind = node.kind();
  const auto answer = [&](IValue value) {
    slots_[node.output()] = Slot::Concrete(std::move(value));
    return true;
  };
  if (kind == aten::__is__ || kind == aten::__isnot__) {
    const Slot& other = arguments[1];
    const bool same = arguments[0].kind == other.kind && arguments[0].value == other.value &&
                      arguments[0].identity == other.identity;
    return answer(same == (kind == aten::__is__));
  }
  if (arguments[0].is_concrete()) return false;
  if (!arguments[0].is_tensor()) {
    return kind == aten::len ? answer(static_cast<int64_t>(arguments[0].elements.size())) : false;
  }
  const ValueId value = arguments[0].value;
  const Shape& shape = graph_.value(value).shape;
  if (kind == aten::size) {
    if (arguments.size() == 1) return answer(IValue(shape));
    int64_t axis = arguments[1].concrete.toInt();
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
      Refuse(node, "asks for a dimension that the tensor does not have");
    }
    return answer(shape[axis]);
  }
  if (kind == aten::dim) return answer(static_cast<int64_t>(shape.size()));
  if (kind == aten::len) return answer(shape.empty() ? int64_t{0} : shape[0]);
  if (kind == prim::dtype) return answer(static_cast<int64_t>(TypeOf(value)));
  if (kind == prim::device) return answer(at::Device(at::kCPU));
  if (kind == prim::layout) return answer(static_cast<int64_t>(at::kStrided));
  if (kind == aten::is_floating_point) return answer(at::isFloatingType(TypeOf(value)));
  const std::string name = kind.toQualString();
  if (name == "aten::numel") return answer(ElementCount(shape));
  if (name == "prim::is_cuda" || name == "prim::requires_grad" || name == "prim::is_quantized" ||
      name == "aten::is_complex" || name == "prim::is_sparse" || name == "prim::is_nested") {
    return answer(false);
  }
  return false;
}

// Lets LibTorch compute at once what depends on no computed value.
bool Importer::RunConcrete(const Node& node, const std::vector<Slot>& arguments) {
  if (!AllConcrete(arguments)) return false;
  const bool drops_nothing = node.kind() == c10::aten::dropout && !arguments[2].concrete.toBool();
  if (node.isNondeterministic() && !drops_nothing) Refuse(node, "draws random numbers");
  torch::jit::Stack stack;
  for (const Slot& argument : arguments) stack.push_back(argument.concrete);
  if (node.maybeSchema() != nullptr && node.schema().is_vararg()) {
    stack.emplace_back(static_cast<int64_t>(arguments.size()));
  }
  try {
    node.getOperation()(stack);
  } catch (const std::exception& error) {
    Refuse(node, "failed: " + OneSentence(error));
  }
  if (stack.size() != node.outputs().size()) Refuse(node, "gives an unexpected result");
  for (size_t i = 0; i < stack.size(); ++i) {
    slots_[node.outputs()[i]] = Slot::Concrete(std::move(stack[i]));
  }
  return true;
}

void Importer::RunAtenCall(const Node& node, std::vector<Slot> arguments) {
  const std::string name = node.kind().toQualString();
  const std::string functional = FunctionalName(name);
  const bool in_place = functional != name;
  std::optional<Slot> result;
  if (Converter converter = FindConverter(functional)) {
    Call call(*this, node, arguments);
    try {
      result = converter(call);
    } catch (const c10::Error& error) {
      Refuse(node, "has arguments that do not fit: " + OneSentence(error));
    }
  }
  if (result) {
    if (in_place && result->is_tensor()) {
      result->value = Overwrite(node, arguments[0], result->value);
    } else {
      NoteViews(node, arguments[0], *result);
    }
    Bind(node, std::move(*result));
    return;
  }
  const bool writes = node.maybeSchema() != nullptr && node.schema().is_mutable();
  if (writes && !in_place) Refuse(node, "changes a tensor in place in a way that is not supported");
  RunForeign(node, arguments);
  if (!in_place && !arguments.empty()) {
    for (const torch::jit::Value* output : node.outputs()) {
      NoteViews(node, arguments[0], slots_[output]);
    }
  }
  if (in_place) {
    const ValueId value = Find(*node.output()).value;
    slots_[node.output()] = Slot::OfTensor(Overwrite(node, arguments[0], value));
  }
}

void Importer::RunForeign(const Node& node, const std::vector<Slot>& arguments) {
  std::vector<ValueId> inputs;
  std::vector<at::ScalarType> input_types;
  std::vector<c10::IValue> examples;
  const auto add_input = [&](const Slot& slot) {
    inputs.push_back(slot.value);
    input_types.push_back(TypeOf(slot.value));
    examples.emplace_back(at::zeros(graph_.value(slot.value).shape, input_types.back()));
  };
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Slot& argument = arguments[i];
    if (argument.is_concrete()) {
      stack.push_back(argument.concrete);
    } else if (argument.is_tensor()) {
      add_input(argument);
      stack.push_back(examples.back());
    } else {
      c10::List<at::Tensor> list;
      for (const Slot& element : argument.elements) {
        if (element.is_tensor()) {
          add_input(element);
          list.push_back(examples.back().toTensor());
        } else if (element.is_concrete() && element.concrete.isTensor()) {
          list.push_back(element.concrete.toTensor());
        } else {
          Refuse(node, "takes a nested list");
        }
      }
      stack.emplace_back(std::move(list));
    }
  }
  op::Foreign foreign;
  foreign.type = node.kind().toQualString();
  std::vector<bool> is_kept;
  try {
    node.getOperation()(stack);
    for (size_t i = 0; i < stack.size(); ++i) {
      const bool is_absent = IsAbsent(stack[i]);
      const bool is_empty = stack[i].isTensor() && IsEmpty(stack[i].toTensor());
      is_kept.push_back(!is_absent && (!is_empty || node.outputs()[i]->hasUses()));
      if (is_absent) slots_[node.outputs()[i]] = Slot::Concrete(stack[i]);
    }
    foreign.archive = MakeForeignArchive(node, arguments, input_types, is_kept);
  } catch (const std::exception& error) {
    Refuse(node, "cannot be run by LibTorch: " + OneSentence(error));
  }

  std::vector<at::ScalarType> output_types;
  std::vector<bool> is_list;
  const auto add_output = [&](const at::Tensor& tensor) {
    if (tensor.is_complex()) Refuse(node, "gives complex numbers, which are not supported");
    if (IsEmpty(tensor)) {
      Refuse(node, "gives a result without numbers: its size depends on what the picture shows");
    }
    const bool is_float = at::isFloatingType(tensor.scalar_type());
    output_types.push_back(tensor.scalar_type());
    foreign.output_shapes.push_back(ShapeOf(tensor));
    foreign.output_types.push_back(is_float ? DataType::kFloat32 : DataType::kInt64);
  };
  for (size_t i = 0; i < stack.size(); ++i) {
    const c10::IValue& output = stack[i];
    if (!is_kept[i]) continue;
    if (output.isTensor()) {
      add_output(output.toTensor());
    } else if (output.isTensorList()) {
      for (const at::Tensor& tensor : output.toTensorVector()) add_output(tensor);
    } else {
      Refuse(node, "gives a number that depends on what the picture shows");
    }
  }
  const std::vector<ValueId> values = graph_.Add(NameOf(node), std::move(foreign), inputs);
  for (size_t i = 0; i < values.size(); ++i) {
    if (output_types[i] != at::kFloat) foreign_types_[values[i]] = output_types[i];
  }
  size_t next = 0;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!is_kept[i]) continue;
    if (stack[i].isTensor()) {
      slots_[node.outputs()[i]] = Slot::OfTensor(values[next++]);
      continue;
    }
    std::vector<Slot> elements;
    for (size_t k = 0; k < stack[i].toTensorVector().size(); ++k) {
      elements.push_back(Slot::OfTensor(values[next++]));
    }
    slots_[node.outputs()[i]] = Slot::Collection(std::move(elements));
  }
}

Graph Import(const std::filesystem::path& path, const LoadOptions& options) {
  const std::string where = "'" + path.string() + "': ";
  if (!std::filesystem::is_regular_file(path)) throw InputError(where + "no such file");
  try {
    at::InferenceMode no_gradients;
    torch::jit::Module module = torch::jit::load(path.string(), at::kCPU);
    module.eval();
    for (at::Tensor parameter : module.parameters()) parameter.set_requires_grad(false);
    const std::shared_ptr<torch::jit::Graph> source = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*source);
    RemoveUnreadState(*source);
    Importer importer(path.stem().string(), options.input_shapes);
    Graph graph = importer.Run(*source, module);
    graph.Validate();
    return graph;
  } catch (const InputError& error) {
    throw InputError(where + error.what());
  } catch (const std::exception& error) {
    throw InputError(where + "LibTorch cannot read it: " + OneSentence(error));
  }
}

}  // namespace torchscript
}  // namespace cacheinf
