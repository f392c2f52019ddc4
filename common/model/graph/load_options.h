#ifndef CACHEINF_COMMON_MODEL_GRAPH_LOAD_OPTIONS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_LOAD_OPTIONS_H_

#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// How a model's file becomes a graph (common/model/load.h and the importers).
struct LoadOptions {
  // Shapes of the graph's inputs, in order, where the file leaves them open. A dimension that
  // differs from one that the file fixes is an InputError, and so is an open dimension without a
  // shape here.
  std::vector<Shape> input_shapes;
  // Run the passes of passes.h.
  bool optimise = true;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_LOAD_OPTIONS_H_
