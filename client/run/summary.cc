#include "client/run/summary.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/base/json_fields.h"
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

void AddTimes(const NamedTimes& times, std::span<const NamedTime> list, Json& json) {
  for (const NamedTime& time : list) {
    const auto found = times.find(time.key);
    json[time.key] = Describe(found == times.end() ? LatencyHistogram() : found->second);
  }
}

void AddTo(NamedTimes& sums, const FrameTimes& times, std::span<const NamedTime> list) {
  for (const NamedTime& time : list) sums[time.key].Add(times.*time.time);
}

Json Describe(const SegmentationScore& score, const AnswerReader& reader) {
  Json classes = Json::object();
  const std::vector<double> iou = score.ClassIou();
  for (size_t c = 0; c < iou.size(); ++c) {
    if (iou[c] >= 0) classes[reader.ClassName(static_cast<int>(c))] = iou[c];
  }
  return classes;
}

struct Measure {
  std::string key;              // in JSON
  std::string label;            // for people
  std::optional<double> value;  // nothing without evidence
};

std::vector<Measure> MeasuresOf(const Agreement& agreement) {
  std::vector<Measure> measures;
  if (const auto* classes = agreement.classes()) {
    measures.push_back({"top_1", "top-1", classes->top_1()});
    measures.push_back({"top_3", "top-3", classes->top_3()});
  }
  if (const auto* map = agreement.map()) {
    measures.push_back({"miou", "mIoU", map->MeanIou()});
    measures.push_back({"pixels", "pixels", map->PixelShare()});
  }
  if (const auto* detections = agreement.detections()) {
    measures.push_back({"f1", "F1", detections->F1()});
  }
  if (const auto* keypoints = agreement.keypoints()) {
    measures.push_back({"pck", "PCK", keypoints->Pck()});
  }
  if (const auto* error = agreement.relative_error()) {
    measures.push_back({"relative_l2", "relative L2", error->mean()});
  }
  return measures;
}

std::string EvidenceText(int64_t with_evidence, int64_t all) {
  if (with_evidence == all) return "";
  return with_evidence == 0 ? ", none of which had anything to compare"
                            : fmt::format(", {} had anything to compare", with_evidence);
}

std::string ToText(const Agreement& agreement, const std::string& against) {
  std::string text = fmt::format("checked  {} frames against dense", agreement.frames());
  if (!against.empty()) text += " " + against;
  text += EvidenceText(agreement.frames_with_evidence(), agreement.frames());
  for (const Measure& measure : MeasuresOf(agreement)) {
    if (measure.value) text += fmt::format(", {} {:.4f}", measure.label, *measure.value);
  }
  const auto* error = agreement.relative_error();
  if (error != nullptr && error->frames_without() > 0) {
    text += fmt::format(", {} of them without a finite relative L2", error->frames_without());
  }
  return text + "\n";
}

Json Describe(const Agreement& agreement) {
  Json json = {{"frames", agreement.frames()},
               {"frames_with_evidence", agreement.frames_with_evidence()}};
  const AgreementMeasure main = agreement.measure();
  json["measure"] = main.name;
  if (main.value) json["value"] = *main.value;
  for (const Measure& measure : MeasuresOf(agreement)) {
    if (measure.value) json[measure.key] = *measure.value;
  }
  if (const auto* error = agreement.relative_error()) {
    json["largest_relative_l2"] = error->largest();
    json["frames_without_relative_l2"] = error->frames_without();
  }
  if (const auto* detections = agreement.detections()) {
    json["boxes"] = detections->answer_boxes();
    json["dense_boxes"] = detections->dense_boxes();
    json["matches"] = detections->matches();
  }
  return json;
}

std::string ToText(const QueueCount& queue) {
  std::string text;
  if (queue.dropped > 0) {
    text += fmt::format(", {} dropped", queue.dropped);
    if (queue.most_dropped > 0) text += fmt::format(" (at most {} at once)", queue.most_dropped);
  }
  if (queue.most_waiting > 1) text += fmt::format(", at most {} waiting", queue.most_waiting);
  return text;
}

