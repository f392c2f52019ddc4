#include "common/model/graph/graph.h"

#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf {

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

std::string ToString(const Shape& shape) {
  std::string text;
  for (int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text.empty() ? "scalar" : text;
}

Tensor::Tensor(Shape shape, std::vector<float> values)
    : shape_(std::move(shape)), count_(ElementCount(shape_)) {
  if (static_cast<int64_t>(values.size()) != count_) {
    throw std::logic_error("Tensor: " + std::to_string(values.size()) + " values for shape " +
                           ToString(shape_));
  }
  auto storage = std::make_shared<std::vector<float>>(std::move(values));
  // An empty tensor is still a tensor: its pointer must not be null.
  static constexpr float kNothing = 0.0f;
  const float* data = storage->empty() ? &kNothing : storage->data();
  data_ = std::shared_ptr<const float>(std::move(storage), data);
}

Tensor::Tensor(Shape shape, std::shared_ptr<const float> data)
    : shape_(std::move(shape)), count_(ElementCount(shape_)), data_(std::move(data)) {}

ConstTensorView Tensor::view() const {
  const auto rank = static_cast<int>(shape_.size());
  return PackedView(data(), shape_.data(), rank, rank - 1);
}

Shape Value::shape_of_numbers() const {
  Shape numbers = shape;
  if (is_eight_bit()) numbers[1] = channels;
  return numbers;
}

bool HasEightBits(const Graph& graph, const Operator& op) {
  const auto is_eight_bit = [&](ValueId id) { return graph.value(id).is_eight_bit(); };
  return op.As<op::FakeQuantise>() != nullptr || op.As<op::QuantLinear>() != nullptr ||
         std::ranges::any_of(op.inputs, is_eight_bit) ||
         std::ranges::any_of(op.outputs, is_eight_bit);
}

bool HasEightBitMaps(const Graph& graph) {
  return std::ranges::any_of(graph.values, &Value::is_eight_bit);
}

bool HasForeign(const Graph& graph) {
  return std::ranges::any_of(graph.operators,
                             [](const Operator& op) { return op.As<op::Foreign>() != nullptr; });
}

ValueId Graph::AddInput(std::string name, Shape shape) {
  const auto id = static_cast<ValueId>(values.size());
  values.push_back({std::move(name), std::move(shape), DataType::kFloat32, kNone, {}});
  inputs.push_back(id);
  return id;
}

ValueId Graph::AddConstant(std::string name, Tensor tensor) {
  const auto id = static_cast<ValueId>(values.size());
  Shape shape = tensor.shape();
  values.push_back(
      {std::move(name), std::move(shape), DataType::kFloat32, kNone, std::move(tensor)});
  return id;
}

std::vector<ValueId> Graph::Add(std::string name, Attributes attributes,
                                std::vector<ValueId> inputs,
                                std::vector<std::string> output_names) {
  Operator op{std::move(name), std::move(attributes), std::move(inputs), {}};
  const std::vector<InferredOutput> inferred = InferShapes(*this, op);
  for (size_t i = 0; i < inferred.size(); ++i) {
    std::string output_name = i < output_names.size() ? output_names[i]
                              : i == 0                ? op.name
                                                      : op.name + ":" + std::to_string(i);
    op.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back({std::move(output_name),
                      inferred[i].shape,
                      inferred[i].type,
                      static_cast<OpId>(operators.size()),
                      {},
                      inferred[i].channels,
                      inferred[i].steps});
  }
  operators.push_back(std::move(op));
  return operators.back().outputs;
}

ValueId Graph::AddOne(std::string name, Attributes attributes, std::vector<ValueId> inputs) {
  return Add(std::move(name), std::move(attributes), std::move(inputs)).front();
}

std::vector<std::vector<OpId>> Graph::Consumers() const {
  std::vector<std::vector<OpId>> consumers(values.size());
  for (size_t op = 0; op < operators.size(); ++op) {
    for (ValueId input : operators[op].inputs) consumers[input].push_back(static_cast<OpId>(op));
  }
  return consumers;
}

}  // namespace cacheinf
