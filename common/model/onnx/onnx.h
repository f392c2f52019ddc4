#ifndef CACHEINF_COMMON_MODEL_ONNX_ONNX_H_
#define CACHEINF_COMMON_MODEL_ONNX_ONNX_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "common/model/graph/graph.h"
#include "common/model/graph/load_options.h"

namespace cacheinf {

// Reads an ONNX model of operator sets 9 to 22, with its weights in the file or in files beside it.
// With ceil_mode, a pool's last window does not count if it would start beyond the input and its
// begin padding: PyTorch's rule, and that of operator set 22. Folds all that does not depend on the
// inputs' numbers; does not run the passes of passes.h. Metadata that it knows becomes the graph's
// notes; one warning says which of it cannot be used. Throws InputError with one sentence that
// names the file, and the node if one is at fault. That holds for damaged and hostile files, too;
// none takes more memory than 1 GiB or a few times its size, whichever is more.
Graph ImportOnnx(const std::filesystem::path& path, const LoadOptions& options = {});

// The same from memory, without files beside it. `name` stands for the file in messages.
Graph ImportOnnxBytes(std::string_view bytes, const std::string& name,
                      const LoadOptions& options = {});

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_ONNX_H_
