#ifndef CACHEINF_COMMON_EXEC_STEM_H_
#define CACHEINF_COMMON_EXEC_STEM_H_

#include <cstddef>
#include <vector>

#include "common/model/graph/graph.h"

// The stem of a network: the operators before the convolution with a given number, counted from 0,
// or before the first that is not local (ChangePolicy::stem_depth).

namespace cacheinf {

// Whether the operator prepares an input for the network, number by number, as normalisation and
// the rounding to 8 bits after it do.
bool PreparesInput(const Graph& graph, const Operator& op);

// How many operators the stem has.
size_t StemSize(const Graph& graph, int depth);

// The values through which later operators see the stem. Changes are judged on them if they are
// kept, otherwise before them.
std::vector<ValueId> StemOutputs(const Graph& graph, int depth);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_STEM_H_
