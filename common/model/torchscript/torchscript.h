#ifndef CACHEINF_COMMON_MODEL_TORCHSCRIPT_TORCHSCRIPT_H_
#define CACHEINF_COMMON_MODEL_TORCHSCRIPT_TORCHSCRIPT_H_

#include <filesystem>

#include "common/model/graph/graph.h"
#include "common/model/graph/load_options.h"

namespace cacheinf {

// Reads a TorchScript archive. Puts the module in evaluation mode, makes its attributes constants
// (without LibTorch's freezing, which loses in-place writes), and resolves control flow that
// depends on shapes alone. Operators outside the operator set become op::Foreign. A tensor that is
// changed in place changes under all its names. What forward() leaves in the module for the next
// frame is dropped if no answer depends on it; otherwise the module is refused.
//
// The archive has no shapes: `options.input_shapes` must give one for each input.
// A TorchScript archive is a trusted, local file: LibTorch parses it and runs parts of it here.
// Throws InputError, with LibTorch's reason as one sentence, when the file cannot be used.
Graph ImportTorchScript(const std::filesystem::path& path, const LoadOptions& options);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_TORCHSCRIPT_TORCHSCRIPT_H_
