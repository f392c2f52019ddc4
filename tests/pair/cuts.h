#ifndef CACHEINF_TESTS_PAIR_CUTS_H_
#define CACHEINF_TESTS_PAIR_CUTS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "common/exec/model_state.h"
#include "common/model/graph/geometry.h"
#include "common/plan/split.h"
#include "tests/testing/run_graph.h"

namespace cacheinf {

// Where cuts may stand: the picture, then operators.
inline std::vector<int> PlacesOfCuts(const ModelState& state) {
  const std::vector<Operator>& operators = state.graph().operators;
  std::vector<int> places = {-1};
  for (OpId id = 0; id < std::ssize(operators); ++id) {
    if (state.is_kept(operators[id].outputs[0])) places.push_back(id);
  }
  return places;
}

// About four cuts.
inline std::vector<Cut> RandomCuts(const std::vector<int>& places, std::mt19937& random) {
  std::vector<Cut> cuts;
  for (const int place : places) {
    if (random() % places.size() >= 4) continue;
    const int share = static_cast<int>(random() % 5) * 250;
    cuts.push_back({place, share});
  }
  return cuts;
}

// The bytes of a transfer's pixels that are not what they were.
inline uint64_t ChangedBytes(const Graph& graph, const Transfer& transfer,
                             const std::vector<float>& before, const std::vector<float>& after) {
  const Value& value = graph.value(transfer.value);
  if (!value.is_map()) return after == before ? 0 : after.size() * sizeof(float);
  const auto width = static_cast<size_t>(WidthOf(value));
  const size_t pixels = static_cast<size_t>(HeightOf(value)) * width;
  uint64_t changed = 0;
  for (size_t pixel = static_cast<size_t>(transfer.rows.begin) * width;
       pixel < static_cast<size_t>(transfer.rows.end) * width; ++pixel) {
    bool differs = false;
    for (size_t i = pixel; i < after.size(); i += pixels) {
      differs = differs || !SameBits(before[i], after[i]);
    }
    if (differs) changed += after.size() / pixels * sizeof(float);
  }
  return changed;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_CUTS_H_
