// Converters of the TorchScript operators that compute. Argument positions are those of the
// operators' schemas, quoted above each converter where they are not obvious.

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/error.h"
#include "common/model/torchscript/importer.h"

namespace cacheinf::torchscript {
namespace {

using Result = std::optional<Slot>;

// {n} and {n, m} both stand for rows, columns.
std::optional<std::array<int, 2>> Pair(const std::vector<int64_t>& numbers) {
  if (numbers.empty() || numbers.size() > 2) return std::nullopt;
  return std::array<int, 2>{ToInt(numbers.front()), ToInt(numbers.back())};
}

bool IsMap(Call& call, size_t i) { return call.ShapeOf(i).size() == 4; }

// ---- Convolutions and products ----

struct ConvArguments {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

// input, weight, bias? are arguments 0 to 2 of every convolution.
Result EmitConv(Call& call, const ConvArguments& arguments) {
  if (!IsMap(call, 0) || !call.IsConcreteTensor(1)) return kStaysForeign;
  if (!call.IsNone(2) && !call.IsConcreteTensor(2)) return kStaysForeign;
  const Tensor weights = ToTensor(call.WeightTensor(1));
  const auto stride = Pair(arguments.stride);
  const auto padding = Pair(arguments.padding);
  const auto dilation = Pair(arguments.dilation);
  const auto output_padding = Pair(arguments.output_padding);
  if (weights.shape().size() != 4 || !stride || !padding || !dilation || !output_padding) {
    return kStaysForeign;
  }
  op::Conv conv;
  const auto axis = [&](int i) {
    return WindowAxis{ToInt(weights.shape()[2 + i]), (*stride)[i], (*padding)[i], (*padding)[i],
                      (*dilation)[i]};
  };
  conv.spec.rows = axis(0);
  conv.spec.columns = axis(1);
  conv.spec.groups = ToInt(arguments.groups);
  conv.spec.transposed = arguments.transposed;
  conv.spec.output_padding_rows = (*output_padding)[0];
  conv.spec.output_padding_columns = (*output_padding)[1];
  std::vector<ValueId> inputs = {call.Value(0), call.Constant(weights)};
  conv.has_bias = !call.IsNone(2);
  if (conv.has_bias) inputs.push_back(call.Value(2));
  return call.Result(conv, std::move(inputs));
}

// conv2d(input, weight, bias, stride, padding, dilation, groups); padding may be "same" or "valid".
Result Conv2d(Call& call) {
  ConvArguments arguments{call.Ints(3), {}, call.Ints(5), {0}, false, call.Int(6)};
  if (call.arguments()[4].concrete.isString()) {
    if (!call.IsConcreteTensor(1) || !IsMap(call, 0)) return kStaysForeign;
    const auto kernel = call.WeightTensor(1).sizes().slice(2);
    const auto dilation = Pair(arguments.dilation);
    arguments.padding = {0, 0};
    if (call.String(4) == "same") {
      for (int i = 0; i < 2; ++i) {
        const int64_t total = (*dilation)[i] * (kernel[i] - 1);
        if (total % 2 != 0) return kStaysForeign;
        arguments.padding[i] = total / 2;
      }
    }
  } else {
    arguments.padding = call.Ints(4);
  }
  return EmitConv(call, arguments);
}

// _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
// …)
Result Convolution(Call& call) {
  return EmitConv(
      call, {call.Ints(3), call.Ints(4), call.Ints(5), call.Ints(7), call.Bool(6), call.Int(8)});
}

// conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
Result ConvTranspose2d(Call& call) {
  return EmitConv(call,
                  {call.Ints(3), call.Ints(4), call.Ints(7), call.Ints(5), true, call.Int(6)});
}

Slot EmitLinear(Call& call, ValueId input, const at::Tensor& weights, const at::Tensor* bias) {
  op::Linear linear;
  std::vector<ValueId> inputs = {input, call.Constant(ToTensor(weights))};
  linear.has_bias = bias != nullptr;
  if (bias) inputs.push_back(call.Constant(ToTensor(bias->flatten())));
  return call.Result(linear, std::move(inputs));
}

// linear(input, weight, bias?)
Result Linear(Call& call) {
  if (!call.IsConcreteTensor(1) || call.WeightTensor(1).dim() != 2) return kStaysForeign;
  if (call.IsNone(2)) return EmitLinear(call, call.Value(0), call.WeightTensor(1), nullptr);
  if (!call.IsConcreteTensor(2)) return kStaysForeign;
  const at::Tensor bias = call.WeightTensor(2);
  return EmitLinear(call, call.Value(0), call.WeightTensor(1), &bias);
}

// addmm(bias, x, weight, *, beta, alpha)
Result AddMatMul(Call& call) {
  if (!call.IsConcreteTensor(0) || !call.IsConcreteTensor(2) || call.Double(3) != 1.0 ||
      call.Double(4) != 1.0) {
    return kStaysForeign;
  }
  const at::Tensor bias = call.WeightTensor(0);
  const at::Tensor weights = call.WeightTensor(2).t();
  if (bias.numel() != weights.size(0)) return kStaysForeign;
  return EmitLinear(call, call.Value(1), weights, &bias);
}

// matmul(a, b), mm, bmm
Result MatMul(Call& call) {
  if (call.IsConcreteTensor(1) && call.WeightTensor(1).dim() == 2 && !call.ShapeOf(0).empty()) {
    return EmitLinear(call, call.Value(0), call.WeightTensor(1).t(), nullptr);
  }
  if (call.ShapeOf(0).size() < 2 || call.ShapeOf(1).size() < 2) return kStaysForeign;
  return call.Result(op::MatMul{}, {call.Value(0), call.Value(1)});
}

// ---- Norms ----

// batch_norm(input, weight?, bias?, mean?, var?, training, momentum, eps, cudnn)
Result BatchNorm(Call& call) {
  if (!call.IsConcreteTensor(3) || !call.IsConcreteTensor(4) || call.Bool(5)) return kStaysForeign;
  const at::Tensor mean = call.WeightTensor(3).to(at::kDouble);
  const at::Tensor variance = call.WeightTensor(4).to(at::kDouble);
  at::Tensor scale = (variance + call.Double(7)).rsqrt();
  if (!call.IsNone(1)) scale = scale * call.WeightTensor(1).to(at::kDouble);
  at::Tensor shift = -mean * scale;
  if (!call.IsNone(2)) shift = shift + call.WeightTensor(2).to(at::kDouble);
  return call.Result(op::ScaleShift{}, {call.Value(0), call.Constant(ToTensor(scale)),
                                        call.Constant(ToTensor(shift))});
}

// A norm with its scale and shift, if the file has one of them: the other is ones or zeros.
template <typename Norm>
Result EmitNorm(Call& call, Norm norm, size_t weight, size_t bias, const Shape& shape) {
  const auto operand = [&](size_t i, double otherwise) {
    const at::Tensor tensor =
        call.IsNone(i) ? at::full(shape, otherwise) : call.WeightTensor(i).reshape(shape);
    return call.Constant(ToTensor(tensor));
  };
  norm.has_affine = !call.IsNone(weight) || !call.IsNone(bias);
  if (!norm.has_affine) return call.Result(norm);
  return call.Result(norm, {call.Value(0), operand(weight, 1.0), operand(bias, 0.0)});
}

// layer_norm(input, normalized_shape, weight?, bias?, eps, cudnn)
Result LayerNorm(Call& call) {
  const std::vector<int64_t> normalised = call.Ints(1);
  op::LayerNorm norm;
  norm.axis_count = static_cast<int>(normalised.size());
  norm.first_axis = static_cast<int>(call.ShapeOf(0).size()) - norm.axis_count;
  norm.epsilon = static_cast<float>(call.Double(4));
  return EmitNorm(call, norm, 2, 3, normalised);
}

Result EmitGroupNorm(Call& call, int64_t groups, double epsilon, size_t weight, size_t bias) {
  op::GroupNorm norm;
  norm.groups = ToInt(groups);
  norm.epsilon = static_cast<float>(epsilon);
  return EmitNorm(call, norm, weight, bias, {call.ShapeOf(0)[1]});
}

// group_norm(input, num_groups, weight?, bias?, eps, cudnn)
Result GroupNorm(Call& call) {
  if (call.ShapeOf(0).size() < 2) return kStaysForeign;
  return EmitGroupNorm(call, call.Int(1), call.Double(4), 2, 3);
}

// instance_norm(input, weight?, bias?, mean?, var?, use_input_stats, momentum, eps, cudnn)
Result InstanceNorm(Call& call) {
  if (call.ShapeOf(0).size() < 3 || !call.Bool(5)) return kStaysForeign;
  return EmitGroupNorm(call, call.ShapeOf(0)[1], call.Double(7), 1, 2);
}

// ---- Functions of one number ----

Result Apply(Call& call, Function::Kind kind, double alpha = 0.0, double beta = 0.0) {
  const Function function{kind, static_cast<float>(alpha), static_cast<float>(beta)};
  return call.Result(op::Activation{function});
}

template <Function::Kind kKind>
Result ApplyPlain(Call& call) {
  return Apply(call, kKind);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Result Relu6(Call& call) { return Apply(call, Function::Kind::kClip, 0.0, 6.0); }
Result HardSigmoid(Call& call) { return Apply(call, Function::Kind::kHardSigmoid, 1.0 / 6.0, 0.5); }
Result LeakyRelu(Call& call) { return Apply(call, Function::Kind::kLeakyRelu, call.Double(1)); }
Result HardTanh(Call& call) {
  return Apply(call, Function::Kind::kClip, call.Double(1), call.Double(2));
}

// elu(x, alpha, scale, input_scale)
Result Elu(Call& call) {
  if (call.Double(2) != 1.0 || call.Double(3) != 1.0) return kStaysForeign;
  return Apply(call, Function::Kind::kElu, call.Double(1));
}

// gelu(x, *, approximate)
Result Gelu(Call& call) {
  const bool is_tanh = call.size() > 1 && call.String(1) == "tanh";
  return Apply(call, is_tanh ? Function::Kind::kGeluTanh : Function::Kind::kGelu);
}

// softplus(x, beta, threshold): the threshold only switches to x where both agree.
Result Softplus(Call& call) {
  if (call.Double(1) != 1.0 || call.Double(2) < 20.0) return kStaysForeign;
  return Apply(call, Function::Kind::kSoftplus);
}

// clamp(x, min?, max?)
Result Clamp(Call& call) {
  const bool is_plain =
      (call.IsNone(1) || call.IsNumber(1)) && (call.IsNone(2) || call.IsNumber(2));
  if (!is_plain) return kStaysForeign;
  return Apply(call, Function::Kind::kClip, call.IsNone(1) ? -kInfinity : call.Double(1),
               call.IsNone(2) ? kInfinity : call.Double(2));
}
Result ClampMin(Call& call) {
  return call.IsNumber(1) ? Apply(call, Function::Kind::kClip, call.Double(1), kInfinity)
                          : kStaysForeign;
}
Result ClampMax(Call& call) {
  return call.IsNumber(1) ? Apply(call, Function::Kind::kClip, -kInfinity, call.Double(1))
                          : kStaysForeign;
}

// prelu(x, weight)
Result PRelu(Call& call) {
  if (!call.IsConcreteTensor(1)) return kStaysForeign;
  const Function function{Function::Kind::kPRelu, 0.0f, 0.0f};
  const ValueId slope = call.Constant(ToTensor(call.WeightTensor(1).flatten()));
  return call.Result(op::Activation{function}, {call.Value(0), slope});
}

Result ReciprocalSqrt(Call& call) {
  const ValueId root = call.Emit(op::Activation{{Function::Kind::kSqrt}}, {call.Value(0)});
  return call.Result(op::Activation{{Function::Kind::kReciprocal}}, {root});
}

// round(x), round(x, *, decimals)
Result Round(Call& call) {
  return call.size() == 1 ? Apply(call, Function::Kind::kRound) : kStaysForeign;
}

// ---- Arithmetic ----

template <BinaryKind kKind>
Result Arithmetic(Call& call) {
  if (call.size() != 2) return kStaysForeign;
  return call.Result(op::Binary{kKind, {}}, {call.Value(0), call.Value(1)});
}

// div(a, b), div(a, b, *, rounding_mode)
Result Divide(Call& call) {
  if (call.size() == 3 && !call.IsNone(2)) return kStaysForeign;
  return call.Result(op::Binary{BinaryKind::kDivide, {}}, {call.Value(0), call.Value(1)});
}

// add(a, b, *, alpha) and sub(a, b, *, alpha): a ± alpha b
template <BinaryKind kKind>
Result AddScaled(Call& call) {
  if (call.size() > 3) return kStaysForeign;
  if (call.IsTruth(0) && call.IsTruth(1)) return kStaysForeign;  // which it combines
  ValueId right = call.Value(1);
  if (call.size() == 3 && call.Double(2) != 1.0) {
    right = call.Emit(op::Binary{BinaryKind::kMultiply, {}}, {right, call.Scalar(call.Double(2))});
  }
  return call.Result(op::Binary{kKind, {}}, {call.Value(0), right});
}

// rsub(a, b, alpha): b - alpha a
Result ReverseSubtract(Call& call) {
  if (call.size() == 3 && call.Double(2) != 1.0) return kStaysForeign;
  return call.Result(op::Binary{BinaryKind::kSubtract, {}}, {call.Value(1), call.Value(0)});
}

// ---- Pools and resizing ----

std::optional<PoolSpec> Windows(PoolSpec::Kind kind, const std::vector<int64_t>& kernels,
                                std::vector<int64_t> strides, const std::vector<int64_t>& paddings,
                                const std::vector<int64_t>& dilations) {
  if (strides.empty()) strides = kernels;
  const auto kernel = Pair(kernels);
  const auto stride = Pair(strides);
  const auto padding = Pair(paddings);
  const auto dilation = Pair(dilations);
  if (!kernel || !stride || !padding || !dilation) return std::nullopt;
  PoolSpec spec;
  spec.kind = kind;
  spec.rows = {(*kernel)[0], (*stride)[0], (*padding)[0], (*padding)[0], (*dilation)[0]};
  spec.columns = {(*kernel)[1], (*stride)[1], (*padding)[1], (*padding)[1], (*dilation)[1]};
  return spec;
}

// max_pool2d(x, kernel, stride, padding, dilation, ceil_mode); max_pool2d_with_indices alike
Result MaxPool(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  const bool wants_indices =
      call.node().outputs().size() > 1 && call.node().outputs()[1]->hasUses();
  auto spec = Windows(PoolSpec::Kind::kMax, call.Ints(1), call.Ints(2), call.Ints(3), call.Ints(4));
  if (!spec || wants_indices) return kStaysForeign;
  spec->ceil_mode = call.Bool(5);
  const Slot result = call.Result(op::Pool{*spec});
  if (call.node().outputs().size() == 1) return result;
  return Slot::Collection({result, Slot::Concrete(c10::IValue())});
}

// avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override?)
Result AveragePool(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  auto spec = Windows(PoolSpec::Kind::kAverage, call.Ints(1), call.Ints(2), call.Ints(3), {1});
  if (!spec) return kStaysForeign;
  spec->ceil_mode = call.Bool(4);
  spec->count_padding = call.Bool(5);
  if (!call.IsNone(6)) spec->divisor = ToInt(call.Int(6));
  return call.Result(op::Pool{*spec});
}

// adaptive_avg_pool2d(x, output_size), adaptive_max_pool2d(x, output_size) -> (x, indices)
template <PoolSpec::Kind kKind>
Result AdaptivePool(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  if (call.node().outputs().size() > 1 && call.node().outputs()[1]->hasUses()) return kStaysForeign;
  const auto size = Pair(call.Ints(1));
  if (!size) return kStaysForeign;
  const Slot result = call.Result(op::AdaptivePool{kKind, (*size)[0], (*size)[1]});
  if (call.node().outputs().size() == 1) return result;
  return Slot::Collection({result, Slot::Concrete(c10::IValue())});
}

// Sizes and scales of an interpolation: `sizes` or `scales` may be None, as in the ".vec" forms.
Result EmitResize(Call& call, ResizeSpec spec, size_t sizes, std::optional<double> scale_rows,
                  std::optional<double> scale_columns) {
  const Shape& in = call.ShapeOf(0);
  if (!call.IsNone(sizes)) {
    const auto size = Pair(call.Ints(sizes));
    if (!size) return kStaysForeign;
    spec.out_height = (*size)[0];
    spec.out_width = (*size)[1];
  } else {
    if (!scale_rows || !scale_columns) return kStaysForeign;
    spec.out_height = ToInt(static_cast<int64_t>(std::floor(in[2] * *scale_rows)));
    spec.out_width = ToInt(static_cast<int64_t>(std::floor(in[3] * *scale_columns)));
  }
  if (scale_rows) spec.scale_rows = static_cast<float>(*scale_rows);
  if (scale_columns) spec.scale_columns = static_cast<float>(*scale_columns);
  return call.Result(op::Resize{spec});
}

// The vec form ends in scale_factors: float[]?, the plain one in scales_h: float?, scales_w:
// float?.
Result ResizeTail(Call& call, const ResizeSpec& spec, size_t first_scale) {
  if (!IsMap(call, 0)) return kStaysForeign;
  std::optional<double> rows;
  std::optional<double> columns;
  if (!call.IsNone(first_scale)) {
    const std::vector<double> scales = call.Doubles(first_scale);
    rows = scales.front();
    columns = scales.back();
  }
  if (call.size() > first_scale + 1) {
    columns = std::nullopt;
    if (!call.IsNone(first_scale + 1)) columns = call.Double(first_scale + 1);
  }
  return EmitResize(call, spec, 1, rows, columns);
}

// upsample_nearest2d(x, output_size, scales…)
Result UpsampleNearest(Call& call) {
  ResizeSpec spec;
  spec.kind = ResizeSpec::Kind::kNearest;
  spec.coordinates = ResizeSpec::Coordinates::kAsymmetric;
  spec.rounding = ResizeSpec::Rounding::kFloor;
  return ResizeTail(call, spec, 2);
}

// upsample_bilinear2d(x, output_size, align_corners, scales…), upsample_bicubic2d alike
template <ResizeSpec::Kind kKind>
Result UpsampleSmooth(Call& call) {
  ResizeSpec spec;
  spec.kind = kKind;
  spec.coordinates =
      call.Bool(2) ? ResizeSpec::Coordinates::kAlignCorners : ResizeSpec::Coordinates::kHalfPixel;
  return ResizeTail(call, spec, 3);
}

Result PixelShuffle(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  const op::DepthToSpace shuffle{ToInt(call.Int(1)), op::DepthToSpace::Order::kChannelsFirst};
  return call.Result(shuffle);
}

Result PixelUnshuffle(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  const op::SpaceToDepth shuffle{ToInt(call.Int(1)), op::DepthToSpace::Order::kChannelsFirst};
  return call.Result(shuffle);
}

// ---- Reductions ----

// softmax(x, dim, dtype?), log_softmax alike
template <bool kLogarithm>
Result Softmax(Call& call) {
  return call.Result(op::Softmax{call.Axis(1, call.ShapeOf(0).size()), kLogarithm});
}

// argmax(x, dim?, keepdim)
Result ArgMax(Call& call) {
  if (call.IsNone(1)) return kStaysForeign;
  return call.Result(op::ArgMax{call.Axis(1, call.ShapeOf(0).size()), call.Bool(2)});
}

Slot EmitReduce(Call& call, ReduceKind kind, const std::vector<int64_t>& axes, bool keep) {
  const auto rank = static_cast<int64_t>(call.ShapeOf(0).size());
  op::Reduce reduce{kind, {}, keep};
  for (int64_t axis : axes) reduce.axes.push_back(ToInt(axis < 0 ? axis + rank : axis));
  if (reduce.axes.empty()) {
    reduce.axes.resize(rank);
    std::iota(reduce.axes.begin(), reduce.axes.end(), 0);
  }
  std::sort(reduce.axes.begin(), reduce.axes.end());
  return call.Result(std::move(reduce));
}

// mean(x, *, dtype?) or mean(x, dim?, keepdim, *, dtype?); sum alike
template <ReduceKind kKind>
Result Reduce(Call& call) {
  if (call.ShapeOf(0).empty()) return kStaysForeign;
  if (const auto dtype = call.ArgumentIndex("dtype"); dtype && !call.IsNone(*dtype)) {
    if (static_cast<at::ScalarType>(call.Int(*dtype)) != at::kFloat) return kStaysForeign;
  }
  const bool over_all = call.size() <= 2;
  if (over_all || call.IsNone(1)) return EmitReduce(call, kKind, {}, !over_all && call.Bool(2));
  return EmitReduce(call, kKind, call.Ints(1), call.Bool(2));
}

// amax(x, dim, keepdim), amin alike
template <ReduceKind kKind>
Result Extreme(Call& call) {
  if (call.ShapeOf(0).empty()) return kStaysForeign;
  return EmitReduce(call, kKind, call.Ints(1), call.Bool(2));
}

// max(x), max(x, other), max(x, dim, keepdim) -> (values, indices)
template <ReduceKind kReduce, BinaryKind kBinary>
Result ExtremeOverload(Call& call) {
  if (call.size() == 1) return EmitReduce(call, kReduce, {}, false);
  if (call.size() == 2) return Arithmetic<kBinary>(call);
  const torch::jit::Node& node = call.node();
  const bool wants_indices = node.outputs().size() > 1 && node.outputs()[1]->hasUses();
  if (wants_indices && kReduce != ReduceKind::kMax) return kStaysForeign;
  const int axis = call.Axis(1, call.ShapeOf(0).size());
  Slot indices = Slot::Concrete(c10::IValue());
  if (wants_indices) indices = call.Result(op::ArgMax{axis, call.Bool(2)});
  return Slot::Collection({EmitReduce(call, kReduce, {axis}, call.Bool(2)), indices});
}

using Kind = Function::Kind;

constexpr NamedConverter kComputing[] = {
    {"aten::conv2d", Conv2d},
    {"aten::_convolution", Convolution},
    {"aten::conv_transpose2d", ConvTranspose2d},
    {"aten::linear", Linear},
    {"aten::addmm", AddMatMul},
    {"aten::matmul", MatMul},
    {"aten::mm", MatMul},
    {"aten::bmm", MatMul},
    {"aten::batch_norm", BatchNorm},
    {"aten::layer_norm", LayerNorm},
    {"aten::group_norm", GroupNorm},
    {"aten::instance_norm", InstanceNorm},
    {"aten::relu", ApplyPlain<Kind::kRelu>},
    {"aten::relu6", Relu6},
    {"aten::leaky_relu", LeakyRelu},
    {"aten::prelu", PRelu},
    {"aten::elu", Elu},
    {"aten::silu", ApplyPlain<Kind::kSilu>},
    {"aten::gelu", Gelu},
    {"aten::sigmoid", ApplyPlain<Kind::kSigmoid>},
    {"aten::hardswish", ApplyPlain<Kind::kHardSwish>},
    {"aten::hardsigmoid", HardSigmoid},
    {"aten::hardtanh", HardTanh},
    {"aten::tanh", ApplyPlain<Kind::kTanh>},
    {"aten::mish", ApplyPlain<Kind::kMish>},
    {"aten::softplus", Softplus},
    {"aten::clamp", Clamp},
    {"aten::clamp_min", ClampMin},
    {"aten::clamp_max", ClampMax},
    {"aten::exp", ApplyPlain<Kind::kExp>},
    {"aten::log", ApplyPlain<Kind::kLog>},
    {"aten::erf", ApplyPlain<Kind::kErf>},
    {"aten::sqrt", ApplyPlain<Kind::kSqrt>},
    {"aten::rsqrt", ReciprocalSqrt},
    {"aten::reciprocal", ApplyPlain<Kind::kReciprocal>},
    {"aten::abs", ApplyPlain<Kind::kAbs>},
    {"aten::neg", ApplyPlain<Kind::kNegate>},
    {"aten::floor", ApplyPlain<Kind::kFloor>},
    {"aten::ceil", ApplyPlain<Kind::kCeil>},
    {"aten::round", Round},
    {"aten::sin", ApplyPlain<Kind::kSin>},
    {"aten::cos", ApplyPlain<Kind::kCos>},
    {"aten::add", AddScaled<BinaryKind::kAdd>},
    {"aten::sub", AddScaled<BinaryKind::kSubtract>},
    {"aten::rsub", ReverseSubtract},
    {"aten::mul", Arithmetic<BinaryKind::kMultiply>},
    {"aten::div", Divide},
    {"aten::pow", Arithmetic<BinaryKind::kPower>},
    {"aten::maximum", Arithmetic<BinaryKind::kMaximum>},
    {"aten::minimum", Arithmetic<BinaryKind::kMinimum>},
    {"aten::max_pool2d", MaxPool},
    {"aten::max_pool2d_with_indices", MaxPool},
    {"aten::avg_pool2d", AveragePool},
    {"aten::adaptive_avg_pool2d", AdaptivePool<PoolSpec::Kind::kAverage>},
    {"aten::adaptive_max_pool2d", AdaptivePool<PoolSpec::Kind::kMax>},
    {"aten::upsample_nearest2d", UpsampleNearest},
    {"aten::upsample_bilinear2d", UpsampleSmooth<ResizeSpec::Kind::kLinear>},
    {"aten::upsample_bicubic2d", UpsampleSmooth<ResizeSpec::Kind::kCubic>},
    {"aten::pixel_shuffle", PixelShuffle},
    {"aten::pixel_unshuffle", PixelUnshuffle},
    {"aten::softmax", Softmax<false>},
    {"aten::log_softmax", Softmax<true>},
    {"aten::argmax", ArgMax},
    {"aten::mean", Reduce<ReduceKind::kMean>},
    {"aten::sum", Reduce<ReduceKind::kSum>},
    {"aten::amax", Extreme<ReduceKind::kMax>},
    {"aten::amin", Extreme<ReduceKind::kMin>},
    {"aten::max", ExtremeOverload<ReduceKind::kMax, BinaryKind::kMaximum>},
    {"aten::min", ExtremeOverload<ReduceKind::kMin, BinaryKind::kMinimum>},
};

}  // namespace

std::span<const NamedConverter> ComputingConverters() { return kComputing; }

}  // namespace cacheinf::torchscript
