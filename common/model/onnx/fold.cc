#include "common/model/onnx/fold.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/onnx/shapes.h"

namespace cacheinf {
namespace {

using Type = HostTensor::Type;
using Strides = std::vector<int64_t>;

// Strides of a dense tensor.
Strides DenseStrides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

// Calls visit(offset) for every element of `shape` in order, where offset = start + Σ index stride.
template <typename Visit>
void ForEachOffset(const Shape& shape, int64_t start, const Strides& strides, Visit visit) {
  const int64_t count = ElementCount(shape);
  std::vector<int64_t> index(shape.size(), 0);
  int64_t offset = start;
  for (int64_t i = 0; i < count; ++i) {
    visit(offset);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

void Charge(OnnxNode& node, const Shape& shape, Type type) {
  const int64_t count = CheckedCount(shape, "the result");
  node.budget().Take(count, type == Type::kFloat ? sizeof(float) : sizeof(int64_t));
}

template <typename T>
std::vector<T> GatherStrided(const std::vector<T>& x, const Shape& shape, int64_t start,
                             const Strides& strides) {
  std::vector<T> values;
  values.reserve(static_cast<size_t>(ElementCount(shape)));
  ForEachOffset(shape, start, strides, [&values, &x](int64_t offset) {
    values.push_back(x[static_cast<size_t>(offset)]);
  });
  return values;
}

// The elements of `x` at start + Σ index stride.
HostTensor Strided(OnnxNode& node, const HostTensor& x, const Shape& shape, int64_t start,
                   const Strides& strides) {
  Charge(node, shape, x.type());
  if (x.is_float()) return HostTensor(shape, GatherStrided(x.floats(), shape, start, strides));
  return HostTensor(shape, GatherStrided(x.integers(), shape, start, strides), x.type());
}

// REQUIRES: BroadcastShapes(x.shape(), shape) == shape.
HostTensor Broadcast(OnnxNode& node, const HostTensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const Strides dense = DenseStrides(x.shape());
  const size_t added = shape.size() - x.shape().size();
  Strides strides(shape.size(), 0);
  for (size_t i = 0; i < dense.size(); ++i) {
    if (x.shape()[i] != 1) strides[i + added] = dense[i];
  }
  return Strided(node, x, shape, 0, strides);
}

// ---- Moving numbers -----------------------------------------------------------------------------

void FoldIdentity(OnnxNode& node) {
  node.Ignore("ratio");  // Dropout
  node.Ignore("seed");
  node.SetOutput(0, node.Constant(0));
}

// The same numbers in the same order, in the shape that the node's type gives them.
template <Shape (*kNewShape)(OnnxNode&, const Shape&)>
void FoldReshape(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  node.SetOutput(0, x.Reshaped(kNewShape(node, x.shape())));
}

void FoldExpand(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  node.SetOutput(0, Broadcast(node, x, ExpandedShape(node, x.shape())));
}

void FoldTranspose(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const Strides dense = DenseStrides(x.shape());
  Shape shape;
  Strides strides;
  for (int axis : TransposeOrder(node, x.rank())) {
    shape.push_back(x.shape()[static_cast<size_t>(axis)]);
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  node.SetOutput(0, Strided(node, x, shape, 0, strides));
}

void FoldSlice(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const SliceBounds bounds = SliceOf(node, x.shape());
  Strides strides = DenseStrides(x.shape());
  int64_t start = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    start += bounds.starts[i] * strides[i];
    strides[i] *= bounds.steps[i];
  }
  node.SetOutput(0, Strided(node, x, bounds.sizes, start, strides));
}

void FoldSplit(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const SplitSizes split = SplitOf(node, x.shape());
  const Strides strides = DenseStrides(x.shape());
  const auto axis = static_cast<size_t>(split.axis);
  int64_t begin = 0;
  for (size_t i = 0; i < split.sizes.size(); ++i) {
    Shape shape = x.shape();
    shape[axis] = split.sizes[i];
    node.SetOutput(static_cast<int>(i), Strided(node, x, shape, begin * strides[axis], strides));
    begin += split.sizes[i];
  }
}

// Tiling is broadcasting over added dimensions: [d] -> [1, d] -> [r, d] -> [r d].
void FoldTile(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const std::vector<int64_t> repeats = TileRepeats(node, x.shape());
  Shape split;
  Shape expanded;
  Shape tiled;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t dim = x.shape()[i];
    split.insert(split.end(), {1, dim});
    expanded.insert(expanded.end(), {repeats[i], dim});
    tiled.push_back(repeats[i] * dim);
  }
  node.SetOutput(0, Broadcast(node, x.Reshaped(split), expanded).Reshaped(tiled));
}

// x seen as outer × dim × inner around an axis.
struct AxisView {
  int64_t outer = 1;
  int64_t dim = 1;
  int64_t inner = 1;
};

AxisView AroundAxis(const Shape& shape, int axis) {
  AxisView view;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto d = static_cast<int>(i);
    (d < axis ? view.outer : d == axis ? view.dim : view.inner) *= shape[i];
  }
  return view;
}

template <typename T>
std::vector<T> TakeAlongAxis(const std::vector<T>& x, const AxisView& view,
                             const std::vector<int64_t>& indices) {
  std::vector<T> values;
  values.reserve(static_cast<size_t>(view.outer * view.inner) * indices.size());
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t index : indices) {
      const auto from = x.begin() + (o * view.dim + index) * view.inner;
      values.insert(values.end(), from, from + view.inner);
    }
  }
  return values;
}