std::string ToText(const WorkShares& work) {
  std::string text = fmt::format(
      "work     {:.1f} % of dense, {:.1f} % of the pixels active, {} frames whole, tracker p50 "
      "{:.2f} ms\n",
      100 * work.share(), 100 * work.active(), work.dense, work.tracking.PercentileMs(0.50));
  if (work.rested > work.slow) {
    text += fmt::format("rested   {} frames whole, as too much changed for reuse to pay\n",
                        work.rested - work.slow);
  }
  if (work.slow > 0) {
    text += fmt::format(
        "dense    {} frames whole, as reusing results took longer than computing everything\n",
        work.slow);
  }
  if (work.anchors > 0) text += fmt::format("anchors  {} made in idle time\n", work.anchors);
  for (const auto& [loss, count] : work.losses) {
    text += fmt::format("lost     {} times: {}\n", count, NameOf(loss));
  }
  return text;
}

Json Describe(const WorkShares& work) {
  Json losses = Json::object();
  for (const auto& [loss, count] : work.losses) losses[NameOf(loss)] = count;
  return {{"share", work.share()},
          {"active", work.active()},
          {"whole_frames", work.dense},
          {"rested_frames", work.rested},
          {"frames_rested_as_slow", work.slow},
          {"idle_anchors", work.anchors},
          {"tracker_ms", Describe(work.tracking)},
          {"lost", losses}};
}

std::string ToText(const MemoryReport& memory) {
  std::string text = fmt::format("memory   {:.1f} MB for activations of {:.1f} MB in all",
                                 static_cast<double>(memory.arena_bytes) / kMegabyte,
                                 static_cast<double>(memory.activation_bytes) / kMegabyte);
  if (memory.second_bytes > 0) {
    text += fmt::format(", {:.1f} MB of it a second place for maps that move with the camera",
                        static_cast<double>(memory.second_bytes) / kMegabyte);
  }
  return text + '\n';
}

std::string ToText(const GuardReport& guard) {
  std::string text = fmt::format("guard    {}", NameOf(guard.state.level));
  if (guard.state.level == SafetyLevel::kDense) {
    text += ", frames are computed whole, as reused results did not agree";
  }
  if (guard.state.is_in_doubt) text += ", in doubt";
  text += fmt::format(", {} samples", guard.samples);
  text += EvidenceText(guard.samples_with_evidence, guard.samples);
  text += fmt::format(", {} of them bad, {} changes of level", guard.bad_samples, guard.changes);
  if (guard.state.agreement) {
    text += fmt::format(", agreement {:.4f}{}", *guard.state.agreement,
                        guard.changes > 0 ? " since the last" : "");
  }
  text += '\n';
  for (const auto& [plan, samples] : guard.plans) {
    text += fmt::format(
        "{:<9}{}: agreement with dense answers {:.4f}{}, in {} samples, {} of them bad\n",
        samples.fails ? "warning" : "sampled", plan, samples.agreement,
        samples.fails ? fmt::format(", below the least of {}", guard.least) : "", samples.samples,
        samples.bad_samples);
  }
  return text;
}

Json Describe(const GuardReport& guard) {
  Json json = {{"level", NameOf(guard.state.level)}};
  if (guard.state.agreement) json["agreement"] = *guard.state.agreement;
  json["in_doubt"] = guard.state.is_in_doubt;
  json.update(WriteFields<SampleCounts>(guard));
  for (size_t i = 0; i < guard.frames.size(); ++i) {
    json["frames"][NameOf(static_cast<SafetyLevel>(i))] = guard.frames[i];
  }
  for (const auto& [plan, samples] : guard.plans) {
    json["plans"][plan] = WriteFields(samples);
  }
  json["sample_ms"] = Describe(guard.time);
  json["arena_bytes"] = guard.arena_bytes;
  return json;
}

