#include "common/model/graph/moves.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/model/onnx/fold.h"
#include "common/model/onnx/operators.h"

// Operators that only move numbers, in every form of the operator sets (attributes first, inputs
// later). Known numbers are moved at once, integers exactly; others get an operator in the graph.

namespace cacheinf {
namespace {

constexpr int64_t kMostCopies = 64;  // that a Tile makes of unknown numbers

int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

// ---- One move each ------------------------------------------------------------------------------

OnnxValue Reshaped(OnnxNode& node, const OnnxValue& x, Shape shape) {
  if (node.ShapeOf(x) == shape) return x;
  if (x.constant) return {kNone, x.constant->Reshaped(std::move(shape))};
  return {node.Add(op::Reshape{std::move(shape)}, {x.id}), {}};
}

OnnxValue Expanded(OnnxNode& node, const OnnxValue& x, const Shape& shape) {
  if (x.constant) return {kNone, Broadcast(node, *x.constant, shape)};
  const Shape in = node.ShapeOf(x);
  Shape padded(shape.size() - in.size(), 1);
  padded.insert(padded.end(), in.begin(), in.end());
  const OnnxValue with_rank = Reshaped(node, x, padded);
  if (padded == shape) return with_rank;
  return {node.Add(op::Expand{shape}, {with_rank.id}), {}};
}

OnnxValue Permuted(OnnxNode& node, const OnnxValue& x, const std::vector<int>& order) {
  if (!x.constant) return {node.Add(op::Permute{order}, {x.id}), {}};
  const Strides dense = DenseStrides(x.constant->shape());
  Shape shape;
  Strides strides;
  for (int axis : order) {
    shape.push_back(x.constant->shape()[static_cast<size_t>(axis)]);
    strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  return {kNone, Strided(node, *x.constant, shape, 0, strides)};
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

// The indices' dimensions replace the axis.
OnnxValue Gathered(OnnxNode& node, const OnnxValue& x, op::Gather gather, const Shape& indices) {
  Shape shape = node.ShapeOf(x);
  const int axis = gather.axis;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.begin(), indices.end());
  if (!x.constant) {
    return Reshaped(node, {node.Add(std::move(gather), {x.id}), {}}, std::move(shape));
  }
  node.Charge(shape, x.constant->type());
  const AxisView view = AroundAxis(x.constant->shape(), axis);
  return {kNone, x.constant->Map(shape, [&](const auto& numbers) {
            std::decay_t<decltype(numbers)> taken;
            taken.reserve(static_cast<size_t>(view.outer * view.inner) * gather.indices.size());
            for (int64_t o = 0; o < view.outer; ++o) {
              for (int64_t index : gather.indices) {
                const auto from = numbers.begin() + (o * view.dim + index) * view.inner;
                taken.insert(taken.end(), from, from + view.inner);
              }
            }
            return taken;
          })};
}

// Steps may be negative, and sizes zero.
OnnxValue Sliced(OnnxNode& node, OnnxValue x, op::Slice slice) {
  if (x.constant) {
    Strides strides = DenseStrides(x.constant->shape());
    int64_t start = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      start += slice.starts[i] * strides[i];
      strides[i] *= slice.steps[i];
    }
    return {kNone, Strided(node, *x.constant, slice.sizes, start, strides)};
  }
  for (size_t i = 0; i < slice.sizes.size(); ++i) {
    if (slice.steps[i] > 0) continue;
    // Backwards: one index after the other.
    node.budget().Take(slice.sizes[i], sizeof(int64_t));
    op::Gather gather;
    gather.axis = static_cast<int>(i);
    for (int64_t k = 0; k < slice.sizes[i]; ++k) {
      gather.indices.push_back(slice.starts[i] + k * slice.steps[i]);
    }
    x.id = node.Add(std::move(gather), {x.id});
    slice.starts[i] = 0;
    slice.steps[i] = 1;
  }
  if (slice.sizes != node.ShapeOf(x)) x.id = node.Add(std::move(slice), {x.id});
  return x;
}

HostTensor Joined(OnnxNode& node, const std::vector<HostTensor>& parts, int axis) {
  const HostTensor& first = parts.at(0);
  Shape shape = first.shape();
  const auto at = static_cast<size_t>(axis);
  for (size_t i = 1; i < parts.size(); ++i) {
    const HostTensor& part = parts[i];
    Shape expected = shape;
    if (part.rank() == first.rank()) expected[at] = part.shape()[at];
    if (part.shape() != expected || part.type() != first.type()) {
      node.Fail("shapes ", ToString(shape), " and ", ToString(part.shape()),
                " do not line up, or their types differ");
    }
    shape[at] += part.shape()[at];
    CheckedCount(shape, "the result");
  }
  node.Charge(shape, first.type());
  return first.Map(shape, [&](const auto& numbers) {
    std::decay_t<decltype(numbers)> joined;
    for (int64_t o = 0; o < AroundAxis(shape, axis).outer; ++o) {
      for (const HostTensor& part : parts) {
        const AxisView view = AroundAxis(part.shape(), axis);
        const auto from = part.NumbersLike(numbers).begin() + o * view.dim * view.inner;
        joined.insert(joined.end(), from, from + view.dim * view.inner);
      }
    }
    return joined;
  });
}

// ---- Padding ------------------------------------------------------------------------------------

PadMode ReadPadMode(OnnxNode& node) {
  const std::string mode = node.String("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  node.Fail("mode '", mode, "' is not supported");
}

// Begins of all dimensions, then ends of all dimensions.
std::vector<int64_t> ReadPads(OnnxNode& node, int rank) {
  const bool is_attribute = node.opset() < 11;
  const std::vector<int64_t> given = is_attribute ? node.Ints("pads") : node.IntegerConstant(1);
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (!is_attribute && node.HasInput(3)) {
    axes = {};
    for (int64_t axis : node.IntegerConstant(3)) axes.push_back(CheckedAxis(axis, rank));
  }
  if (given.size() != 2 * axes.size()) {
    node.Fail(given.size(), " numbers of padding for ", axes.size(), " dimensions");
  }
  std::vector<int64_t> pads(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    pads[axis] = CheckedInt(given[i], -(1 << 24), 1 << 24, "padding");
    pads[axis + static_cast<size_t>(rank)] =
        CheckedInt(given[i + axes.size()], -(1 << 24), 1 << 24, "padding");
  }
  return pads;
}

float ReadPadValue(OnnxNode& node) {
  if (node.opset() < 11) return node.Float("value", 0.0f);
  if (!node.HasInput(2)) return 0.0f;
  const HostTensor& value = node.FloatConstant(2);
  if (value.count() != 1) node.Fail("its constant_value is not one number");
  return value.floats()[0];
}

void ConvertIdentity(OnnxNode& node) { node.SetOutput(0, node.InputValue(0)); }

void ConvertDropout(OnnxNode& node) {
  node.Ignore("ratio");
  node.Ignore("seed");
  if (node.HasInput(2)) {
    const HostTensor& training = node.Constant(2);
    const bool is_off = training.type() == HostTensor::Type::kBool && training.count() == 1 &&
                        training.integers()[0] == 0;
    if (!is_off) node.Fail("training mode is not supported");
  }
  ConvertIdentity(node);
}

void ConvertReshape(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const bool zero_is_zero = node.Flag("allowzero", false);
  Shape out = node.IntegerConstant(1);
  if (out.size() > kMaxHostRank) node.Fail("a shape of ", out.size(), " dimensions");
  std::optional<size_t> inferred;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !zero_is_zero) {
      if (i >= in.size()) node.Fail("shape entry 0 stands for a dimension that is not there");
      out[i] = in[i];
    } else if (out[i] == -1) {
      if (inferred) node.Fail("shape entry -1 appears twice");
      inferred = i;
    }
  }
  const int64_t in_count = ElementCount(in);
  if (inferred) {
    out[*inferred] = 1;
    const int64_t others = CheckedCount(out, "the new shape");
    if (others == 0 || in_count % others != 0) {
      node.Fail("shape ", ToString(in), " cannot become ", ToString(node.IntegerConstant(1)));
    }
    out[*inferred] = in_count / others;
  }
  if (CheckedCount(out, "the new shape") != in_count) {
    node.Fail("shape ", ToString(in), " cannot become ", ToString(out));
  }
  node.SetOutput(0, Reshaped(node, node.InputValue(0), std::move(out)));
}

void ConvertFlatten(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const int rank = static_cast<int>(in.size());
  const int64_t given = node.Int("axis", 1);
  const int axis = given == rank ? rank : CheckedAxis(given, rank);
  Shape out = {1, 1};
  for (int i = 0; i < rank; ++i) out[i < axis ? 0 : 1] *= in[static_cast<size_t>(i)];
  node.SetOutput(0, Reshaped(node, node.InputValue(0), std::move(out)));
}

void ConvertSqueeze(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const std::vector<int> axes = ReadAxes(node, 1, static_cast<int>(in.size()));
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool named = std::ranges::binary_search(axes, static_cast<int>(i));
    if (named && in[i] != 1) node.Fail("dimension ", i, " of ", ToString(in), " is not 1");
    if (!(named || (axes.empty() && in[i] == 1))) out.push_back(in[i]);
  }
  node.SetOutput(0, Reshaped(node, node.InputValue(0), std::move(out)));
}

