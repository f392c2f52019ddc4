#include <algorithm>
#include <string>
#include <vector>

#include "common/model/onnx/fold.h"
#include "common/model/onnx/operators.h"

// Converters of integers and truth values that are not known before a frame: comparisons, choices,
// and places computed by other operators. Truth values are 0 and 1; integers up to 2^24 are exact.

namespace cacheinf {
namespace {

using Type = HostTensor::Type;
using Kind = Function::Kind;

// A CumSum becomes a product with the square of its length in numbers.
constexpr int64_t kLongestCumSum = 2048;

ValueId AddFunction(OnnxNode& node, Kind kind, ValueId x) {
  return node.Add(op::Activation{Function{kind, 0.0f, 0.0f}}, {x});
}

ValueId AddBinary(OnnxNode& node, BinaryKind kind, ValueId a, ValueId b) {
  return node.Add(op::Binary{kind, {}}, {a, b});
}

ValueId AddNumber(OnnxNode& node, const char* suffix, float number) {
  return node.AddConstant(suffix, {}, {number});
}

ValueId Reshaped(OnnxNode& node, ValueId x, Shape shape) {
  return node.ShapeOf(x) == shape ? x : node.Add(op::Reshape{std::move(shape)}, {x});
}

// Indices into an axis replace it in the result's shape.
Shape WithoutAxis(Shape shape, size_t axis, const Shape& instead) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), instead.begin(), instead.end());
  return shape;
}

// Whether all numbers are known to be below `count`, as they are indices into an axis.
bool AreIndicesBelow(const Graph& graph, ValueId x, int64_t count) {
  while (graph.value(x).producer != kNone) {
    const Operator& op = graph.operators[static_cast<size_t>(graph.value(x).producer)];
    const Shape& in = graph.value(op.inputs[0]).shape;
    if (const auto* best = op.As<op::ArgMax>()) return in[static_cast<size_t>(best->axis)] <= count;
    if (const auto* best = op.As<op::TopK>()) return in[static_cast<size_t>(best->axis)] <= count;
    if (op.As<op::Reshape>() == nullptr && op.As<op::Permute>() == nullptr) return false;
    x = op.inputs[0];
  }
  return false;
}

// Integers as a narrower type has them, by their low bits.
ValueId Narrowed(OnnxNode& node, ValueId x, const CastTarget::Narrow& to) {
  if (AreIndicesBelow(node.import().graph, x, to.lowest + to.count)) return x;
  const ValueId lowest = AddNumber(node, "lowest", static_cast<float>(to.lowest));
  const ValueId count = AddNumber(node, "count", static_cast<float>(to.count));
  const ValueId above = AddBinary(node, BinaryKind::kSubtract, x, lowest);
  const ValueId within = AddBinary(node, BinaryKind::kModulo, above, count);
  return AddFunction(node, Kind::kTruncate, AddBinary(node, BinaryKind::kAdd, within, lowest));
}

void ConvertCast(OnnxNode& node) {
  const CastTarget to = ReadCastTarget(node);
  ValueId x = node.Input(0);
  // In memory all numbers are floats.
  if (to.type == Type::kInteger && node.type(0) == Type::kFloat) {
    x = AddFunction(node, Kind::kTruncate, x);
  } else if (to.narrow && node.type(0) == Type::kInteger) {
    x = Narrowed(node, x, *to.narrow);
  } else if (to.type == Type::kBool && node.type(0) != Type::kBool) {
    x = AddFunction(node, Kind::kIsZero, AddFunction(node, Kind::kIsZero, x));
  }
  node.SetOutput(0, x, to.type);
}

void ConvertComparison(OnnxNode& node, BinaryKind kind, bool is_swapped) {
  const ValueId a = node.Input(is_swapped ? 1 : 0);
  node.SetOutput(0, AddBinary(node, kind, a, node.Input(is_swapped ? 0 : 1)), Type::kBool);
}

void ConvertXor(OnnxNode& node) {
  const ValueId equal = AddBinary(node, BinaryKind::kEqual, node.Input(0), node.Input(1));
  node.SetOutput(0, AddFunction(node, Kind::kIsZero, equal), Type::kBool);
}

void ConvertNot(OnnxNode& node) {
  node.SetOutput(0, AddFunction(node, Kind::kIsZero, node.Input(0)), Type::kBool);
}

void ConvertIsNaN(OnnxNode& node) {
  const ValueId x = node.Input(0);
  const ValueId is_number = AddBinary(node, BinaryKind::kEqual, x, x);
  node.SetOutput(0, AddFunction(node, Kind::kIsZero, is_number), Type::kBool);
}

