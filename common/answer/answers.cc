#include "common/answer/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "common/answer/best_scores.h"
#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

constexpr uint64_t kLargestNamesFile = 1 << 20;
constexpr int kBoxNumbers = 6;  // left, top, right, bottom, score, class

std::vector<std::string> ReadClassNames(const DecoderConfig& config) {
  if (config.class_names_file.empty()) return config.class_names;
  std::istringstream lines([&] {
    try {
      return ReadFile(config.class_names_file, kLargestNamesFile);
    } catch (const InputError& error) {
      throw InputError(std::string("decoder.class_names: ") + error.what());
    }
  }());
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    names.push_back(line);
  }
  return names;
}

// One class a pixel: height × width, whatever dimensions of one stand before.
bool IsClassMap(const Value& output) {
  const size_t rank = output.shape.size();
  return output.type == DataType::kInt64 && rank >= 2 &&
         ElementCount(output.shape) == output.shape[rank - 2] * output.shape[rank - 1];
}

bool IsBoxes(const Value& output) {
  return output.shape.size() == 2 && output.shape[1] == kBoxNumbers;
}

// One score a class, and nothing else.
bool IsClassScores(const Value& output) {
  return output.shape.size() >= 2 && ElementCount(output.shape) == output.shape[1];
}

bool IsHeatMaps(const Value& output) { return output.is_map() && output.shape[0] == 1; }

// A heat map: height × width without gaps.
struct HeatMap {
  const float* values;
  int width;
  int height;

  float At(int x, int y) const { return values[static_cast<ptrdiff_t>(y) * width + x]; }
};

// A quarter of a pixel towards the larger of two neighbours.
double QuarterStep(float before, float after) {
  if (after > before) return 0.25;
  return after < before ? -0.25 : 0;
}

// Where the largest value lies, in the map's pixels from its edge. Along each axis that is the
// pixel's centre, moved a quarter of a pixel towards the larger neighbour if it has two.
Keypoint FindPeak(const HeatMap& map) {
  const auto count = static_cast<ptrdiff_t>(map.width) * map.height;
  ptrdiff_t best = -1;
  for (ptrdiff_t i = 0; i < count; ++i) {
    if (best < 0 ? !std::isnan(map.values[i]) : map.values[i] > map.values[best]) best = i;
  }
  if (best < 0) {
    constexpr auto kNone = std::numeric_limits<float>::quiet_NaN();
    return {kNone, kNone, kNone};
  }
  const int x = static_cast<int>(best % map.width);
  const int y = static_cast<int>(best / map.width);
  Keypoint peak = {x + 0.5, y + 0.5, map.values[best]};
  if (x > 0 && x + 1 < map.width) peak.x += QuarterStep(map.At(x - 1, y), map.At(x + 1, y));
  if (y > 0 && y + 1 < map.height) peak.y += QuarterStep(map.At(x, y - 1), map.At(x, y + 1));
  return peak;
}

int ClassCount(const Graph& graph) {
  const Value& output = graph.value(graph.outputs.front());
  if (output.producer == kNone) return 0;
  const Operator& last = graph.operators[static_cast<size_t>(output.producer)];
  const auto* arg_max = last.As<op::ArgMax>();
  if (arg_max == nullptr) return 0;
  const Shape& scores = graph.value(last.inputs[0]).shape;
  return static_cast<int>(scores[static_cast<size_t>(arg_max->axis)]);
}

// Any model may have written `number`; one that names no class counts as the first class.
int32_t ClassOf(float number) {
  constexpr float kMost = 65535;
  return number > 0 ? static_cast<int32_t>(std::min(number, kMost)) : 0;
}

// What the graph's tail shows.
DecoderConfig::Kind KindOf(const Graph& graph) {
  using Kind = DecoderConfig::Kind;
  const Value& output = graph.value(graph.outputs.front());
  if (output.producer == kNone) return Kind::kRaw;
  const Operator& last = graph.operators[static_cast<size_t>(output.producer)];
  if (last.As<op::NonMaxSuppression>() != nullptr) return Kind::kBoxes;
  if (last.As<op::ArgMax>() != nullptr && IsClassMap(output)) return Kind::kSegmentation;
  if (last.As<op::Softmax>() != nullptr && IsClassScores(output)) return Kind::kClassification;
  return Kind::kRaw;
}

}  // namespace

DecoderConfig::Kind KindOfAnswers(const Graph& graph, DecoderConfig::Kind configured) {
  using Kind = DecoderConfig::Kind;
  if (configured == Kind::kAuto) return KindOf(graph);
  const Value& output = graph.value(graph.outputs.front());
  const auto require = [&](Kind kind, bool fits, std::string_view needed) {
    if (kind != configured || fits) return;
    throw InputError(fmt::format("decoder.kind \"{}\" needs {}, but output '{}' has shape {}",
                                 NameOf(kind), needed, output.name, ToString(output.shape)));
  };
  require(Kind::kClassification, IsClassScores(output), "one score per class");
  require(Kind::kSegmentation, IsClassMap(output), "one class a pixel");
  require(Kind::kBoxes, IsBoxes(output), "six numbers a box");
  require(Kind::kKeypoints, IsHeatMaps(output), "one heat map a keypoint");
  return configured;
}

