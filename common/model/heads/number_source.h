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

// How the graph computes one number of every box.
struct NumberSource {
  // Whether every way back from the output ends at a convolution or a matrix product with learned
  // weights.
  bool is_known = false;
  // The channels of these on which the number depends, by the value that holds them.
  std::set<std::pair<ValueId, int64_t>> channels;
  bool has_distribution = false;  // a softmax, whose mean is a distance
  bool has_power = false;         // e^x or x^2, which make a size
  // One per box, or per box of the first grid: what constants add to the number, that is, the place
  // of its cell in the grid. Empty: not known.
  std::vector<float> places;

  bool Shares(const NumberSource& other) const;  // whether both depend on one channel
};

// Finds how the graph computes the number at index `number` in each row of an output of boxes ×
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