using Bandwidth = ChannelStatistics::Bandwidth;

bool IsKnown(const std::optional<Bandwidth>& bandwidth) {
  return bandwidth && !bandwidth->is_guess();
}

std::string WithAge(const std::optional<Bandwidth>& bandwidth) {
  if (!IsKnown(bandwidth)) return ToText(bandwidth);
  return fmt::format("{} {:.1f} s ago", ToText(bandwidth), Seconds(bandwidth->age));
}

std::string KeyOf(const std::string& key, const Bandwidth& bandwidth) {
  return (bandwidth.basis == BandwidthBasis::kAtLeast ? "at_least_" : "") + key;
}

std::string ToText(const ServerShares& server) {
  std::string text = fmt::format("server   {} frames", server.frames);
  if (!server.missed.empty()) {
    text += fmt::format(", as no server was met at {}; the robot answered alone", server.missed);
    if (!server.why_alone.empty()) text += ": " + server.why_alone;
  }
  if (server.frames > 0) {
    const auto frames = static_cast<double>(server.frames);
    text += fmt::format(
        ", {:.1f} kB there and {:.1f} kB back each; p50 encoding {:.2f}, waiting {:.2f}, of which "
        "the server decodes {:.2f} and computes {:.2f} ms",
        static_cast<double>(server.sent_bytes) / frames / 1e3,
        static_cast<double>(server.received_bytes) / frames / 1e3,
        server.times.at("encode_ms").PercentileMs(0.50),
        server.times.at("wait_ms").PercentileMs(0.50),
        server.times.at("decode_ms").PercentileMs(0.50),
        server.times.at("compute_ms").PercentileMs(0.50));
  }
  if (server.link) {
    text += fmt::format("; with refreshes and all else {:.1f} MB there and {:.1f} MB back in all",
                        static_cast<double>(server.link->sent.wire) / 1e6,
                        static_cast<double>(server.link->received.wire) / 1e6);
  }
  text += '\n';
  if (server.missed.empty() && !server.why_alone.empty()) {
    text += fmt::format("         at the end the robot answered alone: {}\n", server.why_alone);
  }
  if (server.link && server.link->round_trip) {
    text += fmt::format("link     {}, back {}, round trip {:.2f} ms {:.1f} s ago\n",
                        WithAge(server.link->bandwidth), WithAge(server.link->bandwidth_back),
                        Milliseconds(server.link->round_trip->time),
                        Seconds(server.link->round_trip->age));
  }
  return text;
}

Json Describe(const ServerShares& server) {
  Json json = {
      {"frames", server.frames},
      {"sent_bytes", server.sent_bytes},
      {"received_bytes", server.received_bytes},
      {"work", server.frames > 0 ? server.work_sum / static_cast<double>(server.frames) : 0}};
  AddTimes(server.times, kServerTimes, json);
  if (!server.why_alone.empty()) json["why_alone"] = server.why_alone;
  if (!server.link) return json;
  json["link"] = {{"sent_wire_bytes", server.link->sent.wire},
                  {"received_wire_bytes", server.link->received.wire}};
  const auto add = [&](const std::optional<Bandwidth>& bandwidth, const std::string& back) {
    if (!IsKnown(bandwidth)) return;
    json["link"][KeyOf("bits_per_second" + back, *bandwidth)] = bandwidth->bits_per_second;
    json["link"]["bandwidth" + back + "_age_ms"] = Milliseconds(bandwidth->age);
  };
  add(server.link->bandwidth, "");
  add(server.link->bandwidth_back, "_back");
  if (server.link->round_trip) {
    json["link"]["round_trip_ms"] = Milliseconds(server.link->round_trip->time);
    json["link"]["round_trip_age_ms"] = Milliseconds(server.link->round_trip->age);
  }
  return json;
}

}  // namespace

