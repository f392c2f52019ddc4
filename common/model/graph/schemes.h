#ifndef CACHEINF_COMMON_MODEL_GRAPH_SCHEMES_H_
#define CACHEINF_COMMON_MODEL_GRAPH_SCHEMES_H_

#include <vector>

#include "common/model/graph/graph.h"

// Which scheme computes each convolution. Schemes round differently, so a layer's scheme is chosen
// once, before the first frame.

namespace cacheinf {

// One scheme per operator; kDirect if it is no convolution.
using Schemes = std::vector<Scheme>;

// Whether it is a 3x3 convolution of stride 1, not dilated, transposed or depthwise.
bool WinogradApplies(const Graph& graph, const Operator& op);

// Throws InputError unless there is one scheme per operator, and Winograd only where it applies.
void SetSchemes(Graph& graph, const Schemes& schemes);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_SCHEMES_H_
