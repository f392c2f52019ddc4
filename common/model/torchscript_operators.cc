// One converter for each TorchScript operator that our operator set can express. Argument positions
// are those of the operators' schemas, quoted above each converter where they are not obvious.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/error.h"
#include "common/model/torchscript_importer.h"

namespace cacheinf::torchscript {
namespace {

using Result = std::optional<Slot>;

constexpr Result kStaysForeign = std::nullopt;

Slot One(ValueId value) { return Slot::OfTensor(value); }

int ToInt(int64_t number) {
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    throw InputError("a window attribute of " + std::to_string(number));
  }
  return static_cast<int>(number);
}

// {n} and {n, m} both stand for rows, columns.
std::optional<std::array<int, 2>> Pair(const std::vector<int64_t>& numbers) {
  if (numbers.size() == 1) return std::array<int, 2>{ToInt(numbers[0]), ToInt(numbers[0])};
  if (numbers.size() == 2) return std::array<int, 2>{ToInt(numbers[0]), ToInt(numbers[1])};
  return std::nullopt;
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
  return One(call.Emit(conv, std::move(inputs)));
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
  return One(call.Emit(linear, std::move(inputs)));
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
  return One(call.Emit(op::MatMul{}, {call.Value(0), call.Value(1)}));
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
  return One(call.Emit(op::ScaleShift{}, {call.Value(0), call.Constant(ToTensor(scale)),
                                          call.Constant(ToTensor(shift))}));
}

// Scale and shift operands of a norm, as ones and zeros where the file has none.
std::vector<ValueId> AffineOperands(Call& call, size_t weight, size_t bias, const Shape& shape) {
  const auto operand = [&](size_t i, double otherwise) {
    const at::Tensor tensor =
        call.IsNone(i) ? at::full(shape, otherwise) : call.WeightTensor(i).reshape(shape);
    return call.Constant(ToTensor(tensor));
  };
  return {operand(weight, 1.0), operand(bias, 0.0)};
}

// layer_norm(input, normalized_shape, weight?, bias?, eps, cudnn)
Result LayerNorm(Call& call) {
  const std::vector<int64_t> normalised = call.Ints(1);
  op::LayerNorm norm;
  norm.axis_count = static_cast<int>(normalised.size());
  norm.first_axis = static_cast<int>(call.ShapeOf(0).size()) - norm.axis_count;
  norm.epsilon = static_cast<float>(call.Double(4));
  norm.has_affine = !call.IsNone(2) || !call.IsNone(3);
  std::vector<ValueId> inputs = {call.Value(0)};
  if (norm.has_affine) {
    const std::vector<ValueId> affine = AffineOperands(call, 2, 3, normalised);
    inputs.insert(inputs.end(), affine.begin(), affine.end());
  }
  return One(call.Emit(norm, std::move(inputs)));
}

Slot EmitGroupNorm(Call& call, int64_t groups, double epsilon, size_t weight, size_t bias) {
  op::GroupNorm norm;
  norm.groups = ToInt(groups);
  norm.epsilon = static_cast<float>(epsilon);
  norm.has_affine = !call.IsNone(weight) || !call.IsNone(bias);
  std::vector<ValueId> inputs = {call.Value(0)};
  if (norm.has_affine) {
    const int64_t channels = call.ShapeOf(0)[1];
    const std::vector<ValueId> affine = AffineOperands(call, weight, bias, {channels});
    inputs.insert(inputs.end(), affine.begin(), affine.end());
  }
  return One(call.Emit(norm, std::move(inputs)));
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
  return One(call.Emit(op::Activation{function}, {call.Value(0)}));
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
  return One(call.Emit(op::Activation{function}, {call.Value(0), slope}));
}

Result ReciprocalSqrt(Call& call) {
  const ValueId root = call.Emit(op::Activation{{Function::Kind::kSqrt}}, {call.Value(0)});
  return One(call.Emit(op::Activation{{Function::Kind::kReciprocal}}, {root}));
}

// round(x), round(x, *, decimals)
Result Round(Call& call) {
  return call.size() == 1 ? Apply(call, Function::Kind::kRound) : kStaysForeign;
}

// ---- Arithmetic ----

template <BinaryKind kKind>
Result Arithmetic(Call& call) {
  if (call.size() != 2) return kStaysForeign;
  return One(call.Emit(op::Binary{kKind, {}}, {call.Value(0), call.Value(1)}));
}

// div(a, b), div(a, b, *, rounding_mode)
Result Divide(Call& call) {
  if (call.size() == 3 && !call.IsNone(2)) return kStaysForeign;
  return One(call.Emit(op::Binary{BinaryKind::kDivide, {}}, {call.Value(0), call.Value(1)}));
}

// add(a, b, *, alpha) and sub(a, b, *, alpha): a ± alpha b
Result AddScaled(Call& call, BinaryKind kind, size_t a, size_t b) {
  if (call.size() > 3) return kStaysForeign;
  ValueId right = call.Value(b);
  if (call.size() == 3 && call.Double(2) != 1.0) {
    right = call.Emit(op::Binary{BinaryKind::kMultiply, {}}, {right, call.Scalar(call.Double(2))});
  }
  return One(call.Emit(op::Binary{kind, {}}, {call.Value(a), right}));
}
Result Add(Call& call) { return AddScaled(call, BinaryKind::kAdd, 0, 1); }
Result Subtract(Call& call) { return AddScaled(call, BinaryKind::kSubtract, 0, 1); }

// rsub(a, b, alpha): b - alpha a
Result ReverseSubtract(Call& call) {
  if (call.size() == 3 && call.Double(2) != 1.0) return kStaysForeign;
  return One(call.Emit(op::Binary{BinaryKind::kSubtract, {}}, {call.Value(1), call.Value(0)}));
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
  const Slot result = One(call.Emit(op::Pool{*spec}, {call.Value(0)}));
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
  return One(call.Emit(op::Pool{*spec}, {call.Value(0)}));
}

// adaptive_avg_pool2d(x, output_size), adaptive_max_pool2d(x, output_size) -> (x, indices)
template <PoolSpec::Kind kKind>
Result AdaptivePool(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  if (call.node().outputs().size() > 1 && call.node().outputs()[1]->hasUses()) return kStaysForeign;
  const auto size = Pair(call.Ints(1));
  if (!size) return kStaysForeign;
  const Slot result =
      One(call.Emit(op::AdaptivePool{kKind, (*size)[0], (*size)[1]}, {call.Value(0)}));
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
  return One(call.Emit(op::Resize{spec}, {call.Value(0)}));
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
  return One(call.Emit(shuffle, {call.Value(0)}));
}

Result PixelUnshuffle(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  const op::SpaceToDepth shuffle{ToInt(call.Int(1)), op::DepthToSpace::Order::kChannelsFirst};
  return One(call.Emit(shuffle, {call.Value(0)}));
}

// channel_shuffle(x, groups)
Result ChannelShuffle(Call& call) {
  if (!IsMap(call, 0)) return kStaysForeign;
  const Shape in = call.ShapeOf(0);
  const int64_t groups = call.Int(1);
  if (groups < 1 || in[1] % groups != 0) return kStaysForeign;
  const ValueId split =
      call.Emit(op::Reshape{{in[0], groups, in[1] / groups, in[2], in[3]}}, {call.Value(0)});
  const ValueId swapped = call.Emit(op::Permute{{0, 2, 1, 3, 4}}, {split});
  return One(call.Emit(op::Reshape{in}, {swapped}));
}

// Padding as PyTorch lists it: last dimension first, begin and end of each.
Result EmitPad(Call& call, const std::vector<int64_t>& amounts, PadMode mode, double value) {
  const Shape in = call.ShapeOf(0);
  if (amounts.size() % 2 != 0 || amounts.size() / 2 > in.size()) return kStaysForeign;
  op::Pad pad{mode, static_cast<float>(value), Shape(in.size(), 0), Shape(in.size(), 0)};
  op::Slice crop{Shape(in.size(), 0), in, Shape(in.size(), 1)};
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    const size_t axis = in.size() - 1 - i;
    pad.begins[axis] = std::max<int64_t>(amounts[2 * i], 0);
    pad.ends[axis] = std::max<int64_t>(amounts[2 * i + 1], 0);
    crop.starts[axis] = std::max<int64_t>(-amounts[2 * i], 0);
    crop.sizes[axis] -= crop.starts[axis] + std::max<int64_t>(-amounts[2 * i + 1], 0);
  }
  ValueId input = call.Value(0);
  if (crop.sizes != in) input = call.Emit(crop, {input});
  return One(call.Emit(std::move(pad), {input}));
}

