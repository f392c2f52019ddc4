#include "server/schedule_maker.h"

#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/config/configured_model.h"
#include "common/plan/schedule.h"
#include "profiler/obtain_profile.h"
#include "scheduler/schedule_solver.h"

namespace cacheinf {
namespace {

constexpr double kSecondsToMeasure = 20;
constexpr std::chrono::milliseconds kLookForStop(20);
constexpr double kMostSecondsToSolve = 60;
// Robots look at more plans than the nearest, so fewer steps do than in the tool.
constexpr size_t kBandwidths = 8;
constexpr size_t kShares = 6;

// Returns the schedule solved earlier from the same profiles, if any.
std::optional<std::string> KnownSchedule(const std::filesystem::path& file, const Profile& robot,
                                         const Profile& server) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    const Schedule schedule = LoadSchedule(file);
    CheckIsOf(schedule, file.string(), robot, server);
    return ToJsonText(schedule);
  } catch (const InputError& error) {
    LogWarning(error.what());
    return std::nullopt;
  }
}

}  // namespace

ScheduleMaker::ScheduleMaker(std::filesystem::path folder, RobotConfig::Backend backend,
                             int threads, double slowdown, const Clock& clock)
    : folder_(std::move(folder)),
      backend_(backend),
      threads_(threads),
      slowdown_(slowdown),
      clock_(clock) {}

std::string ScheduleMaker::Make(const std::shared_ptr<const CompiledModel>& model,
                                const message::Settings& settings, const std::string& robot_profile,
                                const std::atomic<bool>& stop) {
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock_for(kLookForStop)) {
    if (stop) throw InputError("the robot has left");
  }
  const Profile robot = ParseProfile(robot_profile, "the robot's profile");
  const Profile server = SlowedDown(ServerProfile(model, settings, robot, stop), slowdown_);
  const std::filesystem::path file =
      folder_ /
      fmt::format("{:016x}-{:016x}.schedule.json", FingerprintOf(robot), FingerprintOf(server));
  if (const auto known = KnownSchedule(file, robot, server)) return *known;
  LogInfo(fmt::format("solving a schedule for model '{}'", robot.model));
  Schedule schedule = MakeSchedule(robot, server, kBandwidths, kShares);
  SolverOptions options;
  options.time_limit_s = kMostSecondsToSolve;
  options.stop = &stop;
  if (!SolveSchedule(robot, server, options, schedule)) {
    throw InputError(stop ? "the robot has left" : "solving takes too long");
  }
  std::string text = ToJsonText(schedule);
  WriteFile(file, text);
  return text;
}

Profile ScheduleMaker::ServerProfile(const std::shared_ptr<const CompiledModel>& model,
                                     const message::Settings& settings, const Profile& robot,
                                     const std::atomic<bool>& stop) const {
  ProfileRequest request;
  request.side = Side::kServer;
  request.graph = {model, &model->graph()};
  request.make_backend = [this] {
    CpuBackendOptions cpu;
    cpu.threads = threads_;
    return MakeBackend(backend_, cpu);
  };
  request.backend = NameOf(backend_);
  request.threads = threads_;
  request.cache = settings.cache;
  request.tracker.kind = settings.tracker;
  request.tracker.change.threshold = settings.change_threshold;
  request.slice_codec = settings.slice_codec;
  request.most_scores = settings.most_scores;
  request.codecs.clear();
  for (const ProfiledCodec& codec : robot.codecs) request.codecs.push_back(codec.codec);
  request.seconds = kSecondsToMeasure;
  bool is_announced = false;
  const auto on_progress = [&](double, double left_s) {
    if (!std::exchange(is_announced, true)) {
      LogInfo(
          fmt::format("measuring model '{}' for a schedule, about {:.0f} s", robot.model, left_s));
    }
    return !stop;
  };
  return ObtainProfile(request, folder_ / (NameOf(request) + ".profile.json"), false, clock_,
                       on_progress)
      .profile;
}

}  // namespace cacheinf
