#include "client/answer/answer.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/clock.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const ScoredClass& scored, const AnswerReader& reader) {
  return {
      {"class", scored.index}, {"name", reader.ClassName(scored.index)}, {"score", scored.score}};
}

void Write(Json& json, const RawOutputs& raw, const AnswerReader&) {
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
  json["boxes"] = Json::array();
  for (const Detection& detection : detections.boxes) {
    Json box = ToJson(detection.label, reader);
    box["left"] = detection.left;
    box["top"] = detection.top;
    box["right"] = detection.right;
    box["bottom"] = detection.bottom;
    if (!detection.corners.empty()) {
      box["corners"] = Json::array();
      for (const Keypoint& corner : detection.corners) {
        box["corners"].push_back({corner.x, corner.y});
      }
    }
    if (!detection.keypoints.empty()) {
      box["keypoints"] = Json::array();
      for (const Keypoint& point : detection.keypoints) {
        box["keypoints"].push_back({{"x", point.x}, {"y", point.y}, {"score", point.score}});
      }
    }
    if (!detection.mask.lengths.empty()) {
      box["mask"] = {{"size", {detection.mask.height, detection.mask.width}},
                     {"counts", detection.mask.lengths}};
    }
    json["boxes"].push_back(std::move(box));
  }
}

void Write(Json& json, const Keypoints& keypoints, const AnswerReader& reader) {
  json["keypoints"] = Json::array();
  for (size_t i = 0; i < keypoints.points.size(); ++i) {
    const Keypoint& point = keypoints.points[i];
    if (!keypoints.has_order) {
      json["keypoints"].push_back({{"x", point.x}, {"y", point.y}, {"score", point.score}});
      continue;
    }
    json["keypoints"].push_back({{"keypoint", i},
                                 {"name", reader.ClassName(static_cast<int>(i))},
                                 {"x", point.x},
                                 {"y", point.y},
                                 {"score", point.score}});
  }
}

void Write(Json& json, const Embedding& embedding, const AnswerReader&) {
  json["embedding"] = embedding.numbers;
}

}  // namespace

std::optional<double> Answer::share() const {
  if (work ? work->is_dense : !server || server->work.is_dense) return std::nullopt;
  return std::min(1.0, (work ? work->share : 0.0) + (server ? server->work.share : 0.0));
}

bool Answer::is_late() const { return deadline_ms > 0 && Milliseconds(latency()) > deadline_ms; }

std::string ToJsonLine(const Answer& answer, const AnswerReader& reader) {
  Json json = {{"frame", answer.frame},
               {"computed_from", answer.computed_from},
               {"stamp_ms", Milliseconds(answer.stamp)},
               {"latency_ms", Milliseconds(answer.latency())}};
  if (answer.is_late()) json["late"] = true;
  if (answer.work) {
    json["active"] = answer.work->active;
    json["work"] = answer.work->share;
    if (answer.work->rest != Rest::kNone) {
      json["rests"] = true;
      json["rests_because"] = NameOf(answer.work->rest);
    }
    if (answer.work->loss != Loss::kNone) json["lost"] = NameOf(answer.work->loss);
  }
  if (answer.guard) {
    json["guard"] = {{"level", NameOf(answer.guard->level)}};
    if (answer.guard->agreement) json["guard"]["agreement"] = *answer.guard->agreement;
    if (answer.guard->is_in_doubt) json["guard"]["in_doubt"] = true;
  }
  if (!answer.emulation.empty()) json["emulated"] = answer.emulation;
  if (!answer.plan.empty()) json["plan"] = answer.plan;
  if (answer.predicted) json["predicted_ms"] = Milliseconds(*answer.predicted);
  if (answer.server) {
    const ServerPart& part = *answer.server;
    json["server"] = {{"sent_bytes", part.sent_bytes},
                      {"received_bytes", part.received_bytes},
                      {"encode_ms", Milliseconds(answer.times.encoding)},
                      {"wait_ms", Milliseconds(answer.times.waiting)},
                      {"queue_ms", Milliseconds(answer.times.server_queueing)},
                      {"decode_ms", Milliseconds(answer.times.server_decoding)},
                      {"compute_ms", Milliseconds(answer.times.server_computing)},
                      {"work", part.work.share}};
  }
  json["kind"] = NameOf(reader.kind());
  std::visit([&](const auto& content) { Write(json, content, reader); }, answer.content);
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace cacheinf
