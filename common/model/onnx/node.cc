#include "common/model/onnx/node.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/model/graph/moves.h"

namespace cacheinf {

using onnx::AttributeProto;

namespace {

std::string NodeName(const onnx::NodeProto& proto) {
  if (!proto.name().empty()) return proto.name();
  for (const std::string& output : proto.output()) {
    if (!output.empty()) return output;
  }
  return proto.op_type();
}

}  // namespace

OnnxNode::OnnxNode(OnnxImport& import, onnx::NodeProto& proto)
    : import_(import),
      proto_(proto),
      name_(NodeName(proto)),
      first_own_value_(static_cast<ValueId>(import.graph.values.size())),
      attribute_used_(static_cast<size_t>(proto.attribute_size())) {}

bool OnnxNode::Has(std::string_view attribute) const {
  for (const AttributeProto& candidate : proto_.attribute()) {
    if (candidate.name() == attribute) return true;
  }
  return false;
}

AttributeProto* OnnxNode::Find(std::string_view attribute, AttributeProto::AttributeType type) {
  for (int i = 0; i < proto_.attribute_size(); ++i) {
    AttributeProto& candidate = *proto_.mutable_attribute(i);
    if (candidate.name() != attribute) continue;
    if (candidate.type() != type) {
      Fail("attribute '", std::string(attribute), "' is not of type ",
           onnx::AttributeProto_AttributeType_Name(type));
    }
    attribute_used_[static_cast<size_t>(i)] = true;
    return &candidate;
  }
  return nullptr;
}

int64_t OnnxNode::Int(std::string_view attribute, int64_t otherwise) {
  const AttributeProto* found = Find(attribute, AttributeProto::INT);
  return found == nullptr ? otherwise : found->i();
}

int64_t OnnxNode::Int(std::string_view attribute) {
  if (!Has(attribute)) Fail("attribute '", std::string(attribute), "' is missing");
  return Int(attribute, 0);
}

bool OnnxNode::Flag(std::string_view attribute, bool otherwise) {
  return Int(attribute, otherwise ? 1 : 0) != 0;
}

float OnnxNode::Float(std::string_view attribute, float otherwise) {
  const AttributeProto* found = Find(attribute, AttributeProto::FLOAT);
  return found == nullptr ? otherwise : found->f();
}

std::string OnnxNode::String(std::string_view attribute, const std::string& otherwise) {
  const AttributeProto* found = Find(attribute, AttributeProto::STRING);
  return found == nullptr ? otherwise : found->s();
}

std::vector<int64_t> OnnxNode::Ints(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::INTS);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

std::vector<float> OnnxNode::Floats(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::FLOATS);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

HostTensor OnnxNode::TensorAttribute(std::string_view attribute) {
  AttributeProto* found = Find(attribute, AttributeProto::TENSOR);
  if (found == nullptr || !found->has_t()) {
    Fail("attribute '", std::string(attribute), "' is missing");
  }
  return ReadTensor(*found->mutable_t(), import_.folder, import_.budget);
}

onnx::GraphProto& OnnxNode::GraphAttribute(std::string_view attribute) {
  AttributeProto* found = Find(attribute, AttributeProto::GRAPH);
  if (found == nullptr || !found->has_g()) {
    Fail("attribute '", std::string(attribute), "' is missing");
  }
  return *found->mutable_g();
}

std::vector<int64_t> OnnxNode::AttributeOrInput(const char* attribute, int input) {
  std::vector<int64_t> values = Ints(attribute);
  if (values.empty() && HasInput(input)) values = IntegerConstant(input);
  return values;
}

void OnnxNode::Ignore(std::string_view attribute) {
  for (int i = 0; i < proto_.attribute_size(); ++i) {
    if (proto_.attribute(i).name() == attribute) attribute_used_[static_cast<size_t>(i)] = true;
  }
}

void OnnxNode::CheckAllAttributesUsed() const {
  for (int i = 0; i < proto_.attribute_size(); ++i) {
    if (!attribute_used_[static_cast<size_t>(i)]) {
      Fail("attribute '", proto_.attribute(i).name(), "' is not supported");
    }
  }
}

bool OnnxNode::HasInput(int index) const {
  return index < input_count() && !proto_.input(index).empty();
}

const OnnxValue& OnnxNode::InputValue(int index) const {
  if (!HasInput(index)) Fail("input number ", index + 1, " is missing");
  const auto found = import_.values.find(proto_.input(index));
  if (found == import_.values.end()) {
    Fail("input '", proto_.input(index), "' is an output that its node does not give here");
  }
  return found->second;
}

bool OnnxNode::IsConstant(int index) const { return InputValue(index).constant.has_value(); }

bool OnnxNode::AllInputsConstant() const {
  for (int i = 0; i < input_count(); ++i) {
    if (HasInput(i) && !IsConstant(i)) return false;
  }
  return true;
}

const HostTensor& OnnxNode::Constant(int index) const {
  const OnnxValue& value = InputValue(index);
  if (!value.constant) Fail("input '", proto_.input(index), "' must be a constant");
  return *value.constant;
}

const HostTensor& OnnxNode::FloatConstant(int index) const {
  const HostTensor& constant = Constant(index);
  if (!constant.is_float()) {
    Fail("input '", proto_.input(index), "' must hold floating-point numbers");
  }
  return constant;
}

std::vector<int64_t> OnnxNode::IntegerConstant(int index) const {
  const HostTensor& constant = Constant(index);
  if (constant.type() != HostTensor::Type::kInteger) {
    Fail("input '", proto_.input(index), "' must hold integers");
  }
  return constant.integers();
}

Shape OnnxNode::InputShape(int index) const { return ShapeOf(InputValue(index)); }

const Shape& OnnxNode::ShapeOf(const OnnxValue& value) const {
  return value.constant ? value.constant->shape() : ShapeOf(value.id);
}

ValueId OnnxNode::Input(int index) {
  const OnnxValue& known = InputValue(index);
  if (known.id != kNone) return known.id;
  const std::string& name = proto_.input(index);
  const bool fits = known.constant->count() > 0 && known.constant->rank() <= TensorView::kMaxRank;
  if (!fits) Fail("constant '", name, "' has shape ", ToString(known.constant->shape()));
  OnnxValue& value = import_.values.at(name);
  value.id = import_.graph.AddConstant(name, AsFloats(*value.constant, name).ToTensor());
  if (value.constant->step_axis() == 0) {
    import_.graph.values.back().step_sizes = value.constant->step_sizes();
  }
  return value.id;
}

HostTensor OnnxNode::AsFloats(const HostTensor& constant, const std::string& name) {
  if (constant.is_float()) return constant;
  constexpr int64_t kLargestExact = 1 << 24;
  budget().Take(constant.count(), sizeof(float));
  std::vector<float> values;
  for (int64_t value : constant.integers()) {
    if (value < -kLargestExact || value > kLargestExact) {
      Fail("constant '", name, "' holds ", value,
           "; integers beyond 2^24 are only supported among constants");
    }
    values.push_back(static_cast<float>(value));
  }
  return HostTensor(constant.shape(), std::move(values));
}

ValueId OnnxNode::Add(Attributes attributes, std::vector<ValueId> inputs) {
  return import_.graph.AddOne(name_, std::move(attributes), std::move(inputs));
}

ValueId OnnxNode::AddConstant(const std::string& suffix, Shape shape, std::vector<float> values) {
  budget().Take(static_cast<int64_t>(values.size()), sizeof(float));
  return AddConstant(suffix, HostTensor(std::move(shape), std::move(values)));
}

ValueId OnnxNode::AddConstant(const std::string& suffix, const HostTensor& tensor) {
  if (!tensor.is_float() || tensor.count() == 0 || tensor.rank() > TensorView::kMaxRank) {
    Fail("its ", suffix, " of shape ", ToString(tensor.shape()), " cannot be used");
  }
  return import_.graph.AddConstant(name_ + "." + suffix, tensor.ToTensor());
}

bool OnnxNode::HasOutput(int index) const {
  return index < output_count() && !proto_.output(index).empty();
}

void OnnxNode::SetOutput(int index, const OnnxValue& value) {
  const bool is_alone = value.constant || input_count() == 0;
  SetOutput(index, value, is_alone ? HostTensor::Type::kFloat : type(0));
}

void OnnxNode::SetOutput(int index, OnnxValue value, HostTensor::Type type) {
  if (!HasOutput(index)) return;
  value.type = value.constant ? value.constant->type() : type;
  const std::string& output = proto_.output(index);
  const bool is_own = value.id >= first_own_value_ && !value.constant;
  if (is_own) import_.graph.values[static_cast<size_t>(value.id)].name = output;
  import_.values.insert_or_assign(output, value);
}

void OnnxNode::Charge(const Shape& shape, HostTensor::Type type) {
  const int64_t bytes = type == HostTensor::Type::kFloat ? sizeof(float) : sizeof(int64_t);
  budget().Take(CheckedCount(shape, "the result"), bytes);
}

int CheckedInt(int64_t value, int64_t low, int64_t high, const std::string& what) {
  if (value < low || value > high) {
    throw InputError("a ", what, " of ", value, " is not between ", low, " and ", high);
  }
  return static_cast<int>(value);
}

int CheckedAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw InputError("axis ", axis, " does not exist in ", rank, " dimensions");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> CheckedAxes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> checked;
  if (axes.size() > kMaxHostRank) throw InputError("too many axes");
  for (int64_t axis : axes) checked.push_back(CheckedAxis(axis, rank));
  if (std::set<int>(checked.begin(), checked.end()).size() != checked.size()) {
    throw InputError("an axis is named twice");
  }
  return checked;
}

std::vector<int> ReadAxes(OnnxNode& node, int input, int rank) {
  std::vector<int> axes = CheckedAxes(node.AttributeOrInput("axes", input), rank);
  std::ranges::sort(axes);
  return axes;
}

Shape BroadcastShapes(const Shape& a, const Shape& b) {
  const std::optional<Shape> common = CommonShape(a, b);
  if (common) return *common;
  throw InputError("shapes ", ToString(a), " and ", ToString(b), " do not broadcast");
}

}  // namespace cacheinf
