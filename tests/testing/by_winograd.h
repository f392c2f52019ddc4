#ifndef CACHEINF_TESTS_TESTING_BY_WINOGRAD_H_
#define CACHEINF_TESTS_TESTING_BY_WINOGRAD_H_

#include "common/model/graph/schemes.h"

namespace cacheinf {

inline Schemes WinogradWhereItApplies(const Graph& graph) {
  Schemes schemes;
  for (const Operator& op : graph.operators) {
    schemes.push_back(WinogradApplies(graph, op) ? Scheme::kWinograd : Scheme::kDirect);
  }
  return schemes;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_BY_WINOGRAD_H_