// pad(x, pad, mode, value?)
Result Pad(Call& call) {
  const std::string mode = call.String(2);
  if (mode == "constant") {
    return EmitPad(call, call.Ints(1), PadMode::kConstant, call.IsNone(3) ? 0.0 : call.Double(3));
  }
  if (mode == "reflect") return EmitPad(call, call.Ints(1), PadMode::kReflect, 0.0);
  if (mode == "replicate") return EmitPad(call, call.Ints(1), PadMode::kEdge, 0.0);
  return kStaysForeign;
}
Result ConstantPad(Call& call) {
  return EmitPad(call, call.Ints(1), PadMode::kConstant, call.size() > 2 ? call.Double(2) : 0.0);
}
Result ReflectionPad(Call& call) { return EmitPad(call, call.Ints(1), PadMode::kReflect, 0.0); }
Result ReplicationPad(Call& call) { return EmitPad(call, call.Ints(1), PadMode::kEdge, 0.0); }

// ---- Shapes ----

Result EmitReshape(Call& call, Shape shape) {
  const Shape& in = call.ShapeOf(0);
  int64_t known = 1;
  for (int64_t dim : shape) known *= dim == -1 ? 1 : dim;
  for (int64_t& dim : shape) {
    if (dim == -1) dim = known == 0 ? 0 : ElementCount(in) / known;
  }
  return One(call.Emit(op::Reshape{std::move(shape)}, {call.Value(0)}));
}

