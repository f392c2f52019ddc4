#include "common/model/graph/eight_bit_shapes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sparse_ops/eight_bits.h"

namespace cacheinf {

void EightBitShapes::CheckTypes() const {
  const auto* resize = op_.As<op::Resize>();
  const bool moves = op_.As<op::Concat>() != nullptr || op_.As<op::Slice>() != nullptr ||
                     (resize != nullptr && resize->spec.kind == ResizeSpec::Kind::kNearest);
  const auto* suppression = op_.As<op::NonMaxSuppression>();
  const bool reads_heads = suppression != nullptr && !suppression->scales.empty();
  const bool takes_all = moves || reads_heads || op_.As<op::Dequantise>() != nullptr ||
                         op_.As<op::QuantConv>() != nullptr || op_.As<op::Table>() != nullptr ||
                         op_.As<op::QuantBinary>() != nullptr || op_.As<op::QuantPool>() != nullptr;
  for (const ValueId input : op_.inputs) {
    const Value& value = graph_.value(input);
    if (value.is_eight_bit() && !takes_all) {
      Refuse("input '", value.name, "' is an 8-bit map, and it takes floats only");
    }
  }
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::FakeQuantise& quantise) const {
  NeedInputs(1);
  CheckSteps(quantise.steps);
  return One(Input(0));
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::Quantise& quantise) const {
  const Shape& in = OnlyMap();
  CheckSteps(quantise.steps);
  return EightBitOf(in, in[1], quantise.steps);
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::Dequantise&) const {
  NeedInputs(1);
  const Value& map = EightBitMap(0);
  return One(map.shape_of_numbers());
}

void EightBitShapes::CheckChannels(const auto& attributes, int64_t outputs) const {
  const auto count = static_cast<size_t>(outputs);
  const bool has_zeros = !attributes.weight_zeros.empty();
  if (attributes.bias.size() != count || attributes.scales.size() != count ||
      (has_zeros && attributes.weight_zeros.size() != count)) {
    Refuse("needs a bias and a scale for each of ", outputs, " channels");
  }
  for (const float scale : attributes.scales) {
    if (!std::isfinite(scale)) Refuse("a scale of ", scale);
  }
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::QuantConv& conv) const {
  NeedInputs(2 + conv.has_residual);
  const Value& map = EightBitMap(0);
  const ConvSpec& spec = conv.spec;
  const Shape& weights = ConstantInput(1, 4);
  const int64_t outputs = weights[0];
  const bool fits = !spec.transposed && spec.groups >= 1 && map.channels % spec.groups == 0 &&
                    outputs % spec.groups == 0 && outputs <= kMaxDimension &&
                    weights[1] == WordCount(map.channels / spec.groups) &&
                    weights[2] == spec.rows.kernel && weights[3] == spec.columns.kernel;
  if (!fits) {
    Refuse("8-bit weights of shape ", ToString(weights), " in ", spec.groups,
           " group(s) do not fit ", map.channels, " channels");
  }
  CheckChannels(conv, outputs);
  CheckFunction(conv.activation);
  NeedNoSlope(conv.activation);
  CheckSteps(conv.steps);
  CheckRounding(conv);
  const Shape out = {map.shape[0], outputs, SlidingOutput(spec.rows, map.shape[2], false),
                     SlidingOutput(spec.columns, map.shape[3], false)};
  CheckShape(op_, out);
  if (conv.has_residual) NeedResidual(ValueOf(2), out);
  if (conv.gives_floats) return One(out);
  return EightBitOf(out, outputs, conv.steps);
}

void EightBitShapes::CheckRounding(const op::QuantConv& conv) const {
  const bool has_table = !conv.table.empty();
  const Steps& bounded = conv.rounds_sums ? conv.sum_steps : conv.steps;
  CheckSteps(conv.sum_steps);
  CheckSteps(conv.table_steps);
  const bool is_bounded =
      conv.low >= bounded.low() && conv.high <= bounded.high() && conv.low <= conv.high;
  const bool is_plain = !has_table && conv.sum_steps == Steps();
  const Steps& last = has_table ? conv.table_steps : conv.sum_steps;
  const bool ends = conv.has_residual || (conv.activation == Function() && last == conv.steps);
  const bool rounds =
      !(conv.gives_floats && conv.has_residual) && !conv.activation_before_residual && ends;
  if (!is_bounded || !(conv.rounds_sums ? rounds : is_plain)) {
    Refuse("bounds or rounding that its output does not have");
  }
  if (has_table) CheckTable(conv.table, conv.table_steps);
}

void EightBitShapes::CheckTable(const std::vector<int>& entries, const Steps& steps) const {
  constexpr size_t kBytes = 256;
  CheckSteps(steps);
  if (entries.size() != kBytes) Refuse("a table of ", entries.size(), " entries");
  for (const int entry : entries) {
    if (!steps.Includes(entry)) Refuse("an entry of ", entry);
  }
}

void EightBitShapes::NeedResidual(const Value& residual, const Shape& out) const {
  if (residual.shape_of_numbers() != out || residual.is_constant()) {
    Refuse("input '", residual.name, "' is not as large as the output");
  }
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::Table& table) const {
  NeedInputs(1);
  const Value& map = EightBitMap(0);
  CheckTable(table.entries, table.steps);
  return EightBit(map.shape, map.channels, table.steps);
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::QuantBinary& binary) const {
  NeedInputs(2);
  CheckFunction(binary.activation);
  NeedNoSlope(binary.activation);
  CheckSteps(binary.steps);
  const Value& a = EightBitMap(0);
  const Value& b = EightBitMap(1);
  if (a.shape != b.shape || a.channels != b.channels) Refuse("8-bit maps of different shapes");
  return EightBit(a.shape, a.channels, binary.steps);
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::QuantPool& pool) const {
  NeedInputs(1);
  const Value& map = EightBitMap(0);
  CheckSteps(pool.steps);
  if (pool.spec.kind == PoolSpec::Kind::kMax && !(pool.steps == map.steps)) {
    Refuse("a maximum in other steps than its input's");
  }
  return EightBit(PooledShape(pool.spec, map.shape), map.channels, pool.steps);
}

std::vector<InferredOutput> EightBitShapes::Outputs(const op::QuantLinear& linear) const {
  NeedInputs(2);
  const Shape& in = Input(0);
  const Shape& weights = ConstantInput(1, 2);
  if (in.empty() || in.back() > kMaxDimension || weights[0] > kMaxDimension ||
      weights[1] != WordCount(static_cast<int>(in.back()))) {
    Refuse("8-bit weights of shape ", ToString(weights), " do not fit an input of shape ",
           ToString(in));
  }
  CheckChannels(linear, weights[0]);
  CheckFunction(linear.activation);
  NeedNoSlope(linear.activation);
  CheckSteps(linear.input_steps);
  CheckSteps(linear.steps);
  const bool is_bounded = linear.low >= linear.steps.low() && linear.high <= linear.steps.high() &&
                          linear.low <= linear.high;
  const bool ends =
      linear.rounds_sums ? is_bounded && linear.activation == Function() : linear.steps == Steps();
  if (!ends) Refuse("bounds or rounding that its output does not have");
  Shape out = in;
  out.back() = weights[0];
  return One(std::move(out));
}

int EightBitShapes::ConcatChannels(const op::Concat& concat) const {
  int64_t channels = 0;
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const Value& part = EightBitMap(i);
    if (!(part.steps == ValueOf(0).steps)) Refuse("8-bit maps of different steps");
    if (concat.axis != 1) {
      channels = part.channels;
      if (concat.axis == 0 || channels != ValueOf(0).channels) Refuse("8-bit maps that differ");
      continue;
    }
    if (channels % kBytesOfWord != 0) {
      Refuse("8-bit maps whose channels do not come in fours");
    }
    channels += part.channels;
  }
  return static_cast<int>(channels);
}