void ConvertUnsqueeze(OnnxNode& node) {
  Shape out = node.InputShape(0);
  const size_t given = node.AttributeOrInput("axes", 1).size();
  if (given == 0 || out.size() + given > kMaxHostRank) {
    node.Fail(given, " axes for shape ", ToString(out));
  }
  const int rank = static_cast<int>(out.size() + given);
  for (int axis : ReadAxes(node, 1, rank)) out.insert(out.begin() + axis, 1);
  node.SetOutput(0, Reshaped(node, node.InputValue(0), std::move(out)));
}

void ConvertTranspose(OnnxNode& node) {
  const std::vector<int64_t> given = node.Ints("perm");
  std::vector<int> order(node.InputShape(0).size());
  if (given.empty()) {
    std::iota(order.rbegin(), order.rend(), 0);
  } else if (given.size() != order.size()) {
    node.Fail("a permutation of ", given.size(), " dimensions for ", order.size());
  } else {
    order = CheckedAxes(given, static_cast<int>(order.size()));
  }
  node.SetOutput(0, Permuted(node, node.InputValue(0), order));
}

void ConvertExpand(OnnxNode& node) {
  const Shape wanted = node.IntegerConstant(1);
  if (wanted.size() > kMaxHostRank) node.Fail("too many dimensions");
  CheckedCount(wanted, "the new shape");
  const Shape shape = BroadcastShapes(node.InputShape(0), wanted);
  CheckedCount(shape, "the new shape");
  node.SetOutput(0, Expanded(node, node.InputValue(0), shape));
}

