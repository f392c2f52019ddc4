#ifndef CACHEINF_COMMON_MODEL_LOAD_H_
#define CACHEINF_COMMON_MODEL_LOAD_H_

#include <filesystem>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

struct LoadOptions {
  // Shapes of the graph's inputs, in order; they resolve what the file leaves open. Where the file
  // fixes a dimension, a different one here is an InputError, and an open one without a shape here
  // too.
  std::vector<Shape> input_shapes;
  // Run the passes of passes.h.
  bool optimise = true;
};

// Reads an ONNX file, a TorchScript archive or a native model file, whichever it is (by content).
// Throws InputError with one sentence that names the file, and the operator where one is at fault.
Graph LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_LOAD_H_
