#include "common/backend/torch_call.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <dlfcn.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace cacheinf {
namespace {

// Shows our memory to LibTorch without copying it.
at::Tensor Borrow(const ConstTensorView& view) {
  const at::IntArrayRef dims(view.dims.data(), static_cast<size_t>(view.rank));
  const at::IntArrayRef strides(view.strides.data(), static_cast<size_t>(view.rank));
  return at::from_blob(const_cast<float*>(view.data), dims, strides);
}

at::Tensor Borrow(const TensorView& view) { return Borrow(ConstTensorView(view)); }

void Store(const at::Tensor& result, const TensorView& output) {
  if (result.dim() != output.rank || result.numel() != output.Count()) {
    throw std::runtime_error("LibTorch returned a tensor of another shape than at import");
  }
  Borrow(output).copy_(result);
}

at::Tensor Apply(const at::Tensor& x, const Function& function, const at::Tensor& slope) {
  switch (function.kind) {
    case Function::Kind::kIdentity:
      return x;
    case Function::Kind::kRelu:
      return x.relu();
    case Function::Kind::kLeakyRelu:
      return at::leaky_relu(x, function.alpha);
    case Function::Kind::kPRelu:
      return at::prelu(x, slope);
    case Function::Kind::kElu:
      return at::elu(x, function.alpha);
    case Function::Kind::kClip:
      return at::clamp(x, function.alpha, function.beta);
    case Function::Kind::kSigmoid:
      return x.sigmoid();
    case Function::Kind::kHardSigmoid:
      return at::clamp(x * function.alpha + function.beta, 0, 1);
    case Function::Kind::kSilu:
      return at::silu(x);
    case Function::Kind::kHardSwish:
      return at::hardswish(x);
    case Function::Kind::kGelu:
      return at::gelu(x);
    case Function::Kind::kGeluTanh:
      return at::gelu(x, "tanh");
    case Function::Kind::kMish:
      return at::mish(x);
    case Function::Kind::kTanh:
      return x.tanh();
    case Function::Kind::kSoftplus:
      return at::softplus(x);
    case Function::Kind::kExp:
      return x.exp();
    case Function::Kind::kLog:
      return x.log();
    case Function::Kind::kErf:
      return x.erf();
    case Function::Kind::kSqrt:
      return x.sqrt();
    case Function::Kind::kReciprocal:
      return x.reciprocal();
    case Function::Kind::kAbs:
      return x.abs();
    case Function::Kind::kNegate:
      return x.neg();
    case Function::Kind::kFloor:
      return x.floor();
    case Function::Kind::kCeil:
      return x.ceil();
    case Function::Kind::kRound:
      return x.round();
    case Function::Kind::kSin:
      return x.sin();
    case Function::Kind::kCos:
      return x.cos();
    case Function::Kind::kTruncate:
      return x.trunc();
    case Function::Kind::kIsZero:
      return x.eq(0).to(x.scalar_type());
  }
  throw std::logic_error("an unknown function");
}

// LibTorch computes on OpenMP's threads. After a loop these spin for milliseconds (libgomp's for
// about twenty), waiting for the next loop, on cores that our own threads want. libgomp can be told
// not to only before it is loaded. So end them; the next loop makes new ones. An OpenMP library
// older than 5.0 cannot end them.
void EndOpenMpThreads() {
  using PauseResources = int (*)(int kind);
  static const auto pause =
      reinterpret_cast<PauseResources>(dlsym(RTLD_DEFAULT, "omp_pause_resource_all"));
  constexpr int kSoft = 1;  // omp_pause_soft
  if (pause != nullptr) pause(kSoft);
}

// The rows of the input that `rows` of a sliding convolution's output need, with zeros where the
// window leaves the picture. Convolving them without row padding gives exactly `rows`.
at::Tensor RowsFor(const at::Tensor& in, const WindowAxis& axis, Range rows) {
  const int64_t height = in.size(2);
  const int64_t first = int64_t{rows.begin} * axis.stride - axis.pad_begin;
  const int64_t last = int64_t{rows.end - 1} * axis.stride - axis.pad_begin +
                       int64_t{axis.kernel - 1} * axis.dilation;
  const int64_t begin = std::clamp<int64_t>(first, 0, height);
  const int64_t end = std::clamp<int64_t>(last + 1, begin, height);
  const at::Tensor part = in.narrow(2, begin, end - begin);
  const int64_t above = begin - first;
  const int64_t below = last + 1 - end;
  return above == 0 && below == 0 ? part : at::constant_pad_nd(part, {0, 0, above, below});
}

struct ConvCall {
  op::Conv conv;
  at::Tensor weights, bias, slope;

  at::Tensor operator()(const at::Tensor& in, Range rows) const {
    const ConvSpec& spec = conv.spec;
    if (spec.transposed) {
      const at::Tensor out =
          at::convolution(in, weights, bias, {spec.rows.stride, spec.columns.stride}, {0, 0},
                          {spec.rows.dilation, spec.columns.dilation}, true, {0, 0}, spec.groups);
      // Crops the padding, and adds rows and columns that only the output padding asks for.
      at::Tensor padded = at::constant_pad_nd(
          out, {-spec.columns.pad_begin, out_width + spec.columns.pad_begin - out.size(3),
                -spec.rows.pad_begin, out_height + spec.rows.pad_begin - out.size(2)});
      if (bias.defined()) AddBiasToAddedEdge(out, &padded);
      return padded.narrow(2, rows.begin, rows.size());
    }
    const WindowAxis& columns = spec.columns;
    at::Tensor part = RowsFor(in, spec.rows, rows);
    int64_t padding = columns.pad_begin;
    if (columns.pad_begin != columns.pad_end || padding < 0) {
      part = at::constant_pad_nd(part, {columns.pad_begin, columns.pad_end});
      padding = 0;
    }
    return at::convolution(part, weights, bias, {spec.rows.stride, columns.stride}, {0, padding},
                           {spec.rows.dilation, columns.dilation}, false, {0, 0}, spec.groups);
  }

