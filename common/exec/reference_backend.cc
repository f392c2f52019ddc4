#include "common/exec/reference_backend.h"

#include "common/exec/shadow.h"
#include "sparse_ops/reference/on_pixels.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/reference/warp.h"

namespace cacheinf {
namespace {

struct ReferenceKernels {
  void Conv(const ConvArgs& args, const ActivePixels& pixels) {
    reference::Conv(args, pixels.rows);
  }
  void Pool(const PoolArgs& args, const ActivePixels& pixels) {
    reference::Pool(args, pixels.rows);
  }
  void AdaptivePool(const AdaptivePoolArgs& args, const ActivePixels& pixels) {
    reference::AdaptivePool(args, pixels.rows);
  }
  void Resize(const ResizeArgs& args, const ActivePixels& pixels) {
    reference::Resize(args, pixels.rows);
  }
  void DepthToSpace(const BlockArgs& args, const ActivePixels& pixels) {
    reference::DepthToSpace(args, pixels.rows);
  }
  void SpaceToDepth(const BlockArgs& args, const ActivePixels& pixels) {
    reference::SpaceToDepth(args, pixels.rows);
  }
  void Activation(const ActivationArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Activation, args, pixels);
  }
  void ScaleShift(const ScaleShiftArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::ScaleShift, args, pixels);
  }
  void Binary(const BinaryArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Binary, args, pixels);
  }
  void Copy(const CopyArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Copy, args, pixels);
  }
  void Gather(const GatherArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Gather, args, pixels);
  }
  void Pad(const PadArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Pad, args, pixels);
  }
  void LayerNorm(const LayerNormArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::LayerNorm, args, pixels);
  }
  void Softmax(const SoftmaxArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Softmax, args, pixels);
  }
  void ArgMax(const ArgMaxArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::ArgMax, args, pixels);
  }
  void Reduce(const ReduceArgs& args, const ActivePixels& pixels) {
    reference::OnPixels(reference::Reduce, args, pixels);
  }
  void Linear(const LinearArgs& args) { reference::Linear(args); }
  void MatMul(const MatMulArgs& args) { reference::MatMul(args); }
  void GroupNorm(const GroupNormArgs& args) { reference::GroupNorm(args); }
  void DecodeBoxes(const DecodeBoxesArgs& args) { reference::DecodeBoxes(args); }
  void NonMaxSuppression(const NonMaxSuppressionArgs& args) { reference::NonMaxSuppression(args); }
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
  ReferenceKernels kernels;
  if (!pixels.is_sparse || !call.is_local) {
    RunOperator(kernels, call, inputs, outputs, pixels, scratch);
    return;
  }
  RunOnShadow(outputs[0], pixels, test, scratch, [&](const TensorView& shadow, Range rows) {
    RunOperator(kernels, call, inputs, {&shadow, 1}, rows, nullptr);
  });
}

void ReferenceBackend::FetchPixels(const WarpArgs& args, ConstMaskView needed, ConstMaskView held,
                                   MaskView out_of_view) {
  reference::HaloFetch(args, needed, held, {0, args.to.height}, out_of_view);
}

void ReferenceBackend::FetchRest(const WarpArgs& args, ConstMaskView held, MaskView out_of_view) {
  reference::WarpAndMerge(args, held, {0, args.to.height}, out_of_view);
}

void ReferenceBackend::CopyIn(const ConstTensorView& host, const TensorView& device) {
  reference::Copy({/*in_logical_order=*/false, host, device});
}

void ReferenceBackend::CopyOut(const ConstTensorView& device, const TensorView& host) {
  reference::Copy({/*in_logical_order=*/false, device, host});
}

}  // namespace cacheinf