void FoldGather(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const HostTensor& indices = node.Constant(1);
  const int axis = CheckedAxis(node.Int("axis", 0), x.rank());
  const std::vector<int64_t> taken =
      GatherIndices(node, indices, x.shape()[static_cast<size_t>(axis)]);
  Shape shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  Charge(node, shape, x.type());
  const AxisView view = AroundAxis(x.shape(), axis);
  if (x.is_float()) {
    node.SetOutput(0, HostTensor(shape, TakeAlongAxis(x.floats(), view, taken)));
  } else {
    node.SetOutput(0, HostTensor(shape, TakeAlongAxis(x.integers(), view, taken), x.type()));
  }
}

template <typename T, typename Numbers>
std::vector<T> Join(OnnxNode& node, int axis, int64_t outer, Numbers numbers) {
  std::vector<T> values;
  for (int64_t o = 0; o < outer; ++o) {
    for (int i = 0; i < node.input_count(); ++i) {
      const HostTensor& part = node.Constant(i);
      const AxisView view = AroundAxis(part.shape(), axis);
      const auto from = numbers(part).begin() + o * view.dim * view.inner;
      values.insert(values.end(), from, from + view.dim * view.inner);
    }
  }
  return values;
}

void FoldConcat(OnnxNode& node) {
  Shape shape = node.Constant(0).shape();
  const Type type = node.Constant(0).type();
  const int axis = CheckedAxis(node.Int("axis"), static_cast<int>(shape.size()));
  const auto at = static_cast<size_t>(axis);
  for (int i = 1; i < node.input_count(); ++i) {
    const HostTensor& part = node.Constant(i);
    Shape expected = shape;
    if (part.rank() == static_cast<int>(shape.size())) expected[at] = part.shape()[at];
    if (part.shape() != expected || part.type() != type) {
      node.Fail("shapes " + ToString(shape) + " and " + ToString(part.shape()) +
                " do not line up, or their types differ");
    }
    shape[at] += part.shape()[at];
    CheckedCount(shape, "the result");
  }
  Charge(node, shape, type);
  const int64_t outer = AroundAxis(shape, axis).outer;
  if (type == Type::kFloat) {
    const auto numbers = [](const HostTensor& x) -> const auto& { return x.floats(); };
    node.SetOutput(0, HostTensor(shape, Join<float>(node, axis, outer, numbers)));
  } else {
    const auto numbers = [](const HostTensor& x) -> const auto& { return x.integers(); };
    node.SetOutput(0, HostTensor(shape, Join<int64_t>(node, axis, outer, numbers), type));
  }
}

// ---- Making numbers -----------------------------------------------------------------------------

