#include "common/model/onnx/shapes.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "common/base/error.h"

namespace cacheinf {
namespace {

constexpr int kMaxHostRank = 16;

// Integers from the attribute in old operator sets, from an input in new ones. Neither: empty.
std::vector<int64_t> AttributeOrInput(OnnxNode& node, const char* attribute, int input) {
  std::vector<int64_t> values = node.Ints(attribute);
  if (values.empty() && node.HasInput(input)) values = node.IntegerConstant(input);
  return values;
}

std::vector<int> NormalisedAxes(const OnnxNode& node, const std::vector<int64_t>& axes, int rank) {
  std::vector<int> normalised;
  if (axes.size() > kMaxHostRank) node.Fail("too many axes");
  for (int64_t axis : axes) normalised.push_back(CheckedAxis(axis, rank));
  std::vector<int> sorted = normalised;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    node.Fail("an axis is named twice");
  }
  return normalised;
}

int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

}  // namespace

Shape BroadcastShapes(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t dim_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) {
      throw InputError("shapes " + ToString(a) + " and " + ToString(b) + " do not broadcast");
    }
    out[i] = dim_a == 1 ? dim_b : dim_a;
  }
  return out;
}

std::vector<int> Axes(OnnxNode& node, int input, int rank) {
  std::vector<int> axes = NormalisedAxes(node, AttributeOrInput(node, "axes", input), rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

Shape ReshapedShape(OnnxNode& node, const Shape& in) {
  const bool zero_is_zero = node.Flag("allowzero", false);
  Shape out = node.IntegerConstant(1);
  if (out.size() > kMaxHostRank)
    node.Fail("a shape of " + std::to_string(out.size()) + " dimensions");
  int inferred = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !zero_is_zero) {
      if (i >= in.size()) node.Fail("shape entry 0 stands for a dimension that is not there");
      out[i] = in[i];
    } else if (out[i] == -1) {
      if (inferred >= 0) node.Fail("shape entry -1 stands twice");
      inferred = static_cast<int>(i);
    }
  }
  const int64_t in_count = ElementCount(in);
  if (inferred >= 0) {
    out[static_cast<size_t>(inferred)] = 1;
    const int64_t others = CheckedCount(out, "the new shape");
    if (others == 0 || in_count % others != 0) {
      node.Fail("shape " + ToString(in) + " cannot become " + ToString(node.IntegerConstant(1)));
    }
    out[static_cast<size_t>(inferred)] = in_count / others;
  }
  if (CheckedCount(out, "the new shape") != in_count) {
    node.Fail("shape " + ToString(in) + " cannot become " + ToString(out));
  }
  return out;
}

Shape FlattenedShape(OnnxNode& node, const Shape& in) {
  const int rank = static_cast<int>(in.size());
  const int64_t given = node.Int("axis", 1);
  const int axis = given == rank ? rank : CheckedAxis(given, rank);
  Shape out = {1, 1};
  for (int i = 0; i < rank; ++i) out[i < axis ? 0 : 1] *= in[static_cast<size_t>(i)];
  return out;
}

Shape SqueezedShape(OnnxNode& node, const Shape& in) {
  const std::vector<int> axes = Axes(node, 1, static_cast<int>(in.size()));
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (named && in[i] != 1)
      node.Fail("dimension " + std::to_string(i) + " of " + ToString(in) + " is not 1");
    if (!(named || (axes.empty() && in[i] == 1))) out.push_back(in[i]);
  }
  return out;
}

Shape UnsqueezedShape(OnnxNode& node, const Shape& in) {
  const std::vector<int64_t> given = AttributeOrInput(node, "axes", 1);
  if (given.empty() || in.size() + given.size() > kMaxHostRank) {
    node.Fail(std::to_string(given.size()) + " axes for shape " + ToString(in));
  }
  const int rank = static_cast<int>(in.size() + given.size());
  std::vector<int> axes = NormalisedAxes(node, given, rank);
  std::sort(axes.begin(), axes.end());
  Shape out = in;
  for (int axis : axes) out.insert(out.begin() + axis, 1);
  return out;
}

Shape ExpandedShape(OnnxNode& node, const Shape& in) {
  const Shape wanted = node.IntegerConstant(1);
  if (wanted.size() > kMaxHostRank) node.Fail("too many dimensions");
  CheckedCount(wanted, "the new shape");
  Shape out = BroadcastShapes(in, wanted);
  CheckedCount(out, "the new shape");
  return out;
}

std::vector<int> TransposeOrder(OnnxNode& node, int rank) {
  const std::vector<int64_t> given = node.Ints("perm");
  std::vector<int> order(static_cast<size_t>(rank));
  if (given.empty()) {
    std::iota(order.rbegin(), order.rend(), 0);
    return order;
  }
  if (given.size() != order.size()) {
    node.Fail("a permutation of " + std::to_string(given.size()) + " dimensions for " +
              std::to_string(rank));
  }
  return NormalisedAxes(node, given, rank);
}

