#ifndef CACHEINF_COMMON_BACKEND_TORCH_CALL_H_
#define CACHEINF_COMMON_BACKEND_TORCH_CALL_H_

#include <memory>
#include <span>

#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// An operator foreign to our set, which LibTorch runs on the CPU. Its bits are LibTorch's, and may
// depend on the number of threads.
class TorchCall {
 public:
  // Throws InputError, naming the operator, if LibTorch cannot run it. REQUIRES: op::Foreign.
  explicit TorchCall(const Operator& op);
  ~TorchCall();
  TorchCall(TorchCall&&) noexcept;
  TorchCall& operator=(TorchCall&&) noexcept;

  // Computes all of the outputs. Afterwards ends LibTorch's threads, which would keep cores busy.
  void Run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether any operator is foreign. Such an operator brings code, which LibTorch runs unchecked.
bool HasForeign(const Graph& graph);

// Sets the size of LibTorch's own pool of threads.
void SetTorchThreads(int threads);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_TORCH_CALL_H_
