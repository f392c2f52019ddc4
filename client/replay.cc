#include "client/replay.h"

#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "client/recording.h"
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
    std::string error;
    try {
      robot_.Process(frame);
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    if (error != record.error) return Differing(error, record.error);
    if (!error.empty()) return "";
    const std::optional<ConstMaskView> active = robot_.active();
    const bool has_other_mask = active && record.active && HashOf(*active) != *record.active;
    const bool has_other_outputs = HashOfOutputs(robot_.executor()) != record.outputs;
    robot_.Refresh(frame);
    if (has_other_mask) return "other pixels count as changed";
    return has_other_outputs ? "the outputs have other bits" : "";
  }

 private:
  static std::string Differing(const std::string& error, const std::string& recorded) {
    if (error.empty()) return fmt::format("the recorded error did not happen: {}", recorded);
    return fmt::format("an error that was not recorded: {}", error);
  }

  CacheSettings configured_;
  Robot robot_;
  SafetyLevel level_ = SafetyLevel::kNormal;
};

std::shared_ptr<const Graph> LoadRecordedGraph(const Recording& recording, bool has_tensors,
                                               const Clock& clock) {
  const RobotConfig& config = recording.config;
  if (HashOfFile(config.model) != recording.model_hash) {
    throw InputError(fmt::format("{}: not the model of the recording", config.model));
  }
  Graph graph = LoadGraph(config, has_tensors);
  if (config.backend == RobotConfig::Backend::kCpu) {
    const std::atomic<bool> stop = false;
    ChooseSchemes(config.scheme, ThreadsToUse(config), clock, stop, graph);
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
      rerun.emplace(LoadRecordedGraph(recording, frame.picture.empty(), clock), recording.config,
                    clock);
    }
    const std::string difference = rerun->Run(frame, record);
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
