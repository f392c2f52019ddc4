#ifndef CACHEINF_COMMON_MODEL_GRAPH_LOAD_OPTIONS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_LOAD_OPTIONS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// Numbers for an input of a model that is the same for all frames: in the order of their
// dimensions, or one number for all. Without a shape the model's own counts.
struct ConstantInput {
  std::optional<Shape> shape;
  std::vector<double> numbers;
};
using ConstantInputs = std::map<std::string, ConstantInput>;  // by the input's name

// How a model's file becomes a graph (common/model/load.h and the importers).
struct LoadOptions {
  // Shapes of the graph's inputs, in order, where the file leaves them open. A dimension that
  // differs from one that the file fixes is an InputError, and so is an open dimension without a
  // shape here. Only dimensions that an ONNX file fixes for its first input may change, if nothing
  // in the graph depends on them: a batch to 1, a picture's height and width to anything.
  std::vector<Shape> input_shapes;
  // The first input takes one picture: if an ONNX file fixes a larger batch, it becomes 1, too.
  bool takes_one_picture = false;
  // Run the passes of passes.h.
  bool optimise = true;
  // Inputs that become constants, which are no longer among the graph's inputs.
  ConstantInputs constants = {};
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_LOAD_OPTIONS_H_
