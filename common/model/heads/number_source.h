#ifndef CACHEINF_COMMON_MODEL_HEADS_NUMBER_SOURCE_H_
#define CACHEINF_COMMON_MODEL_HEADS_NUMBER_SOURCE_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/model/heads/heads.h"

// What the graph's last operators show of the boxes in its rows, before any frame is seen.

namespace cacheinf {

// How the graph makes one number of every box.
struct NumberSource {
  // Going back from the output one comes upon nothing but convolutions and matrix products with
  // learned weights.
  bool is_known = false;
  // Their results, and the channels of these that the number depends on.
  std::set<std::pair<ValueId, int64_t>> channels;
  bool has_distribution = false;  // a softmax, whose mean is a distance
  bool has_power = false;         // e^x or x^2, which make a size
  // Of each box: what constants alone make of it, or of the boxes of the first grid; empty: not
  // known.
  std::vector<float> places;

  bool Shares(const NumberSource& other) const;  // a channel
};

// Of number `number` in each row of an output that has boxes × numbers, or numbers × boxes.
NumberSource SourceOf(const Graph& graph, ValueId output, bool is_transposed, int64_t number);

// Whether the graph's last operators confirm, or contradict, that rows are of the kind.
struct GraphFinding {
  std::string contradiction;
  bool confirms = false;
};
GraphFinding JudgeGraph(const Graph& graph, const HeadSpec& spec);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_HEADS_NUMBER_SOURCE_H_
