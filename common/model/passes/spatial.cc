#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"

namespace cacheinf::pass {
namespace {

// Windows that a pass makes stay far below the limit for operators.
constexpr int64_t kMaxMadeWindow = 1 << 12;

// --- Reshape, permute, reshape ---------------------------------------------------------------

struct Shuffle {
  ValueId x = kNone;
  Shape split;  // what the first reshape gives
  std::vector<int> order;
};

// Reshape(Permute(Reshape(map))) with a map as the result.
std::optional<Shuffle> MatchShuffle(const Rewriter& rewriter, const Operator& op) {
  if (op.As<op::Reshape>() == nullptr || !rewriter.value(op.outputs[0]).is_map()) {
    return std::nullopt;
  }
  const auto* permute = rewriter.ProducedBy<op::Permute>(op.inputs[0]);
  if (permute == nullptr) return std::nullopt;
  const ValueId split = rewriter.Producer(op.inputs[0])->inputs[0];
  if (rewriter.ProducedBy<op::Reshape>(split) == nullptr) return std::nullopt;
  const ValueId x = rewriter.Producer(split)->inputs[0];
  if (!rewriter.value(x).is_map()) return std::nullopt;
  return Shuffle{x, rewriter.shape(split), permute->order};
}

using Order = op::DepthToSpace::Order;

std::optional<Attributes> NameBlockShuffle(const Shuffle& shuffle, const Shape& in) {
  const Shape& s = shuffle.split;
  if (s.size() != 6) return std::nullopt;
  const std::vector<int>& order = shuffle.order;
  const auto to_space = [&](int64_t block, Order kind) -> std::optional<Attributes> {
    return op::DepthToSpace{static_cast<int>(block), kind};
  };
  const auto to_depth = [&](int64_t block, Order kind) -> std::optional<Attributes> {
    return op::SpaceToDepth{static_cast<int>(block), kind};
  };
  if (s == Shape{in[0], s[1], s[2], s[2], in[2], in[3]} &&
      order == std::vector<int>{0, 1, 4, 2, 5, 3}) {
    return to_space(s[2], Order::kChannelsFirst);
  }
  if (s == Shape{in[0], s[1], s[1], s[3], in[2], in[3]} &&
      order == std::vector<int>{0, 3, 4, 1, 5, 2}) {
    return to_space(s[1], Order::kRowsFirst);
  }
  if (s == Shape{in[0], in[1], s[2], s[3], s[4], s[3]} && s[2] * s[3] == in[2]) {
    if (order == std::vector<int>{0, 1, 3, 5, 2, 4}) return to_depth(s[3], Order::kChannelsFirst);
    if (order == std::vector<int>{0, 3, 5, 1, 2, 4}) return to_depth(s[3], Order::kRowsFirst);
  }
  return std::nullopt;
}

Shape ShapeAfter(const Attributes& attributes, const Shape& in) {
  if (const auto* to_space = std::get_if<op::DepthToSpace>(&attributes)) {
    const int64_t block = to_space->block;
    return {in[0], in[1] / (block * block), in[2] * block, in[3] * block};
  }
  const int64_t block = std::get<op::SpaceToDepth>(attributes).block;
  return {in[0], in[1] * block * block, in[2] / block, in[3] / block};
}

// Which input channel each output channel is, if the shuffle only moves channels.
std::vector<int> ChannelOrder(const Shuffle& shuffle, const Shape& in) {
  const Shape& s = shuffle.split;
  const bool fits = s.size() == 5 && s == Shape{in[0], s[1], s[2], in[2], in[3]} &&
                    shuffle.order == std::vector<int>{0, 2, 1, 3, 4} && in[1] <= kMaxWrittenOut;
  std::vector<int> order;
  if (!fits) return order;
  for (int64_t i = 0; i < s[2]; ++i) {
    for (int64_t group = 0; group < s[1]; ++group) {
      order.push_back(static_cast<int>(group * s[2] + i));
    }
  }
  return order;
}

// --- Pools --------------------------------------------------------------------------------------

op::Reduce WholeMap(PoolSpec::Kind kind) {
  op::Reduce reduce;
  reduce.kind = kind == PoolSpec::Kind::kMax ? ReduceKind::kMax : ReduceKind::kMean;
  reduce.axes = {2, 3};
  return reduce;
}

std::optional<Attributes> Simplified(const op::AdaptivePool& pool, const Shape& in) {
  if (pool.out_height == 1 && pool.out_width == 1) return WholeMap(pool.kind);
  if (in[2] % pool.out_height != 0 || in[3] % pool.out_width != 0) return std::nullopt;
  const int64_t height = in[2] / pool.out_height;
  const int64_t width = in[3] / pool.out_width;
  if (height > kMaxMadeWindow || width > kMaxMadeWindow) return std::nullopt;
  op::Pool fixed;
  fixed.spec.kind = pool.kind;
  fixed.spec.rows.kernel = fixed.spec.rows.stride = static_cast<int>(height);
  fixed.spec.columns.kernel = fixed.spec.columns.stride = static_cast<int>(width);
  return fixed;
}

bool CoversAll(const WindowAxis& axis, int64_t size) {
  return axis.kernel == size && axis.pad_begin == 0 && axis.pad_end == 0 &&
         (axis.dilation == 1 || size == 1);
}

std::optional<Attributes> Simplified(const op::Pool& pool, const Shape& in) {
  const PoolSpec& spec = pool.spec;
  const bool divides_otherwise =
      spec.kind == PoolSpec::Kind::kAverage && spec.divisor != 0 && spec.divisor != in[2] * in[3];
  if (!CoversAll(spec.rows, in[2]) || !CoversAll(spec.columns, in[3]) || divides_otherwise) {
    return std::nullopt;
  }
  return WholeMap(spec.kind);
}

// A reduction of a reduction of the same kind, both keeping their dimensions.
void MergeReduce(Rewriter& rewriter, OpId id, op::Reduce outer) {
  const Operator& op = rewriter.op(id);
  const auto* inner = rewriter.ProducedBy<op::Reduce>(op.inputs[0]);
  if (inner == nullptr || inner->kind != outer.kind || !inner->keep_dimensions ||
      !rewriter.IsReadOnce(op.inputs[0])) {
    return;
  }
  for (int axis : inner->axes) {
    if (std::ranges::count(outer.axes, axis) == 0) outer.axes.push_back(axis);
  }
  std::ranges::sort(outer.axes);
  rewriter.Replace(id, outer, rewriter.Producer(op.inputs[0])->inputs);
}

// --- Padding ------------------------------------------------------------------------------------

struct SpatialPad {
  ValueId x = kNone;
  float value = 0.0f;
  std::array<int, 2> rows = {};  // begin, end
  std::array<int, 2> columns = {};
};

std::optional<SpatialPad> MatchSpatialPad(const Rewriter& rewriter, ValueId id) {
  const auto* pad = rewriter.ProducedBy<op::Pad>(id);
  if (pad == nullptr || pad->mode != PadMode::kConstant || !rewriter.value(id).is_map()) {
    return std::nullopt;
  }
  const std::vector<int64_t>& begins = pad->begins;
  const std::vector<int64_t>& ends = pad->ends;
  if (begins[0] != 0 || begins[1] != 0 || ends[0] != 0 || ends[1] != 0) return std::nullopt;
  return SpatialPad{rewriter.Producer(id)->inputs[0],
                    pad->value,
                    {static_cast<int>(begins[2]), static_cast<int>(ends[2])},
                    {static_cast<int>(begins[3]), static_cast<int>(ends[3])}};
}

void Grow(WindowAxis& axis, const std::array<int, 2>& padding) {
  axis.pad_begin += padding[0];
  axis.pad_end += padding[1];
}

// A pool's padding must be smaller than its window; the rule is kept for convolutions, too.
bool FitsWindow(const WindowAxis& axis) {
  const int64_t extent = int64_t{axis.kernel - 1} * axis.dilation + 1;
  const int64_t limit = std::min(extent, kMaxMadeWindow);
  return axis.pad_begin < limit && axis.pad_end < limit;
}

bool IsNeverNegative(const Function& function) {
  switch (function.kind) {
    case Function::Kind::kRelu:
    case Function::Kind::kSigmoid:
    case Function::Kind::kHardSigmoid:
    case Function::Kind::kExp:
    case Function::Kind::kAbs:
    case Function::Kind::kSoftplus:
      return true;
    case Function::Kind::kClip:
      return function.alpha >= 0.0f;
    default:
      return false;
  }
}

bool IsNeverNegative(const Rewriter& rewriter, ValueId id) {
  if (const auto* activation = rewriter.ProducedBy<op::Activation>(id)) {
    return IsNeverNegative(activation->function);
  }
  if (const auto* conv = rewriter.ProducedBy<op::Conv>(id)) {
    return IsNeverNegative(conv->activation) &&
           !(conv->has_residual && conv->activation_before_residual);
  }
  if (const auto* binary = rewriter.ProducedBy<op::Binary>(id)) {
    return IsNeverNegative(binary->activation);
  }
  if (const auto* scale_shift = rewriter.ProducedBy<op::ScaleShift>(id)) {
    return IsNeverNegative(scale_shift->activation);
  }
  return false;
}

std::optional<PoolSpec> Padded(const Rewriter& rewriter, PoolSpec spec, const SpatialPad& pad) {
  const bool has_padding = spec.rows.pad_begin != 0 || spec.rows.pad_end != 0 ||
                           spec.columns.pad_begin != 0 || spec.columns.pad_end != 0;
  Grow(spec.rows, pad.rows);
  Grow(spec.columns, pad.columns);
  if (spec.ceil_mode || !FitsWindow(spec.rows) || !FitsWindow(spec.columns)) return std::nullopt;
  if (spec.kind == PoolSpec::Kind::kAverage) {
    if (pad.value != 0.0f || (has_padding && !spec.count_padding)) return std::nullopt;
    spec.count_padding = true;
    return spec;
  }
  // A maximum ignores its own padding. The explicit padding has no effect either if it is lower
  // than anything, or if it is zero, no pixel is lower, and every window also holds a pixel.
  if (std::isinf(pad.value) && pad.value < 0.0f) return spec;
  const bool is_dense = spec.rows.dilation == 1 && spec.columns.dilation == 1;
  if (is_dense && pad.value == 0.0f && IsNeverNegative(rewriter, pad.x)) return spec;
  return std::nullopt;
}

}  // namespace

bool RecogniseShuffles(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const auto shuffle = MatchShuffle(rewriter, rewriter.op(id));
    if (!shuffle || rewriter.value(shuffle->x).type != DataType::kFloat32) return;
    const Shape in = rewriter.shape(shuffle->x);
    const Shape out = rewriter.shape(rewriter.op(id).outputs[0]);
    const auto block_shuffle = NameBlockShuffle(*shuffle, in);
    if (block_shuffle && ShapeAfter(*block_shuffle, in) == out) {
      rewriter.Replace(id, *block_shuffle, {shuffle->x});
      return;
    }
    std::vector<int> channel_order = ChannelOrder(*shuffle, in);
    if (channel_order.empty() || in != out) return;
    const std::string name = rewriter.op(id).name;
    const auto channels = static_cast<size_t>(in[1]);
    const ValueId ones =
        rewriter.AddConstant(name + ".scale", {in[1]}, std::vector<float>(channels, 1.0f));
    const ValueId zeros =
        rewriter.AddConstant(name + ".shift", {in[1]}, std::vector<float>(channels, 0.0f));
    rewriter.Replace(id, op::ScaleShift{{}, std::move(channel_order)}, {shuffle->x, ones, zeros});
  });
}