Result View(Call& call) { return EmitReshape(call, call.Ints(1)); }
Result ViewAs(Call& call) { return EmitReshape(call, call.ShapeOf(1)); }

// flatten(x, start, end)
Result Flatten(Call& call) {
  const Shape& in = call.ShapeOf(0);
  if (in.empty()) return kStaysForeign;
  const int start = call.Axis(1, in.size());
  const int end = call.Axis(2, in.size());
  Shape out(in.begin(), in.begin() + start);
  out.push_back(std::accumulate(in.begin() + start, in.begin() + end + 1, int64_t{1},
                                std::multiplies<int64_t>()));
  out.insert(out.end(), in.begin() + end + 1, in.end());
  return EmitReshape(call, std::move(out));
}

// unflatten(x, dim, sizes)
Result Unflatten(Call& call) {
  const Shape& in = call.ShapeOf(0);
  const int axis = call.Axis(1, in.size());
  const std::vector<int64_t> sizes = call.Ints(2);
  Shape out(in.begin(), in.begin() + axis);
  out.insert(out.end(), sizes.begin(), sizes.end());
  out.insert(out.end(), in.begin() + axis + 1, in.end());
  return EmitReshape(call, std::move(out));
}

// squeeze(x), squeeze(x, dim)
Result Squeeze(Call& call) {
  const Shape& in = call.ShapeOf(0);
  std::vector<bool> drop(in.size(), call.size() == 1);
  if (call.size() > 1) {
    for (int64_t axis : call.Ints(1)) {
      drop.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis)) = true;
    }
  }
  Shape out;
  for (size_t d = 0; d < in.size(); ++d) {
    if (!drop[d] || in[d] != 1) out.push_back(in[d]);
  }
  return EmitReshape(call, std::move(out));
}

