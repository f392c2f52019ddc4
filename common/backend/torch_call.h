#ifndef CACHEINF_COMMON_BACKEND_TORCH_CALL_H_
#define CACHEINF_COMMON_BACKEND_TORCH_CALL_H_

#include <memory>
#include <span>

#include "common/model/graph/graph.h"
#include "common/model/torchscript/libtorch.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// An operator foreign to our set, which LibTorch runs.
class TorchCall {
 public:
  // Throws InputError, naming the operator, if LibTorch cannot run it. REQUIRES: op::Foreign.
  explicit TorchCall(const Operator& op);

  void Run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs) const {
    operator_->Run(inputs, outputs);
  }

 private:
  std::unique_ptr<const ForeignOperator> operator_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_TORCH_CALL_H_
