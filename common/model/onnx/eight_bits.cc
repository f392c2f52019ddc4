#include "sparse_ops/eight_bits.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/model/onnx/operators.h"

// Converters of QuantizeLinear and DequantizeLinear. In the graph both become one operator that
// rounds floats; the passes turn what lies between into operators on 8-bit numbers.

namespace cacheinf {
namespace {

using onnx::TensorProto;

// Low and high of an integer type; {0, -1} if it cannot be dequantised.
std::pair<int64_t, int64_t> LimitsOf(int element_type) {
  switch (element_type) {
    case TensorProto::UINT8:
      return {0, 255};
    case TensorProto::INT8:
      return {-128, 127};
    case TensorProto::INT32:
      return {INT32_MIN, INT32_MAX};
    default:
      return {0, -1};
  }
}

// The scales and zero points of a node, one for all numbers or one per entry along an axis.
struct Scaling {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;  // as many
  int element_type = 0;
  int axis = 0;

  bool is_one() const { return scales.size() == 1; }
};

void CheckScales(const OnnxNode& node, const HostTensor& scales, const Shape& shape, int axis) {
  const bool is_one = scales.count() == 1;
  if (!is_one && (scales.rank() != 1 || axis >= static_cast<int>(shape.size()) ||
                  scales.count() != shape[static_cast<size_t>(axis)])) {
    node.Fail("scales of shape ", ToString(scales.shape()), " do not fit axis ", axis,
              " of numbers of shape ", ToString(shape),
              scales.rank() > 1 ? "; blockwise scales are not supported" : "");
  }
  for (const float scale : scales.floats()) {
    if (!std::isfinite(scale) || !(scale > 0.0f)) {
      node.Fail("a scale of ", scale, "; scales must be finite and above 0");
    }
  }
}

// `element_type` is the numbers' type; 0: the zero point's.
Scaling ReadScaling(OnnxNode& node, int element_type) {
  if (node.Int("block_size", 0) != 0) node.Fail("blockwise scales are not supported");
  node.Ignore("saturate");  // of 8-bit floats
  const int64_t asked = node.Int("output_dtype", 0);
  const Shape shape = node.InputShape(0);
  const auto rank = static_cast<int>(shape.size());
  const HostTensor& scales = node.FloatConstant(1);
  Scaling scaling;
  const int64_t axis = node.Int("axis", 1);
  if (scales.count() != 1) scaling.axis = CheckedAxis(axis, rank);
  CheckScales(node, scales, shape, scaling.axis);
  scaling.scales = scales.floats();
  scaling.zero_points.assign(scaling.scales.size(), 0);
  scaling.element_type = element_type;
  int told = static_cast<int>(asked);
  if (node.HasInput(2)) {
    const HostTensor& zeros = node.Constant(2);
    told = zeros.element_type();
    if (told == 0) node.Fail("its zero point is computed, so that its type is not known");
    if (asked != 0 && asked != told) node.Fail("its zero point is not of the type 'output_dtype'");
    if (zeros.is_float() || zeros.count() != scales.count()) {
      node.Fail("zero points of shape ", ToString(zeros.shape()), " for scales of shape ",
                ToString(scales.shape()));
    }
    scaling.zero_points = zeros.integers();
  }
  if (told == 0) told = element_type != 0 ? element_type : TensorProto::UINT8;
  if (element_type != 0 && told != element_type) {
    node.Fail("numbers of type ", ElementTypeName(element_type), " with a zero point of type ",
              ElementTypeName(told));
  }
  scaling.element_type = told;
  const auto [low, high] = LimitsOf(told);
  if (low > high) {
    node.Fail("numbers of type ", ElementTypeName(told),
              " are not supported; quantise the model to INT8 or UINT8");
  }
  for (const int64_t zero : scaling.zero_points) {
    if (zero < low || zero > high) {
      node.Fail("a zero point of ", zero, ", which ", ElementTypeName(told), " does not have");
    }
    if (told == TensorProto::INT32 && zero != 0) node.Fail("an INT32 zero point that is not 0");
  }
  return scaling;
}

// For numbers that are not known.
Steps StepsOf(const OnnxNode& node, const Scaling& scaling) {
  if (!scaling.is_one()) {
    node.Fail(
        "a scale for each channel is only supported of constants; quantise activations with "
        "one scale each");
  }
  if (scaling.element_type == TensorProto::INT32) {
    node.Fail("numbers of type INT32 are only supported as constants");
  }
  return {scaling.scales[0], static_cast<int>(scaling.zero_points[0]),
          scaling.element_type == TensorProto::INT8};
}

void ConvertQuantize(OnnxNode& node) {
  const Steps steps = StepsOf(node, ReadScaling(node, 0));
  const ValueId id = node.Add(op::FakeQuantise{steps}, {node.Input(0)});
  OnnxValue value{id, {}};
  value.steps = steps;
  node.SetOutput(0, value, HostTensor::Type::kInteger);
}

void ConvertDequantize(OnnxNode& node) {
  const OnnxValue value = node.InputValue(0);
  if (!value.steps) {
    node.Fail(
        "it reads numbers that no QuantizeLinear gives; give the model floating-point inputs "
        "and quantise it in the format QDQ");
  }
  const int type = value.steps->is_signed ? TensorProto::INT8 : TensorProto::UINT8;
  const Steps steps = StepsOf(node, ReadScaling(node, type));
  if (!(steps == *value.steps)) {
    node.Fail("its scale and zero point are not those of the QuantizeLinear before it");
  }
  node.SetOutput(0, value.id, HostTensor::Type::kFloat);
}

// Calls visit(i, entry) for every number, with the entry of its scale.
void ForEachScaled(const Shape& shape, const Scaling& scaling, const auto& visit) {
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(scaling.axis) + 1; d < shape.size(); ++d) inner *= shape[d];
  const auto entries = static_cast<int64_t>(scaling.scales.size());
  const int64_t count = ElementCount(shape);
  for (int64_t i = 0; i < count; ++i) {
    visit(static_cast<size_t>(i),
          scaling.is_one() ? size_t{0} : static_cast<size_t>(i / inner % entries));
  }
}

void FoldQuantize(OnnxNode& node) {
  const HostTensor& x = node.FloatConstant(0);
  const Scaling scaling = ReadScaling(node, 0);
  if (scaling.element_type == TensorProto::INT32) node.Fail("it cannot give INT32");
  node.Charge(x.shape(), HostTensor::Type::kInteger);
  std::vector<int64_t> numbers(x.floats().size());
  ForEachScaled(x.shape(), scaling, [&](size_t i, size_t entry) {
    numbers[i] =
        ToSteps(x.floats()[i], {scaling.scales[entry], static_cast<int>(scaling.zero_points[entry]),
                                scaling.element_type == TensorProto::INT8});
  });
  node.SetOutput(0,
                 HostTensor(x.shape(), std::move(numbers)).WithElementType(scaling.element_type));
}

void FoldDequantize(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  if (x.type() != HostTensor::Type::kInteger) node.Fail("it reads numbers that are not integers");
  const Scaling scaling = ReadScaling(node, x.element_type());
  const std::pair<int64_t, int64_t> limits = LimitsOf(scaling.element_type);
  node.Charge(x.shape(), HostTensor::Type::kFloat);
  std::vector<float> numbers(x.integers().size());
  bool fits = true;
  ForEachScaled(x.shape(), scaling, [&](size_t i, size_t entry) {
    const int64_t q = x.integers()[i];
    fits = fits && q >= limits.first && q <= limits.second;
    numbers[i] = scaling.scales[entry] * static_cast<float>(q - scaling.zero_points[entry]);
  });
  if (!fits) node.Fail("numbers that ", ElementTypeName(scaling.element_type), " does not have");
  HostTensor result(x.shape(), std::move(numbers));
  const bool is_eight_bit = scaling.element_type != TensorProto::INT32;
  if (is_eight_bit) {
    result = std::move(result).WithStepSizes(scaling.scales, scaling.is_one() ? 0 : scaling.axis);
  }
  node.SetOutput(0, std::move(result));
}

}  // namespace

OnnxOperators OnnxEightBits() {
  return {
      {"QuantizeLinear", {ConvertQuantize, FoldQuantize}},
      {"DequantizeLinear", {ConvertDequantize, FoldDequantize, /*takes_integers=*/true}},
  };
}

}  // namespace cacheinf
