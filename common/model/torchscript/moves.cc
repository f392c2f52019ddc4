// Converters of the TorchScript operators that move numbers, or only rename them. Argument
// positions are those of the operators' schemas, quoted above each converter where not obvious.

#include "common/model/graph/moves.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "common/model/torchscript/importer.h"

namespace cacheinf::torchscript {
namespace {

using Result = std::optional<Slot>;

// channel_shuffle(x, groups)
Result ChannelShuffle(Call& call) {
  if (call.ShapeOf(0).size() != 4) return kStaysForeign;
  const Shape in = call.ShapeOf(0);
  const int64_t groups = call.Int(1);
  if (groups < 1 || in[1] % groups != 0) return kStaysForeign;
  const ValueId split =
      call.Emit(op::Reshape{{in[0], groups, in[1] / groups, in[2], in[3]}}, {call.Value(0)});
  const ValueId swapped = call.Emit(op::Permute{{0, 2, 1, 3, 4}}, {split});
  return call.Result(op::Reshape{in}, {swapped});
}

// Padding as PyTorch lists it: last dimension first, begin and end of each.
Result EmitPad(Call& call, const std::vector<int64_t>& amounts, PadMode mode, double value) {
  const Shape in = call.ShapeOf(0);
  if (amounts.size() % 2 != 0 || amounts.size() / 2 > in.size()) return kStaysForeign;
  Shape begins(in.size(), 0);
  Shape ends(in.size(), 0);
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    begins[in.size() - 1 - i] = amounts[2 * i];
    ends[in.size() - 1 - i] = amounts[2 * i + 1];
  }
  auto [crop, pad] = CropAndPad(in, begins, ends);
  pad.mode = mode;
  pad.value = static_cast<float>(value);
  ValueId input = call.Value(0);
  if (crop.sizes != in) input = call.Emit(std::move(crop), {input});
  return call.Result(std::move(pad), {input});
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
  return call.Result(op::Reshape{std::move(shape)});
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
  return call.Result(op::Permute{std::move(order)});
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
  return call.Result(op::Expand{std::move(out)});
}
Result ExpandAs(Call& call) { return call.Result(op::Expand{call.ShapeOf(1)}); }

// ---- Taking apart and putting together ----

ValueId EmitRange(Call& call, int axis, int64_t start, int64_t size, int64_t step) {
  op::Slice slice = WholeSlice(call.ShapeOf(0));
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
  if (count == size) return Slot::OfTensor(call.Value(0));
  return Slot::OfTensor(EmitRange(call, axis, start, count, std::min(step, size)));
}

// narrow(x, dim, start, length)
Result Narrow(Call& call) {
  const int axis = call.Axis(1, call.ShapeOf(0).size());
  const int64_t start = call.Int(2);
  const int64_t size = call.ShapeOf(0)[axis];
  return Slot::OfTensor(EmitRange(call, axis, start < 0 ? start + size : start, call.Int(3), 1));
}

Result Pieces(Call& call, int axis, const std::vector<int64_t>& sizes) {
  std::vector<Slot> pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(Slot::OfTensor(EmitRange(call, axis, start, size, 1)));
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
  return Slot::OfTensor(EmitSelect(call, axis, index < 0 ? index + call.ShapeOf(0)[axis] : index));
}

// unbind(x, dim)
Result Unbind(Call& call) {
  const int axis = call.Axis(1, call.ShapeOf(0).size());
  std::vector<Slot> pieces;
  for (int64_t i = 0; i < call.ShapeOf(0)[axis]; ++i) {
    pieces.push_back(Slot::OfTensor(EmitSelect(call, axis, i)));
  }
  return Slot::Collection(std::move(pieces));
}

// index_select(x, dim, index)
Result IndexSelect(Call& call) {
  if (!call.IsConcreteTensor(2)) return kStaysForeign;
  const at::Tensor index = call.arguments()[2].concrete.toTensor().to(at::kLong).contiguous();
  const int64_t* first = index.data_ptr<int64_t>();
  op::Gather gather{call.Axis(1, call.ShapeOf(0).size()), {first, first + index.numel()}, false};
  return call.Result(std::move(gather));
}

// cat(tensors, dim)
Result Cat(Call& call) {
  const std::vector<ValueId> values = call.Values(0);
  if (values.empty()) return kStaysForeign;
  // A copy, which writes to its operand do not reach.
  if (values.size() == 1) {
    return call.Result(op::Reshape{call.graph().value(values[0]).shape}, values);
  }
  const int axis = call.Axis(1, call.graph().value(values[0]).shape.size());
  return call.Result(op::Concat{axis}, values);
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
  if (values.size() == 1) return Slot::OfTensor(values[0]);
  return call.Result(op::Concat{axis}, std::move(values));
}

// ---- Nothing to do ----

Result Same(Call& call) { return call.arguments()[0]; }

// dropout(x, p, train)
Result Dropout(Call& call) { return call.Bool(2) ? kStaysForeign : Result(call.arguments()[0]); }

// type_as(x, other): only between float types
Result TypeAs(Call& call) {
  const auto is_float = [&call](size_t i) {
    if (call.IsConcreteTensor(i)) {
      return call.arguments()[i].concrete.toTensor().scalar_type() == at::kFloat;
    }
    return call.graph().value(call.Value(i)).type == DataType::kFloat32;
  };
  return is_float(0) && is_float(1) ? Result(call.arguments()[0]) : kStaysForeign;
}

// to(x, …, dtype, …) or to(x, other, …): only between float types, or none named
Result To(Call& call) {
  if (call.ArgumentIndex("other") && TypeAs(call) == kStaysForeign) return kStaysForeign;
  const bool is_float = call.graph().value(call.Value(0)).type == DataType::kFloat32;
  const auto dtype = call.ArgumentIndex("dtype");
  const bool is_named = dtype && !call.IsNone(*dtype);
  const bool becomes_float =
      is_float && (!is_named || static_cast<at::ScalarType>(call.Int(*dtype)) == at::kFloat);
  if (!becomes_float && (is_named || !dtype)) return kStaysForeign;
  if (const auto copy = call.ArgumentIndex("copy"); copy && call.Bool(*copy)) {
    return call.Result(op::Reshape{call.ShapeOf(0)});
  }
  return call.arguments()[0];
}

constexpr NamedConverter kMoving[] = {
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
    {"aten::contiguous", Same},
    {"aten::clone", Same},
    {"aten::detach", Same},
    {"aten::alias", Same},
    {"aten::type_as", TypeAs},
    {"aten::dropout", Dropout},
    {"aten::feature_dropout", Dropout},
    {"aten::to", To},
};

}  // namespace

std::span<const NamedConverter> MovingConverters() { return kMoving; }

}  // namespace cacheinf::torchscript