void FoldConstant(OnnxNode& node) {
  if (node.Has("value")) {
    node.SetOutput(0, node.TensorAttribute("value"));
  } else if (node.Has("value_float")) {
    node.SetOutput(0, HostTensor({}, std::vector<float>{node.Float("value_float", 0.0f)}));
  } else if (node.Has("value_int")) {
    node.SetOutput(0, HostTensor({}, std::vector<int64_t>{node.Int("value_int")}));
  } else if (node.Has("value_floats")) {
    std::vector<float> values = node.Floats("value_floats");
    const auto count = static_cast<int64_t>(values.size());
    node.budget().Take(count, sizeof(float));
    node.SetOutput(0, HostTensor({count}, std::move(values)));
  } else if (node.Has("value_ints")) {
    std::vector<int64_t> values = node.Ints("value_ints");
    const auto count = static_cast<int64_t>(values.size());
    node.budget().Take(count, sizeof(int64_t));
    node.SetOutput(0, HostTensor({count}, std::move(values)));
  } else {
    node.Fail("has no value that is a number or a tensor of numbers");
  }
}

void FoldConstantOfShape(OnnxNode& node) {
  const Shape shape = node.IntegerConstant(0);
  HostTensor value({1}, std::vector<float>{0.0f});
  if (node.Has("value")) value = node.TensorAttribute("value");
  if (value.count() != 1) node.Fail("its value is not one number");
  Charge(node, shape, value.type());
  const auto count = static_cast<size_t>(ElementCount(shape));
  if (value.is_float()) {
    node.SetOutput(0, HostTensor(shape, std::vector<float>(count, value.floats()[0])));
  } else {
    std::vector<int64_t> values(count, value.integers()[0]);
    node.SetOutput(0, HostTensor(shape, std::move(values), value.type()));
  }
}

void FoldShape(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const auto rank = static_cast<int64_t>(in.size());
  const auto resolve = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = resolve(node.Int("start", 0));
  const int64_t end = std::max(start, resolve(node.Int("end", rank)));
  node.SetOutput(0, HostTensor({end - start}, Shape(in.begin() + start, in.begin() + end)));
}

void FoldSize(OnnxNode& node) {
  node.SetOutput(0, HostTensor({}, std::vector<int64_t>{ElementCount(node.InputShape(0))}));
}

void FoldRange(OnnxNode& node) {
  for (int i = 0; i < 3; ++i) {
    if (node.Constant(i).count() != 1 || node.Constant(i).type() != node.Constant(0).type()) {
      node.Fail("needs a start, a limit and a step of one type");
    }
  }
  const bool is_float = node.Constant(0).is_float();
  const auto number = [&node, is_float](int i) {
    const HostTensor& x = node.Constant(i);
    return is_float ? double{x.floats()[0]} : static_cast<double>(x.integers()[0]);
  };
  const double steps = std::ceil((number(1) - number(0)) / number(2));
  if (!(steps <= static_cast<double>(kMaxElements))) node.Fail("its result is too large");
  const int64_t count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  Charge(node, {count}, is_float ? Type::kFloat : Type::kInteger);
  if (is_float) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(number(0) + static_cast<double>(i) * number(2));
    }
    node.SetOutput(0, HostTensor({count}, std::move(values)));
    return;
  }
  std::vector<int64_t> values(static_cast<size_t>(count));
  int64_t value = node.Constant(0).integers()[0];
  for (int64_t& out : values) {
    out = value;
    // Overflows after the last value only, where it is not used.
    if (__builtin_add_overflow(value, node.Constant(2).integers()[0], &value)) value = 0;
  }
  node.SetOutput(0, HostTensor({count}, std::move(values)));
}

void FoldNonZero(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const Strides strides = DenseStrides(x.shape());
  std::vector<int64_t> found;
  node.budget().Take(x.count(), sizeof(int64_t));
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (x.is_float() ? x.floats()[at] != 0.0f : x.integers()[at] != 0) found.push_back(i);
  }
  const Shape shape = {x.rank(), static_cast<int64_t>(found.size())};
  Charge(node, shape, Type::kInteger);
  std::vector<int64_t> values;
  for (int d = 0; d < x.rank(); ++d) {
    const auto axis = static_cast<size_t>(d);
    for (int64_t i : found) values.push_back(i / strides[axis] % x.shape()[axis]);
  }
  node.SetOutput(0, HostTensor(shape, std::move(values)));
}