void ConvertSign(OnnxNode& node) {
  const ValueId x = node.Input(0);
  const ValueId zero = AddNumber(node, "zero", 0.0f);
  const ValueId above = AddBinary(node, BinaryKind::kLess, zero, x);
  const ValueId below = AddBinary(node, BinaryKind::kLess, x, zero);
  node.SetOutput(0, AddBinary(node, BinaryKind::kSubtract, above, below));
}

// One of two choices is zero where the other one counts. So their sum is the other one, except for
// the sign of a zero.
void ConvertWhere(OnnxNode& node) {
  const ValueId condition = node.Input(0);
  const ValueId otherwise = AddFunction(node, Kind::kIsZero, condition);
  const ValueId a = AddBinary(node, BinaryKind::kWhere, condition, node.Input(1));
  const ValueId b = AddBinary(node, BinaryKind::kWhere, otherwise, node.Input(2));
  node.SetOutput(0, AddBinary(node, BinaryKind::kAdd, a, b), node.type(1));
}

void ConvertMod(OnnxNode& node) {
  const bool keeps_sign = node.Flag("fmod", false);  // of the dividend
  if (!node.IsInteger(0)) {
    node.Fail("a remainder of fractions is only supported among constants; cast to integers first");
  }
  const ValueId a = node.Input(0);
  const ValueId b = node.Input(1);
  if (!keeps_sign) return node.SetOutput(0, AddBinary(node, BinaryKind::kModulo, a, b));
  const ValueId quotient = AddBinary(node, BinaryKind::kQuotient, a, b);
  const ValueId product = AddBinary(node, BinaryKind::kMultiply, quotient, b);
  node.SetOutput(0, AddBinary(node, BinaryKind::kSubtract, a, product));
}

void ConvertTopK(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  op::TopK top;
  top.axis = CheckedAxis(node.Int("axis", -1), static_cast<int>(in.size()));
  const bool is_largest = node.Flag("largest", true);
  node.Ignore("sorted");  // any order will do then
  if (node.opset() < 10) {
    top.count = node.Int("k");
  } else {
    const std::vector<int64_t> count = node.IntegerConstant(1);
    if (count.size() != 1) node.Fail("its K is not one number");
    top.count = count[0];
  }
  const ValueId x = node.Input(0);
  const ValueId key = is_largest ? x : AddFunction(node, Kind::kNegate, x);
  const ValueId indices = node.Add(top, {key});
  if (node.HasOutput(0)) node.SetOutput(0, node.Add(op::GatherElements{top.axis}, {x, indices}));
  node.SetOutput(1, indices, Type::kInteger);
}

void ConvertGatherElements(OnnxNode& node) {
  const Shape indices = node.InputShape(1);
  const Shape in = node.InputShape(0);
  const int axis = CheckedAxis(node.Int("axis", 0), static_cast<int>(in.size()));
  if (indices.size() != in.size()) {
    node.Fail("indices of shape ", ToString(indices), " for shape ", ToString(in));
  }
  ValueId x = node.Input(0);
  // Along the other axes only the first entries may be wanted.
  op::Slice slice{Shape(in.size(), 0), indices, Shape(in.size(), 1)};
  slice.sizes[static_cast<size_t>(axis)] = in[static_cast<size_t>(axis)];
  if (slice.sizes != in) x = node.Add(std::move(slice), {x});
  node.SetOutput(0, node.Add(op::GatherElements{axis}, {x, node.Input(1)}));
}

}  // namespace

void ConvertGatherByValue(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const Shape indices = node.InputShape(1);
  const int axis = CheckedAxis(node.Int("axis", 0), static_cast<int>(in.size()));
  const auto at = static_cast<size_t>(axis);
  Shape along(in.size(), 1);
  along[at] = ElementCount(indices);
  const ValueId places = Reshaped(node, node.Input(1), std::move(along));
  const ValueId taken = node.Add(op::GatherElements{axis}, {node.Input(0), places});
  node.SetOutput(0, Reshaped(node, taken, WithoutAxis(in, at, indices)));
}

