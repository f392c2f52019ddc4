#ifndef CACHEINF_TESTS_TESTING_BY_WINOGRAD_H_
#define CACHEINF_TESTS_TESTING_BY_WINOGRAD_H_

#include "common/model/graph/schemes.h"

namespace cacheinf {

inline SchemePlan WinogradWhereItApplies(const Graph& graph) {
  SchemePlan plan;
  for (const Operator& op : graph.operators) {
    plan.push_back(WinogradApplies(graph, op) ? Scheme::kWinograd : Scheme::kDirect);
  }
  return plan;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_BY_WINOGRAD_H_
