#ifndef CACHEINF_COMMON_MODEL_LOAD_H_
#define CACHEINF_COMMON_MODEL_LOAD_H_

#include <filesystem>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

struct LoadOptions {
  // Shapes of the graph's inputs, in order, for what the file leaves open. A dimension that differs
  // from what the file fixes is an InputError, and so is an open dimension without a shape
  // here.
  std::vector<Shape> input_shapes;
  // Run the passes of passes.h.
  bool optimise = true;
};

// Reads an ONNX file, a TorchScript archive or a native model file; tells them by content.
// Throws InputError with one sentence that names the file, and the operator where one is at fault.
Graph LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_LOAD_H_
