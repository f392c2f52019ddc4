#ifndef CACHEINF_TESTS_MODEL_MODEL_BUILDER_H_
#define CACHEINF_TESTS_MODEL_MODEL_BUILDER_H_

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// Names of the operators, in order: "conv relu".
inline std::string Kinds(const Graph& graph) {
  std::string kinds;
  for (const Operator& op : graph.operators) {
    if (!kinds.empty()) kinds += ' ';
    kinds += KindName(op);
  }
  return kinds;
}

// Builds networks as exporters write them: operator after operator, nothing fused.
class ModelBuilder {
 public:
  explicit ModelBuilder(uint32_t seed = 1) : random_(seed) { graph_.name = "built"; }

  // Returns the network with these outputs. REQUIRES: called once, last.
  Graph Finish(std::vector<ValueId> outputs) {
    graph_.outputs = std::move(outputs);
    return std::move(graph_);
  }

  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }

  ValueId Input(Shape shape, const std::string& name = "x") {
    return graph_.AddInput(name, std::move(shape));
  }
  ValueId Number(float number) { return Constant({}, {number}); }
  ValueId Constant(Shape shape, std::vector<float> values) {
    return graph_.AddConstant(Name("constant"), Tensor(std::move(shape), std::move(values)));
  }
  ValueId Random(Shape shape, float low = -0.5f, float high = 0.5f) {
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> values(static_cast<size_t>(ElementCount(shape)));
    for (float& value : values) value = uniform(random_);
    return Constant(std::move(shape), std::move(values));
  }
  ValueId Op(Attributes attributes, std::vector<ValueId> inputs) {
    return graph_.AddOne(Name("op"), std::move(attributes), std::move(inputs));
  }

  ValueId Conv(ValueId x, int64_t channels, int kernel, int stride = 1, int pad = 0, int groups = 1,
               bool has_bias = false) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {kernel, stride, pad, pad, 1};
    conv.spec.groups = groups;
    conv.has_bias = has_bias;
    std::vector<ValueId> inputs = {x, Random({channels, shape(x)[1] / groups, kernel, kernel})};
    if (has_bias) inputs.push_back(Random({channels}));
    return Op(std::move(conv), std::move(inputs));
  }
  ValueId TransposedConv(ValueId x, int64_t channels, int kernel, int stride, int groups) {
    op::Conv conv;
    conv.spec.rows = conv.spec.columns = {kernel, stride, 1, 1, 1};
    conv.spec.groups = groups;
    conv.spec.transposed = true;
    return Op(std::move(conv), {x, Random({shape(x)[1], channels / groups, kernel, kernel})});
  }
  // As importers make it: x * scale + shift.
  ValueId BatchNorm(ValueId x) {
    const int64_t channels = shape(x)[1];
    return Op(op::ScaleShift{}, {x, Random({channels}, 0.5f, 1.5f), Random({channels})});
  }
  ValueId Apply(Function::Kind kind, ValueId x, float alpha = 0.0f, float beta = 0.0f) {
    return Op(op::Activation{{kind, alpha, beta}}, {x});
  }
  ValueId Binary(BinaryKind kind, ValueId a, ValueId b) { return Op(op::Binary{kind, {}}, {a, b}); }
  ValueId Add(ValueId a, ValueId b) { return Binary(BinaryKind::kAdd, a, b); }
  ValueId Subtract(ValueId a, ValueId b) { return Binary(BinaryKind::kSubtract, a, b); }
  ValueId Multiply(ValueId a, ValueId b) { return Binary(BinaryKind::kMultiply, a, b); }
  ValueId Divide(ValueId a, ValueId b) { return Binary(BinaryKind::kDivide, a, b); }
  ValueId Power(ValueId a, ValueId b) { return Binary(BinaryKind::kPower, a, b); }
  ValueId Mean(ValueId x, std::vector<int> axes) {
    return Op(op::Reduce{ReduceKind::kMean, std::move(axes), true}, {x});
  }
  ValueId Reshape(ValueId x, Shape shape) { return Op(op::Reshape{std::move(shape)}, {x}); }
  ValueId Permute(ValueId x, std::vector<int> order) {
    return Op(op::Permute{std::move(order)}, {x});
  }
  ValueId Linear(ValueId x, int64_t out) {
    return Op(op::Linear{true, {}}, {x, Random({out, shape(x).back()}), Random({out})});
  }

 private:
  std::string Name(const std::string& stem) { return stem + std::to_string(count_++); }

  Graph graph_;
  std::mt19937 random_;
  int count_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_MODEL_BUILDER_H_
