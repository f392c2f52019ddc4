#ifndef CACHEINF_COMMON_EXEC_TORCH_MODULE_H_
#define CACHEINF_COMMON_EXEC_TORCH_MODULE_H_

#include <filesystem>
#include <memory>
#include <vector>

#include "common/model/graph.h"

namespace cacheinf {

// A whole TorchScript file run by LibTorch: what our own executor is compared with, for parity and
// for speed. Frozen, and on 4-dimensional inputs channels-last.
class TorchModule {
 public:
  // Throws InputError with LibTorch's reason when the file cannot be read.
  explicit TorchModule(const std::filesystem::path& path);
  ~TorchModule();
  TorchModule(TorchModule&&) noexcept;
  TorchModule& operator=(TorchModule&&) noexcept;

  // Outputs in the order in which the importer lists a graph's outputs.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs) const;

  // Runs and drops the result, for timing: no copies but LibTorch's own.
  void Time(const std::vector<Tensor>& inputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_TORCH_MODULE_H_
