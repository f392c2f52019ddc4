#ifndef CACHEINF_COMMON_BACKEND_HOST_REFERENCE_BACKEND_H_
#define CACHEINF_COMMON_BACKEND_HOST_REFERENCE_BACKEND_H_

#include <string_view>
#include <variant>
#include <vector>

#include "common/backend/host/host_backend.h"
#include "common/backend/operator_call.h"
#include "common/backend/torch_call.h"

namespace cacheinf {

// Runs every operator by its definition in sparse_ops/reference: slow, on one thread. All other
// backends are checked against it.
class ReferenceBackend : public HostBackend {
 public:
  std::string_view Name() const override { return "reference"; }
  void CopyIn(const ConstTensorView& host, const TensorView& device) override;
  void CopyOut(const ConstTensorView& device, const TensorView& host) override;

  size_t ScratchFloats(int handle) const override;
  void RunKernel(int handle, std::span<const ConstTensorView> inputs,
                 std::span<const TensorView> outputs, const ActivePixels& pixels,
                 const ChangeTest* test, float* scratch) override;

 protected:
  void PrepareKernel(const Graph& graph, const Operator& op) override;
  void RunWarp(const WarpArgs& args) override;

 private:
  std::vector<std::variant<OperatorCall, TorchCall>> calls_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_HOST_REFERENCE_BACKEND_H_
