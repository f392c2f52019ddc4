#ifndef CACHEINF_COMMON_EXEC_STAGES_H_
#define CACHEINF_COMMON_EXEC_STAGES_H_

#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// An operator whose results are kept, and all that reach it through values that are not kept; these
// run just before it. An operator that several stages need runs in each of them, on pixels that no
// earlier stage of the frame has computed.
struct Stage {
  OpId root = kNone;
  std::vector<OpId> inner;  // in running order
};

// Returns the stages in running order, one for every operator with a kept output. `is_kept` has one
// entry per value; values that no operator computes always count as kept. REQUIRES: every value
// that is not kept is the only output of its operator, and some operator reads it.
std::vector<Stage> FindStages(const Graph& graph, const std::vector<bool>& is_kept);

// Makes every operator a stage of its own.
std::vector<Stage> StagesOfOne(const Graph& graph);

// The order of operators in a dense run: each in the first stage that has it.
std::vector<OpId> RunningOrder(const Graph& graph, const std::vector<Stage>& stages);

// Values that must be kept: graph inputs and outputs, what nothing reads, and what operators that
// are not local read and compute, because they run whole.
std::vector<bool> AlwaysKept(const Graph& graph);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_STAGES_H_