AnswerReader::AnswerReader(const Graph& graph, const DecoderConfig& config)
    : kind_(KindOfAnswers(graph, config.kind)),
      class_count_(ClassCount(graph)),
      top_(config.most_classes()),
      class_names_(ReadClassNames(config)) {}

const std::vector<float>& AnswerReader::Values(const ModelState& state, size_t output) {
  values_.resize(OutputCount(state.graph(), output));
  ReadOutput(state, output, values_.data());
  return values_;
}

AnswerContent AnswerReader::Read(const ModelState& state, const SeenPicture& seen) {
  switch (kind_) {
    case Kind::kClassification:
      return ReadClassification(state);
    case Kind::kSegmentation:
      return ReadClassMap(state, seen);
    case Kind::kBoxes:
      return ReadDetections(state, seen);
    case Kind::kKeypoints:
      return ReadKeypoints(state, seen);
    case Kind::kAuto:
    case Kind::kRaw:
      break;
  }
  return ReadRaw(state);
}

RawOutputs AnswerReader::ReadRaw(const ModelState& state) {
  const Graph& graph = state.graph();
  RawOutputs raw;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Value& value = graph.value(graph.outputs[i]);
    const std::vector<float>& values = Values(state, i);
    RawOutputs::Output output;
    output.name = value.name;
    output.shape = value.shape;
    if (!values.empty()) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      output.minimum = *low;
      output.maximum = *high;
      output.mean =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }
    raw.outputs.push_back(std::move(output));
  }
  return raw;
}

Classification AnswerReader::ReadClassification(const ModelState& state) {
  return {BestClasses(Values(state, 0), top_)};
}

ClassMap AnswerReader::ReadClassMap(const ModelState& state, const SeenPicture& seen) {
  const Graph& graph = state.graph();
  const Shape& shape = graph.value(graph.outputs.front()).shape;
  const std::vector<float>& values = Values(state, 0);
  ClassMap map;
  map.height = static_cast<int>(shape[shape.size() - 2]);
  map.width = static_cast<int>(shape[shape.size() - 1]);
  map.classes.resize(values.size());
  std::transform(values.begin(), values.end(), map.classes.begin(), ClassOf);
  if (graph.picture.width == 0) return map;
  return seen.InModel(map, graph.picture.width, graph.picture.height);
}

Detections AnswerReader::ReadDetections(const ModelState& state, const SeenPicture& seen) {
  const std::vector<float>& values = Values(state, 0);
  Detections detections;
  for (size_t row = 0; row + kBoxNumbers <= values.size(); row += kBoxNumbers) {
    const float* numbers = values.data() + row;
    if (!(numbers[4] > 0)) break;  // unused rows are zero
    const ScoredClass label = {static_cast<int>(numbers[5]), numbers[4]};
    const Detection box =
        seen.InFrame(Detection{label, numbers[0], numbers[1], numbers[2], numbers[3]});
    const bool is_in_view = box.left < box.right && box.top < box.bottom;
    if (is_in_view) detections.boxes.push_back(box);
  }
  return detections;
}

Keypoints AnswerReader::ReadKeypoints(const ModelState& state, const SeenPicture& seen) {
  const PictureFit* const fit = seen.fit;
  const Graph& graph = state.graph();
  const Shape& maps = graph.value(graph.outputs.front()).shape;
  const Value& input = graph.value(graph.inputs.front());
  const Shape& model = input.is_map() ? input.shape : maps;
  const auto model_width = static_cast<double>(model[3]);
  const auto model_height = static_cast<double>(model[2]);
  const std::vector<float>& values = Values(state, 0);
  HeatMap map = {values.data(), static_cast<int>(maps[3]), static_cast<int>(maps[2])};
  Keypoints keypoints;
  keypoints.extent = fit == nullptr
                         ? std::max(model_width, model_height)
                         : std::max(fit->columns().shown_length(), fit->rows().shown_length());
  for (int64_t channel = 0; channel < maps[1]; ++channel) {
    Keypoint point = FindPeak(map);
    point.x *= model_width / map.width;
    point.y *= model_height / map.height;
    keypoints.points.push_back(seen.InFrame(point));
    map.values += static_cast<ptrdiff_t>(map.width) * map.height;
  }
  return keypoints;
}

std::string AnswerReader::ClassName(int index) const {
  const auto at = static_cast<size_t>(index);
  return at < class_names_.size() ? class_names_[at] : std::to_string(index);
}

}  // namespace cacheinf
