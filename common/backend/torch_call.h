#ifndef CACHEINF_COMMON_BACKEND_TORCH_CALL_H_
#define CACHEINF_COMMON_BACKEND_TORCH_CALL_H_

#include <memory>
#include <span>

#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// An operator that LibTorch runs on the CPU: one foreign to our operator set, or a convolution or
// product with LibTorch as its scheme. Its bits are LibTorch's, and may depend on the number of
// threads and on the rows asked for.
class TorchCall {
 public:
  // Throws InputError, naming the operator, if LibTorch cannot run it.
  TorchCall(const Graph& graph, const Operator& op);
  ~TorchCall();
  TorchCall(TorchCall&&) noexcept;
  TorchCall& operator=(TorchCall&&) noexcept;

  // Whether LibTorch can be the scheme of an operator that is not foreign.
  static bool Offers(const Operator& op);

  // Computes `rows` of a convolution's output, or all of any other operator's outputs. After a
  // foreign operator, ends LibTorch's threads, which would keep cores busy.
  void Run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) const;

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
