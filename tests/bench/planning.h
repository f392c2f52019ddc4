#ifndef CACHEINF_TESTS_BENCH_PLANNING_H_
#define CACHEINF_TESTS_BENCH_PLANNING_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "common/plan/plan_chooser.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"
#include "profiler/obtain_profile.h"

// The planners' plans for the models in benches.

namespace cacheinf {

// While it lives, the calling thread and threads that it starts run on these cores.
class OnCores {
 public:
  explicit OnCores(const std::vector<int>& cores);
  ~OnCores();
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

// The profiles of a robot and a server with one thread each, measured one after the other.
struct ModelProfiles {
  Profile robot;
  Profile server;
  double measured_s = 0;  // 0: everything was known
};
struct ProfilesRequest {
  std::vector<std::string> clips;
  double seconds = 30;           // for each
  int frames = 60;               // of each clip
  bool judges = false;           // on the robot, how far answers agree on the clips
  std::filesystem::path folder;  // where profiles are kept
  int robot_core = 0;
  int server_core = 0;
};
// These throw InputError as ObtainProfile does.
ObtainedProfile ObtainSide(const std::shared_ptr<const CompiledModel>& model,
                           const RobotConfig& config, const ProfilesRequest& wanted, Side side);
ModelProfiles ObtainProfiles(const std::shared_ptr<const CompiledModel>& model,
                             const RobotConfig& config, const ProfilesRequest& wanted);

// For a robot `slowdown` times as slow as measured.
class Planning {
 public:
  // Solves a small schedule and writes it to `file`, for mode cacheinf. Throws InputError if that
  // takes too long.
  Planning(const ModelProfiles& profiles, double slowdown, const std::vector<int>& cores,
           std::filesystem::path file);

  // For an emulated link of this bandwidth and 3 ms each way, and frames with this share of work.
  static Situation SituationOf(double mbit, double work);

  Plan Solve(const std::string& planner, const Situation& situation) const;
  Prediction Predict(const Plan& plan, const Situation& situation) const;
  // As a robot makes it from the file.
  std::unique_ptr<PlanChooser> MakeChooser(const PlanChooser::Goal& goal) const;

  // The same plans where the robot knows from this profile how far answers agree. Written to
  // another file.
  std::shared_ptr<const Planning> Judged(const Profile& by, std::filesystem::path file) const;

  const Profile& robot() const { return schedule_->robot; }
  const std::filesystem::path& file() const { return file_; }

 private:
  Planning(std::shared_ptr<const Schedule> schedule, std::filesystem::path file);

  std::shared_ptr<const Schedule> schedule_;
  CostModel model_;
  std::filesystem::path file_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_PLANNING_H_
