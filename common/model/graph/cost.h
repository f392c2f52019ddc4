#ifndef CACHEINF_COMMON_MODEL_GRAPH_COST_H_
#define CACHEINF_COMMON_MODEL_GRAPH_COST_H_

#include <cstdint>

#include "common/model/graph/graph.h"

namespace cacheinf {

// What an operator costs when all of its output is computed.
struct OperatorCost {
  int64_t multiply_adds = 0;  // of convolutions and matrix products
  int64_t operations = 0;     // floating-point ones: two per multiply-add, and all others
};

OperatorCost CostOf(const Graph& graph, const Operator& op);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_COST_H_
