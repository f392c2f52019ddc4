#ifndef CACHEINF_TESTS_PAIR_CUTS_H_
#define CACHEINF_TESTS_PAIR_CUTS_H_

#include <random>
#include <vector>

#include "common/exec/model_state.h"
#include "common/plan/split.h"

namespace cacheinf {

// Where there may be cuts.
inline std::vector<ValueId> ValuesToCut(const ModelState& state) {
  const Graph& graph = state.graph();
  std::vector<ValueId> values = graph.inputs;
  for (const Operator& op : graph.operators) {
    if (state.is_kept(op.outputs[0])) values.push_back(op.outputs[0]);
  }
  return values;
}

// About four.
inline std::vector<Cut> RandomCuts(const std::vector<ValueId>& values, std::mt19937& random) {
  std::vector<Cut> cuts;
  for (const ValueId value : values) {
    if (random() % values.size() >= 4) continue;
    const int share = static_cast<int>(random() % 5) * 250;
    cuts.push_back({value, share});
  }
  return cuts;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_CUTS_H_
