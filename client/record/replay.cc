#include "client/record/replay.h"

#include <fmt/core.h>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "client/record/recording.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "client/scheme_choice.h"
#include "common/base/build_id.h"
#include "common/base/error.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

// A robot that is told what the recorded one was told.
class Rerun {
 public:
  Rerun(std::shared_ptr<const Graph> graph, const RobotConfig& config, const Clock& clock)
      : configured_{config.cache, config.tracker.change},
        robot_(std::move(graph), MakeBackend(config), config, clock) {}

  // What is not as recorded; empty if nothing.
  std::string Run(const Frame& frame, const FrameRecord& record) {
    if (record.level != level_) {
      level_ = record.level;
      const CacheSettings settings = SettingsAt(level_, configured_);
      robot_.UseCacheSettings(settings.cache, settings.change);
    }
    if (record.is_fresh) robot_.Forget();
    const std::string failure = ErrorOf([&] { robot_.Process(frame); });
    if (!failure.empty() || !record.has_outputs()) {
      return Compare(failure, record, FrameStep::kAnswer);
    }
    const std::optional<ConstMaskView> active = robot_.active();
    const bool has_other_mask = active && record.active && HashOf(*active) != *record.active;
    const bool has_other_outputs = HashOfOutputs(robot_.executor()) != record.outputs;
    const std::string refresh_failure = ErrorOf([&] { robot_.Refresh(frame); });
    if (has_other_mask) return "other pixels count as changed";
    if (has_other_outputs) return "the outputs have other bits";
    return Compare(refresh_failure, record, FrameStep::kRefresh);
  }

 private:
  template <typename Step>
  static std::string ErrorOf(const Step& step) {
    try {
      step();
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return "";
  }

  // Between what a step threw, if anything, and what is recorded of it.
  static std::string Compare(const std::string& error, const FrameRecord& record, FrameStep step) {
    const std::string recorded = record.failed_step == step ? record.error : "";
    if (error == recorded) return "";
    if (error.empty()) return fmt::format("the recorded error did not happen: {}", recorded);
    return fmt::format("an error that was not recorded: {}", error);
  }

  CacheSettings configured_;
  Robot robot_;
  SafetyLevel level_ = SafetyLevel::kNormal;
};

// The others are of what stands around a robot.
bool IsReplayed(FrameStep step) {
  return step == FrameStep::kAnswer || step == FrameStep::kRefresh;
}

// With the schemes that its layers had: chosen anew they might be others, with other bits.
std::shared_ptr<const Graph> LoadRecordedGraph(const Recording& recording, bool has_tensors) {
  const RobotConfig& config = recording.config;
  if (HashOfFile(config.model) != recording.model_hash) {
    throw InputError(fmt::format("{}: not the model of the recording", config.model));
  }
  Graph graph = LoadGraph(config, has_tensors);
  try {
    SetNamedSchemes(recording.schemes, graph);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("the recording's schemes do not fit {}: {}", config.model, error.what()));
  }
  return std::make_shared<const Graph>(std::move(graph));
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
  text += fmt::format("replayed {} frames, {} of them not as recorded, the first one is {}\n",
                      report.frames, report.differing, report.first_difference);
  if (report.is_other_build) text += "this is another build than the one that recorded\n";
  return text;
}

}  // namespace cacheinf