// ---- Arithmetic ---------------------------------------------------------------------------------

void FoldCast(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const Type to = CastTarget(node);
  Charge(node, x.shape(), to);
  if (to == Type::kFloat) {
    if (x.is_float()) return node.SetOutput(0, x);
    std::vector<float> values;
    for (int64_t value : x.integers()) values.push_back(static_cast<float>(value));
    return node.SetOutput(0, HostTensor(x.shape(), std::move(values)));
  }
  std::vector<int64_t> values;
  if (x.is_float()) {
    for (float value : x.floats()) {
      if (to == Type::kBool) {
        values.push_back(value != 0.0f);
      } else if (std::abs(value) < 0x1p63f) {
        values.push_back(static_cast<int64_t>(value));
      } else {
        node.Fail(std::to_string(value) + " does not fit an integer");
      }
    }
  } else {
    for (int64_t value : x.integers()) values.push_back(to == Type::kBool ? value != 0 : value);
  }
  node.SetOutput(0, HostTensor(x.shape(), std::move(values), to));
}

template <typename Function>
void FoldUnary(OnnxNode& node, Function function) {
  const HostTensor& x = node.FloatConstant(0);
  Charge(node, x.shape(), Type::kFloat);
  std::vector<float> values = x.floats();
  for (float& value : values) value = function(value);
  node.SetOutput(0, HostTensor(x.shape(), std::move(values)));
}

void FoldNegate(OnnxNode& node) {
  if (node.Constant(0).is_float()) return FoldUnary(node, [](float x) { return -x; });
  const HostTensor& x = node.Constant(0);
  Charge(node, x.shape(), Type::kInteger);
  std::vector<int64_t> values = x.integers();
  for (int64_t& value : values) {
    if (__builtin_sub_overflow(int64_t{0}, value, &value)) node.Fail("an integer overflows");
  }
  node.SetOutput(0, HostTensor(x.shape(), std::move(values)));
}

void FoldNot(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  if (x.type() != Type::kBool) node.Fail("needs truth values");
  Charge(node, x.shape(), Type::kBool);
  std::vector<int64_t> values = x.integers();
  for (int64_t& value : values) value = value == 0;
  node.SetOutput(0, HostTensor(x.shape(), std::move(values), Type::kBool));
}

// Two constants of one type, brought to one shape.
struct Operands {
  HostTensor a;
  HostTensor b;
};

Operands BroadcastOperands(OnnxNode& node, const HostTensor& a, const HostTensor& b) {
  if (a.type() != b.type()) node.Fail("its inputs are of different types");
  const Shape shape = BroadcastShapes(a.shape(), b.shape());
  CheckedCount(shape, "the result");
  return {Broadcast(node, a, shape), Broadcast(node, b, shape)};
}

template <typename From, typename To, typename Function>
std::vector<To> Zip(const std::vector<From>& a, const std::vector<From>& b, Function function) {
  std::vector<To> values;
  values.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) values.push_back(static_cast<To>(function(a[i], b[i])));
  return values;
}

float Calculate(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSubtract:
      return a - b;
    case BinaryKind::kMultiply:
      return a * b;
    case BinaryKind::kDivide:
      return a / b;
    case BinaryKind::kPower:
      return std::pow(a, b);
    case BinaryKind::kMinimum:
      return std::min(a, b);
    case BinaryKind::kMaximum:
      return std::max(a, b);
  }
  return 0.0f;
}

int64_t Power(int64_t base, int64_t exponent) {
  if (exponent < 0) throw InputError("an integer to a negative power");
  int64_t result = 1;
  for (;;) {
    bool overflow = false;
    if (exponent & 1) overflow = __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (!overflow && exponent == 0) return result;
    if (overflow || __builtin_mul_overflow(base, base, &base)) {
      throw InputError("an integer overflows");
    }
  }
}

