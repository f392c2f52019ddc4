#include "common/model/onnx/fold.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "sparse_ops/function.h"

namespace cacheinf {
namespace {

using Type = HostTensor::Type;

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
    const Shape shape = {static_cast<int64_t>(values.size())};
    node.Charge(shape, Type::kFloat);
    node.SetOutput(0, HostTensor(shape, std::move(values)));
  } else if (node.Has("value_ints")) {
    std::vector<int64_t> values = node.Ints("value_ints");
    const Shape shape = {static_cast<int64_t>(values.size())};
    node.Charge(shape, Type::kInteger);
    node.SetOutput(0, HostTensor(shape, std::move(values)));
  } else {
    node.Fail("has no value that is a number or a tensor of numbers");
  }
}

void FoldConstantOfShape(OnnxNode& node) {
  const Shape shape = node.IntegerConstant(0);
  HostTensor value({1}, std::vector<float>{0.0f});
  if (node.Has("value")) value = node.TensorAttribute("value");
  if (value.count() != 1) node.Fail("its value is not one number");
  node.Charge(shape, value.type());
  node.SetOutput(0, value.Map(shape, [&shape](const auto& numbers) {
    return std::vector(static_cast<size_t>(ElementCount(shape)), numbers[0]);
  }));
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
  node.Charge({count}, node.Constant(0).type());
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
    // Overflows only after the last value, which nothing uses.
    if (__builtin_add_overflow(value, node.Constant(2).integers()[0], &value)) value = 0;
  }
  node.SetOutput(0, HostTensor({count}, std::move(values)));
}

void FoldNonZero(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const Strides strides = DenseStrides(x.shape());
  node.budget().Take(x.count(), sizeof(int64_t));
  std::vector<int64_t> found;
  x.Visit([&found](const auto& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != 0) found.push_back(static_cast<int64_t>(i));
    }
  });
  const Shape shape = {x.rank(), static_cast<int64_t>(found.size())};
  node.Charge(shape, Type::kInteger);
  std::vector<int64_t> values;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    for (int64_t i : found) values.push_back(i / strides[axis] % x.shape()[axis]);
  }
  node.SetOutput(0, HostTensor(shape, std::move(values)));
}

// ---- Arithmetic ---------------------------------------------------------------------------------

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
    default:
      throw std::logic_error("no arithmetic of integers");
  }
  if (overflow) throw InputError("an integer overflows");
  return result;
}

double Calculate(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kMultiply:
      return a * b;
    case BinaryKind::kMinimum:
      return std::min(a, b);
    case BinaryKind::kMaximum:
      return std::max(a, b);
    default:
      throw std::logic_error("no reduction");
  }
}

// Two constants of one type, broadcast to one shape.
struct Operands {
  HostTensor a;
  HostTensor b;
};

Operands BroadcastOperands(OnnxNode& node, const HostTensor& a, const HostTensor& b) {
  if (a.type() != b.type()) node.Fail("its inputs are of different types");
  const Shape shape = BroadcastShapes(a.shape(), b.shape());
  return {Broadcast(node, a, shape), Broadcast(node, b, shape)};
}

template <typename To, typename From, typename Function>
std::vector<To> Zip(const std::vector<From>& a, const std::vector<From>& b, Function function) {
  std::vector<To> values;
  values.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) values.push_back(static_cast<To>(function(a[i], b[i])));
  return values;
}

void FoldMod(OnnxNode& node) {
  if (node.Flag("fmod", false)) node.Fail("attribute 'fmod' is not supported");
  const Operands operands = BroadcastOperands(node, node.Constant(0), node.Constant(1));
  if (operands.a.type() != Type::kInteger) node.Fail("needs integers");
  node.Charge(operands.a.shape(), Type::kInteger);
  const auto modulo = [&node](int64_t a, int64_t b) {
    if (b == 0) node.Fail("an integer is divided by zero");
    if (b == -1) return int64_t{0};
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;  // has the divisor's sign
  };
  node.SetOutput(0, HostTensor(operands.a.shape(),
                               Zip<int64_t>(operands.a.integers(), operands.b.integers(), modulo)));
}

template <typename Function>
void FoldComparison(OnnxNode& node, Function function) {
  const Operands operands = BroadcastOperands(node, node.Constant(0), node.Constant(1));
  node.Charge(operands.a.shape(), Type::kBool);
  std::vector<int64_t> values;
  operands.a.Visit(
      [&](const auto& a) { values = Zip<int64_t>(a, operands.b.NumbersLike(a), function); });
  node.SetOutput(0, HostTensor(operands.a.shape(), std::move(values), Type::kBool));
}

void NeedTruth(const OnnxNode& node) {
  if (node.Constant(0).type() != Type::kBool) node.Fail("needs truth values");
}

