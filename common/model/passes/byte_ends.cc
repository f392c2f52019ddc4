#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/model/passes/passes.h"
#include "common/model/passes/rewriter.h"
#include "sparse_ops/eight_bits.h"
#include "sparse_ops/function.h"

// The ends of an 8-bit network: the picture that it takes and the heads that it gives, as bytes.

namespace cacheinf {
namespace {

// Whether only suppressions read this value; they take heads of 8 bits.
bool IsHeadAlone(const Graph& graph, const std::vector<OpId>& readers) {
  return !readers.empty() && std::ranges::all_of(readers, [&](OpId reader) {
    const auto* suppression =
        graph.operators[static_cast<size_t>(reader)].As<op::NonMaxSuppression>();
    return suppression != nullptr && !suppression->scales.empty();
  });
}

// What one level of a picture becomes on its way to its reader, channel by channel.
class LevelNumbers {
 public:
  explicit LevelNumbers(size_t channels) : numbers_(channels) {
    for (auto& of_channel : numbers_) {
      for (size_t level = 0; level < of_channel.size(); ++level) {
        of_channel[level] = static_cast<float>(level);
      }
    }
  }

  // Takes one operator. Returns false if it is not one that treats every number by itself.
  bool Follow(const Graph& graph, const Operator& op) {
    if (const auto* activation = op.As<op::Activation>()) {
      if (activation->function.kind == Function::Kind::kPRelu) return false;
      ForEach([&](size_t, float x) { return Apply(activation->function, x); });
      return true;
    }
    const auto* affine = op.As<op::ScaleShift>();
    if (affine == nullptr || !affine->channel_order.empty() ||
        affine->activation.kind == Function::Kind::kPRelu) {
      return false;
    }
    const float* const scale = graph.value(op.inputs[1]).constant.data();
    const float* const shift = graph.value(op.inputs[2]).constant.data();
    ForEach([&](size_t channel, float x) {
      return Apply(affine->activation, std::fma(x, scale[channel], shift[channel]));
    });
    return true;
  }

  std::vector<int> Rounded(const Steps& steps) const {
    std::vector<int> rounded;
    for (const auto& of_channel : numbers_) {
      for (const float number : of_channel) rounded.push_back(ToSteps(number, steps));
    }
    return rounded;
  }

 private:
  void ForEach(const auto& function) {
    for (size_t channel = 0; channel < numbers_.size(); ++channel) {
      for (float& number : numbers_[channel]) number = function(channel, number);
    }
  }

  std::vector<std::array<float, kLevels>> numbers_;
};

}  // namespace

bool pass::KeepHeadsInBytes(Graph& graph) {
  const std::vector<std::vector<OpId>> readers = graph.Consumers();
  Rewriter rewriter(graph);
  for (OpId id = 0; id < rewriter.operator_count(); ++id) {
    const Operator op = rewriter.op(id);
    const auto* conv = op.As<op::QuantConv>();
    const bool gives_steps = conv != nullptr && conv->gives_floats && conv->rounds_sums;
    if (!gives_steps && !op.As<op::Dequantise>()) continue;
    const ValueId head = op.outputs[0];
    if (rewriter.IsOutput(head) || !IsHeadAlone(graph, readers[static_cast<size_t>(head)])) {
      continue;
    }
    ValueId map = gives_steps ? kNone : op.inputs[0];
    if (gives_steps) {
      op::QuantConv made = *conv;
      made.gives_floats = false;
      map = rewriter.InsertBefore(id, op.name, std::move(made), op.inputs);
    }
    for (const OpId reader : readers[static_cast<size_t>(head)]) {
      std::vector<ValueId> inputs = rewriter.op(reader).inputs;
      std::ranges::replace(inputs, head, map);
      rewriter.Replace(reader, rewriter.op(reader).attributes, std::move(inputs));
    }
  }
  return rewriter.Finish();
}

bool pass::TakeLevels(Graph& graph) {
  if (graph.picture.width == 0 || graph.inputs.size() != 1) return false;
  const ValueId input = graph.inputs.front();
  const PictureSpec& picture = graph.picture;
  const int channels = picture.channel_count();
  const Shape of_picture = {1, channels, picture.height, picture.width};
  if (graph.value(input).is_eight_bit() || graph.value(input).shape != of_picture) return false;
  const std::vector<std::vector<OpId>> readers = graph.Consumers();
  Rewriter rewriter(graph);
  LevelNumbers numbers(static_cast<size_t>(channels));
  for (ValueId x = input; rewriter.IsReadOnce(x);) {
    const OpId id = readers[static_cast<size_t>(x)].front();
    const Operator& op = rewriter.op(id);
    if (const auto* quantise = op.As<op::Quantise>()) {
      Value& own = graph.values[static_cast<size_t>(input)];
      const Value& map = graph.value(op.outputs[0]);
      graph.levels = numbers.Rounded(quantise->steps);
      own.shape = map.shape;
      own.type = map.type;
      own.channels = map.channels;
      own.steps = map.steps;
      rewriter.ReplaceByValue(id, input);
      return rewriter.Finish();
    }
    if (!numbers.Follow(graph, op)) return false;
    x = op.outputs[0];
  }
  return false;
}

}  // namespace cacheinf
