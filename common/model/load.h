#ifndef CACHEINF_COMMON_MODEL_LOAD_H_
#define CACHEINF_COMMON_MODEL_LOAD_H_

#include <filesystem>

#include "common/model/graph/graph.h"
#include "common/model/graph/load_options.h"

namespace cacheinf {

// Reads an ONNX file, a TorchScript archive or a native model file, told apart by content. Throws
// InputError with one sentence that names the file, and the operator if one is at fault.
Graph LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_LOAD_H_