namespace {

// All indexed dimensions become one, and so do their indices.
void ConvertGatherND(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const Shape indices = node.InputShape(1);
  const int64_t batch = node.Int("batch_dims", 0);
  const auto rank = static_cast<int64_t>(in.size());
  const bool fits = !indices.empty() && batch >= 0 &&
                    batch < static_cast<int64_t>(indices.size()) && indices.back() >= 1 &&
                    batch + indices.back() <= rank &&
                    std::equal(in.begin(), in.begin() + batch, indices.begin());
  if (!fits) node.Fail("indices of shape ", ToString(indices), " for shape ", ToString(in));
  const int64_t depth = indices.back();
  const auto begin = in.begin() + batch;
  const Shape indexed(begin, begin + depth);
  const Shape inner(begin + depth, in.end());
  const int64_t batches = ElementCount(Shape(in.begin(), begin));
  const int64_t each = ElementCount(indices) / (batches * depth);
  const ValueId tuples = Reshaped(node, node.Input(1), {batches, each, depth});
  ValueId place = kNone;
  for (int64_t i = 0; i < depth; ++i) {
    const auto size = static_cast<float>(indexed[static_cast<size_t>(i)]);
    ValueId index = node.Add(op::Slice{{0, 0, i}, {batches, each, 1}, {1, 1, 1}}, {tuples});
    if (depth > 1) {  // GatherElements counts from the end by itself
      index = AddBinary(node, BinaryKind::kModulo, index, AddNumber(node, "size", size));
    }
    if (place == kNone) {
      place = index;
    } else {
      place = AddBinary(node, BinaryKind::kMultiply, place, AddNumber(node, "size", size));
      place = AddBinary(node, BinaryKind::kAdd, place, index);
    }
  }
  const ValueId x =
      Reshaped(node, node.Input(0), {batches, ElementCount(indexed), ElementCount(inner)});
  const ValueId taken = node.Add(op::GatherElements{1}, {x, place});
  Shape out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), inner.begin(), inner.end());
  node.SetOutput(0, Reshaped(node, taken, std::move(out)));
}

// A product with a triangle of ones: a number that is infinite or NaN reaches all sums, not only
// those that hold it.
void ConvertCumSum(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const std::vector<int64_t> given = node.IntegerConstant(1);
  if (given.size() != 1) node.Fail("its axis is not one number");
  const int axis = CheckedAxis(given[0], static_cast<int>(in.size()));
  const bool excludes_own = node.Flag("exclusive", false);
  const bool is_reversed = node.Flag("reverse", false);
  const int64_t size = in[static_cast<size_t>(axis)];
  if (size > kLongestCumSum) {
    node.Fail("sums over ", size, " numbers; at most ", kLongestCumSum, " are supported");
  }
  std::vector<float> triangle(static_cast<size_t>(size * size));
  for (int64_t out = 0; out < size; ++out) {
    for (int64_t x = 0; x < size; ++x) {
      const bool is_before = is_reversed ? x > out : x < out;
      const bool counts = is_before || (x == out && !excludes_own);
      triangle[static_cast<size_t>(out * size + x)] = counts ? 1.0f : 0.0f;
    }
  }
  const ValueId weights = node.AddConstant("triangle", {size, size}, std::move(triangle));
  op::Permute to_last;
  for (int i = 0; i < static_cast<int>(in.size()); ++i) to_last.order.push_back(i);
  std::swap(to_last.order[static_cast<size_t>(axis)], to_last.order.back());
  const bool is_last = axis + 1 == static_cast<int>(in.size());
  ValueId x = node.Input(0);
  if (!is_last) x = node.Add(to_last, {x});
  x = node.Add(op::Linear{}, {x, weights});
  if (!is_last) x = node.Add(to_last, {x});  // which undoes itself
  node.SetOutput(0, x);
}

// Where the grid's points lie along one axis of the picture, and the pixels left and right of them.
struct GridAxis {
  ValueId places[2];   // of pixels, within the picture
  ValueId weights[2];  // 0 for pixels outside
};

struct GridOptions {
  bool is_nearest = false;
  bool keeps_to_border = false;
  bool aligns_corners = false;
};

GridAxis AlongAxis(OnnxNode& node, ValueId grid, int64_t size, const GridOptions& options) {
  const auto last = static_cast<float>(size - 1);
  const float half = (options.aligns_corners ? last : static_cast<float>(size)) / 2.0f;
  ValueId at = AddBinary(node, BinaryKind::kMultiply, grid, AddNumber(node, "half", half));
  at = AddBinary(node, BinaryKind::kAdd, at, AddNumber(node, "middle", last / 2.0f));
  const auto clip = [&](ValueId x) {
    return node.Add(op::Activation{Function{Kind::kClip, 0.0f, last}}, {x});
  };
  if (options.keeps_to_border) at = clip(at);
  GridAxis axis;
  const ValueId first = AddFunction(node, options.is_nearest ? Kind::kRound : Kind::kFloor, at);
  const ValueId one = AddNumber(node, "one", 1.0f);
  const ValueId pixels[2] = {first, AddBinary(node, BinaryKind::kAdd, first, one)};
  const ValueId share = AddBinary(node, BinaryKind::kSubtract, at, first);
  const ValueId shares[2] = {AddBinary(node, BinaryKind::kSubtract, one, share), share};
  for (int i = 0; i < (options.is_nearest ? 1 : 2); ++i) {
    axis.places[i] = clip(pixels[i]);
    const ValueId is_inside = AddBinary(node, BinaryKind::kEqual, axis.places[i], pixels[i]);
    axis.weights[i] = options.is_nearest
                          ? is_inside
                          : AddBinary(node, BinaryKind::kMultiply, is_inside, shares[i]);
  }
  return axis;
}

