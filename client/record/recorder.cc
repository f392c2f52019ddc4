#include "client/record/recorder.h"

#include <fmt/core.h>

#include <system_error>
#include <utility>

#include "common/base/build_id.h"
#include "common/base/clock.h"
#include "common/base/log.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMegabyte = 1000000;

// Returns a configuration that a replay can use anywhere: with absolute paths, and without files to
// write, except that dumped outputs stay outputs of the graph.
RobotConfig ForReplay(RobotConfig config) {
  OutputConfig output;
  output.dump_outputs = std::move(config.output.dump_outputs);
  config.output = std::move(output);
  config.record = {};
  config.check = 0;
  config.against.clear();
  config.frames = 0;
  config.ChangePaths(
      [](const std::string& path) { return fs::absolute(path).lexically_normal().string(); });
  return config;
}

size_t BytesOf(const std::optional<FrameDecision>& decision) {
  return decision ? 2 * decision->changed.view().word_count() * sizeof(uint64_t) : 0;
}

size_t BytesOf(const RecordedFrame& kept) {
  const Frame& frame = kept.frame;
  const auto picture = static_cast<size_t>(frame.picture.row_stride * frame.picture.height);
  const auto tensor = static_cast<size_t>(frame.tensor.count()) * sizeof(float);
  return sizeof(kept) + picture + tensor + BytesOf(kept.record.decision) +
         BytesOf(kept.record.refresh) + kept.record.answer.size();
}

}  // namespace

Recorder::Recorder(const RobotConfig& config, const Graph& graph)
    : config_(ForReplay(config)),
      schemes_(SchemesOf(graph)),
      span_(static_cast<int64_t>(config.record.seconds * 1e9)),
      span_bytes_(static_cast<size_t>(config.record.megabytes) * kMegabyte / 2),
      deadline_ms_(config.deadline_ms),
      left_(config.record.most),
      folder_(config.record.folder) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) Fail(fmt::format("{}: cannot be made: {}", folder_.string(), error.message()));
}

Recorder::~Recorder() {
  if (writer_.joinable()) writer_.join();
}

Verdict Recorder::Before(const Frame& frame, const Verdict& verdict) {
  begun_ = frame.index;
  verdict_ = verdict;
  if (is_done()) {
    earlier_.clear();
    current_.clear();
    return verdict;
  }
  waits_for_one_made_to_forget_ = was_made_to_forget_;
  if (IsSpanOver(frame)) {
    earlier_ = std::exchange(current_, {});
    current_bytes_ = 0;
    recorded_.clear();
  }
  // A frame that could not be answered does not begin a span.
  was_made_to_forget_ = current_.empty() && !earlier_.empty();
  verdict_.forget = verdict.forget || was_made_to_forget_;
  return verdict_;
}

void Recorder::Keep(const Frame& frame, const Answer& answer, const Robot& robot) {
  if (is_done()) return;
  RecordedFrame kept;
  kept.frame = frame;
  kept.record.latency_ms = Milliseconds(answer.latency());
  kept.record.outputs = HashOfOutputs(robot.outputs());
  kept.record.answer = ToJsonLine(answer, robot.reader());
  if (const FrameDecision* const decision = robot.decision()) kept.record.decision = *decision;
  Append(std::move(kept));
  if (IsLate(answer)) {
    Record("deadline", fmt::format("an answer took {:.2f} ms, more than {:.2f} ms",
                                   Milliseconds(answer.latency()), deadline_ms_));
  }
}

// Ignores lateness that the recorder caused, also that of the frame that waited for the late one.
bool Recorder::IsLate(const Answer& answer) const {
  if (deadline_ms_ <= 0 || was_made_to_forget_) return false;
  const auto waited =
      waits_for_one_made_to_forget_ ? answer.times.waited : std::chrono::nanoseconds(0);
  return Milliseconds(answer.latency() - waited) > deadline_ms_;
}

void Recorder::KeepRefresh(const FrameDecision& refresh) {
  if (is_done() || current_.empty()) return;
  RecordedFrame kept = TakeLast();
  kept.record.refresh = refresh;
  Append(std::move(kept));
}

void Recorder::KeepFailure(const Frame& frame, FrameStep step, const std::string& error) {
  if (is_done()) return;
  RecordedFrame kept;
  kept.frame = frame;
  if (IsLast(frame)) kept = TakeLast();
  kept.record.error = error;
  kept.record.failed_step = step;
  Append(std::move(kept));
  if (writer_.joinable()) writer_.join();
  if (is_done()) return;
  --left_;
  Write(WhatIsKept("error", error));
}

// A copy: the writer may be using the kept one.
RecordedFrame Recorder::TakeLast() {
  RecordedFrame last = *current_.back();
  current_.pop_back();
  current_bytes_ -= BytesOf(last);
  return last;
}

bool Recorder::IsLast(const Frame& frame) const {
  return !current_.empty() && current_.back()->record.frame == frame.index;
}

void Recorder::Record(const std::string& reason, const std::string& detail) {
  if (recorded_.contains(reason) || is_writing_ || is_done()) return;
  if (writer_.joinable()) writer_.join();
  recorded_.insert(reason);
  --left_;
  is_writing_ = true;
  try {
    writer_ = std::thread([this, recording = WhatIsKept(reason, detail)] {
      Write(recording);
      is_writing_ = false;
    });
  } catch (const std::system_error& error) {
    Fail(error.what());
  }
}

// The memory limit decides if frames have no time, or time runs backwards.
bool Recorder::IsSpanOver(const Frame& frame) const {
  if (current_.empty()) return false;
  if (current_bytes_ >= span_bytes_) return true;
  return frame.stamp - current_.front()->frame.stamp >= span_;
}

void Recorder::Append(RecordedFrame frame) {
  FrameRecord& record = frame.record;
  record.frame = frame.frame.index;
  record.stamp = frame.frame.stamp;
  record.name = frame.frame.name;
  record.verdict = verdict_;
  frame.frame.truth = {};
  current_bytes_ += BytesOf(frame);
  current_.push_back(std::make_shared<const RecordedFrame>(std::move(frame)));
}

Recording Recorder::WhatIsKept(const std::string& reason, const std::string& detail) const {
  Recording recording;
  recording.reason = reason;
  recording.detail = detail;
  recording.config = config_;
  recording.build = BuildId();
  recording.schemes = schemes_;
  recording.frames = earlier_;
  recording.frames.insert(recording.frames.end(), current_.begin(), current_.end());
  return recording;
}

void Recorder::Write(Recording recording) {
  try {
    recording.model_hash = HashOfFile(recording.config.model);
    const fs::path name = FreeName(recording);
    WriteRecording(recording, name);
    LogWarning(fmt::format("recorded {} frames in {}: {}", recording.frames.size(), name.string(),
                           recording.detail));
  } catch (const std::exception& error) {
    Fail(error.what());
  }
}

std::string Recorder::Finish() {
  if (writer_.joinable()) writer_.join();
  return failure_;
}

void Recorder::Fail(const std::string& error) {
  failure_ = fmt::format("recording stopped: {}", error);
  has_failed_ = true;
  LogError(failure_);
}

// "guard-000123", or "guard-000123-2".
fs::path Recorder::FreeName(const Recording& recording) const {
  const std::string name =
      fmt::format("{}-{:06}", recording.reason, recording.frames.back()->record.frame);
  fs::path path = folder_ / name;
  for (int i = 2; fs::exists(path); ++i) path = folder_ / fmt::format("{}-{}", name, i);
  return path;
}

}  // namespace cacheinf