  int64_t out_height = 0;
  int64_t out_width = 0;

 private:
  void AddBiasToAddedEdge(const at::Tensor& unpadded, at::Tensor* padded) const {
    const at::Tensor value = bias.view({1, -1, 1, 1});
    const int64_t rows = unpadded.size(2) - conv.spec.rows.pad_begin;
    const int64_t columns = unpadded.size(3) - conv.spec.columns.pad_begin;
    if (out_height > rows) padded->narrow(2, rows, out_height - rows).add_(value);
    if (out_width > columns) {
      padded->narrow(2, 0, std::min(rows, out_height))
          .narrow(3, columns, out_width - columns)
          .add_(value);
    }
  }
};

}  // namespace

struct TorchCall::State {
  Operator op;
  torch::jit::Module module;  // of a foreign operator
  ConvCall conv;
  at::Tensor weights, bias;  // of a linear operator

  void RunForeign(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs) {
    std::vector<c10::IValue> arguments;
    for (const ConstTensorView& input : inputs) arguments.emplace_back(Borrow(input).contiguous());
    const c10::IValue result = module.forward(std::move(arguments));
    std::vector<at::Tensor> tensors;
    if (result.isTensor()) {
      tensors = {result.toTensor()};
    } else if (result.isTensorList()) {
      tensors = result.toTensorVector();
    } else {
      for (const c10::IValue& element : result.toTupleRef().elements()) {
        tensors.push_back(element.toTensor());
      }
    }
    if (tensors.size() != outputs.size()) {
      throw std::runtime_error("LibTorch returned another number of tensors than at import");
    }
    for (size_t i = 0; i < outputs.size(); ++i) Store(tensors[i], outputs[i]);
  }

  void RunConv(std::span<const ConstTensorView> inputs, const TensorView& output, Range rows) {
    const at::Tensor residual =
        conv.conv.has_residual
            ? Borrow(inputs[2 + conv.conv.has_bias]).narrow(2, rows.begin, rows.size())
            : at::Tensor();
    at::Tensor sum = conv(Borrow(inputs[0]), rows);
    const bool residual_first = conv.conv.has_residual && !conv.conv.activation_before_residual;
    const bool residual_last = conv.conv.has_residual && conv.conv.activation_before_residual;
    if (residual_first) sum = sum + residual;
    sum = Apply(sum, conv.conv.activation, conv.slope);
    if (residual_last) sum = sum + residual;
    Borrow(output).narrow(2, rows.begin, rows.size()).copy_(sum);
  }
};

TorchCall::TorchCall(const Graph& graph, const Operator& op) : state_(std::make_unique<State>()) {
  state_->op = op;
  const auto constant = [&](size_t i) {
    return Borrow(graph.value(op.inputs[i]).constant.view()).clone();
  };
  if (const auto* foreign = op.As<op::Foreign>()) {
    try {
      std::istringstream archive(*foreign->archive);
      state_->module = torch::jit::load(archive, at::kCPU);
      state_->module.eval();
    } catch (const std::exception& error) {
      throw InputError("operator '" + op.name + "' (" + foreign->type +
                       "): LibTorch cannot read its archive");
    }
  } else if (const auto* conv = op.As<op::Conv>()) {
    state_->conv.conv = *conv;
    state_->conv.weights = constant(1);
    if (conv->has_bias) state_->conv.bias = constant(2);
    if (conv->has_slope) state_->conv.slope = constant(op.inputs.size() - 1);
    state_->conv.out_height = graph.value(op.outputs[0]).shape[2];
    state_->conv.out_width = graph.value(op.outputs[0]).shape[3];
  } else if (const auto* linear = op.As<op::Linear>()) {
    state_->weights = constant(1);
    if (linear->has_bias) state_->bias = constant(2);
  } else if (!Offers(op)) {
    throw InputError("operator '" + op.name + "' (" + KindName(op) +
                     "): LibTorch is no choice for it");
  }
}

TorchCall::~TorchCall() = default;
TorchCall::TorchCall(TorchCall&&) noexcept = default;
TorchCall& TorchCall::operator=(TorchCall&&) noexcept = default;

bool TorchCall::Offers(const Operator& op) {
  return op.As<op::Conv>() || op.As<op::Linear>() || op.As<op::MatMul>();
}

void TorchCall::Run(std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
                    Range rows) const {
  const at::InferenceMode no_gradients;
  if (state_->op.As<op::Foreign>()) {
    state_->RunForeign(inputs, outputs);
    EndOpenMpThreads();
  } else if (state_->op.As<op::Conv>()) {
    state_->RunConv(inputs, outputs[0], rows);
  } else if (const auto* linear = state_->op.As<op::Linear>()) {
    const at::Tensor sum = at::linear(Borrow(inputs[0]), state_->weights, state_->bias);
    Store(Apply(sum, linear->activation, {}), outputs[0]);
  } else {
    Store(at::matmul(Borrow(inputs[0]), Borrow(inputs[1])), outputs[0]);
  }
}

bool HasForeign(const Graph& graph) {
  return std::ranges::any_of(graph.operators,
                             [](const Operator& op) { return op.As<op::Foreign>() != nullptr; });
}

void SetTorchThreads(int threads) { at::set_num_threads(threads); }

}  // namespace cacheinf
