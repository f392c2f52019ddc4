#ifndef CACHEINF_COMMON_MODEL_GRAPH_GEOMETRY_H_
#define CACHEINF_COMMON_MODEL_GRAPH_GEOMETRY_H_

#include <vector>

#include "common/model/graph/graph.h"
#include "sparse_ops/window.h"

// Which rows of an operator's inputs its output rows need, and which output rows an input row
// touches. Masks, splits between robot and server, and plans all rely only on this.

namespace cacheinf {

// How an operator's output depends on one input, along both axes of the picture.
struct Window {
  AxisWindow rows;
  AxisWindow columns;
};

// Whether every output pixel depends on a bounded window of pixels of the maps it reads.
// Element-wise and pointwise operators are windows of one. A gate (a map of one pixel, broadcast)
// or a constant does not make an operator non-local.
bool IsLocal(const Graph& graph, const Operator& op);

// REQUIRES: IsLocal(graph, op), and op.inputs[input] is a map and not a constant.
Window InputWindow(const Graph& graph, const Operator& op, int input);

// Rows to compute: one range per operator; empty: nothing. Operators that are not local have {0,
// height} for a map, {0, 1} for anything else, or nothing.
using RowsOfOperators = std::vector<Range>;

// The rows that every operator must compute so that `rows` of `output` are right, halo included.
RowsOfOperators RowsNeeded(const Graph& graph, ValueId output, Range rows);

// The size of a value's masks: the map's own; one pixel for a value that is not a map.
inline int HeightOf(const Value& value) {
  return value.is_map() ? static_cast<int>(value.shape[2]) : 1;
}
inline int WidthOf(const Value& value) {
  return value.is_map() ? static_cast<int>(value.shape[3]) : 1;
}

// The number of rows in which an operator's first output is computed.
inline int RowCount(const Graph& graph, const Operator& op) {
  return HeightOf(graph.value(op.outputs[0]));
}

// The smallest range that holds both, and the range that both share; {} is empty.
Range Hull(Range a, Range b);
Range Intersect(Range a, Range b);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_GEOMETRY_H_
