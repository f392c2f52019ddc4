#ifndef CACHEINF_TESTS_TESTING_TORCH_MODULE_H_
#define CACHEINF_TESTS_TESTING_TORCH_MODULE_H_

#include <filesystem>
#include <memory>
#include <vector>

#include "common/model/graph/graph.h"

namespace cacheinf {

// Runs a whole TorchScript file with LibTorch, to compare our executor's answers and speed with it.
class TorchModule {
 public:
  // The layout of feature maps on input: channels-last is faster, but a network that views its
  // input's memory runs on contiguous ones only.
  enum class Layout { kContiguous, kChannelsLast };

  // Frozen is faster, but LibTorch's freezing loses writes to a tensor that has a second name (in a
  // list, or after a dropout).
  enum class Form { kAsItIs, kFrozen };

  // Throws InputError with LibTorch's reason if the file cannot be read.
  explicit TorchModule(const std::filesystem::path& path, Layout layout = Layout::kContiguous,
                       Form form = Form::kAsItIs);
  ~TorchModule();
  TorchModule(TorchModule&&) noexcept;
  TorchModule& operator=(TorchModule&&) noexcept;

  // Sets the size of LibTorch's own pool of threads.
  static void SetThreads(int threads);

  // Outputs in the order in which the importer lists a graph's outputs.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs) const;

  // Runs and drops the result, for timing: no copies except LibTorch's.
  void Time(const std::vector<Tensor>& inputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_TORCH_MODULE_H_
