#include "common/exec/stem.h"

#include <set>

#include "common/model/graph/geometry.h"

namespace cacheinf {

bool PreparesInput(const Graph& graph, const Operator& op) {
  const bool is_quantise = op.As<op::Quantise>() != nullptr;
  if (!is_quantise && op.As<op::ScaleShift>() == nullptr) return false;
  const Value& input = graph.value(op.inputs[0]);
  if (input.producer == kNone) return !input.is_constant();
  return is_quantise && PreparesInput(graph, graph.operators[static_cast<size_t>(input.producer)]);
}

size_t StemSize(const Graph& graph, int depth) {
  if (depth == 0) return 0;
  size_t size = 0;
  for (int convolutions = 0; size < graph.operators.size(); ++size) {
    const Operator& op = graph.operators[size];
    if (!IsLocal(graph, op)) break;
    const bool is_convolution = op.As<op::Conv>() != nullptr || op.As<op::QuantConv>() != nullptr;
    if (is_convolution && convolutions++ == depth) break;
  }
  return size;
}

std::vector<ValueId> StemOutputs(const Graph& graph, int depth) {
  const size_t size = StemSize(graph, depth);
  std::set<ValueId> outputs;
  for (size_t op = size; op < graph.operators.size(); ++op) {
    for (const ValueId input : graph.operators[op].inputs) {
      const OpId producer = graph.value(input).producer;
      if (producer != kNone && static_cast<size_t>(producer) < size) outputs.insert(input);
    }
  }
  return {outputs.begin(), outputs.end()};
}

}  // namespace cacheinf