SliceBounds SliceOf(OnnxNode& node, const Shape& in) {
  const std::vector<int64_t> starts = AttributeOrInput(node, "starts", 1);
  const std::vector<int64_t> ends = AttributeOrInput(node, "ends", 2);
  std::vector<int64_t> given_axes = AttributeOrInput(node, "axes", 3);
  std::vector<int64_t> steps;
  if (node.HasInput(4)) steps = node.IntegerConstant(4);
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (starts.size() > in.size() || ends.size() != starts.size() || steps.size() != starts.size()) {
    node.Fail("starts, ends and steps do not fit shape " + ToString(in));
  }
  if (given_axes.empty()) {
    given_axes.resize(starts.size());
    std::iota(given_axes.begin(), given_axes.end(), 0);
  }
  const std::vector<int> axes = NormalisedAxes(node, given_axes, static_cast<int>(in.size()));
  if (axes.size() != starts.size()) node.Fail("needs one axis for each start");

  SliceBounds bounds{std::vector<int64_t>(in.size(), 0), in, std::vector<int64_t>(in.size(), 1)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t dim = in[axis];
    const int64_t step = Clamp(steps[i], -kMaxElements, kMaxElements);
    if (step == 0) node.Fail("a step of 0");
    // Counted from the end if negative, then brought into the range that the direction allows.
    const auto resolve = [dim](int64_t at) { return at < 0 ? at + dim : at; };
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? dim : dim - 1;
    const int64_t start = Clamp(resolve(starts[i]), 0, high);
    const int64_t end = Clamp(resolve(ends[i]), low, high);
    const int64_t distance = step > 0 ? end - start : start - end;
    const int64_t stride = step > 0 ? step : -step;
    bounds.starts[axis] = start;
    bounds.sizes[axis] = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    bounds.steps[axis] = bounds.sizes[axis] <= 1 ? 1 : step;
  }
  return bounds;
}

SplitSizes SplitOf(OnnxNode& node, const Shape& in) {
  SplitSizes split;
  split.axis = CheckedAxis(node.Int("axis", 0), static_cast<int>(in.size()));
  const int64_t dim = in[static_cast<size_t>(split.axis)];
  split.sizes = AttributeOrInput(node, "split", 1);
  const int64_t parts = node.Int("num_outputs", node.output_count());
  if (split.sizes.empty()) {
    if (parts != node.output_count() || parts < 1 ||
        (!node.Has("num_outputs") && dim % parts != 0)) {
      node.Fail("dimension " + std::to_string(dim) + " in " + std::to_string(parts) +
                " parts for " + std::to_string(node.output_count()) + " outputs");
    }
    const int64_t size = (dim + parts - 1) / parts;
    for (int64_t begin = 0; static_cast<int64_t>(split.sizes.size()) < parts; begin += size) {
      split.sizes.push_back(Clamp(dim - begin, 0, size));
    }
  }
  int64_t sum = 0;
  for (int64_t size : split.sizes) {
    if (size < 0 || size > dim) node.Fail("a part of " + std::to_string(size));
    sum += size;
  }
  if (sum != dim || static_cast<int>(split.sizes.size()) != node.output_count()) {
    node.Fail("the parts do not add up to dimension " + std::to_string(dim) + " and " +
              std::to_string(node.output_count()) + " outputs");
  }
  return split;
}

std::vector<int64_t> GatherIndices(const OnnxNode& node, const HostTensor& indices, int64_t size) {
  if (indices.type() != HostTensor::Type::kInteger) node.Fail("the indices must be integers");
  std::vector<int64_t> resolved = indices.integers();
  for (int64_t& index : resolved) {
    if (index < -size || index >= size) {
      node.Fail("index " + std::to_string(index) + " is outside a dimension of " +
                std::to_string(size));
    }
    if (index < 0) index += size;
  }
  return resolved;
}

std::vector<int64_t> TileRepeats(OnnxNode& node, const Shape& in) {
  std::vector<int64_t> repeats = node.IntegerConstant(1);
  if (repeats.size() != in.size()) {
    node.Fail(std::to_string(repeats.size()) + " repeats for shape " + ToString(in));
  }
  Shape out = in;
  for (size_t i = 0; i < in.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > kMaxElements) {
      node.Fail("a repeat of " + std::to_string(repeats[i]));
    }
    out[i] *= repeats[i];
  }
  CheckedCount(out, "the result");
  return repeats;
}

HostTensor::Type CastTarget(OnnxNode& node) {
  node.Ignore("saturate");  // only for types of 8 bits
  const int64_t to = node.Int("to");
  switch (to) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return HostTensor::Type::kFloat;
    case onnx::TensorProto::BOOL:
      return HostTensor::Type::kBool;
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::INT64:
      return HostTensor::Type::kInteger;
    default:
      node.Fail("a cast to type " + ElementTypeName(CheckedInt(to, 0, 1000, "type")) +
                " is not supported");
  }
}

}  // namespace cacheinf
