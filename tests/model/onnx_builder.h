#ifndef CACHEINF_TESTS_MODEL_ONNX_BUILDER_H_
#define CACHEINF_TESTS_MODEL_ONNX_BUILDER_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/model/onnx/onnx.h"
#include "tests/model/model_builder.h"
#include "tests/testing/refusal.h"

// Builds small ONNX models the way one would draw them.

namespace cacheinf {

class OnnxNodeBuilder {
 public:
  explicit OnnxNodeBuilder(onnx::NodeProto* node) : node_(node) {}

  OnnxNodeBuilder Int(const std::string& name, int64_t value) {
    New(name, onnx::AttributeProto::INT)->set_i(value);
    return *this;
  }
  OnnxNodeBuilder Float(const std::string& name, float value) {
    New(name, onnx::AttributeProto::FLOAT)->set_f(value);
    return *this;
  }
  OnnxNodeBuilder String(const std::string& name, const std::string& value) {
    New(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  OnnxNodeBuilder Ints(const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto* attribute = New(name, onnx::AttributeProto::INTS);
    for (int64_t value : values) attribute->add_ints(value);
    return *this;
  }
  OnnxNodeBuilder Floats(const std::string& name, const std::vector<float>& values) {
    onnx::AttributeProto* attribute = New(name, onnx::AttributeProto::FLOATS);
    for (float value : values) attribute->add_floats(value);
    return *this;
  }
  OnnxNodeBuilder Tensor(const std::string& name, const onnx::TensorProto& value) {
    *New(name, onnx::AttributeProto::TENSOR)->mutable_t() = value;
    return *this;
  }
  OnnxNodeBuilder Graph(const std::string& name, const onnx::GraphProto& value) {
    *New(name, onnx::AttributeProto::GRAPH)->mutable_g() = value;
    return *this;
  }
  OnnxNodeBuilder Domain(const std::string& domain) {
    node_->set_domain(domain);
    return *this;
  }

 private:
  onnx::AttributeProto* New(const std::string& name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }

  onnx::NodeProto* node_;
};

inline onnx::TensorProto FloatTensor(const std::string& name, const std::vector<int64_t>& shape,
                                     const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t dim : shape) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

inline onnx::TensorProto IntTensor(const std::string& name, const std::vector<int64_t>& shape,
                                   const std::vector<int64_t>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (int64_t dim : shape) tensor.add_dims(dim);
  for (int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

inline onnx::TensorProto BoolTensor(const std::string& name, const std::vector<int64_t>& shape,
                                    const std::vector<bool>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::BOOL);
  for (int64_t dim : shape) tensor.add_dims(dim);
  for (bool value : values) tensor.add_int32_data(value ? 1 : 0);
  return tensor;
}

class OnnxModel {
 public:
  explicit OnnxModel(int64_t opset = 17) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  // -1: an open dimension.
  OnnxModel& Input(const std::string& name, const std::vector<int64_t>& shape,
                   int type = onnx::TensorProto::FLOAT) {
    onnx::ValueInfoProto* input = graph().add_input();
    input->set_name(name);
    onnx::TypeProto::Tensor* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (int64_t dim : shape) {
      onnx::TensorShapeProto::Dimension* dimension = tensor->mutable_shape()->add_dim();
      if (dim != -1) dimension->set_dim_value(dim);
    }
    return *this;
  }

  OnnxModel& Output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  OnnxModel& Constant(const onnx::TensorProto& tensor) {
    *graph().add_initializer() = tensor;
    return *this;
  }

  // Values 0.01, 0.02, …
  OnnxModel& Weights(const std::string& name, const std::vector<int64_t>& shape) {
    return Constant(FloatTensor(name, shape, Ramp(shape)));
  }
  OnnxModel& Floats(const std::string& name, const std::vector<int64_t>& shape,
                    const std::vector<float>& values) {
    return Constant(FloatTensor(name, shape, values));
  }
  OnnxModel& Ints(const std::string& name, const std::vector<int64_t>& values) {
    return Constant(IntTensor(name, {static_cast<int64_t>(values.size())}, values));
  }

  // Named "the " + type.
  OnnxNodeBuilder Node(const std::string& type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
    onnx::NodeProto* node = graph().add_node();
    node->set_op_type(type);
    node->set_name("the " + type);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return OnnxNodeBuilder(node);
  }

  onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  std::string Bytes() const { return proto.SerializeAsString(); }

  cacheinf::Graph Import(const LoadOptions& options = {}) const {
    return ImportOnnxBytes(Bytes(), "model.onnx", options);
  }

  // The sentence with which the import refuses the model.
  std::string Refusal(const LoadOptions& options = {}) const {
    return RefusalOf([&] { Import(options); });
  }

  static std::vector<float> Ramp(const std::vector<int64_t>& shape) {
    std::vector<float> values;
    const int64_t count =
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    for (int64_t i = 1; i <= count; ++i) values.push_back(0.01f * static_cast<float>(i));
    return values;
  }

  onnx::ModelProto proto;
};

// A model of one input "x", one output "y", and what is added between.
inline OnnxModel OneInput(const std::vector<int64_t>& shape, int64_t opset = 17) {
  OnnxModel model(opset);
  model.Input("x", shape).Output("y");
  return model;
}

// The attributes of the graph's only operator of this type.
template <typename T>
const T& Only(const Graph& graph) {
  const T* found = nullptr;
  for (const Operator& op : graph.operators) {
    if (op.As<T>() == nullptr) continue;
    if (found != nullptr) throw std::runtime_error("two such operators in: " + Kinds(graph));
    found = op.As<T>();
  }
  if (found == nullptr) throw std::runtime_error("no such operator in: " + Kinds(graph));
  return *found;
}

inline const Shape& OutputShape(const Graph& graph, size_t index = 0) {
  return graph.value(graph.outputs.at(index)).shape;
}

// The numbers of the constant that operator number `op` reads as its input number `input`.
inline std::vector<float> ConstantOf(const Graph& graph, size_t op, size_t input) {
  const Tensor& tensor = graph.value(graph.operators.at(op).inputs.at(input)).constant;
  return {tensor.data(), tensor.data() + tensor.count()};
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_ONNX_BUILDER_H_
