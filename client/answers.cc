#include "client/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "client/outputs.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/file.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLargestNamesFile = 1 << 20;
constexpr int kBoxNumbers = 6;  // left, top, right, bottom, score, class

std::vector<std::string> ReadClassNames(const DecoderConfig& config) {
  if (config.class_names_file.empty()) return config.class_names;
  std::istringstream lines(ReadFile(config.class_names_file, kLargestNamesFile));
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

Json ToJson(const ScoredClass& scored, const AnswerReader& reader) {
  return {
      {"class", scored.index}, {"name", reader.ClassName(scored.index)}, {"score", scored.score}};
}

void Write(Json& json, const RawOutputs& raw, const AnswerReader&) {
  json["kind"] = "raw";
  json["outputs"] = Json::array();
  for (const RawOutputs::Output& output : raw.outputs) {
    json["outputs"].push_back({{"name", output.name},
                               {"shape", output.shape},
                               {"min", output.minimum},
                               {"max", output.maximum},
                               {"mean", output.mean}});
  }
}

void Write(Json& json, const Classification& classification, const AnswerReader& reader) {
  json["kind"] = "classification";
  json["classes"] = Json::array();
  for (const ScoredClass& scored : classification.best) {
    json["classes"].push_back(ToJson(scored, reader));
  }
}

void Write(Json& json, const ClassMap& map, const AnswerReader& reader) {
  std::vector<int64_t> counts;
  for (const int32_t index : map.classes) {
    if (static_cast<size_t>(index) >= counts.size()) counts.resize(static_cast<size_t>(index) + 1);
    ++counts[static_cast<size_t>(index)];
  }
  json["kind"] = "segmentation";
  json["width"] = map.width;
  json["height"] = map.height;
  json["classes"] = Json::array();
  for (size_t index = 0; index < counts.size(); ++index) {
    if (counts[index] == 0) continue;
    const double share =
        static_cast<double>(counts[index]) / static_cast<double>(map.classes.size());
    json["classes"].push_back(
        {{"class", index}, {"name", reader.ClassName(static_cast<int>(index))}, {"share", share}});
  }
}

void Write(Json& json, const Detections& detections, const AnswerReader& reader) {
  json["kind"] = "boxes";
  json["boxes"] = Json::array();
  for (const Detection& detection : detections.boxes) {
    Json box = ToJson(detection.label, reader);
    box["left"] = detection.left;
    box["top"] = detection.top;
    box["right"] = detection.right;
    box["bottom"] = detection.bottom;
    json["boxes"].push_back(std::move(box));
  }
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

}  // namespace

AnswerReader::AnswerReader(const Graph& graph, const DecoderConfig& config)
    : kind_(KindOf(graph, config)),
      class_count_(ClassCount(graph)),
      top_(config.top),
      class_names_(ReadClassNames(config)) {}

AnswerReader::Kind AnswerReader::KindOf(const Graph& graph, const DecoderConfig& config) {
  const Value& output = graph.value(graph.outputs.front());
  const Operator* last =
      output.producer == kNone ? nullptr : &graph.operators[static_cast<size_t>(output.producer)];
  const auto require = [&](bool fits, std::string_view kind, std::string_view needed) {
    if (fits) return;
    throw InputError(fmt::format("decoder.kind \"{}\" needs {}, but output '{}' has shape {}", kind,
                                 needed, output.name, ToString(output.shape)));
  };
  switch (config.kind) {
    case DecoderConfig::Kind::kRaw:
      return Kind::kRaw;
    case DecoderConfig::Kind::kClassification:
      require(IsClassScores(output), "classification", "one score a class");
      return Kind::kClassification;
    case DecoderConfig::Kind::kSegmentation:
      require(IsClassMap(output), "segmentation", "one class a pixel");
      return Kind::kSegmentation;
    case DecoderConfig::Kind::kBoxes:
      require(IsBoxes(output), "boxes", "six numbers a box");
      return Kind::kBoxes;
    case DecoderConfig::Kind::kAuto:
      break;
  }
  if (last == nullptr) return Kind::kRaw;
  if (last->As<op::NonMaxSuppression>() != nullptr) return Kind::kBoxes;
  if (last->As<op::ArgMax>() != nullptr && IsClassMap(output)) return Kind::kSegmentation;
  if (last->As<op::Softmax>() != nullptr && IsClassScores(output)) return Kind::kClassification;
  return Kind::kRaw;
}

const std::vector<float>& AnswerReader::Values(const Executor& executor, size_t output) {
  values_.resize(OutputCount(executor.graph(), output));
  ReadOutput(executor, output, values_.data());
  return values_;
}

AnswerContent AnswerReader::Read(const Executor& executor, const PictureFit* fit) {
  switch (kind_) {
    case Kind::kClassification:
      return ReadClassification(executor);
    case Kind::kSegmentation:
      return ReadClassMap(executor);
    case Kind::kBoxes:
      return ReadDetections(executor, fit);
    case Kind::kRaw:
      break;
  }
  return ReadRaw(executor);
}

RawOutputs AnswerReader::ReadRaw(const Executor& executor) {
  const Graph& graph = executor.graph();
  RawOutputs raw;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Value& value = graph.value(graph.outputs[i]);
    const std::vector<float>& values = Values(executor, i);
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

Classification AnswerReader::ReadClassification(const Executor& executor) {
  const std::vector<float>& scores = Values(executor, 0);
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t count = std::min(order.size(), static_cast<size_t>(top_));
  const auto is_better = [&](int a, int b) {
    const float score_a = scores[static_cast<size_t>(a)];
    const float score_b = scores[static_cast<size_t>(b)];
    return score_a > score_b || (score_a == score_b && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    is_better);
  Classification classification;
  for (size_t i = 0; i < count; ++i) {
    classification.best.push_back({order[i], scores[static_cast<size_t>(order[i])]});
  }
  return classification;
}

ClassMap AnswerReader::ReadClassMap(const Executor& executor) {
  const Graph& graph = executor.graph();
  const Shape& shape = graph.value(graph.outputs.front()).shape;
  const std::vector<float>& values = Values(executor, 0);
  ClassMap map;
  map.height = static_cast<int>(shape[shape.size() - 2]);
  map.width = static_cast<int>(shape[shape.size() - 1]);
  map.classes.assign(values.begin(), values.end());
  return map;
}

Detections AnswerReader::ReadDetections(const Executor& executor, const PictureFit* fit) {
  const std::vector<float>& values = Values(executor, 0);
  Detections detections;
  for (size_t row = 0; row + kBoxNumbers <= values.size(); row += kBoxNumbers) {
    const float* numbers = values.data() + row;
    if (!(numbers[4] > 0)) break;  // unused rows are zero
    Detection detection;
    detection.label = {static_cast<int>(numbers[5]), numbers[4]};
    const auto column = [&](float x) { return fit == nullptr ? x : fit->columns().ToFrame(x); };
    const auto line = [&](float y) { return fit == nullptr ? y : fit->rows().ToFrame(y); };
    detection.left = column(numbers[0]);
    detection.top = line(numbers[1]);
    detection.right = column(numbers[2]);
    detection.bottom = line(numbers[3]);
    detections.boxes.push_back(detection);
  }
  return detections;
}

std::string AnswerReader::ClassName(int index) const {
  const auto at = static_cast<size_t>(index);
  return at < class_names_.size() ? class_names_[at] : std::to_string(index);
}

std::string ToJsonLine(const Answer& answer, const AnswerReader& reader) {
  Json json = {{"frame", answer.frame},
               {"stamp_ms", Milliseconds(answer.stamp)},
               {"latency_ms", Milliseconds(answer.latency())}};
  std::visit([&](const auto& content) { Write(json, content, reader); }, answer.content);
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace cacheinf