int64_t Calculate(BinaryKind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (kind) {
    case BinaryKind::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryKind::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryKind::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryKind::kDivide:
      if (b == 0) throw InputError("an integer is divided by zero");
      overflow = a == INT64_MIN && b == -1;
      if (!overflow) result = a / b;
      break;
    case BinaryKind::kPower:
      return Power(a, b);
    case BinaryKind::kMinimum:
      return std::min(a, b);
    case BinaryKind::kMaximum:
      return std::max(a, b);
  }
  if (overflow) throw InputError("an integer overflows");
  return result;
}

// Of any number of inputs, from the left.
void FoldArithmetic(OnnxNode& node, BinaryKind kind) {
  HostTensor result = node.Constant(0);
  for (int i = 1; i < node.input_count(); ++i) {
    const Operands operands = BroadcastOperands(node, result, node.Constant(i));
    const Shape& shape = operands.a.shape();
    Charge(node, shape, result.type());
    if (result.is_float()) {
      const auto function = [kind](float x, float y) { return Calculate(kind, x, y); };
      result =
          HostTensor(shape, Zip<float, float>(operands.a.floats(), operands.b.floats(), function));
    } else {
      const auto function = [kind](int64_t x, int64_t y) { return Calculate(kind, x, y); };
      result = HostTensor(
          shape, Zip<int64_t, int64_t>(operands.a.integers(), operands.b.integers(), function));
    }
  }
  node.SetOutput(0, std::move(result));
}

void FoldMod(OnnxNode& node) {
  if (node.Flag("fmod", false)) node.Fail("attribute 'fmod' is not supported");
  const Operands operands = BroadcastOperands(node, node.Constant(0), node.Constant(1));
  if (operands.a.type() != Type::kInteger) node.Fail("needs integers");
  Charge(node, operands.a.shape(), Type::kInteger);
  const auto modulo = [&node](int64_t a, int64_t b) {
    if (b == 0) node.Fail("an integer is divided by zero");
    if (b == -1) return int64_t{0};
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;  // the divisor's sign
  };
  node.SetOutput(
      0, HostTensor(operands.a.shape(),
                    Zip<int64_t, int64_t>(operands.a.integers(), operands.b.integers(), modulo)));
}

template <typename Function>
void FoldComparison(OnnxNode& node, Function function) {
  const Operands operands = BroadcastOperands(node, node.Constant(0), node.Constant(1));
  Charge(node, operands.a.shape(), Type::kBool);
  std::vector<int64_t> values =
      operands.a.is_float()
          ? Zip<float, int64_t>(operands.a.floats(), operands.b.floats(), function)
          : Zip<int64_t, int64_t>(operands.a.integers(), operands.b.integers(), function);
  node.SetOutput(0, HostTensor(operands.a.shape(), std::move(values), Type::kBool));
}

template <typename Function>
void FoldLogic(OnnxNode& node, Function function) {
  if (node.Constant(0).type() != Type::kBool) node.Fail("needs truth values");
  FoldComparison(node, function);
}

template <typename T>
std::vector<T> Choose(const std::vector<int64_t>& condition, const std::vector<T>& a,
                      const std::vector<T>& b) {
  std::vector<T> values;
  values.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) values.push_back(condition[i] != 0 ? a[i] : b[i]);
  return values;
}

void FoldWhere(OnnxNode& node) {
  if (node.Constant(0).type() != Type::kBool) node.Fail("needs truth values");
  const Operands operands = BroadcastOperands(node, node.Constant(1), node.Constant(2));
  const Shape shape = BroadcastShapes(node.Constant(0).shape(), operands.a.shape());
  CheckedCount(shape, "the result");
  const HostTensor condition = Broadcast(node, node.Constant(0), shape);
  const HostTensor a = Broadcast(node, operands.a, shape);
  const HostTensor b = Broadcast(node, operands.b, shape);
  Charge(node, shape, a.type());
  if (a.is_float()) {
    node.SetOutput(0, HostTensor(shape, Choose(condition.integers(), a.floats(), b.floats())));
  } else {
    node.SetOutput(
        0, HostTensor(shape, Choose(condition.integers(), a.integers(), b.integers()), a.type()));
  }
}

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin, kProduct };

