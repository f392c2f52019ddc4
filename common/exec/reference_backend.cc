#include "common/exec/reference_backend.h"

#include "common/exec/shadow.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

struct ReferenceKernels : HostKernels<ReferenceKernels> {
  void operator()(const auto& args) const { reference::Compute(args); }
  void operator()(const auto& args, const ActivePixels& pixels) const {
    reference::Compute(args, pixels);
  }
};

}  // namespace

void ReferenceBackend::PrepareKernel(const Graph& graph, const Operator& op) {
  if (op.As<op::Foreign>()) {
    calls_.emplace_back(std::in_place_type<TorchCall>, graph, op);
  } else {
    calls_.emplace_back(std::in_place_type<OperatorCall>, graph, op);
  }
}

size_t ReferenceBackend::ScratchFloats(int handle) const {
  const auto* call = std::get_if<OperatorCall>(&calls_[handle]);
  if (call == nullptr) return 0;
  return call->is_local ? ShadowFloats(*call->graph, *call->op) : call->scratch_floats;
}

void ReferenceBackend::RunKernel(int handle, std::span<const ConstTensorView> inputs,
                                 std::span<const TensorView> outputs, const ActivePixels& pixels,
                                 const ChangeTest* test, float* scratch) {
  if (const auto* torch_call = std::get_if<TorchCall>(&calls_[handle])) {
    torch_call->Run(inputs, outputs, pixels.rows);
    return;
  }
  auto& call = std::get<OperatorCall>(calls_[handle]);
  const ReferenceKernels kernels;
  if (!pixels.is_sparse || !call.is_local) {
    RunOperator(kernels, call, inputs, outputs, pixels, scratch);
    return;
  }
  RunOnShadow(outputs[0], pixels, test, scratch, [&](const TensorView& shadow, Range rows) {
    RunOperator(kernels, call, inputs, {&shadow, 1}, ActivePixels(rows), nullptr);
  });
}

void ReferenceBackend::RunWarp(const WarpArgs& args) { reference::Compute(args); }

void ReferenceBackend::CopyIn(const ConstTensorView& host, const TensorView& device) {
  reference::Compute(CopyArgs{host, device});
}

void ReferenceBackend::CopyOut(const ConstTensorView& device, const TensorView& host) {
  reference::Compute(CopyArgs{device, host});
}

}  // namespace cacheinf
