// The arguments of a TorchScript call, as converters ask for them.

#include <limits>
#include <utility>

#include "common/base/error.h"
#include "common/model/torchscript/importer.h"

namespace cacheinf::torchscript {

int ToInt(int64_t number) {
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    throw InputError("an attribute of " + std::to_string(number));
  }
  return static_cast<int>(number);
}

Converter FindConverter(std::string_view name) {
  for (const std::span<const NamedConverter> table : {ComputingConverters(), MovingConverters()}) {
    for (const NamedConverter& entry : table) {
      if (entry.name == name) return entry.converter;
    }
  }
  return nullptr;
}

Call::Call(Importer& importer, const torch::jit::Node& node, std::vector<Slot> arguments)
    : importer_(importer), node_(node), arguments_(std::move(arguments)) {}

bool Call::IsNone(size_t i) const {
  return i >= size() || (arguments_[i].is_concrete() && arguments_[i].concrete.isNone());
}

bool Call::IsConcreteTensor(size_t i) const {
  return i < size() && arguments_[i].is_concrete() && arguments_[i].concrete.isTensor();
}

bool Call::IsTruth(size_t i) const {
  if (IsConcreteTensor(i)) return arguments_[i].concrete.toTensor().scalar_type() == at::kBool;
  return i < size() && arguments_[i].is_tensor() &&
         importer_.TypeOf(arguments_[i].value) == at::kBool;
}

bool Call::IsNumber(size_t i) const {
  if (IsConcreteTensor(i)) return arguments_[i].concrete.toTensor().numel() == 1;
  return i < size() && arguments_[i].is_concrete() &&
         (arguments_[i].concrete.isScalar() || arguments_[i].concrete.isBool());
}

double Call::Double(size_t i) const {
  const c10::IValue& value = arguments_.at(i).concrete;
  if (value.isTensor()) return value.toTensor().item().toDouble();
  if (value.isBool()) return value.toBool();
  return value.toScalar().toDouble();
}

int64_t Call::Int(size_t i) const {
  const c10::IValue& value = arguments_.at(i).concrete;
  if (value.isTensor()) return value.toTensor().item().toLong();
  return value.toScalar().toLong();
}

bool Call::Bool(size_t i) const {
  const c10::IValue& value = arguments_.at(i).concrete;
  return value.isBool() ? value.toBool() : value.toScalar().toLong() != 0;
}

std::string Call::String(size_t i) const { return arguments_.at(i).concrete.toStringRef(); }

std::vector<int64_t> Call::Ints(size_t i) const {
  const c10::IValue& value = arguments_.at(i).concrete;
  if (value.isInt() || value.isTensor()) return {Int(i)};
  std::vector<int64_t> ints;
  for (const c10::IValue& element : value.toListRef()) {
    ints.push_back(element.isTensor() ? element.toTensor().item().toLong() : element.toInt());
  }
  return ints;
}

std::vector<double> Call::Doubles(size_t i) const {
  const c10::IValue& value = arguments_.at(i).concrete;
  if (value.isScalar()) return {Double(i)};
  std::vector<double> doubles;
  for (const c10::IValue& element : value.toListRef()) {
    doubles.push_back(element.toScalar().toDouble());
  }
  return doubles;
}

at::Tensor Call::WeightTensor(size_t i) const {
  return arguments_.at(i).concrete.toTensor().to(at::kFloat);
}

std::optional<size_t> Call::ArgumentIndex(const std::string& name) const {
  const std::optional<int> index = node_.schema().argumentIndexWithName(name);
  if (!index || static_cast<size_t>(*index) >= size()) return std::nullopt;
  return static_cast<size_t>(*index);
}

ValueId Call::Value(size_t i) {
  Slot& slot = arguments_.at(i);
  if (slot.is_tensor()) return slot.value;
  if (!slot.is_concrete()) throw InputError("a list stands where a tensor is expected");
  if (slot.concrete.isTensor()) return Constant(ToTensor(slot.concrete.toTensor()));
  return Scalar(Double(i));
}

const Shape& Call::ShapeOf(size_t i) { return graph().value(Value(i)).shape; }

int Call::Axis(size_t i, size_t rank) const {
  int64_t axis = Int(i);
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis > static_cast<int64_t>(rank)) {
    throw InputError(std::string(node_.kind().toQualString()) + " names a dimension out of range");
  }
  return static_cast<int>(axis);
}

std::vector<ValueId> Call::Values(size_t i) {
  const Slot& list = arguments_.at(i);
  std::vector<ValueId> values;
  if (list.is_concrete()) {
    for (const at::Tensor& tensor : list.concrete.toTensorVector()) {
      values.push_back(Constant(ToTensor(tensor)));
    }
    return values;
  }
  for (const Slot& element : list.elements) {
    values.push_back(element.is_tensor() ? element.value
                                         : Constant(ToTensor(element.concrete.toTensor())));
  }
  return values;
}

ValueId Call::Constant(Tensor tensor) {
  Graph& graph = importer_.graph();
  return graph.AddConstant("constant_" + std::to_string(graph.values.size()), std::move(tensor));
}

ValueId Call::Scalar(double number) {
  return Constant(Tensor(Shape{}, {static_cast<float>(number)}));
}

ValueId Call::Emit(Attributes attributes, std::vector<ValueId> inputs) {
  return importer_.graph().AddOne(importer_.NameOf(node_), std::move(attributes),
                                  std::move(inputs));
}

Slot Call::Result(Attributes attributes, std::vector<ValueId> inputs) {
  if (inputs.empty()) inputs = {Value(0)};
  return Slot::OfTensor(Emit(std::move(attributes), std::move(inputs)));
}

const Graph& Call::graph() const { return importer_.graph(); }

}  // namespace cacheinf::torchscript
