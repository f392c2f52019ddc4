#ifndef CACHEINF_COMMON_EXEC_REFERENCE_BACKEND_H_
#define CACHEINF_COMMON_EXEC_REFERENCE_BACKEND_H_

#include <string_view>
#include <variant>
#include <vector>

#include "common/exec/backend.h"
#include "common/exec/operator_call.h"
#include "common/exec/torch_call.h"

namespace cacheinf {

// Runs every operator by its definition in sparse_ops/reference: slow, one thread, and what all
// other backends are checked against.
class ReferenceBackend : public Backend {
 public:
  std::string_view Name() const override { return "reference"; }
  Memory Allocate(size_t floats) override { return AllocateOnHost(floats); }
  int Prepare(const Graph& graph, const Operator& op) override;
  size_t ScratchFloats(int handle) const override;
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           const ActivePixels& pixels, const ChangeTest* test, float* scratch) override;
  void Move(const TensorView& map, int rows, int columns) override {
    MoveOnHost(map, rows, columns);
  }
  void HaloFetch(const WarpArgs& args, ConstMaskView needed, ConstMaskView held,
                 MaskView out_of_view) override;
  void WarpAndMerge(const WarpArgs& args, ConstMaskView held, MaskView out_of_view) override;
  void CopyIn(const ConstTensorView& host, const TensorView& device,
              const ActivePixels& pixels) override;
  void CopyOut(const ConstTensorView& device, const TensorView& host) override;

 private:
  std::vector<std::variant<OperatorCall, TorchCall>> calls_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_REFERENCE_BACKEND_H_