Result Unsqueeze(Call& call) {
  Shape out = call.ShapeOf(0);
  out.insert(out.begin() + call.Axis(1, out.size() + 1), 1);
  return EmitReshape(call, std::move(out));
}

Result EmitPermute(Call& call, std::vector<int> order) {
  return One(call.Emit(op::Permute{std::move(order)}, {call.Value(0)}));
}

Result Permute(Call& call) {
  const auto rank = static_cast<int64_t>(call.ShapeOf(0).size());
  std::vector<int> order;
  for (int64_t axis : call.Ints(1)) order.push_back(ToInt(axis < 0 ? axis + rank : axis));
  return EmitPermute(call, std::move(order));
}

Result SwapAxes(Call& call, size_t a, size_t b) {
  std::vector<int> order(call.ShapeOf(0).size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.at(a), order.at(b));
  return EmitPermute(call, std::move(order));
}
Result Transpose(Call& call) {
  const size_t rank = call.ShapeOf(0).size();
  return SwapAxes(call, call.Axis(1, rank), call.Axis(2, rank));
}
Result T(Call& call) {
  if (call.ShapeOf(0).size() != 2) return kStaysForeign;
  return SwapAxes(call, 0, 1);
}

// expand(x, sizes, *, implicit): -1 keeps a dimension; new ones come in front
Result Expand(Call& call) {
  const Shape& in = call.ShapeOf(0);
  Shape out = call.Ints(1);
  if (out.size() < in.size()) return kStaysForeign;
  for (size_t d = 0; d < out.size(); ++d) {
    const size_t added = out.size() - in.size();
    if (out[d] == -1 && d >= added) out[d] = in[d - added];
  }
  return One(call.Emit(op::Expand{std::move(out)}, {call.Value(0)}));
}
Result ExpandAs(Call& call) { return One(call.Emit(op::Expand{call.ShapeOf(1)}, {call.Value(0)})); }

// ---- Taking apart and putting together ----

ValueId EmitRange(Call& call, int axis, int64_t start, int64_t size, int64_t step) {
  const Shape& in = call.ShapeOf(0);
  op::Slice slice{Shape(in.size(), 0), in, Shape(in.size(), 1)};
  slice.starts[axis] = start;
  slice.sizes[axis] = size;
  slice.steps[axis] = step;
  return call.Emit(std::move(slice), {call.Value(0)});
}

// slice(x, dim, start?, end?, step)
Result Slice(Call& call) {
  const Shape& in = call.ShapeOf(0);
  if (in.empty()) return kStaysForeign;
  const int axis = call.Axis(1, in.size());
  const int64_t size = in[axis];
  const auto bound = [&](size_t i, int64_t otherwise) {
    if (call.IsNone(i)) return otherwise;
    const int64_t at = call.Int(i);
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t start = bound(2, 0);
  const int64_t end = bound(3, size);
  const int64_t step = call.Int(4);
  const int64_t count = step > 0 && end > start ? (end - start + step - 1) / step : 0;
  if (count == size) return One(call.Value(0));
  return One(EmitRange(call, axis, start, count, std::min(step, size)));
}

// narrow(x, dim, start, length)
Result Narrow(Call& call) {
  const int axis = call.Axis(1, call.ShapeOf(0).size());
  const int64_t start = call.Int(2);
  const int64_t size = call.ShapeOf(0)[axis];
  return One(EmitRange(call, axis, start < 0 ? start + size : start, call.Int(3), 1));
}

Result Pieces(Call& call, int axis, const std::vector<int64_t>& sizes) {
  std::vector<Slot> pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(One(EmitRange(call, axis, start, size, 1)));
    start += size;
  }
  return Slot::Collection(std::move(pieces));
}

