#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/model/onnx/operators.h"
#include "common/model/onnx/shapes.h"

// Converters of the operators that only move numbers.

namespace cacheinf {
namespace {

// Adds a Reshape unless the shape is there already.
ValueId Reshaped(OnnxNode& node, ValueId x, Shape shape) {
  if (node.ShapeOf(x) == shape) return x;
  return node.Add(op::Reshape{std::move(shape)}, {x});
}

// A slice of everything; narrow it before use.
op::Slice WholeSlice(const Shape& shape) {
  return {std::vector<int64_t>(shape.size(), 0), shape, std::vector<int64_t>(shape.size(), 1)};
}

PadMode ReadPadMode(OnnxNode& node) {
  const std::string mode = node.String("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  node.Fail("mode '" + mode + "' is not supported");
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
    node.Fail(std::to_string(given.size()) + " numbers of padding for " +
              std::to_string(axes.size()) + " dimensions");
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

}  // namespace

void ConvertIdentity(OnnxNode& node) { node.SetOutput(0, node.Input(0)); }

void ConvertDropout(OnnxNode& node) {
  node.Ignore("ratio");
  node.Ignore("seed");
  if (node.HasInput(2)) {
    const HostTensor& training = node.Constant(2);
    const bool is_off = training.type() == HostTensor::Type::kBool && training.count() == 1 &&
                        training.integers()[0] == 0;
    if (!is_off) node.Fail("training mode is not supported");
  }
  node.SetOutput(0, node.Input(0));
}

void ConvertCast(OnnxNode& node) {
  const HostTensor::Type to = CastTarget(node);
  const bool from_integer = node.IsInteger(0);
  if (to == HostTensor::Type::kBool || (to == HostTensor::Type::kInteger && !from_integer)) {
    node.Fail("a cast to integers or truth values is only supported among constants");
  }
  // In memory all numbers are floats.
  node.SetOutput(0, node.Input(0));
}

void ConvertReshape(OnnxNode& node) {
  Shape shape = ReshapedShape(node, node.InputShape(0));
  node.SetOutput(0, Reshaped(node, node.Input(0), std::move(shape)));
}

void ConvertFlatten(OnnxNode& node) {
  Shape shape = FlattenedShape(node, node.InputShape(0));
  node.SetOutput(0, Reshaped(node, node.Input(0), std::move(shape)));
}

void ConvertSqueeze(OnnxNode& node) {
  Shape shape = SqueezedShape(node, node.InputShape(0));
  node.SetOutput(0, Reshaped(node, node.Input(0), std::move(shape)));
}

void ConvertUnsqueeze(OnnxNode& node) {
  Shape shape = UnsqueezedShape(node, node.InputShape(0));
  node.SetOutput(0, Reshaped(node, node.Input(0), std::move(shape)));
}

void ConvertTranspose(OnnxNode& node) {
  const int rank = static_cast<int>(node.InputShape(0).size());
  node.SetOutput(0, node.Add(op::Permute{TransposeOrder(node, rank)}, {node.Input(0)}));
}

void ConvertExpand(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  Shape shape = ExpandedShape(node, in);
  Shape padded(shape.size() - in.size(), 1);
  padded.insert(padded.end(), in.begin(), in.end());
  ValueId x = Reshaped(node, node.Input(0), padded);
  if (padded != shape) x = node.Add(op::Expand{std::move(shape)}, {x});
  node.SetOutput(0, x);
}

void ConvertTile(OnnxNode& node) {
  constexpr int64_t kMaxCopies = 64;
  const std::vector<int64_t> repeats = TileRepeats(node, node.InputShape(0));
  ValueId x = node.Input(0);
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] == 1) continue;
    Shape shape = node.ShapeOf(x);
    if (shape[axis] == 1) {
      shape[axis] = repeats[axis];
      x = node.Add(op::Expand{std::move(shape)}, {x});
      continue;
    }
    if (repeats[axis] < 1 || repeats[axis] > kMaxCopies) {
      node.Fail(std::to_string(repeats[axis]) + " copies are not supported");
    }
    const std::vector<ValueId> copies(static_cast<size_t>(repeats[axis]), x);
    x = node.Add(op::Concat{static_cast<int>(axis)}, copies);
  }
  node.SetOutput(0, x);
}

