#include "common/exec/cpu_backend.h"

#include <algorithm>
#include <string>

#include "common/base/error.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace {

int CheckedThreads(int threads) {
  if (threads < 1 || threads > CpuBackend::kMaxThreads) {
    throw InputError("threads must be between 1 and " + std::to_string(CpuBackend::kMaxThreads) +
                     ", not " + std::to_string(threads));
  }
  return threads;
}

// A value's dims, without memory.
TensorView ShapeOf(const Value& value) {
  TensorView view;
  view.rank = static_cast<int>(value.shape.size());
  std::copy(value.shape.begin(), value.shape.end(), view.dims.begin());
  return view;
}

}  // namespace

// Called with the operators that pack weights or need scratch memory, on views without memory.
struct CpuBackend::PreparingKernels {
  void Conv(const ConvArgs& args, Range) {
    const auto& conv = own.packed.emplace<cpu::Conv>(args);
    own.scratch_floats = conv.ScratchFloats(threads);
  }
  void Linear(const LinearArgs& args) {
    const auto& linear = own.packed.emplace<cpu::Linear>(args);
    own.scratch_floats = linear.ScratchFloats(threads);
  }
  void MatMul(const MatMulArgs& args) { own.scratch_floats = cpu::MatMulScratchFloats(args); }

  void Pool(const PoolArgs&, Range) {}
  void AdaptivePool(const AdaptivePoolArgs&, Range) {}
  void Resize(const ResizeArgs&, Range) {}
  void DepthToSpace(const BlockArgs&, Range) {}
  void SpaceToDepth(const BlockArgs&, Range) {}
  void Activation(const ActivationArgs&) {}
  void ScaleShift(const ScaleShiftArgs&) {}
  void Binary(const BinaryArgs&) {}
  void Copy(const CopyArgs&) {}
  void Gather(const GatherArgs&) {}
  void Pad(const PadArgs&) {}
  void LayerNorm(const LayerNormArgs&) {}
  void GroupNorm(const GroupNormArgs&) {}
  void Softmax(const SoftmaxArgs&) {}
  void ArgMax(const ArgMaxArgs&) {}
  void Reduce(const ReduceArgs&) {}
  void DecodeBoxes(const DecodeBoxesArgs&) {}
  void NonMaxSuppression(const NonMaxSuppressionArgs&) {}

  OwnCall& own;
  int threads;
};

struct CpuBackend::RunningKernels {
  void Conv(const ConvArgs& args, Range rows) {
    const auto& conv = std::get<cpu::Conv>(own.packed);
    conv.Run(args.input, args.residual, args.output, rows, pool, scratch);
  }
  void Linear(const LinearArgs& args) {
    std::get<cpu::Linear>(own.packed).Run(args, pool, scratch);
  }
  void MatMul(const MatMulArgs& args) { cpu::MatMul(args, pool, scratch); }
  void Pool(const PoolArgs& args, Range rows) { cpu::Pool(args, rows, pool); }
  void AdaptivePool(const AdaptivePoolArgs& args, Range rows) {
    cpu::AdaptivePool(args, rows, pool);
  }
  void Resize(const ResizeArgs& args, Range rows) { cpu::Resize(args, rows, pool); }
  void DepthToSpace(const BlockArgs& args, Range rows) { cpu::DepthToSpace(args, rows, pool); }
  void SpaceToDepth(const BlockArgs& args, Range rows) { cpu::SpaceToDepth(args, rows, pool); }
  void Activation(const ActivationArgs& args) { cpu::Activation(args, pool); }
  void ScaleShift(const ScaleShiftArgs& args) { cpu::ScaleShift(args, pool); }
  void Binary(const BinaryArgs& args) { cpu::Binary(args, pool); }
  void Copy(const CopyArgs& args) { cpu::Copy(args, pool); }
  void Pad(const PadArgs& args) { cpu::Pad(args, pool); }
  void LayerNorm(const LayerNormArgs& args) { cpu::LayerNorm(args, pool); }
  void GroupNorm(const GroupNormArgs& args) { cpu::GroupNorm(args, pool); }
  void Softmax(const SoftmaxArgs& args) { cpu::Softmax(args, pool); }
  void ArgMax(const ArgMaxArgs& args) { cpu::ArgMax(args, pool); }
  void Reduce(const ReduceArgs& args) { cpu::Reduce(args, pool); }

  // Copies and decisions on a few numbers: vectors would gain nothing.
  void Gather(const GatherArgs& args) { reference::Gather(args); }
  void DecodeBoxes(const DecodeBoxesArgs& args) { reference::DecodeBoxes(args); }
  void NonMaxSuppression(const NonMaxSuppressionArgs& args) { reference::NonMaxSuppression(args); }

  const OwnCall& own;
  ThreadPool& pool;
  float* scratch;
};

CpuBackend::CpuBackend(const CpuBackendOptions& options)
    : options_(options), pool_(CheckedThreads(options.threads)) {}

int CpuBackend::Prepare(const Graph& graph, const Operator& op) {
  const bool by_libtorch =
      op.As<op::Foreign>() || (options_.libtorch_scheme && TorchCall::Offers(op));
  if (by_libtorch) {
    calls_.emplace_back(std::in_place_type<TorchCall>, graph, op);
  } else {
    OwnCall own = {OperatorCall(graph, op), {}, 0};
    Pack(graph, op, own);
    own.scratch_floats = std::max(own.scratch_floats, own.call.scratch_floats);
    calls_.emplace_back(std::move(own));
  }
  return static_cast<int>(calls_.size()) - 1;
}

void CpuBackend::Pack(const Graph& graph, const Operator& op, OwnCall& own) {
  if (!op.As<op::Conv>() && !op.As<op::Linear>() && !op.As<op::MatMul>()) return;
  std::vector<ConstTensorView> inputs;
  for (const ValueId input : op.inputs) inputs.push_back(ShapeOf(graph.value(input)));
  const TensorView output = ShapeOf(graph.value(op.outputs[0]));
  PreparingKernels kernels = {own, pool_.threads()};
  RunOperator(kernels, own.call, inputs, {&output, 1}, {0, 0}, nullptr);
}

size_t CpuBackend::ScratchFloats(int handle) const {
  const auto* own = std::get_if<OwnCall>(&calls_[static_cast<size_t>(handle)]);
  return own == nullptr ? 0 : own->scratch_floats;
}

void CpuBackend::Run(int handle, std::span<const ConstTensorView> inputs,
                     std::span<const TensorView> outputs, Range rows, float* scratch) {
  auto& call = calls_[static_cast<size_t>(handle)];
  if (const auto* torch_call = std::get_if<TorchCall>(&call)) {
    torch_call->Run(inputs, outputs, rows);
    return;
  }
  auto& own = std::get<OwnCall>(call);
  RunningKernels kernels = {own, pool_, scratch};
  RunOperator(kernels, own.call, inputs, outputs, rows, scratch);
}

void CpuBackend::CopyIn(const ConstTensorView& host, const TensorView& device) {
  cpu::Copy({/*in_logical_order=*/false, host, device}, pool_);
}

void CpuBackend::CopyOut(const ConstTensorView& device, const TensorView& host) {
  cpu::Copy({/*in_logical_order=*/false, device, host}, pool_);
}

}  // namespace cacheinf
