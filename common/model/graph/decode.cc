#include "common/model/graph/decode.h"

#include <string>
#include <utility>

#include "common/base/error.h"

namespace cacheinf {
namespace {

[[noreturn]] void Refuse(const Graph& graph, const std::string& why) {
  throw InputError("model '" + graph.name + "': " + why);
}

// Returns one number per channel, from a list that has one for all or one each.
std::vector<double> ForEachChannel(const Graph& graph, const std::vector<double>& numbers,
                                   size_t channels, const std::string& what) {
  if (numbers.size() == 1) return std::vector<double>(channels, numbers.front());
  if (numbers.size() == channels) return numbers;
  Refuse(graph, "normalisation with " + std::to_string(numbers.size()) + " numbers as " + what +
                    " for " + std::to_string(channels) + " channels");
}

// Makes room for one operator before all others.
void ShiftOperators(Graph& graph) {
  graph.operators.emplace(graph.operators.begin());
  for (Value& value : graph.values) {
    if (value.producer != kNone) ++value.producer;
  }
}

PictureSpec Resolved(const Graph& graph, PictureSpec picture) {
  if (graph.inputs.empty()) Refuse(graph, "it has no input for a picture");
  if (graph.picture.width != 0) Refuse(graph, "its picture is already described");
  const Value& input = graph.value(graph.inputs.front());
  const int64_t channels = picture.channels == PictureSpec::Channels::kGray ? 1 : 3;
  if (!input.is_map() || input.shape[0] != 1 || input.shape[1] != channels) {
    Refuse(graph, "input '" + input.name + "' of shape " + ToString(input.shape) +
                      " is not a picture of " + std::to_string(channels) + " channel(s)");
  }
  if (picture.width == 0 && picture.height == 0) {
    picture.width = static_cast<int>(input.shape[3]);
    picture.height = static_cast<int>(input.shape[2]);
  }
  if (picture.height != input.shape[2] || picture.width != input.shape[3]) {
    Refuse(graph, "a picture of " + std::to_string(picture.height) + "x" +
                      std::to_string(picture.width) + " does not fit input '" + input.name +
                      "' of shape " + ToString(input.shape));
  }
  return picture;
}

}  // namespace

void PrependPicture(Graph& graph, const PictureSpec& picture, const Normalisation& normalisation) {
  const PictureSpec resolved = Resolved(graph, picture);
  const ValueId input = graph.inputs.front();
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

  const std::string name = graph.value(input).name;
  const ValueId pixels = graph.AddInput(name, shape);
  graph.inputs.pop_back();
  const ValueId scale_id = graph.AddConstant(name + ".scale", Tensor({shape[1]}, scale));
  const ValueId shift_id = graph.AddConstant(name + ".shift", Tensor({shape[1]}, shift));
  Operator normalise{"normalise",
                     op::ScaleShift{{}, normalisation.channel_order},
                     {pixels, scale_id, shift_id},
                     {input}};
  if (InferShapes(graph, normalise).front().shape != shape) {
    Refuse(graph, "normalisation with an order of " +
                      std::to_string(normalisation.channel_order.size()) + " channels");
  }
  ShiftOperators(graph);
  graph.operators.front() = std::move(normalise);
  graph.values[input].name = name + ".normalised";
  graph.values[input].producer = 0;
  graph.inputs.front() = pixels;
  graph.picture = resolved;
}

}  // namespace cacheinf
