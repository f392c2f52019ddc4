#ifndef CACHEINF_COMMON_EXEC_STEM_H_
#define CACHEINF_COMMON_EXEC_STEM_H_

#include <cstddef>
#include <vector>

#include "common/model/graph/graph.h"

// The stem of a network: the operators before the convolution of a number, counted from 0, as long
// as they are local (ChangePolicy::stem_depth).

namespace cacheinf {

// Whether the operator prepares an input, number by number, for the network: normalisation.
bool PreparesInput(const Graph& graph, const Operator& op);

// How many operators it has.
size_t StemSize(const Graph& graph, int depth);

// The values through which later operators see the stem. If they are kept, changes are judged on
// them, else before them.
std::vector<ValueId> StemOutputs(const Graph& graph, int depth);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_STEM_H_
