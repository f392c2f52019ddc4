#ifndef CACHEINF_COMMON_MODEL_TORCHSCRIPT_LIBTORCH_H_
#define CACHEINF_COMMON_MODEL_TORCHSCRIPT_LIBTORCH_H_

#include <filesystem>
#include <memory>
#include <span>

#include "common/model/graph/graph.h"
#include "common/model/graph/load_options.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// An operator foreign to our set, which LibTorch runs on the CPU. Its bits are LibTorch's, and may
// depend on the number of threads.
class ForeignOperator {
 public:
  virtual ~ForeignOperator() = default;

  // Computes all of the outputs. Afterwards ends LibTorch's threads, which would keep cores busy.
  virtual void Run(std::span<const ConstTensorView> inputs,
                   std::span<const TensorView> outputs) const = 0;
};

// What LibTorch does for us. It lies in a module, cacheinf-torch.so, because LibTorch costs a
// process .3 s and 110 MB, and most networks do not need it.
struct LibTorch {
  Graph (*import)(const std::filesystem::path& path, const LoadOptions& options);
  std::unique_ptr<ForeignOperator> (*make)(const Operator& op);
  void (*set_threads)(int threads);
};

// Loads the module, once. Throws InputError if it cannot be loaded.
const LibTorch& LoadLibTorch();

// Sets the size of LibTorch's own pool of threads, once it is loaded.
void SetTorchThreads(int threads);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_TORCHSCRIPT_LIBTORCH_H_
