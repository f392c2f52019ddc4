#include "tests/bench/planning.h"

#include <sched.h>

#include <utility>

#include "client/robot_setup.h"
#include "common/base/cache_folder.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/pair/shared_settings.h"
#include "scheduler/planner.h"
#include "scheduler/schedule_solver.h"

namespace cacheinf {
namespace {

constexpr double kDelayMs = 3;
constexpr size_t kBandwidths = 5;  // 0, 1, 6.7, 45, 300
constexpr size_t kShares = 3;
constexpr double kMostSecondsToSolve = 20;

// Each slowdown of the robot has its own schedule, from the same measurements.
Schedule Solved(const ModelProfiles& profiles, double slowdown, const std::vector<int>& cores) {
  const OnCores all(cores);
  const Profile robot = SlowedDown(profiles.robot, slowdown);
  Schedule schedule = MakeSchedule(robot, profiles.server, kBandwidths, kShares);
  SolverOptions options;
  options.threads = static_cast<int>(cores.size());
  options.time_limit_s = kMostSecondsToSolve;
  if (!SolveSchedule(robot, profiles.server, options, schedule)) {
    throw InputError("a schedule takes too long to solve");
  }
  return schedule;
}

}  // namespace

struct OnCores::Before {
  cpu_set_t cores;
};

OnCores::OnCores(const std::vector<int>& cores) : before_(std::make_unique<Before>()) {
  sched_getaffinity(0, sizeof(before_->cores), &before_->cores);
  cpu_set_t now;
  CPU_ZERO(&now);
  for (const int core : cores) CPU_SET(core, &now);
  sched_setaffinity(0, sizeof(now), &now);
}

OnCores::~OnCores() { sched_setaffinity(0, sizeof(before_->cores), &before_->cores); }

ObtainedProfile ObtainSide(const std::shared_ptr<const CompiledModel>& model,
                           const RobotConfig& config, const ProfilesRequest& wanted, Side side) {
  const OnCores one({side == Side::kRobot ? wanted.robot_core : wanted.server_core});
  const SteadyClock clock;
  ProfileRequest request;
  request.side = side;
  request.graph = {model, &model->graph()};
  request.make_backend = [&config] { return MakeBackend(config); };
  request.backend = NameOf(config.backend);
  request.threads = config.threads;
  request.settings = SharedSettingsOf(config, model->graph());
  request.clips = wanted.clips;
  request.frames = wanted.frames;
  request.seconds = wanted.seconds;
  if (wanted.judges) request.decoder = config.model_config.decoder;
  request.read_answer = AnswerReading(model->graph(), config);
  std::string clips;
  for (const std::string& clip : wanted.clips) {
    clips += "-" + std::filesystem::path(clip).stem().string();
  }
  const std::filesystem::path file = wanted.folder / (NameOf(request) + clips + ".profile.json");
  ObtainedProfile obtained =
      ObtainProfile(request, file, false, clock, [](double, double) { return true; });
  if (!obtained.is_in_file) WriteCacheFile(file, ToJsonText(obtained.profile));
  return obtained;
}

ModelProfiles ObtainProfiles(const std::shared_ptr<const CompiledModel>& model,
                             const RobotConfig& config, const ProfilesRequest& wanted) {
  const SteadyClock clock;
  ModelProfiles profiles;
  const auto obtain = [&](Side side) {
    const auto begin = clock.Now();
    ObtainedProfile obtained = ObtainSide(model, config, wanted, side);
    if (!obtained.was_known) profiles.measured_s += Milliseconds(clock.Now() - begin) / 1000;
    return std::move(obtained.profile);
  };
  profiles.robot = obtain(Side::kRobot);
  profiles.server = obtain(Side::kServer);
  return profiles;
}

Planning::Planning(const ModelProfiles& profiles, double slowdown, const std::vector<int>& cores,
                   std::filesystem::path file)
    : Planning(std::make_shared<const Schedule>(Solved(profiles, slowdown, cores)),
               std::move(file)) {}

Planning::Planning(std::shared_ptr<const Schedule> schedule, std::filesystem::path file)
    : schedule_(std::move(schedule)),
      model_(schedule_->robot, schedule_->server, Situation()),
      file_(std::move(file)) {
  WriteFile(file_, ToJsonText(*schedule_));
}

std::shared_ptr<const Planning> Planning::Judged(const Profile& by,
                                                 std::filesystem::path file) const {
  auto schedule = std::make_shared<Schedule>(*schedule_);
  schedule->robot.cache_judged = by.cache_judged;
  for (size_t i = 0; i < by.codecs.size(); ++i) {
    schedule->robot.codecs[i].judged = by.codecs[i].judged;
  }
  return std::shared_ptr<const Planning>(new Planning(std::move(schedule), std::move(file)));
}

Situation Planning::SituationOf(double mbit, double work) {
  Situation situation;
  situation.mbit_up = situation.mbit_down = mbit;
  situation.round_trip_ms = 2 * kDelayMs;
  situation.robot_work = situation.server_work = work;
  return situation;
}

Plan Planning::Solve(const std::string& planner, const Situation& situation) const {
  return MakePlanner(planner)->Solve(model_.At(situation), SolveOptions());
}

Prediction Planning::Predict(const Plan& plan, const Situation& situation) const {
  return model_.At(situation).Predict(plan);
}

std::unique_ptr<PlanChooser> Planning::MakeChooser(const PlanChooser::Goal& goal) const {
  auto chooser = std::make_unique<PlanChooser>(schedule_->robot, schedule_->server,
                                               [schedule = schedule_](const Situation& situation) {
                                                 return schedule->Lookup(situation).plans;
                                               });
  chooser->Pursue(goal);
  return chooser;
}

}  // namespace cacheinf
