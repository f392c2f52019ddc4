#include "common/model/graph/decode.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/base/error.h"

namespace cacheinf {
namespace {

template <typename... Parts>
[[noreturn]] void Refuse(const Graph& graph, const Parts&... why) {
  throw InputError("model '", graph.name, "': ", why...);
}

// Returns one number per channel, from a list that has one for all or one each.
std::vector<double> ForEachChannel(const Graph& graph, const std::vector<double>& numbers,
                                   size_t channels, const std::string& what) {
  if (numbers.size() == 1) return std::vector<double>(channels, numbers.front());
  if (numbers.size() == channels) return numbers;
  Refuse(graph, "normalisation with ", numbers.size(), " numbers as ", what, " for ", channels,
         " channels");
}

// Makes room for one operator before all others.
void ShiftOperators(Graph& graph) {
  graph.operators.emplace(graph.operators.begin());
  for (Value& value : graph.values) {
    if (value.producer != kNone) ++value.producer;
  }
}

// The picture, and whether the network reads its channels last.
struct NetworkPicture {
  PictureSpec spec;
  bool has_channels_last = false;
};

NetworkPicture Resolved(const Graph& graph, PictureSpec picture) {
  if (graph.inputs.empty()) Refuse(graph, "it has no input for a picture");
  if (graph.picture.width != 0) Refuse(graph, "its picture is already described");
  const Value& input = graph.value(graph.inputs.front());
  const int64_t channels = picture.channel_count();
  const bool is_one = input.is_map() && input.shape[0] == 1;
  const bool has_channels_last = is_one && input.shape[1] != channels && input.shape[3] == channels;
  if (!is_one || (!has_channels_last && input.shape[1] != channels)) {
    const bool has_batch = input.is_map() && input.shape[0] > 1;
    Refuse(graph, "input '", input.name, "' of shape ", ToString(input.shape),
           " is not a picture of ", channels, " channel(s)",
           (has_batch ? "; give it a batch of 1 by --shape" : ""));
  }
  const int64_t height = input.shape[has_channels_last ? 1 : 2];
  const int64_t width = input.shape[has_channels_last ? 2 : 3];
  if (picture.width == 0 && picture.height == 0) {
    picture.width = static_cast<int>(width);
    picture.height = static_cast<int>(height);
  }
  if (picture.height != height || picture.width != width) {
    Refuse(graph, "a picture of ", picture.height, "x", picture.width, " does not fit input '",
           input.name, "' of shape ", ToString(input.shape));
  }
  return {picture, has_channels_last};
}

// Makes the first input a map of channels-first shape, whose channels-last permutation the network
// reads. Returns the map.
ValueId PrependToChannelsLast(Graph& graph) {
  const ValueId input = graph.inputs.front();
  const Shape last = graph.value(input).shape;
  const ValueId map = graph.AddInput(graph.value(input).name, {last[0], last[3], last[1], last[2]});
  graph.inputs.pop_back();
  ShiftOperators(graph);
  graph.operators.front() = {"channels_last", op::Permute{{0, 2, 3, 1}}, {map}, {input}};
  graph.values[input].name += ".channels_last";
  graph.values[input].producer = 0;
  graph.inputs.front() = map;
  return map;
}

}  // namespace

void PrependPicture(Graph& graph, const PictureSpec& picture, const Normalisation& normalisation) {
  const auto [resolved, has_channels_last] = Resolved(graph, picture);
  ValueId input = graph.inputs.front();
  const std::string name = graph.value(input).name;
  if (has_channels_last) input = PrependToChannelsLast(graph);
  const Shape shape = graph.value(input).shape;
  const auto channels = static_cast<size_t>(shape[1]);
  const std::vector<double> mean = ForEachChannel(graph, normalisation.mean, channels, "mean");
  const std::vector<double> divisor =
      ForEachChannel(graph, normalisation.divisor, channels, "divisor");
  std::vector<float> scale;
  std::vector<float> shift;
  for (size_t c = 0; c < channels; ++c) {
    if (divisor[c] == 0.0) Refuse(graph, "normalisation by a divisor of zero");
    scale.push_back(static_cast<float>(1.0 / divisor[c]));
    shift.push_back(static_cast<float>(-mean[c] / divisor[c]));
  }

  const ValueId pixels = graph.AddInput(name, shape);
  graph.inputs.pop_back();
  const ValueId scale_id = graph.AddConstant(name + ".scale", Tensor({shape[1]}, scale));
  const ValueId shift_id = graph.AddConstant(name + ".shift", Tensor({shape[1]}, shift));
  Operator normalise{"normalise",
                     op::ScaleShift{{}, normalisation.channel_order},
                     {pixels, scale_id, shift_id},
                     {input}};
  if (InferShapes(graph, normalise).front().shape != shape) {
    Refuse(graph, "normalisation with an order of ", normalisation.channel_order.size(),
           " channels");
  }
  ShiftOperators(graph);
  graph.operators.front() = std::move(normalise);
  graph.values[input].name = name + ".normalised";
  graph.values[input].producer = 0;
  graph.inputs.front() = pixels;
  graph.picture = resolved;
}

bool ScalesLevels(const Graph& graph) {
  constexpr double kMostScale = 1.0 / 50;
  if (graph.inputs.empty()) return false;
  double scale = 1;
  ValueId at = graph.inputs.front();
  for (const Operator& each : graph.operators) {
    const auto own = std::find(each.inputs.begin(), each.inputs.end(), at);
    if (own == each.inputs.end()) continue;
    const auto* activation = each.As<op::Activation>();
    const auto* binary = each.As<op::Binary>();
    if (binary != nullptr || each.As<op::ScaleShift>() != nullptr) {
      const bool is_first = own == each.inputs.begin();
      const Value& other = graph.value(each.inputs[is_first ? 1 : 0]);
      if (!other.is_constant()) return false;
      const double number = other.constant.data()[0];
      const BinaryKind kind = binary != nullptr ? binary->kind : BinaryKind::kMultiply;
      if (kind == BinaryKind::kMultiply) {
        scale *= number;
      } else if (kind == BinaryKind::kDivide && is_first) {
        scale /= number;
      } else if (kind != BinaryKind::kAdd && kind != BinaryKind::kSubtract) {
        return false;
      }
      if (scale != 0 && std::abs(scale) <= kMostScale) return true;
    } else {
      const bool passes =
          (activation != nullptr && activation->function.kind == Function::Kind::kIdentity) ||
          each.As<op::Permute>() != nullptr || each.As<op::Reshape>() != nullptr ||
          each.As<op::Gather>() != nullptr || each.As<op::Slice>() != nullptr ||
          each.As<op::Resize>() != nullptr || each.As<op::Pad>() != nullptr;
      if (!passes) return false;
    }
    at = each.outputs.front();
  }
  return false;
}

}  // namespace cacheinf