template <typename Function>
void FoldLogic(OnnxNode& node, Function function) {
  NeedTruth(node);
  FoldComparison(node, function);
}

void FoldNot(OnnxNode& node) {
  NeedTruth(node);
  const HostTensor& x = node.Constant(0);
  node.Charge(x.shape(), Type::kBool);
  std::vector<int64_t> values = x.integers();
  for (int64_t& value : values) value = value == 0;
  node.SetOutput(0, HostTensor(x.shape(), std::move(values), Type::kBool));
}

void FoldWhere(OnnxNode& node) {
  NeedTruth(node);
  const Operands operands = BroadcastOperands(node, node.Constant(1), node.Constant(2));
  const Shape shape = BroadcastShapes(node.Constant(0).shape(), operands.a.shape());
  const HostTensor condition = Broadcast(node, node.Constant(0), shape);
  const HostTensor a = Broadcast(node, operands.a, shape);
  const HostTensor b = Broadcast(node, operands.b, shape);
  node.Charge(shape, a.type());
  node.SetOutput(0, a.Map(shape, [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (condition.integers()[i] == 0) values[i] = b.NumbersLike(values)[i];
    }
    return values;
  }));
}

template <typename Sum, typename T>
std::vector<Sum> ReduceInto(BinaryKind combine, const std::vector<T>& x, const Shape& in,
                            const Strides& out_strides, int64_t out_count) {
  std::vector<Sum> sums(static_cast<size_t>(out_count), 0);
  std::vector<bool> started(sums.size(), false);
  size_t next = 0;
  ForEachOffset(in, 0, out_strides, [&](int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    const Sum value = static_cast<Sum>(x[next++]);
    sums[at] = started[at] ? Calculate(combine, sums[at], value) : value;
    started[at] = true;
  });
  return sums;
}

}  // namespace

Strides DenseStrides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

HostTensor Strided(OnnxNode& node, const HostTensor& x, const Shape& shape, int64_t start,
                   const Strides& strides) {
  node.Charge(shape, x.type());
  return x.Map(shape, [&](const auto& numbers) {
    std::decay_t<decltype(numbers)> taken;
    taken.reserve(static_cast<size_t>(ElementCount(shape)));
    ForEachOffset(shape, start, strides,
                  [&](int64_t offset) { taken.push_back(numbers[static_cast<size_t>(offset)]); });
    return taken;
  });
}

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

CastTarget ReadCastTarget(OnnxNode& node) {
  node.Ignore("saturate");  // only for floats of 8 bits
  const int to = CheckedInt(node.Int("to"), 0, 1000, "type");
  switch (to) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return {Type::kFloat, to};
    case onnx::TensorProto::BOOL:
      return {Type::kBool, to};
    case onnx::TensorProto::INT8:
      return {Type::kInteger, to, {{-0x80, 0x100}}};
    case onnx::TensorProto::UINT8:
      return {Type::kInteger, to, {{0, 0x100}}};
    case onnx::TensorProto::INT16:
      return {Type::kInteger, to, {{-0x8000, 0x10000}}};
    case onnx::TensorProto::UINT16:
      return {Type::kInteger, to, {{0, 0x10000}}};
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::INT64:
      return {Type::kInteger, to};
    default:
      node.Fail("a cast to type ", ElementTypeName(to), " is not supported");
  }
}

// An integer as the cast leaves it, by its low bits.
int64_t Narrowed(int64_t value, const CastTarget& to) {
  if (to.onnx_type == onnx::TensorProto::INT32) return static_cast<int32_t>(value);
  if (to.onnx_type == onnx::TensorProto::UINT32) return static_cast<uint32_t>(value);
  if (!to.narrow) return value;
  const auto [lowest, count] = *to.narrow;
  const int64_t above = (value % count - lowest) % count;
  return lowest + (above < 0 ? above + count : above);
}

void FoldCast(OnnxNode& node) {
  const HostTensor& x = node.Constant(0);
  const CastTarget to = ReadCastTarget(node);
  node.Charge(x.shape(), to.type);
  if (to.type == Type::kFloat) {
    if (x.is_float()) return node.SetOutput(0, x);
    std::vector<float> values;
    for (int64_t value : x.integers()) values.push_back(static_cast<float>(value));
    return node.SetOutput(0, HostTensor(x.shape(), std::move(values)));
  }
  std::vector<int64_t> values;
  if (x.is_float()) {
    for (float value : x.floats()) {
      if (to.type == Type::kBool) {
        values.push_back(value != 0.0f);
      } else if (std::abs(value) < 0x1p63f) {
        values.push_back(Narrowed(static_cast<int64_t>(value), to));
      } else {
        node.Fail(value, " does not fit an integer");
      }
    }
  } else {
    for (int64_t value : x.integers()) {
      values.push_back(to.type == Type::kBool ? value != 0 : Narrowed(value, to));
    }
  }
  node.SetOutput(0,
                 HostTensor(x.shape(), std::move(values), to.type).WithElementType(to.onnx_type));
}