GridOptions ReadGridOptions(OnnxNode& node) {
  GridOptions options;
  const std::string mode = node.String("mode", "bilinear");
  options.is_nearest = mode == "nearest";
  if (!options.is_nearest && mode != "bilinear" && mode != "linear") {
    node.Fail("mode '", mode, "' is not supported, only 'linear' and 'nearest'");
  }
  const std::string padding = node.String("padding_mode", "zeros");
  options.keeps_to_border = padding == "border";
  if (!options.keeps_to_border && padding != "zeros") {
    node.Fail("padding_mode '", padding, "' is not supported, only 'zeros' and 'border'");
  }
  options.aligns_corners = node.Flag("align_corners", false);
  return options;
}

// The weighted sum of the up to four pixels around each point, each fetched by its place.
void ConvertGridSample(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const Shape grid = node.InputShape(1);
  if (in.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != in[0]) {
    node.Fail("a grid of shape ", ToString(grid), " for an input of shape ", ToString(in));
  }
  const GridOptions options = ReadGridOptions(node);
  const int64_t points = grid[1] * grid[2];
  const ValueId flat_grid = Reshaped(node, node.Input(1), {grid[0], points, 2});
  const auto coordinate = [&](int64_t number) {
    const ValueId one =
        node.Add(op::Slice{{0, 0, number}, {grid[0], points, 1}, {1, 1, 1}}, {flat_grid});
    return Reshaped(node, one, {grid[0], 1, points});
  };
  const GridAxis columns = AlongAxis(node, coordinate(0), in[3], options);
  const GridAxis rows = AlongAxis(node, coordinate(1), in[2], options);
  const ValueId pixels = Reshaped(node, node.Input(0), {in[0], in[1], in[2] * in[3]});
  const ValueId width = AddNumber(node, "width", static_cast<float>(in[3]));
  const int corners = options.is_nearest ? 1 : 2;
  ValueId sum = kNone;
  for (int row = 0; row < corners; ++row) {
    const ValueId row_place = AddBinary(node, BinaryKind::kMultiply, rows.places[row], width);
    for (int column = 0; column < corners; ++column) {
      const ValueId place = AddBinary(node, BinaryKind::kAdd, row_place, columns.places[column]);
      const ValueId weight =
          AddBinary(node, BinaryKind::kMultiply, rows.weights[row], columns.weights[column]);
      const ValueId pixel = node.Add(op::GatherElements{2}, {pixels, place});
      const ValueId share = AddBinary(node, BinaryKind::kMultiply, pixel, weight);
      sum = sum == kNone ? share : AddBinary(node, BinaryKind::kAdd, sum, share);
    }
  }
  node.SetOutput(0, Reshaped(node, sum, {in[0], in[1], grid[1], grid[2]}));
}

}  // namespace

OnnxOperators OnnxChoices() {
  OnnxOperators operators = {
      {"Cast", {ConvertCast, FoldCast, true}},
      {"Xor", {ConvertXor, {}, true}},
      {"Not", {ConvertNot, {}, true}},
      {"IsNaN", {ConvertIsNaN}},
      {"Sign", {ConvertSign, {}, true}},
      {"Where", {ConvertWhere, {}, true}},
      {"Mod", {ConvertMod, {}, true}},
      {"TopK", {ConvertTopK, {}, true}},
      {"GatherElements", {ConvertGatherElements, {}, true}},
      {"GatherND", {ConvertGatherND, {}, true}},
      {"CumSum", {ConvertCumSum, {}, true}},
      {"GridSample", {ConvertGridSample}},
  };
  struct Comparison {
    std::string_view type;
    BinaryKind kind;
    bool is_swapped;
  };
  static constexpr Comparison kComparisons[] = {{"Equal", BinaryKind::kEqual, false},
                                                {"Less", BinaryKind::kLess, false},
                                                {"LessOrEqual", BinaryKind::kLessOrEqual, false},
                                                {"Greater", BinaryKind::kLess, true},
                                                {"GreaterOrEqual", BinaryKind::kLessOrEqual, true},
                                                {"And", BinaryKind::kMinimum, false},
                                                {"Or", BinaryKind::kMaximum, false}};
  for (const Comparison& row : kComparisons) {
    const auto convert = [row](OnnxNode& node) {
      ConvertComparison(node, row.kind, row.is_swapped);
    };
    operators[row.type] = {convert, {}, true};
  }
  return operators;
}

}  // namespace cacheinf
