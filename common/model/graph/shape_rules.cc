#include "common/model/graph/shape_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cacheinf {
namespace {

int64_t WindowExtent(const WindowAxis& axis) {
  return int64_t{axis.kernel - 1} * axis.dilation + 1;
}

}  // namespace

void CheckShape(const Operator& op, const Shape& shape) {
  if (shape.size() > TensorView::kMaxRank) {
    RefuseOperator(op, "a result of ", shape.size(), " dimensions; at most ", TensorView::kMaxRank,
                   " are supported");
  }
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 1 || dim > kMaxElements) RefuseOperator(op, "a result with a dimension of ", dim);
    count *= dim;  // both below 2^31: no overflow
    if (count > kMaxElements)
      RefuseOperator(op, "a result of shape ", ToString(shape), " is too large");
  }
}

void ShapeRules::NeedInputs(size_t count) const {
  if (op_.inputs.size() != count) Refuse("needs ", count, " input(s), has ", op_.inputs.size());
}

const Shape& ShapeRules::OnlyInput() const {
  NeedInputs(1);
  return Input(0);
}

const Shape& ShapeRules::OnlyMap() const {
  NeedInputs(1);
  return Map(0);
}

const Shape& ShapeRules::Map(size_t index) const {
  const Shape& shape = Input(index);
  if (shape.size() != 4) Refuse("needs a feature map, has shape ", ToString(shape));
  return shape;
}

const Shape& ShapeRules::ConstantInput(size_t index, size_t rank) const {
  const Value& value = graph_.value(op_.inputs[index]);
  if (!value.is_constant()) Refuse("input '", value.name, "' must be a constant");
  if (value.shape.size() != rank) {
    Refuse("constant '", value.name, "' has shape ", ToString(value.shape));
  }
  return value.shape;
}

void ShapeRules::NeedShape(size_t index, const Shape& shape, bool constant) const {
  const Value& value = graph_.value(op_.inputs[index]);
  if (constant && !value.is_constant()) Refuse("input '", value.name, "' must be a constant");
  if (value.shape != shape) {
    Refuse("input '", value.name, "' has shape ", ToString(value.shape), ", needs ",
           ToString(shape));
  }
}

void ShapeRules::NeedSlope(size_t index, int64_t channels) const {
  const Shape& slope = ConstantInput(index, 1);
  if (slope[0] != 1 && slope[0] != channels) {
    Refuse(slope[0], " slopes for ", channels, " channels");
  }
}

void ShapeRules::NeedNoSlope(const Function& function) const {
  if (function.kind == Function::Kind::kPRelu) Refuse("PReLU needs a slope operand");
}

void ShapeRules::CheckAxis(int axis, const Shape& shape) const {
  if (axis < 0 || static_cast<size_t>(axis) >= shape.size()) {
    Refuse("axis ", axis, " outside shape ", ToString(shape));
  }
}

void ShapeRules::CheckFunction(const Function& function) const {
  if (std::isnan(function.alpha) || std::isnan(function.beta)) {
    Refuse("a function with a parameter that is not a number");
  }
}

void ShapeRules::CheckWindow(const WindowAxis& axis) const {
  const bool positive = axis.kernel >= 1 && axis.stride >= 1 && axis.dilation >= 1;
  const bool bounded = axis.kernel <= kMaxWindow && axis.stride <= kMaxWindow &&
                       axis.dilation <= kMaxWindow && std::abs(axis.pad_begin) <= kMaxWindow &&
                       std::abs(axis.pad_end) <= kMaxWindow;
  if (!positive || !bounded) {
    Refuse("a window with kernel ", axis.kernel, ", stride ", axis.stride, ", dilation ",
           axis.dilation, " and padding ", axis.pad_begin, ", ", axis.pad_end);
  }
}

int64_t ShapeRules::SlidingOutput(const WindowAxis& axis, int64_t in, bool ceil_mode) const {
  CheckWindow(axis);
  const int64_t room = in + axis.pad_begin + axis.pad_end - WindowExtent(axis);
  // With ceil_mode a single window may reach beyond the end.
  if (room < 0 && ceil_mode && room > -axis.stride) return 1;
  if (room < 0) {
    Refuse("a window of ", WindowExtent(axis), " does not fit the padded input of ",
           room + WindowExtent(axis));
  }
  int64_t out = room / axis.stride + 1;
  if (ceil_mode && room % axis.stride != 0) {
    // A last window that would start in the end padding does not count.
    if (out * axis.stride < in + axis.pad_begin) ++out;
  }
  return out;
}

int64_t ShapeRules::TransposedOutput(const WindowAxis& axis, int64_t in, int output_padding) const {
  CheckWindow(axis);
  if (output_padding < 0 || output_padding >= std::max(axis.stride, axis.dilation)) {
    Refuse("an output padding of ", output_padding,
           " that is not smaller than the stride or dilation");
  }
  return (in - 1) * axis.stride + WindowExtent(axis) - axis.pad_begin - axis.pad_end +
         output_padding;
}

Shape ShapeRules::PooledShape(const PoolSpec& spec, const Shape& in) const {
  for (const WindowAxis* axis : {&spec.rows, &spec.columns}) {
    CheckWindow(*axis);
    // A window that lies only in the padding has no largest pixel and no average.
    if (axis->pad_begin < 0 || axis->pad_end < 0 || axis->pad_begin >= WindowExtent(*axis) ||
        axis->pad_end >= WindowExtent(*axis)) {
      Refuse("padding as large as the window");
    }
  }
  if (spec.divisor < 0) Refuse("a divisor of ", spec.divisor);
  return {in[0], in[1], SlidingOutput(spec.rows, in[2], spec.ceil_mode),
          SlidingOutput(spec.columns, in[3], spec.ceil_mode)};
}

}  // namespace cacheinf
