#include "common/model/onnx/operators.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/model/onnx/fold.h"

namespace cacheinf {
namespace {

using Kind = Function::Kind;

ValueId Apply(OnnxNode& node, Kind kind, ValueId x, float alpha = 0.0f, float beta = 0.0f) {
  return node.Add(op::Activation{Function{kind, alpha, beta}}, {x});
}

void ConvertFunction(OnnxNode& node, Kind kind, float alpha = 0.0f, float beta = 0.0f) {
  node.SetOutput(0, Apply(node, kind, node.Input(0), alpha, beta));
}

void ConvertLeakyRelu(OnnxNode& node) {
  ConvertFunction(node, Kind::kLeakyRelu, node.Float("alpha", 0.01f));
}

void ConvertElu(OnnxNode& node) { ConvertFunction(node, Kind::kElu, node.Float("alpha", 1.0f)); }

void ConvertSelu(OnnxNode& node) {
  const float alpha = node.Float("alpha", 1.67326319217681884765625f);
  const float gamma = node.Float("gamma", 1.05070102214813232421875f);
  const ValueId elu = Apply(node, Kind::kElu, node.Input(0), alpha);
  const ValueId factor = node.AddConstant("gamma", {}, {gamma});
  node.SetOutput(0, node.Add(op::Binary{BinaryKind::kMultiply, {}}, {elu, factor}));
}

void ConvertHardSigmoid(OnnxNode& node) {
  const float alpha = node.Float("alpha", 0.2f);
  ConvertFunction(node, Kind::kHardSigmoid, alpha, node.Float("beta", 0.5f));
}

// x / (1 + |x|)
void ConvertSoftsign(OnnxNode& node) {
  const ValueId x = node.Input(0);
  const ValueId one = node.AddConstant("one", {}, {1.0f});
  const ValueId magnitude = Apply(node, Kind::kAbs, x);
  const ValueId divisor = node.Add(op::Binary{BinaryKind::kAdd, {}}, {magnitude, one});
  node.SetOutput(0, node.Add(op::Binary{BinaryKind::kDivide, {}}, {x, divisor}));
}

void ConvertGelu(OnnxNode& node) {
  const std::string approximate = node.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    node.Fail("attribute 'approximate' is '", approximate, "'");
  }
  ConvertFunction(node, approximate == "tanh" ? Kind::kGeluTanh : Kind::kGelu);
}

// Whether a PRelu has one slope for all, or one per channel and no other dimension above 1.
bool HasChannelSlopes(const HostTensor& slope, const Shape& in) {
  if (slope.count() == 1) return true;
  return in.size() >= 2 && slope.count() == in[1] &&
         slope.rank() + 1 >= static_cast<int>(in.size()) &&
         slope.shape()[slope.shape().size() + 1 - in.size()] == in[1];
}

void ConvertPRelu(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const Shape slope_shape = node.InputShape(1);
  if (BroadcastShapes(slope_shape, in) != in) {
    node.Fail("a slope of shape ", ToString(slope_shape), " for an input of ", ToString(in));
  }
  if (node.IsConstant(1) && HasChannelSlopes(node.FloatConstant(1), in)) {
    const HostTensor& slope = node.FloatConstant(1);
    const ValueId slopes = node.AddConstant("slope", slope.Reshaped({slope.count()}));
    op::Activation activation;
    activation.function.kind = Kind::kPRelu;
    return node.SetOutput(0, node.Add(activation, {node.Input(0), slopes}));
  }
  // max(x, 0) + slope * min(x, 0)
  const ValueId x = node.Input(0);
  const ValueId zero = node.AddConstant("zero", {}, {0.0f});
  const ValueId negative = node.Add(op::Binary{BinaryKind::kMinimum, {}}, {x, zero});
  const ValueId sloped = node.Add(op::Binary{BinaryKind::kMultiply, {}}, {negative, node.Input(1)});
  const ValueId positive = Apply(node, Kind::kRelu, x);
  node.SetOutput(0, node.Add(op::Binary{BinaryKind::kAdd, {}}, {positive, sloped}));
}

// A bound of a Clip: an attribute in old operator sets, an input in new ones.
float ClipBound(OnnxNode& node, const char* attribute, int input, float otherwise) {
  if (!node.HasInput(input)) return node.Float(attribute, otherwise);
  const HostTensor& bound = node.Constant(input);
  if (bound.count() != 1) node.Fail("its ", attribute, " is not one number");
  return bound.is_float() ? bound.floats()[0] : static_cast<float>(bound.integers()[0]);
}

void ConvertClip(OnnxNode& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // These bounds are the defaults of old operator sets.
  const auto is_open = [](float bound) {
    return std::abs(bound) >= std::numeric_limits<float>::max();
  };
  const float low = ClipBound(node, "min", 1, -kInfinity);
  const float high = ClipBound(node, "max", 2, kInfinity);
  if (is_open(low) && low < 0 && is_open(high) && high > 0) {
    node.SetOutput(0, node.Input(0));
  } else if (low == 0.0f && is_open(high) && high > 0) {
    ConvertFunction(node, Kind::kRelu);
  } else {
    ConvertFunction(node, Kind::kClip, low, high);
  }
}

// Combines any number of inputs, from the left.
ValueId AddBinaries(OnnxNode& node, BinaryKind kind) {
  ValueId result = node.Input(0);
  for (int i = 1; i < node.input_count(); ++i) {
    result = node.Add(op::Binary{kind, {}}, {result, node.Input(i)});
  }
  return result;
}

// A constant exponent may be an integer; the result still has the base's type.
ValueId Exponent(OnnxNode& node) {
  constexpr int64_t kLargestExact = 1 << 24;
  if (!node.IsConstant(1) || node.Constant(1).type() != HostTensor::Type::kInteger) {
    return node.Input(1);
  }
  const HostTensor& exponent = node.Constant(1);
  std::vector<float> values;
  for (int64_t value : exponent.integers()) {
    if (value < -kLargestExact || value > kLargestExact) node.Fail("an exponent of ", value);
    values.push_back(static_cast<float>(value));
  }
  return node.AddConstant("exponent", exponent.shape(), std::move(values));
}

void ConvertPow(OnnxNode& node) {
  if (node.IsInteger(0)) {
    node.Fail("a power of integers is only supported among constants; cast them to float first");
  }
  const ValueId base = node.Input(0);
  node.SetOutput(0, node.Add(op::Binary{BinaryKind::kPower, {}}, {base, Exponent(node)}));
}

void ConvertMean(OnnxNode& node) {
  const ValueId sum = AddBinaries(node, BinaryKind::kAdd);
  const ValueId count = node.AddConstant("count", {}, {static_cast<float>(node.input_count())});
  node.SetOutput(0, node.Add(op::Binary{BinaryKind::kDivide, {}}, {sum, count}));
}

void ConvertSoftmax(OnnxNode& node, bool logarithm) {
  const Shape in = node.InputShape(0);
  const int rank = static_cast<int>(in.size());
  const bool flattens = node.opset() < 13;
  const int axis = CheckedAxis(node.Int("axis", flattens ? 1 : -1), rank);
  const int64_t inner = ElementCount(Shape(in.begin() + axis + 1, in.end()));
  if (!flattens || inner == 1) {
    return node.SetOutput(0, node.Add(op::Softmax{axis, logarithm}, {node.Input(0)}));
  }
  // Over all dimensions from `axis` on.
  const int64_t row = inner * in[static_cast<size_t>(axis)];
  ValueId x = node.Add(op::Reshape{{ElementCount(in) / row, row}}, {node.Input(0)});
  x = node.Add(op::Softmax{1, logarithm}, {x});
  node.SetOutput(0, node.Add(op::Reshape{in}, {x}));
}

void ConvertArgExtreme(OnnxNode& node, bool is_max) {
  if (node.Flag("select_last_index", false)) {
    node.Fail("attribute 'select_last_index' is not supported");
  }
  op::ArgMax arg_max;
  arg_max.axis = CheckedAxis(node.Int("axis", 0), static_cast<int>(node.InputShape(0).size()));
  arg_max.keep_dimension = node.Flag("keepdims", true);
  const ValueId x = is_max ? node.Input(0) : Apply(node, Kind::kNegate, node.Input(0));
  node.SetOutput(0, node.Add(arg_max, {x}), HostTensor::Type::kInteger);
}

// Adds the node's reduction of `x`; returns `x` itself if it reduces nothing.
ValueId AddReduce(OnnxNode& node, ReduceKind kind, ValueId x) {
  op::Reduce reduce;
  reduce.kind = kind;
  const int rank = static_cast<int>(node.ShapeOf(x).size());
  reduce.axes = ReadAxes(node, 1, rank);
  reduce.keep_dimensions = node.Flag("keepdims", true);
  if (reduce.axes.empty()) {
    if (node.Flag("noop_with_empty_axes", false)) return x;
    for (int axis = 0; axis < rank; ++axis) reduce.axes.push_back(axis);
  } else {
    node.Ignore("noop_with_empty_axes");
  }
  return node.Add(std::move(reduce), {x});
}

void ConvertReduceL1(OnnxNode& node) {
  node.SetOutput(0, AddReduce(node, ReduceKind::kSum, Apply(node, Kind::kAbs, node.Input(0))));
}

ValueId AddSumOfSquares(OnnxNode& node) {
  const ValueId x = node.Input(0);
  return AddReduce(node, ReduceKind::kSum, node.Add(op::Binary{BinaryKind::kMultiply, {}}, {x, x}));
}

void ConvertReduceSumSquare(OnnxNode& node) { node.SetOutput(0, AddSumOfSquares(node)); }

void ConvertReduceL2(OnnxNode& node) {
  node.SetOutput(0, Apply(node, Kind::kSqrt, AddSumOfSquares(node)));
}

// Checks for two operands, or for any number.
void CheckOperands(const OnnxNode& node, bool is_pair) {
  if (is_pair && node.input_count() != 2) node.Fail(node.input_count(), " inputs");
}

void AddFunctions(OnnxOperators& table) {
  static constexpr std::pair<std::string_view, Kind> kFunctions[] = {
      {"Relu", Kind::kRelu},
      {"Sigmoid", Kind::kSigmoid},
      {"HardSwish", Kind::kHardSwish},
      {"Mish", Kind::kMish},
      {"Tanh", Kind::kTanh},
      {"Softplus", Kind::kSoftplus},
      {"Exp", Kind::kExp},
      {"Log", Kind::kLog},
      {"Erf", Kind::kErf},
      {"Sqrt", Kind::kSqrt},
      {"Reciprocal", Kind::kReciprocal},
      {"Abs", Kind::kAbs},
      {"Neg", Kind::kNegate},
      {"Floor", Kind::kFloor},
      {"Ceil", Kind::kCeil},
      {"Round", Kind::kRound},
      {"Sin", Kind::kSin},
      {"Cos", Kind::kCos},
  };
  for (const auto& [type, kind] : kFunctions) {
    table[type] = {[kind = kind](OnnxNode& node) { ConvertFunction(node, kind); },
                   [kind = kind](OnnxNode& node) { FoldFunction(node, kind); },
                   kind == Kind::kAbs || kind == Kind::kNegate || kind == Kind::kRelu};
  }
}

void AddArithmetic(OnnxOperators& table) {
  struct Row {
    std::string_view type;
    BinaryKind kind;
    bool is_pair;
  };
  static constexpr Row kRows[] = {
      {"Add", BinaryKind::kAdd, true},      {"Sub", BinaryKind::kSubtract, true},
      {"Mul", BinaryKind::kMultiply, true}, {"Div", BinaryKind::kDivide, true},
      {"Pow", BinaryKind::kPower, true},    {"Min", BinaryKind::kMinimum, false},
      {"Max", BinaryKind::kMaximum, false}, {"Sum", BinaryKind::kAdd, false},
  };
  for (const Row& row : kRows) {
    const auto convert = [row](OnnxNode& node) {
      CheckOperands(node, row.is_pair);
      if (row.kind == BinaryKind::kPower) return ConvertPow(node);
      const bool is_whole = row.kind == BinaryKind::kDivide && node.IsInteger(0);
      node.SetOutput(0, AddBinaries(node, is_whole ? BinaryKind::kQuotient : row.kind));
    };
    const auto fold = [row](OnnxNode& node) {
      CheckOperands(node, row.is_pair);
      // Floats to the power of integers: only an operator of the graph takes both.
      const bool is_mixed = row.kind == BinaryKind::kPower && !node.IsInteger(0);
      if (is_mixed && node.IsInteger(1)) return ConvertPow(node);
      FoldArithmetic(node, row.kind);
    };
    table[row.type] = {convert, fold, /*takes_integers=*/true};
  }
}

void AddReductions(OnnxOperators& table) {
  struct Row {
    std::string_view type;
    ReduceKind kind;
    BinaryKind combine;
  };
  static constexpr Row kRows[] = {{"ReduceMean", ReduceKind::kMean, BinaryKind::kAdd},
                                  {"ReduceSum", ReduceKind::kSum, BinaryKind::kAdd},
                                  {"ReduceMax", ReduceKind::kMax, BinaryKind::kMaximum},
                                  {"ReduceMin", ReduceKind::kMin, BinaryKind::kMinimum}};
  for (const Row& row : kRows) {
    const auto convert = [row](OnnxNode& node) {
      node.SetOutput(0, AddReduce(node, row.kind, node.Input(0)));
    };
    const auto fold = [row](OnnxNode& node) {
      FoldReduce(node, row.combine, row.kind == ReduceKind::kMean);
    };
    table[row.type] = {convert, fold, row.kind != ReduceKind::kMean};
  }
}

OnnxOperators MakeTable() {
  using N = OnnxNode;
  OnnxOperators table = {
      {"LeakyRelu", {ConvertLeakyRelu}},
      {"PRelu", {ConvertPRelu}},
      {"Elu", {ConvertElu}},
      {"Selu", {ConvertSelu}},
      {"Clip", {ConvertClip, {}, true}},
      {"HardSigmoid", {ConvertHardSigmoid}},
      {"Softsign", {ConvertSoftsign}},
      {"Mean", {ConvertMean}},
      {"Gelu", {ConvertGelu}},
      {"Softmax", {[](N& n) { ConvertSoftmax(n, false); }}},
      {"LogSoftmax", {[](N& n) { ConvertSoftmax(n, true); }}},
      {"ArgMax", {[](N& n) { ConvertArgExtreme(n, true); }}},
      {"ArgMin", {[](N& n) { ConvertArgExtreme(n, false); }}},
      {"ReduceL1", {ConvertReduceL1}},
      {"ReduceL2", {ConvertReduceL2}},
      {"ReduceSumSquare", {ConvertReduceSumSquare}},
  };
  for (OnnxOperators part :
       {OnnxWindows(), OnnxMoves(), OnnxChoices(), OnnxMatrices(), OnnxEightBits()}) {
    table.merge(part);
  }
  AddFunctions(table);
  AddArithmetic(table);
  AddReductions(table);
  for (const auto& [type, fold] : ConstantOperators()) table[type].fold = fold;
  return table;
}

}  // namespace