void ServerShares::Add(const ServerPart& part, const FrameTimes& frame) {
  ++frames;
  sent_bytes += part.sent_bytes;
  received_bytes += part.received_bytes;
  work_sum += part.work.share;
  AddTo(times, frame, kServerTimes);
}

void Summary::Add(const Answer& answer) {
  ++frames;
  if (answer.computed_from == answer.frame) ++fresh;
  moved += answer.is_moved;
  latency.Add(answer.latency());
  late += answer.is_late() && !answer.is_moved;
  const bool is_first = moved_frames.erase(answer.frame) == 0;
  none_in_time += is_first && answer.is_late();
  AddTo(times, answer.times, kRobotTimes);
  if (answer.work) {
    work.Add(*answer.work);
    work.tracking.Add(answer.times.tracking);
  }
  if (answer.server) server->Add(*answer.server, answer.times);
  if (!answer.plan.empty()) ++plans[answer.plan];
  if (answer.predicted) {
    const auto taken = answer.latency() - answer.times.waited;
    prediction_error.Add(std::chrono::abs(taken - *answer.predicted));
  }
}

void Summary::AddMoved(const Answer& answer) {
  ++moved;
  ++early;
  none_in_time += answer.is_late();
  moved_frames.insert(answer.frame);
}

void Summary::AddOvertaken(const Answer& answer) {
  moved_frames.erase(answer.frame);
  ++frames;
  ++overtaken;
  latency.Add(answer.latency());
}

void Summary::Add(const Robot::Refreshed& refreshed) {
  refresh.Add(refreshed.took);
  work.AddRefresh(refreshed.work);
}

void Summary::AddUnwritten(const std::string& what) {
  if (!unwritten.empty() && !what.empty()) unwritten += "; ";
  unwritten += what;
}

void WorkShares::Add(const FrameWork& work) {
  ++frames;
  dense += work.is_dense;
  rested += work.rest != Rest::kNone;
  slow += work.rest == Rest::kTooSlow;
  active_sum += work.active;
  share_sum += work.share;
  if (work.loss != Loss::kNone) ++losses[work.loss];
}

std::string ProgressLine(const Summary& so_far, int64_t total_frames) {
  const std::string total = total_frames > 0 ? fmt::format("/{}", total_frames) : "";
  const LatencyHistogram& latency = so_far.latency;
  const std::string line =
      fmt::format("frame {}{}  {:.1f} fps  p50 {:.1f} ms  p95 {:.1f} ms  p99 {:.1f} ms",
                  so_far.frames, total, FrameRate(so_far), latency.PercentileMs(0.50),
                  latency.PercentileMs(0.95), latency.PercentileMs(0.99));
  if (so_far.work.frames == 0) return line;
  return fmt::format("{}  reuse {:.0f} %  work {:.0f} %", line, 100 * (1 - so_far.work.active()),
                     100 * so_far.work.share());
}

