#include "common/backend/host/cpu_backend.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "common/backend/shadow.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "sparse_ops/cpu/change_test.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/simd_targets.h"
#include "sparse_ops/winograd.h"

namespace cacheinf {
namespace {

constexpr size_t kScratchAlignment = 16;  // floats
constexpr size_t kMostRelaidInputs = 3;   // of a product or a norm, with its parameters

int CheckedThreads(int threads) {
  if (threads < 1 || threads > CpuBackend::kMaxThreads) {
    throw InputError("threads must be between 1 and " + std::to_string(CpuBackend::kMaxThreads) +
                     ", not " + std::to_string(threads));
  }
  return threads;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Once per process.
void WarnWhereKernelsAreScalar() {
  if (!OnlyScalarKernelsRun()) return;
  static std::once_flag warned;
  std::call_once(warned, [] {
    LogWarning(
        "only scalar kernels run here, which are slow: this processor has none of the "
        "vector instruction sets that the kernels are compiled for (" +
        Joined(CompiledSimdTargets()) + ")");
  });
}

// Once per process.
void SayWhereBytesAreWidened() {
  if (cpu::ChooseQuantFamily().multiplies_bytes()) return;
  static std::once_flag said;
  std::call_once(said, [] {
    LogInfo(
        "the model computes 8-bit numbers; this processor has no instruction that multiplies four "
        "of them at once (VNNI), so they gain less here");
  });
}

// A value's dims, without memory.
TensorView ShapeOf(const Value& value) {
  TensorView view;
  view.rank = static_cast<int>(value.shape.size());
  std::copy(value.shape.begin(), value.shape.end(), view.dims.begin());
  return view;
}

}  // namespace

// Packs weights and finds how much scratch memory is needed, on views without memory.
struct CpuBackend::PreparingKernels : HostKernels<PreparingKernels> {
  void operator()(const ConvArgs& args, const ActivePixels&) const {
    if (own.call.op->As<op::Conv>()->scheme == Scheme::kWinograd) {
      const auto& winograd = own.packed.emplace<cpu::Winograd>(args);
      own.scratch_floats = winograd.ScratchFloats(args.output, threads);
    } else {
      const auto& conv = own.packed.emplace<cpu::Conv>(args);
      own.scratch_floats = conv.ScratchFloatsWithTest(threads);
    }
  }
  void operator()(const QuantConvArgs& args, const ActivePixels&) const {
    if (cpu::QuantConv::Takes(args)) own.packed.emplace<cpu::QuantConv>(args);
  }
  void operator()(const LinearArgs& args) const {
    const auto& linear = own.packed.emplace<cpu::Linear>(args);
    own.scratch_floats = linear.ScratchFloats(threads);
  }
  void operator()(const QuantLinearArgs& args) const {
    own.packed.emplace<cpu::QuantLinear>(args);
    own.scratch_floats = cpu::QuantLinear::ScratchFloats(args);
  }
  void operator()(const MatMulArgs& args) const {
    own.scratch_floats = cpu::MatMulScratchFloats(args);
  }
  // All others pack nothing.
  template <typename Args>
  void operator()(const Args&) const {}
  template <typename Args>
  void operator()(const Args&, const ActivePixels&) const {}

  OwnCall& own;
  int threads;
};

struct CpuBackend::RunningKernels : HostKernels<RunningKernels> {
  void operator()(const ConvArgs& args, const ActivePixels& pixels) const {
    if (const auto* winograd = std::get_if<cpu::Winograd>(&own.packed)) {
      winograd->Run(args.input, args.residual, args.output, pixels, test, pool, scratch);
    } else {
      const auto& conv = std::get<cpu::Conv>(own.packed);
      conv.Run(args.input, args.residual, args.output, pixels, test, pool, scratch);
    }
  }
  void operator()(const QuantConvArgs& args, const ActivePixels& pixels) const {
    if (const auto* packed = std::get_if<cpu::QuantConv>(&own.packed)) {
      packed->Run(args, pixels, test, pool);
    } else {
      cpu::Compute(args, pixels, pool);
    }
  }
  void operator()(const LinearArgs& args) const {
    std::get<cpu::Linear>(own.packed).Run(args, pool, scratch);
  }
  void operator()(const QuantLinearArgs& args) const {
    std::get<cpu::QuantLinear>(own.packed).Run(args, pool, scratch);
  }
  void operator()(const MatMulArgs& args) const { cpu::MatMul(args, pool, scratch); }
  void operator()(const auto& args) const { cpu::Compute(args, pool); }
  void operator()(const auto& args, const ActivePixels& pixels) const {
    cpu::Compute(args, pixels, pool);
  }

