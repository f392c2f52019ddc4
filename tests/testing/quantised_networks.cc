#include "tests/testing/quantised_networks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {
namespace {

class Quantiser {
 public:
  explicit Quantiser(const Graph& floats) : floats_(floats), copies_(floats.values.size(), kNone) {
    std::vector<Tensor> inputs = RandomInputs(floats, 5);
    for (Tensor& input : inputs) {
      std::vector<float> numbers(input.data(), input.data() + input.count());
      for (float& number : numbers) number = std::clamp(2.0f * number, -2.0f, 2.0f);
      input = Tensor(input.shape(), std::move(numbers));
    }
    values_ = EvaluateDirectly(floats, inputs);
    values_[static_cast<size_t>(floats.inputs[0])] = {-2.0f, 2.0f};
  }

  Graph Run() {
    graph_.name = floats_.name;
    const Value& picture = floats_.value(floats_.inputs[0]);
    Copy(floats_.inputs[0], graph_.AddInput(picture.name, picture.shape));
    for (const Operator& op : floats_.operators) {
      std::vector<ValueId> inputs;
      for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(InputOf(op, i));
      const std::vector<ValueId> outputs =
          graph_.Add(op.name, op.attributes, std::move(inputs), NamesOf(op));
      for (size_t i = 0; i < outputs.size(); ++i) Copy(op.outputs[i], outputs[i]);
    }
    for (const ValueId output : floats_.outputs) {
      graph_.outputs.push_back(copies_[static_cast<size_t>(output)]);
    }
    return std::move(graph_);
  }

 private:
  std::vector<std::string> NamesOf(const Operator& op) const {
    std::vector<std::string> names;
    for (const ValueId output : op.outputs) names.push_back(floats_.value(output).name);
    return names;
  }

  // Notes the replacement for a value: `made`, rounded if it is a map of numbers.
  void Copy(ValueId value, ValueId made) {
    const Value& old = floats_.value(value);
    if (old.is_map() && old.type == DataType::kFloat32) {
      made = graph_.AddOne(old.name + ".rounded", op::FakeQuantise{StepsOf(value)}, {made});
    }
    copies_[static_cast<size_t>(value)] = made;
  }

  Steps StepsOf(ValueId value) {
    const auto [least, most] = std::ranges::minmax(values_[static_cast<size_t>(value)]);
    Steps steps;
    steps.is_signed = ++maps_ % 3 == 0;
    const float low = std::min(least, 0.0f);
    steps.scale = std::max(std::max(most, 0.0f) - low, 1e-3f) / 255.0f;
    steps.zero_point = steps.low() + static_cast<int>(std::nearbyint(-low / steps.scale));
    return steps;
  }

  ValueId InputOf(const Operator& op, size_t index) {
    const ValueId id = op.inputs[index];
    const Value& value = floats_.value(id);
    if (!value.is_constant()) return copies_[static_cast<size_t>(id)];
    if (index == 1 && op.As<op::Conv>() != nullptr) return Weights(value);
    return graph_.AddConstant(value.name, value.constant);
  }

  ValueId Weights(const Value& value) {
    const int64_t of_channel = value.constant.count() / value.shape[0];
    std::vector<float> numbers(value.constant.data(),
                               value.constant.data() + value.constant.count());
    std::vector<float> sizes;
    for (int64_t channel = 0; channel < value.shape[0]; ++channel) {
      float* const first = numbers.data() + channel * of_channel;
      float largest = 1e-6f;
      for (int64_t i = 0; i < of_channel; ++i) largest = std::max(largest, std::fabs(first[i]));
      const float size = largest / 127.0f;
      for (int64_t i = 0; i < of_channel; ++i) first[i] = std::nearbyint(first[i] / size) * size;
      sizes.push_back(size);
    }
    const ValueId id = graph_.AddConstant(value.name, Tensor(value.shape, std::move(numbers)));
    graph_.values[static_cast<size_t>(id)].step_sizes = std::move(sizes);
    return id;
  }

  const Graph& floats_;
  std::vector<std::vector<float>> values_;  // of one picture
  std::vector<ValueId> copies_;
  Graph graph_;
  int maps_ = 0;
};

Graph QuantisedFrom(std::string_view name, int height, int width) {
  for (const Network& network : TenNetworks()) {
    if (network.name != name) continue;
    Graph graph = network.build(height, width);
    Optimise(graph);
    return Quantised(graph);
  }
  return {};
}

}  // namespace

Graph Quantised(const Graph& floats) { return Quantiser(floats).Run(); }

const std::vector<Network>& ThreeQuantisedNetworks() {
  static const std::vector<Network> kNetworks = {
      {"yolo", [](int height, int width) { return QuantisedFrom("yolo", height, width); }},
      {"resnet", [](int height, int width) { return QuantisedFrom("resnet", height, width); }},
      {"squeezenet",
       [](int height, int width) { return QuantisedFrom("squeezenet", height, width); }},
  };
  return kNetworks;
}

}  // namespace cacheinf