bool SimplifyPools(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    const Operator& op = rewriter.op(id);
    std::optional<Attributes> simplified;
    if (const auto* adaptive = op.As<op::AdaptivePool>()) {
      simplified = Simplified(*adaptive, rewriter.shape(op.inputs[0]));
    } else if (const auto* pool = op.As<op::Pool>()) {
      simplified = Simplified(*pool, rewriter.shape(op.inputs[0]));
    } else if (const auto* reduce = op.As<op::Reduce>()) {
      if (reduce->keep_dimensions) MergeReduce(rewriter, id, *reduce);
    }
    if (simplified) rewriter.Replace(id, *simplified, op.inputs);
  });
}

bool MergePads(Graph& graph) {
  return RewriteEach(graph, [](Rewriter& rewriter, OpId id) {
    if (rewriter.op(id).inputs.empty()) return;
    const Operator& op = rewriter.op(id);
    const auto pad = MatchSpatialPad(rewriter, op.inputs[0]);
    if (!pad) return;
    std::vector<ValueId> inputs = op.inputs;
    inputs[0] = pad->x;
    if (const auto* conv = op.As<op::Conv>()) {
      if (conv->spec.transposed || pad->value != 0.0f) return;
      op::Conv padded = *conv;
      Grow(padded.spec.rows, pad->rows);
      Grow(padded.spec.columns, pad->columns);
      if (!FitsWindow(padded.spec.rows) || !FitsWindow(padded.spec.columns)) return;
      rewriter.Replace(id, std::move(padded), std::move(inputs));
    } else if (const auto* pool = op.As<op::Pool>()) {
      if (const auto padded = Padded(rewriter, pool->spec, *pad)) {
        rewriter.Replace(id, op::Pool{*padded}, std::move(inputs));
      }
    }
  });
}

}  // namespace cacheinf::pass