void ConvertSlice(OnnxNode& node) {
  const SliceBounds bounds = SliceOf(node, node.InputShape(0));
  ValueId x = node.Input(0);
  op::Slice slice = WholeSlice(node.ShapeOf(x));
  for (size_t i = 0; i < bounds.sizes.size(); ++i) {
    if (bounds.steps[i] < 0) {
      // Backwards: one index after the other.
      node.budget().Take(bounds.sizes[i], sizeof(int64_t));
      op::Gather gather;
      gather.axis = static_cast<int>(i);
      for (int64_t k = 0; k < bounds.sizes[i]; ++k) {
        gather.indices.push_back(bounds.starts[i] + k * bounds.steps[i]);
      }
      x = node.Add(std::move(gather), {x});
      slice.sizes[i] = bounds.sizes[i];
    } else {
      slice.starts[i] = bounds.starts[i];
      slice.sizes[i] = bounds.sizes[i];
      slice.steps[i] = bounds.steps[i];
    }
  }
  if (slice.sizes != node.ShapeOf(x)) x = node.Add(std::move(slice), {x});
  node.SetOutput(0, x);
}

void ConvertSplit(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const SplitSizes split = SplitOf(node, in);
  const auto axis = static_cast<size_t>(split.axis);
  int64_t begin = 0;
  for (size_t i = 0; i < split.sizes.size(); ++i) {
    const auto index = static_cast<int>(i);
    if (split.sizes[i] == in[axis]) {
      node.SetOutput(index, node.Input(0));
    } else if (node.HasOutput(index)) {
      op::Slice slice = WholeSlice(in);
      slice.starts[axis] = begin;
      slice.sizes[axis] = split.sizes[i];
      node.SetOutput(index, node.Add(std::move(slice), {node.Input(0)}));
    }
    begin += split.sizes[i];
  }
}

void ConvertGather(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const HostTensor& indices = node.Constant(1);
  op::Gather gather;
  gather.axis = CheckedAxis(node.Int("axis", 0), static_cast<int>(in.size()));
  node.budget().Take(indices.count(), sizeof(int64_t));
  gather.indices = GatherIndices(node, indices, in[static_cast<size_t>(gather.axis)]);
  gather.scalar = indices.rank() == 0;
  const int axis = gather.axis;
  ValueId x = node.Add(std::move(gather), {node.Input(0)});
  if (indices.rank() > 1) {
    Shape shape = node.ShapeOf(x);
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, indices.shape().begin(), indices.shape().end());
    x = node.Add(op::Reshape{std::move(shape)}, {x});
  }
  node.SetOutput(0, x);
}

void ConvertConcat(OnnxNode& node) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    if (node.IsInteger(i)) node.Fail("joining integers is only supported among constants");
    // An empty part adds nothing.
    const Shape shape = node.InputShape(i);
    if (std::find(shape.begin(), shape.end(), 0) == shape.end()) inputs.push_back(node.Input(i));
  }
  const int rank = static_cast<int>(node.ShapeOf(inputs.at(0)).size());
  const int axis = CheckedAxis(node.Int("axis"), rank);
  node.SetOutput(0, inputs.size() == 1 ? inputs[0] : node.Add(op::Concat{axis}, inputs));
}

void ConvertPad(OnnxNode& node) {
  const Shape in = node.InputShape(0);
  const int rank = static_cast<int>(in.size());
  const std::vector<int64_t> pads = ReadPads(node, rank);
  op::Slice slice = WholeSlice(in);
  op::Pad pad;
  pad.mode = ReadPadMode(node);
  pad.value = ReadPadValue(node);
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t begin = pads[i];
    const int64_t end = pads[i + in.size()];
    slice.starts[i] = std::max<int64_t>(-begin, 0);
    slice.sizes[i] = in[i] + std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0);
    pad.begins.push_back(std::max<int64_t>(begin, 0));
    pad.ends.push_back(std::max<int64_t>(end, 0));
  }
  ValueId x = node.Input(0);
  if (slice.sizes != in) x = node.Add(std::move(slice), {x});
  const auto is_zero = [](int64_t amount) { return amount == 0; };
  const bool pads_nothing = std::all_of(pad.begins.begin(), pad.begins.end(), is_zero) &&
                            std::all_of(pad.ends.begin(), pad.ends.end(), is_zero);
  if (!pads_nothing) x = node.Add(std::move(pad), {x});
  node.SetOutput(0, x);
}

}  // namespace cacheinf
