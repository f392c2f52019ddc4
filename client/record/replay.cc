#include "client/record/replay.h"

#include <fmt/core.h>

#include <exception>
#include <optional>
#include <utility>

#include "client/record/decision_text.h"
#include "client/record/recording.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/base/build_id.h"
#include "common/base/error.h"
#include "common/model/graph/pack.h"
#include "profiler/scheme_choice.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// Says what was decided differently; empty if nothing. Ignores where numbers begin.
std::string Compare(FrameDecision made, const FrameDecision& recorded,
                    const FrameDecision& first_made, const FrameDecision& first_recorded) {
  const int64_t later = first_recorded.number - first_made.number;
  made.number += later;
  made.base += made.base < 0 ? 0 : later;
  made.settings += first_recorded.settings - first_made.settings;
  if (!AreEqual(made.changed, recorded.changed)) return "other pixels count as changed";
  return ToText(made) == ToText(recorded) ? "" : "something else is decided";
}

// A robot that is told what the recorded one was told.
class Rerun {
 public:
  Rerun(Graph graph, const RobotConfig& config, const Clock& clock)
      : robot_(Compile(std::move(graph), config), config.WithoutServer(), clock) {}

  // Returns what differs from the recording; empty if nothing.
  std::string Run(const Frame& frame, const FrameRecord& record) {
    const std::string failure = ErrorOf([&] { robot_.Process(frame, record.verdict); });
    if (!failure.empty() || !record.has_outputs()) {
      return Compare(failure, record, FrameStep::kAnswer);
    }
    const std::string other_decision = CompareDecision(record.decision);
    const bool has_other_outputs = HashOfOutputs(robot_.outputs()) != record.outputs;
    std::string other_refresh;
    std::string refresh_failure;
    if (record.refresh || record.failed_step == FrameStep::kRefresh) {
      refresh_failure = ErrorOf([&] {
        const bool has_refreshed = robot_.Refresh(frame, {false, record.verdict.level}).has_value();
        if (!record.refresh) return;
        other_refresh = has_refreshed ? CompareDecision(record.refresh) : "nothing is refreshed";
      });
    }
    if (!other_decision.empty()) return other_decision;
    if (has_other_outputs) return "the outputs have other bits";
    if (!other_refresh.empty()) return other_refresh;
    return Compare(refresh_failure, record, FrameStep::kRefresh);
  }

 private:
  static std::string ErrorOf(const auto& step) {
    try {
      step();
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return "";
  }

  // Compares what a step threw, if anything, with what was recorded.
  static std::string Compare(const std::string& error, const FrameRecord& record, FrameStep step) {
    const std::string recorded = record.failed_step == step ? record.error : "";
    if (error == recorded) return "";
    if (error.empty()) return fmt::format("the recorded error did not happen: {}", recorded);
    return fmt::format("an error that was not recorded: {}", error);
  }

  std::string CompareDecision(const std::optional<FrameDecision>& recorded) {
    const FrameDecision* const made = robot_.decision();
    if (made == nullptr || !recorded) {
      return made == nullptr && !recorded ? "" : "something else is decided";
    }
    if (!first_made_) {
      first_made_ = *made;
      first_recorded_ = *recorded;
    }
    return cacheinf::Compare(*made, *recorded, *first_made_, *first_recorded_);
  }

  Robot robot_;
  std::optional<FrameDecision> first_made_;
  std::optional<FrameDecision> first_recorded_;
};

// The other steps are not the robot's.
bool IsReplayed(FrameStep step) {
  return step == FrameStep::kAnswer || step == FrameStep::kRefresh;
}

// Gives layers their recorded schemes: a new choice might differ, and so would the bits.
Graph LoadRecordedGraph(const Recording& recording, bool has_tensors) {
  const RobotConfig& config = recording.config;
  Graph graph = LoadGraph(config, has_tensors);
  if (ModelChecksum(graph) != recording.model_hash) {
    throw InputError(fmt::format(
        "{}: not the model of the recording{}", config.model,
        recording.build == BuildId() ? "" : ", or not as the build that recorded reads it"));
  }
  try {
    SetNamedSchemes(recording.schemes, graph);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("the recording's schemes do not fit {}: {}", config.model, error.what()));
  }
  return graph;
}

}  // namespace

ReplayReport Replay(const fs::path& folder, const Clock& clock) {
  const Recording recording = ReadRecording(folder);
  ReplayReport report;
  report.reason = recording.reason;
  report.detail = recording.detail;
  report.is_other_build = recording.build != BuildId();
  std::optional<Rerun> rerun;
  for (const auto& recorded : recording.frames) {
    const FrameRecord& record = recorded->record;
    const Frame frame = ReadRecordedFrame(folder, record);
    if (!rerun) {
      rerun.emplace(LoadRecordedGraph(recording, frame.picture.empty()), recording.config, clock);
    }
    const std::string difference = rerun->Run(frame, record);
    if (!record.error.empty() && !IsReplayed(record.failed_step)) {
      report.not_replayed =
          fmt::format("what failed at frame {} is not replayed: step {}, after its answer",
                      record.frame, NameOf(record.failed_step));
    }
    ++report.frames;
    if (difference.empty()) continue;
    if (report.differing++ == 0) {
      report.first_difference = fmt::format("frame {}: {}", record.frame, difference);
    }
  }
  return report;
}

std::string ToText(const ReplayReport& report) {
  std::string text = fmt::format("recorded {}: {}\n", report.reason, report.detail);
  if (!report.not_replayed.empty()) text += report.not_replayed + "\n";
  if (report.agrees()) {
    return text +
           fmt::format("replayed {} frames, all of them bit for bit as recorded\n", report.frames);
  }
  text += fmt::format("replayed {} frames, {} of them not as recorded; the first is {}\n",
                      report.frames, report.differing, report.first_difference);
  if (report.is_other_build) text += "this is not the build that recorded\n";
  return text;
}

}  // namespace cacheinf