const OnnxOperator* FindOnnxOperator(std::string_view type) {
  static const OnnxOperators table = MakeTable();
  const auto found = table.find(type);
  return found == table.end() ? nullptr : &found->second;
}

std::string WhyNotSupported(std::string_view type) {
  if (type == "NonMaxSuppression") {
    return "how many boxes it gives changes from frame to frame, which is not supported; export "
           "the model without NMS, and let decoder.kind \"boxes\" suppress overlapping boxes";
  }
  static constexpr std::string_view kEightBit[] = {"QLinearConv", "QLinearMatMul", "ConvInteger",
                                                   "MatMulInteger", "DynamicQuantizeLinear"};
  for (const std::string_view eight_bit : kEightBit) {
    if (type != eight_bit) continue;
    return "8-bit numbers are read from QuantizeLinear and DequantizeLinear around float operators "
           "alone; quantise the model statically, in the format QDQ";
  }
  static constexpr std::string_view kOpenSized[] = {"NonZero", "Compress", "Unique",         "Loop",
                                                    "Scan",    "Range",    "ConstantOfShape"};
  for (const std::string_view open_sized : kOpenSized) {
    if (type != open_sized) continue;
    return "the size of its result changes from frame to frame, which is not supported; export the "
           "model without what follows from it, its post-processing say";
  }
  return "an operator of this type is not supported; export the model without it, or as "
         "TorchScript, whose operators LibTorch can run";
}

}  // namespace cacheinf