void ConvertTile(OnnxNode& node) {
  OnnxValue x = node.InputValue(0);
  Shape shape = node.ShapeOf(x);
  const std::vector<int64_t> repeats = node.IntegerConstant(1);
  if (repeats.size() != shape.size()) {
    node.Fail(repeats.size(), " repeats for shape ", ToString(shape));
  }
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] == 1) continue;
    const bool is_one = shape[axis] == 1;
    const int64_t most = is_one || x.constant ? kMaxElements : kMostCopies;
    if (repeats[axis] < 1 || repeats[axis] > most) {
      node.Fail(repeats[axis], " copies are not supported");
    }
    shape[axis] *= repeats[axis];
    CheckedCount(shape, "the result");
    const auto copies = static_cast<size_t>(repeats[axis]);
    if (is_one) {
      x = Expanded(node, x, shape);
    } else if (x.constant) {
      node.budget().Take(repeats[axis], sizeof(HostTensor));
      const std::vector<HostTensor> parts(copies, *x.constant);
      x = {kNone, Joined(node, parts, static_cast<int>(axis))};
    } else {
      x.id = node.Add(op::Concat{static_cast<int>(axis)}, std::vector<ValueId>(copies, x.id));
    }
  }
  node.SetOutput(0, x);
}

void ConvertSlice(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const std::vector<int64_t> starts = node.AttributeOrInput("starts", 1);
  const std::vector<int64_t> ends = node.AttributeOrInput("ends", 2);
  std::vector<int64_t> given_axes = node.AttributeOrInput("axes", 3);
  std::vector<int64_t> steps;
  if (node.HasInput(4)) steps = node.IntegerConstant(4);
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (starts.size() > in.size() || ends.size() != starts.size() || steps.size() != starts.size()) {
    node.Fail("starts, ends and steps do not fit shape ", ToString(in));
  }
  if (given_axes.empty()) {
    given_axes.resize(starts.size());
    std::iota(given_axes.begin(), given_axes.end(), 0);
  }
  const std::vector<int> axes = CheckedAxes(given_axes, static_cast<int>(in.size()));
  if (axes.size() != starts.size()) node.Fail("needs one axis for each start");

  op::Slice slice = WholeSlice(in);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t dim = in[axis];
    const int64_t step = Clamp(steps[i], -kMaxElements, kMaxElements);
    if (step == 0) node.Fail("a step of 0");
    // Negative ones count from the end; all are clamped to what the direction allows.
    const auto resolve = [dim](int64_t at) { return at < 0 ? at + dim : at; };
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? dim : dim - 1;
    const int64_t start = Clamp(resolve(starts[i]), 0, high);
    const int64_t end = Clamp(resolve(ends[i]), low, high);
    const int64_t distance = step > 0 ? end - start : start - end;
    const int64_t stride = step > 0 ? step : -step;
    slice.starts[axis] = start;
    slice.sizes[axis] = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    slice.steps[axis] = slice.sizes[axis] <= 1 ? 1 : step;
  }
  node.SetOutput(0, Sliced(node, node.InputValue(0), std::move(slice)));
}

