#ifndef CACHEINF_COMMON_EXEC_TORCH_CALL_H_
#define CACHEINF_COMMON_EXEC_TORCH_CALL_H_

#include <memory>
#include <span>

#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// An operator run by LibTorch on the CPU: one that is foreign to our operator set, or a convolution
// or product for which LibTorch was chosen as the scheme. Its bits are LibTorch's: they may depend
// on the number of threads and on the rows asked for.
class TorchCall {
 public:
  // Throws InputError, naming the operator, when LibTorch cannot run it.
  TorchCall(const Graph& graph, const Operator& op);
  ~TorchCall();
  TorchCall(TorchCall&&) noexcept;
  TorchCall& operator=(TorchCall&&) noexcept;

  // Whether LibTorch can be chosen as the scheme of an operator that is not foreign.
  static bool Offers(const Operator& op);

  // Computes `rows` of a convolution's output, or all of any other operator's outputs. After a
  // foreign operator ends LibTorch's threads, which would keep cores busy.
  void Run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Threads of LibTorch's own pool.
void SetTorchThreads(int threads);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_TORCH_CALL_H_
