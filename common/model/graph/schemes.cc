#include "common/model/graph/schemes.h"

#include <fmt/core.h>

#include <cstddef>

#include "common/base/error.h"
#include "sparse_ops/winograd.h"

namespace cacheinf {

bool WinogradApplies(const Graph& graph, const Operator& op) {
  const auto* conv = op.As<op::Conv>();
  if (conv == nullptr || !CanBeWinograd(conv->spec)) return false;
  const int groups = conv->spec.groups;
  return groups == 1 || graph.value(op.inputs[0]).shape[1] > groups;
}

void SetSchemes(Graph& graph, const Schemes& schemes) {
  if (schemes.size() != graph.operators.size()) {
    throw InputError(
        fmt::format("{} schemes for {} operators", schemes.size(), graph.operators.size()));
  }
  for (size_t i = 0; i < schemes.size(); ++i) {
    Operator& op = graph.operators[i];
    if (schemes[i] == Scheme::kWinograd && !WinogradApplies(graph, op)) {
      throw InputError(
          fmt::format("operator '{}' ({}) cannot be computed by Winograd", op.name, KindName(op)));
    }
    if (auto* conv = op.As<op::Conv>()) conv->scheme = schemes[i];
  }
}

}  // namespace cacheinf