void ConvertSplit(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const int outputs = node.output_count();
  const auto axis =
      static_cast<size_t>(CheckedAxis(node.Int("axis", 0), static_cast<int>(in.size())));
  const int64_t dim = in[axis];
  std::vector<int64_t> sizes = node.AttributeOrInput("split", 1);
  const int64_t parts = node.Int("num_outputs", outputs);
  if (sizes.empty()) {
    if (parts != outputs || parts < 1 || (!node.Has("num_outputs") && dim % parts != 0)) {
      node.Fail("dimension ", dim, " in ", parts, " parts for ", outputs, " outputs");
    }
    const int64_t size = (dim + parts - 1) / parts;
    for (int64_t begin = 0; static_cast<int64_t>(sizes.size()) < parts; begin += size) {
      sizes.push_back(Clamp(dim - begin, 0, size));
    }
  }
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > dim) node.Fail("a part of ", size);
    sum += size;
  }
  if (sum != dim || static_cast<int>(sizes.size()) != outputs) {
    node.Fail("the parts do not add up to dimension ", dim, " and ", outputs, " outputs");
  }
  int64_t begin = 0;
  for (int i = 0; i < outputs; ++i) {
    op::Slice slice = WholeSlice(in);
    slice.starts[axis] = begin;
    slice.sizes[axis] = sizes[static_cast<size_t>(i)];
    begin += slice.sizes[axis];
    if (node.HasOutput(i)) node.SetOutput(i, Sliced(node, node.InputValue(0), std::move(slice)));
  }
}

void ConvertGather(OnnxNode& node) {
  if (!node.IsConstant(1)) return ConvertGatherByValue(node);
  const Shape in = node.InputShape(0);
  const HostTensor& indices = node.Constant(1);
  if (indices.type() != HostTensor::Type::kInteger) node.Fail("the indices must be integers");
  op::Gather gather;
  gather.axis = CheckedAxis(node.Int("axis", 0), static_cast<int>(in.size()));
  gather.scalar = indices.rank() == 0;
  node.budget().Take(indices.count(), sizeof(int64_t));
  const int64_t size = in[static_cast<size_t>(gather.axis)];
  for (int64_t index : indices.integers()) {
    if (index < -size || index >= size) {
      node.Fail("index ", index, " is outside a dimension of ", size);
    }
    gather.indices.push_back(index < 0 ? index + size : index);
  }
  node.SetOutput(0, Gathered(node, node.InputValue(0), std::move(gather), indices.shape()));
}

void ConvertConcat(OnnxNode& node) {
  const auto axis_in = [&node](const Shape& shape) {
    return CheckedAxis(node.Int("axis"), static_cast<int>(shape.size()));
  };
  if (node.AllInputsConstant()) {
    std::vector<HostTensor> parts;
    for (int i = 0; i < node.input_count(); ++i) parts.push_back(node.Constant(i));
    return node.SetOutput(0, Joined(node, parts, axis_in(node.InputShape(0))));
  }
  std::vector<ValueId> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    // An empty part adds nothing.
    const Shape shape = node.InputShape(i);
    if (std::ranges::find(shape, 0) == shape.end()) inputs.push_back(node.Input(i));
  }
  const int axis = axis_in(node.ShapeOf(inputs.at(0)));
  node.SetOutput(0, inputs.size() == 1 ? inputs[0] : node.Add(op::Concat{axis}, inputs));
}

void ConvertPad(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const std::vector<int64_t> pads = ReadPads(node, static_cast<int>(in.size()));
  const auto ends = pads.begin() + static_cast<std::ptrdiff_t>(in.size());
  auto [crop, pad] = CropAndPad(in, {pads.begin(), ends}, {ends, pads.end()});
  pad.mode = ReadPadMode(node);
  pad.value = ReadPadValue(node);
  OnnxValue x = Sliced(node, {node.Input(0), {}}, std::move(crop));
  const bool pads_nothing = pad.begins == Shape(in.size(), 0) && pad.ends == pad.begins;
  if (!pads_nothing) x.id = node.Add(std::move(pad), {x.id});
  node.SetOutput(0, x);
}

}  // namespace

OnnxOperators OnnxMoves() {
  static constexpr std::pair<std::string_view, void (*)(OnnxNode&)> kMoves[] = {
      {"Identity", ConvertIdentity},   {"Dropout", ConvertDropout}, {"Reshape", ConvertReshape},
      {"Flatten", ConvertFlatten},     {"Squeeze", ConvertSqueeze}, {"Unsqueeze", ConvertUnsqueeze},
      {"Transpose", ConvertTranspose}, {"Expand", ConvertExpand},   {"Slice", ConvertSlice},
      {"Split", ConvertSplit},         {"Gather", ConvertGather},   {"Tile", ConvertTile},
      {"Concat", ConvertConcat}};
  OnnxOperators operators = {{"Pad", {ConvertPad}}};
  for (const auto& [type, convert] : kMoves) operators[type] = {convert, convert, true};
  return operators;
}

}  // namespace cacheinf