  const OwnCall& own;
  const ChangeTest* test;  // of a convolution
  ThreadPool& pool;
  float* scratch;
};

CpuBackend::CpuBackend(const CpuBackendOptions& options)
    : pool_(options.pool ? options.pool
                         : std::make_shared<ThreadPool>(CheckedThreads(options.threads))) {
  WarnWhereKernelsAreScalar();
}

void CpuBackend::PrepareKernel(const Graph& graph, const Operator& op) {
  if (op.As<op::QuantConv>() || op.As<op::QuantLinear>()) SayWhereBytesAreWidened();
  if (op.As<op::Foreign>()) {
    SetTorchThreads(pool_->threads());
    calls_.emplace_back(TorchCall(op));
  } else {
    OwnCall own = {OperatorCall(graph, op), {}, 0};
    Pack(graph, op, own);
    own.scratch_floats =
        std::max({own.scratch_floats, own.call.scratch_floats, TestFloats(graph, op, own)});
    if (!own.call.is_local) own.relaid = RelaidOf(graph, op);
    if (own.relaid.axis != kNone) {
      own.relaid_begin =
          (own.scratch_floats + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
      own.scratch_floats = own.relaid_begin + own.relaid.floats;
    }
    calls_.emplace_back(std::move(own));
  }
}

void CpuBackend::Pack(const Graph& graph, const Operator& op, OwnCall& own) {
  if (!op.As<op::Conv>() && !op.As<op::Linear>() && !op.As<op::MatMul>() &&
      !op.As<op::QuantConv>() && !op.As<op::QuantLinear>()) {
    return;
  }
  const auto* conv = op.As<op::Conv>();
  if (conv != nullptr && conv->scheme == Scheme::kWinograd && !CanBeWinograd(conv->spec)) {
    throw InputError("operator '" + op.name + "' (" + KindName(op) +
                     ") cannot be computed by Winograd");
  }
  std::vector<ConstTensorView> inputs;
  for (const ValueId input : op.inputs) inputs.push_back(ShapeOf(graph.value(input)));
  const TensorView output = ShapeOf(graph.value(op.outputs[0]));
  RunOperator(PreparingKernels{{}, own, pool_->threads()}, own.call, inputs, {&output, 1},
              ActivePixels(Range{0, 0}), nullptr);
}

size_t CpuBackend::TestFloats(const Graph& graph, const Operator& op, const OwnCall& own) const {
  if (!own.call.is_local || op.As<op::Conv>()) return 0;
  const Shape& shape = graph.value(op.outputs[0]).shape;
  return cpu::TestScratchFloats(static_cast<int>(shape[3]), static_cast<int>(shape[1]),
                                pool_->threads());
}

bool CpuBackend::TestsItself(const OwnCall& own, const ChangeTest& test) {
  if (own.call.op->As<op::Conv>()) return true;
  return std::holds_alternative<cpu::QuantConv>(own.packed) && test.threshold == 0.0f;
}

size_t CpuBackend::ScratchFloats(int handle) const {
  const auto* own = std::get_if<OwnCall>(&calls_[static_cast<size_t>(handle)]);
  return own == nullptr ? 0 : own->scratch_floats;
}

void CpuBackend::RunKernel(int handle, std::span<const ConstTensorView> inputs,
                           std::span<const TensorView> outputs, const ActivePixels& pixels,
                           const ChangeTest* test, float* scratch) {
  auto& call = calls_[static_cast<size_t>(handle)];
  if (const auto* foreign = std::get_if<TorchCall>(&call)) return foreign->Run(inputs, outputs);
  auto& own = std::get<OwnCall>(call);
  if (own.relaid.axis != kNone) return RunRelaid(own, inputs, outputs[0], scratch);
  if (test == nullptr || TestsItself(own, *test)) {
    return RunOwn(own, inputs, outputs, pixels, test, scratch);
  }
  cpu::RunWithTest(AsImage(outputs[0]), pixels, *test, *pool_, scratch,
                   [&](const ActivePixels& part) {
                     RunOperator(RunningKernels{{}, own, nullptr, alone_, nullptr}, own.call,
                                 inputs, outputs, part, nullptr);
                   });
}

void CpuBackend::RunOwn(OwnCall& own, std::span<const ConstTensorView> inputs,
                        std::span<const TensorView> outputs, const ActivePixels& pixels,
                        const ChangeTest* test, float* scratch) {
  RunOperator(RunningKernels{{}, own, test, *pool_, scratch}, own.call, inputs, outputs, pixels,
              scratch);
}

// Such operators are not local, so everything is computed.
void CpuBackend::RunRelaid(OwnCall& own, std::span<const ConstTensorView> inputs,
                           const TensorView& output, float* scratch) {
  const int axis = own.relaid.axis;
  float* memory = scratch + own.relaid_begin;
  const auto lay = [&](const ConstTensorView& tensor) {
    const TensorView laid = LaidAlong(tensor, axis, memory);
    memory += RelaidFloats(tensor);
    return laid;
  };
  std::array<ConstTensorView, kMostRelaidInputs> own_inputs;
  std::copy(inputs.begin(), inputs.end(), own_inputs.begin());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsParameter(*own.call.op, i) || !IsToBeRelaid(inputs[i], axis)) continue;
    const TensorView laid = lay(inputs[i]);
    cpu::Compute(CopyArgs{inputs[i], laid}, AllPixels(laid), *pool_);
    own_inputs[i] = laid;
  }
  const bool is_output_laid = own.relaid.includes_output && IsToBeRelaid(output, axis);
  const TensorView own_output = is_output_laid ? lay(output) : output;
  RunOwn(own, {own_inputs.data(), inputs.size()}, {&own_output, 1}, AllPixels(own_output),
         /*test=*/nullptr, scratch);
  if (!is_output_laid) return;
  cpu::Compute(CopyArgs{own_output, output}, AllPixels(output), *pool_);
}

void CpuBackend::RunWarp(const WarpArgs& args) { cpu::Compute(args, *pool_); }

void CpuBackend::CopyIn(const ConstTensorView& host, const TensorView& device) {
  cpu::Compute(CopyArgs{host, device}, AllPixels(device), *pool_);
}

void CpuBackend::CopyOut(const ConstTensorView& device, const TensorView& host) {
  cpu::Compute(CopyArgs{device, host}, AllPixels(host), *pool_);
}

}  // namespace cacheinf