Result EqualPieces(Call& call, int axis, int64_t piece) {
  const int64_t size = call.ShapeOf(0)[axis];
  if (piece < 1) return kStaysForeign;
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < size; start += piece) {
    sizes.push_back(std::min(piece, size - start));
  }
  return Pieces(call, axis, sizes);
}

// split(x, size, dim), split_with_sizes(x, sizes, dim)
Result Split(Call& call) {
  const int axis = call.Axis(2, call.ShapeOf(0).size());
  if (call.arguments()[1].concrete.isInt()) return EqualPieces(call, axis, call.Int(1));
  return Pieces(call, axis, call.Ints(1));
}

// chunk(x, chunks, dim)
Result Chunk(Call& call) {
  const int axis = call.Axis(2, call.ShapeOf(0).size());
  const int64_t chunks = call.Int(1);
  if (chunks < 1) return kStaysForeign;
  return EqualPieces(call, axis, (call.ShapeOf(0)[axis] + chunks - 1) / chunks);
}

ValueId EmitSelect(Call& call, int axis, int64_t index) {
  return call.Emit(op::Gather{axis, {index}, true}, {call.Value(0)});
}

// select(x, dim, index)
Result Select(Call& call) {
  const int axis = call.Axis(1, call.ShapeOf(0).size());
  const int64_t index = call.Int(2);
  return One(EmitSelect(call, axis, index < 0 ? index + call.ShapeOf(0)[axis] : index));
}

// unbind(x, dim)
Result Unbind(Call& call) {
  const int axis = call.Axis(1, call.ShapeOf(0).size());
  std::vector<Slot> pieces;
  for (int64_t i = 0; i < call.ShapeOf(0)[axis]; ++i) {
    pieces.push_back(One(EmitSelect(call, axis, i)));
  }
  return Slot::Collection(std::move(pieces));
}

// index_select(x, dim, index)
Result IndexSelect(Call& call) {
  if (!call.IsConcreteTensor(2)) return kStaysForeign;
  const at::Tensor index = call.arguments()[2].concrete.toTensor().to(at::kLong).contiguous();
  const int64_t* first = index.data_ptr<int64_t>();
  op::Gather gather{call.Axis(1, call.ShapeOf(0).size()), {first, first + index.numel()}, false};
  return One(call.Emit(std::move(gather), {call.Value(0)}));
}

// cat(tensors, dim)
Result Cat(Call& call) {
  const std::vector<ValueId> values = call.Values(0);
  if (values.empty()) return kStaysForeign;
  if (values.size() == 1) return One(values[0]);
  const int axis = call.Axis(1, call.graph().value(values[0]).shape.size());
  return One(call.Emit(op::Concat{axis}, values));
}

// stack(tensors, dim)
Result Stack(Call& call) {
  std::vector<ValueId> values = call.Values(0);
  if (values.empty()) return kStaysForeign;
  const int axis = call.Axis(1, call.graph().value(values[0]).shape.size() + 1);
  for (ValueId& value : values) {
    Shape shape = call.graph().value(value).shape;
    shape.insert(shape.begin() + axis, 1);
    value = call.Emit(op::Reshape{std::move(shape)}, {value});
  }
  if (values.size() == 1) return One(values[0]);
  return One(call.Emit(op::Concat{axis}, std::move(values)));
}

// ---- Reductions ----

// softmax(x, dim, dtype?), log_softmax alike
template <bool kLogarithm>
Result Softmax(Call& call) {
  return One(
      call.Emit(op::Softmax{call.Axis(1, call.ShapeOf(0).size()), kLogarithm}, {call.Value(0)}));
}

// argmax(x, dim?, keepdim)
Result ArgMax(Call& call) {
  if (call.IsNone(1)) return kStaysForeign;
  return One(
      call.Emit(op::ArgMax{call.Axis(1, call.ShapeOf(0).size()), call.Bool(2)}, {call.Value(0)}));
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
  return One(call.Emit(std::move(reduce), {call.Value(0)}));
}