void FoldFunction(OnnxNode& node, Function::Kind kind) {
  const HostTensor& x = node.Constant(0);
  if (!x.is_float() && kind == Function::Kind::kNegate) {
    node.Charge(x.shape(), Type::kInteger);
    std::vector<int64_t> values = x.integers();
    for (int64_t& value : values) value = Calculate(BinaryKind::kSubtract, int64_t{0}, value);
    return node.SetOutput(0, HostTensor(x.shape(), std::move(values)));
  }
  node.Charge(x.shape(), Type::kFloat);
  std::vector<float> values = node.FloatConstant(0).floats();
  for (float& value : values) value = Apply(Function{kind, 0.0f, 0.0f}, value);
  node.SetOutput(0, HostTensor(x.shape(), std::move(values)));
}

void FoldArithmetic(OnnxNode& node, BinaryKind kind) {
  HostTensor result = node.Constant(0);
  for (int i = 1; i < node.input_count(); ++i) {
    const Operands operands = BroadcastOperands(node, result, node.Constant(i));
    const Shape& shape = operands.a.shape();
    node.Charge(shape, result.type());
    if (result.is_float()) {
      const auto function = [kind](float x, float y) { return Combine(kind, x, y); };
      result = HostTensor(shape, Zip<float>(operands.a.floats(), operands.b.floats(), function));
    } else {
      const auto function = [kind](int64_t x, int64_t y) { return Calculate(kind, x, y); };
      result =
          HostTensor(shape, Zip<int64_t>(operands.a.integers(), operands.b.integers(), function));
    }
  }
  node.SetOutput(0, std::move(result));
}

void FoldReduce(OnnxNode& node, BinaryKind combine, bool is_mean) {
  const HostTensor& x = node.Constant(0);
  std::vector<int> axes = ReadAxes(node, 1, x.rank());
  const bool keep = node.Flag("keepdims", true);
  const bool keeps_without_axes = node.Flag("noop_with_empty_axes", false);
  if (axes.empty() && keeps_without_axes) return node.SetOutput(0, x);
  Shape kept = x.shape();
  Shape dropped;
  for (int d = 0; d < x.rank(); ++d) {
    const auto axis = static_cast<size_t>(d);
    if (axes.empty() || std::ranges::binary_search(axes, d)) {
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
  node.Charge(out, x.type());
  const int64_t reduced = x.count() / count;
  if (x.is_float()) {
    std::vector<float> values;
    for (double sum : ReduceInto<double>(combine, x.floats(), x.shape(), strides, count)) {
      if (is_mean) sum /= static_cast<double>(reduced);
      values.push_back(static_cast<float>(sum));
    }
    node.SetOutput(0, HostTensor(out, std::move(values)));
  } else {
    std::vector<int64_t> values =
        ReduceInto<int64_t>(combine, x.integers(), x.shape(), strides, count);
    for (int64_t& value : values) {
      if (is_mean) value /= reduced;
    }
    node.SetOutput(0, HostTensor(out, std::move(values)));
  }
}

const std::unordered_map<std::string_view, OnnxFold>& ConstantOperators() {
  using N = OnnxNode;
  static const std::unordered_map<std::string_view, OnnxFold> operators = {
      {"Constant", FoldConstant},
      {"ConstantOfShape", FoldConstantOfShape},
      {"Shape", FoldShape},
      {"Size", FoldSize},
      {"Range", FoldRange},
      {"NonZero", FoldNonZero},
      {"Mod", FoldMod},
      {"Equal", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a == b; }); }},
      {"Less", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a < b; }); }},
      {"LessOrEqual", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a <= b; }); }},
      {"Greater", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a > b; }); }},
      {"GreaterOrEqual", [](N& n) { FoldComparison(n, [](auto a, auto b) { return a >= b; }); }},
      {"And", [](N& n) { FoldLogic(n, [](auto a, auto b) { return a != 0 && b != 0; }); }},
      {"Or", [](N& n) { FoldLogic(n, [](auto a, auto b) { return a != 0 || b != 0; }); }},
      {"Xor", [](N& n) { FoldLogic(n, [](auto a, auto b) { return a != b; }); }},
      {"Not", FoldNot},
      {"Where", FoldWhere},
      {"ReduceProd", [](N& n) { FoldReduce(n, BinaryKind::kMultiply, false); }},
  };
  return operators;
}

}  // namespace cacheinf