double Combine(Reduction kind, double a, double b) {
  switch (kind) {
    case Reduction::kMax:
      return std::max(a, b);
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kProduct:
      return a * b;
    default:
      return a + b;
  }
}

int64_t Combine(Reduction kind, int64_t a, int64_t b) {
  switch (kind) {
    case Reduction::kMax:
      return std::max(a, b);
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kProduct:
      return Calculate(BinaryKind::kMultiply, a, b);
    default:
      return Calculate(BinaryKind::kAdd, a, b);
  }
}

template <typename Sum, typename T>
std::vector<Sum> ReduceInto(Reduction kind, const std::vector<T>& x, const Shape& in,
                            const Strides& out_strides, int64_t out_count) {
  std::vector<Sum> sums(static_cast<size_t>(out_count), kind == Reduction::kProduct ? 1 : 0);
  std::vector<bool> started(sums.size(), false);
  size_t next = 0;
  ForEachOffset(in, 0, out_strides, [&](int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    const Sum value = static_cast<Sum>(x[next++]);
    sums[at] = started[at] ? Combine(kind, sums[at], value) : value;
    started[at] = true;
  });
  return sums;
}

void FoldReduce(OnnxNode& node, Reduction kind) {
  const HostTensor& x = node.Constant(0);
  std::vector<int> axes = Axes(node, 1, x.rank());
  const bool keep = node.Flag("keepdims", true);
  if (axes.empty() && node.Flag("noop_with_empty_axes", false)) return node.SetOutput(0, x);
  Shape kept = x.shape();
  Shape dropped;
  for (int d = 0; d < x.rank(); ++d) {
    const auto axis = static_cast<size_t>(d);
    if (axes.empty() || std::binary_search(axes.begin(), axes.end(), d)) {
      kept[axis] = 1;
    } else {
      dropped.push_back(kept[axis]);
    }
  }
  if (x.count() == 0) node.Fail("nothing to reduce");
  if (x.type() == Type::kBool) node.Fail("needs numbers");
  Strides strides = DenseStrides(kept);
  for (size_t i = 0; i < strides.size(); ++i) {
    if (kept[i] == 1) strides[i] = 0;
  }
  const Shape& out = keep ? kept : dropped;
  const int64_t count = ElementCount(kept);
  node.budget().Take(count, sizeof(double));
  Charge(node, out, x.type());
  const int64_t reduced = x.count() / count;
  if (x.is_float()) {
    std::vector<float> values;
    for (double sum : ReduceInto<double>(kind, x.floats(), x.shape(), strides, count)) {
      if (kind == Reduction::kMean) sum /= static_cast<double>(reduced);
      values.push_back(static_cast<float>(sum));
    }
    node.SetOutput(0, HostTensor(out, std::move(values)));
  } else {
    std::vector<int64_t> values =
        ReduceInto<int64_t>(kind, x.integers(), x.shape(), strides, count);
    for (int64_t& value : values) {
      if (kind == Reduction::kMean) value /= reduced;
    }
    node.SetOutput(0, HostTensor(out, std::move(values)));
  }
}

using Evaluator = void (*)(OnnxNode&);