// mean(x, *, dtype?) or mean(x, dim?, keepdim, *, dtype?); sum alike
template <ReduceKind kKind>
Result Reduce(Call& call) {
  if (call.ShapeOf(0).empty()) return kStaysForeign;
  const bool over_all = call.size() <= 2;
  if (over_all || call.IsNone(1)) {
    return EmitReduce(call, kKind, {}, !over_all && call.Bool(2));
  }
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
  if (wants_indices) {
    indices = One(call.Emit(op::ArgMax{axis, call.Bool(2)}, {call.Value(0)}));
  }
  return Slot::Collection({EmitReduce(call, kReduce, {axis}, call.Bool(2)), indices});
}

// ---- Nothing to do ----

Result Same(Call& call) { return call.arguments()[0]; }

// dropout(x, p, train)
Result Dropout(Call& call) { return call.Bool(2) ? kStaysForeign : Result(call.arguments()[0]); }

// to(x, …, dtype, …): only between float types, or none named
Result To(Call& call) {
  const bool is_float = call.graph().value(call.Value(0)).type == DataType::kFloat32;
  const auto index = call.ArgumentIndex("dtype");
  if (!index) return is_float ? Result(call.arguments()[0]) : kStaysForeign;
  if (call.IsNone(*index)) return call.arguments()[0];
  const auto type = static_cast<at::ScalarType>(call.Int(*index));
  return is_float && type == at::kFloat ? Result(call.arguments()[0]) : kStaysForeign;
}

struct Entry {
  std::string_view name;
  Converter converter;
};

using Kind = Function::Kind;

constexpr Entry kConverters[] = {
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
    {"aten::add", Add},
    {"aten::sub", Subtract},
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
    {"aten::channel_shuffle", ChannelShuffle},
    {"aten::pad", Pad},
    {"aten::constant_pad_nd", ConstantPad},
    {"aten::reflection_pad2d", ReflectionPad},
    {"aten::replication_pad2d", ReplicationPad},
    {"aten::view", View},
    {"aten::reshape", View},
    {"aten::view_as", ViewAs},
    {"aten::reshape_as", ViewAs},
    {"aten::flatten", Flatten},
    {"aten::unflatten", Unflatten},
    {"aten::squeeze", Squeeze},
    {"aten::unsqueeze", Unsqueeze},
    {"aten::permute", Permute},
    {"aten::transpose", Transpose},
    {"aten::t", T},
    {"aten::expand", Expand},
    {"aten::expand_as", ExpandAs},
    {"aten::slice", Slice},
    {"aten::narrow", Narrow},
    {"aten::split", Split},
    {"aten::split_with_sizes", Split},
    {"aten::chunk", Chunk},
    {"aten::select", Select},
    {"aten::unbind", Unbind},
    {"aten::index_select", IndexSelect},
    {"aten::cat", Cat},
    {"aten::concat", Cat},
    {"aten::stack", Stack},
    {"aten::softmax", Softmax<false>},
    {"aten::log_softmax", Softmax<true>},
    {"aten::argmax", ArgMax},
    {"aten::mean", Reduce<ReduceKind::kMean>},
    {"aten::sum", Reduce<ReduceKind::kSum>},
    {"aten::amax", Extreme<ReduceKind::kMax>},
    {"aten::amin", Extreme<ReduceKind::kMin>},
    {"aten::max", ExtremeOverload<ReduceKind::kMax, BinaryKind::kMaximum>},
    {"aten::min", ExtremeOverload<ReduceKind::kMin, BinaryKind::kMinimum>},
    {"aten::contiguous", Same},
    {"aten::clone", Same},
    {"aten::detach", Same},
    {"aten::alias", Same},
    {"aten::type_as", Same},
    {"aten::dropout", Dropout},
    {"aten::feature_dropout", Dropout},
    {"aten::to", To},
};

}  // namespace

Converter FindConverter(std::string_view name) {
  for (const Entry& entry : kConverters) {
    if (entry.name == name) return entry.converter;
  }
  return nullptr;
}

}  // namespace cacheinf::torchscript
