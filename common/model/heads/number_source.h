#ifndef CACHEINF_COMMON_MODEL_HEADS_NUMBER_SOURCE_H_
#define CACHEINF_COMMON_MODEL_HEADS_NUMBER_SOURCE_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/model/heads/heads.h"

// What a graph's last operators say about the boxes in its output, before any frame is seen.

namespace cacheinf {

// How the graph makes one number of every box.
struct NumberSource {
  // Whether every way back from the output ends at a convolution or a matrix product with learned
  // weights.
  bool is_known = false;
  // The channels of these, by the value that holds them, on which the number depends.
  std::set<std::pair<ValueId, int64_t>> channels;
  bool has_distribution = false;  // a softmax, whose mean is a distance
  bool has_power = false;         // e^x or x^2, which make a size
  // One per box, or per box of the first grid: what constants add to the number, so where its cell
  // of the grid lies. Empty: not known.
  std::vector<float> places;

  bool Shares(const NumberSource& other) const;  // whether both depend on one channel
};

// Finds how the graph makes the number at index `number` in each row of an output of boxes ×
// numbers (if `is_transposed`, numbers × boxes).
NumberSource SourceOf(const Graph& graph, ValueId output, bool is_transposed, int64_t number);

// Whether the graph's last operators confirm, or contradict, that its output is of the kind.
struct GraphFinding {
  std::string contradiction;
  bool confirms = false;
};
GraphFinding JudgeGraph(const Graph& graph, const HeadSpec& spec);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_NUMBER_SOURCE_H_