const std::unordered_map<std::string_view, Evaluator>& Evaluators() {
  using N = OnnxNode;
  static const std::unordered_map<std::string_view, Evaluator> evaluators = {
      {"Identity", FoldIdentity},
      {"Dropout", FoldIdentity},
      {"Reshape", FoldReshape<ReshapedShape>},
      {"Flatten", FoldReshape<FlattenedShape>},
      {"Squeeze", FoldReshape<SqueezedShape>},
      {"Unsqueeze", FoldReshape<UnsqueezedShape>},
      {"Expand", FoldExpand},
      {"Transpose", FoldTranspose},
      {"Slice", FoldSlice},
      {"Split", FoldSplit},
      {"Tile", FoldTile},
      {"Gather", FoldGather},
      {"Concat", FoldConcat},
      {"Constant", FoldConstant},
      {"ConstantOfShape", FoldConstantOfShape},
      {"Shape", FoldShape},
      {"Size", FoldSize},
      {"Range", FoldRange},
      {"NonZero", FoldNonZero},
      {"Cast", FoldCast},
      {"Neg", FoldNegate},
      {"Not", FoldNot},
      {"Abs", [](N& n) { FoldUnary(n, [](float x) { return std::abs(x); }); }},
      {"Sqrt", [](N& n) { FoldUnary(n, [](float x) { return std::sqrt(x); }); }},
      {"Exp", [](N& n) { FoldUnary(n, [](float x) { return std::exp(x); }); }},
      {"Log", [](N& n) { FoldUnary(n, [](float x) { return std::log(x); }); }},
      {"Reciprocal", [](N& n) { FoldUnary(n, [](float x) { return 1.0f / x; }); }},
      {"Floor", [](N& n) { FoldUnary(n, [](float x) { return std::floor(x); }); }},
      {"Ceil", [](N& n) { FoldUnary(n, [](float x) { return std::ceil(x); }); }},
      {"Round", [](N& n) { FoldUnary(n, [](float x) { return std::nearbyint(x); }); }},
      {"Sin", [](N& n) { FoldUnary(n, [](float x) { return std::sin(x); }); }},
      {"Cos", [](N& n) { FoldUnary(n, [](float x) { return std::cos(x); }); }},
      {"Tanh", [](N& n) { FoldUnary(n, [](float x) { return std::tanh(x); }); }},
      {"Erf", [](N& n) { FoldUnary(n, [](float x) { return std::erf(x); }); }},
      {"Sigmoid", [](N& n) { FoldUnary(n, [](float x) { return 1.0f / (1.0f + std::exp(-x)); }); }},
      {"Relu", [](N& n) { FoldUnary(n, [](float x) { return std::max(x, 0.0f); }); }},
      {"Add", [](N& n) { FoldArithmetic(n, BinaryKind::kAdd); }},
      {"Sum", [](N& n) { FoldArithmetic(n, BinaryKind::kAdd); }},
      {"Sub", [](N& n) { FoldArithmetic(n, BinaryKind::kSubtract); }},
      {"Mul", [](N& n) { FoldArithmetic(n, BinaryKind::kMultiply); }},
      {"Div", [](N& n) { FoldArithmetic(n, BinaryKind::kDivide); }},
      {"Pow", [](N& n) { FoldArithmetic(n, BinaryKind::kPower); }},
      {"Min", [](N& n) { FoldArithmetic(n, BinaryKind::kMinimum); }},
      {"Max", [](N& n) { FoldArithmetic(n, BinaryKind::kMaximum); }},
      {"Mod", FoldMod},
      {"Equal", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a == b; }); }},
      {"Less", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a < b; }); }},
      {"LessOrEqual", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a <= b; }); }},
      {"Greater", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a > b; }); }},
      {"GreaterOrEqual", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a >= b; }); }},
      {"And", [](N& n) { FoldLogic(n, [](auto a, auto b) { return a != 0 && b != 0; }); }},
      {"Or", [](N& n) { FoldLogic(n, [](auto a, auto b) { return a != 0 || b != 0; }); }},
      {"Xor", [](N& n) { FoldLogic(n, [](auto a, auto b) { return a != b; }); }},
      {"Where", FoldWhere},
      {"ReduceSum", [](N& n) { FoldReduce(n, Reduction::kSum); }},
      {"ReduceMean", [](N& n) { FoldReduce(n, Reduction::kMean); }},
      {"ReduceMax", [](N& n) { FoldReduce(n, Reduction::kMax); }},
      {"ReduceMin", [](N& n) { FoldReduce(n, Reduction::kMin); }},
      {"ReduceProd", [](N& n) { FoldReduce(n, Reduction::kProduct); }},
  };
  return evaluators;
}

}  // namespace

bool CanFold(std::string_view type) { return Evaluators().count(type) > 0; }

bool FoldNode(OnnxNode& node) {
  const bool reads_shape_only = node.type() == "Shape" || node.type() == "Size";
  if (!reads_shape_only && !node.AllInputsConstant()) return false;
  const auto found = Evaluators().find(node.type());
  if (found == Evaluators().end())
    node.Fail("all its inputs are constants, which is not supported");
  found->second(node);
  return true;
}

}  // namespace cacheinf
