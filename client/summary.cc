#include "client/summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/base/clock.h"
#include "profiler/machine.h"

namespace cacheinf {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMegabyte = 1e6;

double Seconds(std::chrono::nanoseconds duration) { return Milliseconds(duration) / 1e3; }

double FrameRate(const Summary& summary) {
  const double seconds = Seconds(summary.elapsed);
  return seconds > 0 ? static_cast<double>(summary.frames) / seconds : 0;
}

Json Describe(const LatencyHistogram& latency) {
  return {{"mean", latency.mean_ms()},
          {"p50", latency.PercentileMs(0.50)},
          {"p95", latency.PercentileMs(0.95)},
          {"p99", latency.PercentileMs(0.99)},
          {"max", latency.max_ms()}};
}

Json Describe(const SegmentationScore& score, const AnswerReader& reader) {
  Json classes = Json::object();
  const std::vector<double> iou = score.ClassIou();
  for (size_t c = 0; c < iou.size(); ++c) {
    if (iou[c] >= 0) classes[reader.ClassName(static_cast<int>(c))] = iou[c];
  }
  return classes;
}

}  // namespace

void Summary::Add(const Answer& answer) {
  ++frames;
  latency.Add(answer.latency());
  preprocess.Add(answer.preprocess);
  compute.Add(answer.compute);
  decode.Add(answer.decode);
}

std::string ToText(const Summary& summary) {
  const LatencyHistogram& latency = summary.latency;
  std::string text = fmt::format(
      "frames   {} answered, {} skipped{}, {:.1f} s, {:.1f} fps\n", summary.frames, summary.skipped,
      summary.interrupted ? ", interrupted" : "", Seconds(summary.elapsed), FrameRate(summary));
  text += fmt::format("latency  p50 {:.2f} ms, p95 {:.2f} ms, p99 {:.2f} ms\n",
                      latency.PercentileMs(0.50), latency.PercentileMs(0.95),
                      latency.PercentileMs(0.99));
  text += fmt::format("memory   {:.1f} MB for activations of {:.1f} MB in all\n",
                      static_cast<double>(summary.memory.arena_bytes) / kMegabyte,
                      static_cast<double>(summary.memory.activation_bytes) / kMegabyte);
  if (!summary.score.empty()) text += fmt::format("mIoU     {:.4f}\n", summary.score.MeanIou());
  if (!summary.why_not_scored.empty()) {
    text += fmt::format("mIoU     not scored: {}\n", summary.why_not_scored);
  }
  return text;
}

std::string ToJsonText(const Summary& summary, const RobotConfig& config,
                       const AnswerReader& reader) {
  RobotConfig copy = config;
  Json json = {{"model", config.model},
               {"source", config.source},
               {"frames", summary.frames},
               {"skipped", summary.skipped},
               {"interrupted", summary.interrupted},
               {"seconds", Seconds(summary.elapsed)},
               {"fps", FrameRate(summary)},
               {"latency_ms", Describe(summary.latency)},
               {"preprocess_ms", Describe(summary.preprocess)},
               {"compute_ms", Describe(summary.compute)},
               {"decode_ms", Describe(summary.decode)},
               {"memory",
                {{"arena_bytes", summary.memory.arena_bytes},
                 {"activation_bytes", summary.memory.activation_bytes},
                 {"persistent_bytes", summary.memory.persistent_bytes},
                 {"lower_bound_bytes", summary.memory.lower_bound_bytes},
                 {"scratch_bytes", summary.memory.scratch_bytes}}}};
  if (!summary.score.empty()) {
    json["miou"] = summary.score.MeanIou();
    json["class_iou"] = Describe(summary.score, reader);
  }
  json["configuration"] = Json::parse(WriteJson(copy.Fields()));
  json["machine"] = ToJson(DescribeMachine());
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cacheinf