int EightBitShapes::SlicedChannels(const op::Slice& slice) const {
  const Value& map = EightBitMap(0);
  if (slice.steps[1] != 1) Refuse("some words of an 8-bit map, by steps");
  const int64_t begin = slice.starts[1] * kBytesOfWord;
  const int64_t end = begin + slice.sizes[1] * kBytesOfWord;
  return static_cast<int>(std::min<int64_t>(end, map.channels) - begin);
}

void EightBitShapes::CheckSteps(const Steps& steps) const {
  if (!std::isfinite(steps.scale) || !(steps.scale > 0.0f) || !steps.Includes(steps.zero_point)) {
    Refuse("steps of ", steps.scale, " around ", steps.zero_point);
  }
}

const Value& EightBitShapes::EightBitMap(size_t index) const {
  const Value& value = ValueOf(index);
  if (!value.is_eight_bit() || !value.is_map()) {
    Refuse("input '", value.name, "' is not an 8-bit map");
  }
  return value;
}

std::vector<InferredOutput> EightBitShapes::EightBit(Shape words, int channels,
                                                     const Steps& steps) {
  return {{std::move(words), DataType::kEightBit, channels, steps}};
}

std::vector<InferredOutput> EightBitShapes::EightBitOf(Shape shape, int64_t channels,
                                                       const Steps& steps) const {
  if (channels > kMaxDimension) Refuse("an 8-bit map of ", channels, " channels");
  shape[1] = WordCount(static_cast<int>(channels));
  return EightBit(std::move(shape), static_cast<int>(channels), steps);
}

}  // namespace cacheinf
