#include "common/exec/reference_backend.h"

#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

struct ReferenceKernels {
  void Conv(const ConvArgs& args, Range rows) { reference::Conv(args, rows); }
  void Pool(const PoolArgs& args, Range rows) { reference::Pool(args, rows); }
  void AdaptivePool(const AdaptivePoolArgs& args, Range rows) {
    reference::AdaptivePool(args, rows);
  }
  void Resize(const ResizeArgs& args, Range rows) { reference::Resize(args, rows); }
  void DepthToSpace(const BlockArgs& args, Range rows) { reference::DepthToSpace(args, rows); }
  void SpaceToDepth(const BlockArgs& args, Range rows) { reference::SpaceToDepth(args, rows); }
  void Activation(const ActivationArgs& args) { reference::Activation(args); }
  void ScaleShift(const ScaleShiftArgs& args) { reference::ScaleShift(args); }
  void Binary(const BinaryArgs& args) { reference::Binary(args); }
  void Copy(const CopyArgs& args) { reference::Copy(args); }
  void Gather(const GatherArgs& args) { reference::Gather(args); }
  void Pad(const PadArgs& args) { reference::Pad(args); }
  void Linear(const LinearArgs& args) { reference::Linear(args); }
  void MatMul(const MatMulArgs& args) { reference::MatMul(args); }
  void LayerNorm(const LayerNormArgs& args) { reference::LayerNorm(args); }
  void GroupNorm(const GroupNormArgs& args) { reference::GroupNorm(args); }
  void Softmax(const SoftmaxArgs& args) { reference::Softmax(args); }
  void ArgMax(const ArgMaxArgs& args) { reference::ArgMax(args); }
  void Reduce(const ReduceArgs& args) { reference::Reduce(args); }
  void DecodeBoxes(const DecodeBoxesArgs& args) { reference::DecodeBoxes(args); }
  void NonMaxSuppression(const NonMaxSuppressionArgs& args) { reference::NonMaxSuppression(args); }
};

}  // namespace

int ReferenceBackend::Prepare(const Graph& graph, const Operator& op) {
  if (op.As<op::Foreign>()) {
    calls_.emplace_back(std::in_place_type<TorchCall>, graph, op);
  } else {
    calls_.emplace_back(std::in_place_type<OperatorCall>, graph, op);
  }
  return static_cast<int>(calls_.size()) - 1;
}

size_t ReferenceBackend::ScratchFloats(int handle) const {
  const auto* call = std::get_if<OperatorCall>(&calls_[handle]);
  return call == nullptr ? 0 : call->scratch_floats;
}

void ReferenceBackend::Run(int handle, std::span<const ConstTensorView> inputs,
                           std::span<const TensorView> outputs, Range rows, float* scratch) {
  if (const auto* torch_call = std::get_if<TorchCall>(&calls_[handle])) {
    torch_call->Run(inputs, outputs, rows);
  } else {
    ReferenceKernels kernels;
    RunOperator(kernels, std::get<OperatorCall>(calls_[handle]), inputs, outputs, rows, scratch);
  }
}

void ReferenceBackend::CopyIn(const ConstTensorView& host, const TensorView& device) {
  reference::Copy({/*in_logical_order=*/false, host, device});
}

void ReferenceBackend::CopyOut(const ConstTensorView& device, const TensorView& host) {
  reference::Copy({/*in_logical_order=*/false, device, host});
}

}  // namespace cacheinf
