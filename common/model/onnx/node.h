#ifndef CACHEINF_COMMON_MODEL_ONNX_NODE_H_
#define CACHEINF_COMMON_MODEL_ONNX_NODE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/graph/graph.h"
#include "common/model/onnx/tensor.h"

namespace cacheinf {

// What a name in an ONNX graph stands for during import: a value of the graph being built, known
// numbers, or both once an operator of the graph reads those numbers.
struct OnnxValue {
  ValueId id = kNone;
  std::optional<HostTensor> constant;
  HostTensor::Type type = HostTensor::Type::kFloat;  // what ONNX says it is
  // For 8-bit numbers that are not known: the graph's value holds the floats that they stand for.
  std::optional<Steps> steps = {};
};

// What the import of one file has built so far.
struct OnnxImport {
  Graph graph;
  int64_t opset = 0;
  std::filesystem::path folder;  // of the model file; empty: no files beside it
  ByteBudget budget;
  std::unordered_map<std::string, OnnxValue> values;
};

// One node of an ONNX graph as its converter sees it. Every function that reads the node throws
// InputError, in words that follow the node's name, if the node is malformed.
class OnnxNode {
 public:
  // Both must outlive the node. Tensors among the attributes are moved out of `proto`.
  OnnxNode(OnnxImport& import, onnx::NodeProto& proto);

  const std::string& type() const { return proto_.op_type(); }
  const std::string& name() const { return name_; }
  int64_t opset() const { return import_.opset; }
  OnnxImport& import() { return import_; }

  // Attributes.
  bool Has(std::string_view attribute) const;
  int64_t Int(std::string_view attribute, int64_t otherwise);
  int64_t Int(std::string_view attribute);  // must be there
  bool Flag(std::string_view attribute, bool otherwise);
  float Float(std::string_view attribute, float otherwise);
  std::string String(std::string_view attribute, const std::string& otherwise);
  std::vector<int64_t> Ints(std::string_view attribute);   // empty where missing
  std::vector<float> Floats(std::string_view attribute);   // empty where missing
  HostTensor TensorAttribute(std::string_view attribute);  // must be there
  onnx::GraphProto& GraphAttribute(std::string_view attribute);
  // Integers from the attribute in old operator sets, from an input in new ones; empty if missing.
  std::vector<int64_t> AttributeOrInput(const char* attribute, int input);
  // Marks the attribute, if present, as irrelevant here.
  void Ignore(std::string_view attribute);
  // Refuses the node if an attribute was never read, because it would change the result.
  void CheckAllAttributesUsed() const;

  // Inputs.
  int input_count() const { return proto_.input_size(); }
  bool HasInput(int index) const;  // optional inputs may be missing
  bool IsConstant(int index) const;
  bool AllInputsConstant() const;
  const HostTensor& Constant(int index) const;  // must be a constant
  const HostTensor& FloatConstant(int index) const;
  std::vector<int64_t> IntegerConstant(int index) const;
  Shape InputShape(int index) const;
  const OnnxValue& InputValue(int index) const;
  // In the graph; adds the constant if it is one, integers as floats.
  ValueId Input(int index);
  HostTensor::Type type(int index) const { return InputValue(index).type; }
  bool IsInteger(int index) const { return type(index) != HostTensor::Type::kFloat; }

  // Results.
  ValueId Add(Attributes attributes, std::vector<ValueId> inputs);
  ValueId AddConstant(const std::string& suffix, Shape shape, std::vector<float> values);
  ValueId AddConstant(const std::string& suffix, const HostTensor& tensor);
  const Shape& ShapeOf(ValueId id) const { return import_.graph.value(id).shape; }
  const Shape& ShapeOf(const OnnxValue& value) const;
  int output_count() const { return proto_.output_size(); }
  bool HasOutput(int index) const;
  // Gives the output's name to a value that this node added. Unless a type is given, what is not a
  // constant has the type of the first input.
  void SetOutput(int index, OnnxValue value, HostTensor::Type type);
  void SetOutput(int index, const OnnxValue& value);
  void SetOutput(int index, ValueId id) { SetOutput(index, OnnxValue{id, {}}); }
  void SetOutput(int index, ValueId id, HostTensor::Type type) {
    SetOutput(index, OnnxValue{id, {}}, type);
  }
  void SetOutput(int index, HostTensor constant) {
    SetOutput(index, OnnxValue{kNone, std::move(constant)});
  }

  ByteBudget& budget() { return import_.budget; }
  // Takes from the budget the bytes that known numbers of this shape and type need.
  void Charge(const Shape& shape, HostTensor::Type type);
  template <typename... Parts>
  [[noreturn]] void Fail(const Parts&... why) const {
    throw InputError(why...);
  }

 private:
  // Throws InputError if a number has no exact float.
  HostTensor AsFloats(const HostTensor& constant, const std::string& name);
  onnx::AttributeProto* Find(std::string_view attribute, onnx::AttributeProto::AttributeType type);

  OnnxImport& import_;
  onnx::NodeProto& proto_;
  std::string name_;
  ValueId first_own_value_;
  std::vector<bool> attribute_used_;
};

// Returns the number as an int if it lies in the range. Throws InputError, naming `what`, if not.
int CheckedInt(int64_t value, int64_t low, int64_t high, const std::string& what);

// `axis` of a value with `rank` dimensions; negative ones count from the end.
int CheckedAxis(int64_t axis, int rank);

// The same for several axes. Throws InputError if one is named twice.
std::vector<int> CheckedAxes(const std::vector<int64_t>& axes, int rank);

// Axes from the attribute `axes`, or from input number `input`; sorted, and counted from 0. Empty
// if none are given.
std::vector<int> ReadAxes(OnnxNode& node, int input, int rank);

// The shape to which both broadcast. Throws InputError if there is none.
Shape BroadcastShapes(const Shape& a, const Shape& b);

// The most dimensions of known numbers.
inline constexpr size_t kMaxHostRank = 16;

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_NODE_H_