std::string ToText(const Summary& summary) {
  const LatencyHistogram& latency = summary.latency;
  std::string text = fmt::format("frames   {} answered, {} skipped{}{}, {:.1f} s, {:.1f} fps\n",
                                 summary.frames, summary.skipped, ToText(summary.queue),
                                 summary.interrupted ? ", interrupted" : "",
                                 Seconds(summary.elapsed), FrameRate(summary));
  text += fmt::format("latency  p50 {:.2f} ms, p95 {:.2f} ms, p99 {:.2f} ms\n",
                      latency.PercentileMs(0.50), latency.PercentileMs(0.95),
                      latency.PercentileMs(0.99));
  if (summary.deadline_ms > 0) {
    text += fmt::format("late     {} computed answers took more than {} ms", summary.late,
                        summary.deadline_ms);
    if (summary.early > 0) {
      text += fmt::format("; {} frames had an earlier answer first, moved with the scene",
                          summary.early);
    }
    if (summary.overtaken > 0) text += fmt::format(", {} of them that alone", summary.overtaken);
    if (summary.none_in_time > 0) {
      text += fmt::format("; {} frames had no answer in time", summary.none_in_time);
    }
    text += '\n';
  }
  if (summary.fresh < summary.frames) {
    text += fmt::format("mode     {}: own frame computed for {} of {} answers\n", summary.mode,
                        summary.fresh, summary.frames);
  }
  if (summary.work.frames > 0) text += ToText(summary.work);
  if (summary.server) text += ToText(*summary.server);
  for (const auto& [plan, frames] : summary.plans) {
    text += fmt::format("plan     {} in {} frames\n", plan, frames);
  }
  if (!summary.why_plan.empty()) text += fmt::format("why      {}\n", summary.why_plan);
  if (summary.prediction_error.count() > 0) {
    text += fmt::format(
        "error    {:.1f} ms in the median, {:.1f} ms at most in 95 % of predictions\n",
        summary.prediction_error.PercentileMs(0.50), summary.prediction_error.PercentileMs(0.95));
  }
  if (!summary.emulation.empty()) text += fmt::format("emulated {}\n", summary.emulation);
  if (summary.guard) text += ToText(*summary.guard);
  if (summary.refresh.count() > 0) {
    text += fmt::format("refresh  p50 {:.2f} ms, p95 {:.2f} ms after an answer is out\n",
                        summary.refresh.PercentileMs(0.50), summary.refresh.PercentileMs(0.95));
  }
  text += ToText(summary.memory);
  if (!summary.score.empty()) text += fmt::format("mIoU     {:.4f}\n", summary.score.MeanIou());
  if (!summary.why_not_scored.empty()) {
    text += fmt::format("mIoU     not scored: {}\n", summary.why_not_scored);
  }
  if (summary.agreement) text += ToText(*summary.agreement, summary.against);
  return text;
}

std::string ToJsonText(const Summary& summary, const RobotConfig& config,
                       const AnswerReader& reader) {
  RobotConfig copy = config;
  Json json = {{"model", config.model},
               {"source", config.source},
               {"mode", summary.mode},
               {"frames", summary.frames},
               {"fresh", summary.fresh},
               {"late", summary.late},
               {"moved", summary.moved},
               {"early", summary.early},
               {"none_in_time", summary.none_in_time},
               {"overtaken", summary.overtaken},
               {"skipped", summary.skipped},
               {"dropped", summary.queue.dropped},
               {"most_dropped_at_once", summary.queue.most_dropped},
               {"most_waiting", summary.queue.most_waiting},
               {"interrupted", summary.interrupted},
               {"seconds", Seconds(summary.elapsed)},
               {"fps", FrameRate(summary)},
               {"latency_ms", Describe(summary.latency)}};
  AddTimes(summary.times, kRobotTimes, json);
  json["refresh_ms"] = Describe(summary.refresh);
  json["memory"] = WriteFields(summary.memory);
  if (!summary.score.empty()) {
    json["miou"] = summary.score.MeanIou();
    json["class_iou"] = Describe(summary.score, reader);
  }
  if (summary.work.frames > 0) json["work"] = Describe(summary.work);
  if (summary.guard) json["guard"] = Describe(*summary.guard);
  if (summary.server) json["server"] = Describe(*summary.server);
  if (!summary.plans.empty()) {
    json["plans"] = summary.plans;
    json["why_plan"] = summary.why_plan;
    json["prediction_error_ms"] = Describe(summary.prediction_error);
  }
  if (!summary.emulation.empty()) json["emulated"] = summary.emulation;
  if (!summary.unwritten.empty()) json["unwritten"] = summary.unwritten;
  if (summary.agreement) {
    json["agreement"] = Describe(*summary.agreement);
    Json& of_older = json["agreement"]["of_older_answers"] = Json::array();
    for (const auto& value : summary.agreement_of_older)
      of_older.push_back(value ? Json(*value) : Json());
  }
  json["configuration"] = Json::parse(WriteJson(copy.Fields()));
  json["machine"] = ToJson(DescribeMachine());
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cacheinf
