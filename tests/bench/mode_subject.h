#ifndef CACHEINF_TESTS_BENCH_MODE_SUBJECT_H_
#define CACHEINF_TESTS_BENCH_MODE_SUBJECT_H_

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config/robot_config.h"
#include "common/exec/compiled_model.h"
#include "common/source/frame_source.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/mode_course.h"
#include "tests/bench/planning.h"
#include "tests/bench/replay.h"
#include "tests/bench/scene_motion.h"
#include "tests/bench/worker.h"
#include "tests/rivals/plain_video.h"

// The networks and clips that modes are measured with.

namespace cacheinf {

// How many times as fast the server is. Live cells have only the first two.
inline constexpr std::array kSpeedups = {5.0, 1.0, 20.0};

struct ModeModel {
  std::string name;
  std::filesystem::path file;
  std::string shape = {};  // empty: the file's own
  // The best cut inside the network by `cuts` (docs/measurements/cuts.md), for 20 Mbit/s and a
  // server five times as fast. For other links and servers it is this one, or one little better.
  std::string cut;
  int frames = 0;  // per clip; 0: the bench's own
  bool is_live = false;
  double on_time_ms = 0;  // the deadline of `trace`; 0: it leaves the network out
  bool has_answers = true;
};

// A model with a clip, and what was measured on them.
struct Subject {
  const ModeModel* model = nullptr;
  std::string clip;
  RobotConfig config;
  std::shared_ptr<const CompiledModel> compiled;
  std::shared_ptr<const CompiledModel> small;  // null: there is none
  RobotConfig small_config;
  std::shared_ptr<const Profile> small_profile;  // null: mode cacheinf does without the network
  JudgedAgreement small_judged;                  // of its answers to the frames
  std::shared_ptr<const PlainVideoServer> plain_video;  // null: there is none
  std::vector<Frame> frames;
  std::vector<SharedContent> dense;
  std::shared_ptr<SceneMotion> motion;                         // once there are dense answers
  std::map<std::string, std::vector<FrameCost>> costs;         // by mode, or plan
  std::map<double, std::shared_ptr<const Planning>> planning;  // by speedup
  double work = 1;  // of mode cache, as a share of a dense run's
  int splits = 0;   // measured
  int every = 2;    // of every-k, at the work of mode cache

  // The small network as `smaller_models` has it, and as plans do.
  std::string Smaller() const;
  // What its answers to the frames are worth. REQUIRES: dense ones.
  void NoteSmall(const std::vector<FrameCost>& answered);
  std::string SmallerName() const { return NameOfSmallerModel(Smaller()); }
};

class ModeSubjects {
 public:
  // All arguments must outlive this.
  ModeSubjects(const BenchOptions& options, const Cores& cores,
               const std::filesystem::path& name_server, const ModeCourse& course,
               BenchReport* report)
      : options_(options),
        cores_(cores),
        name_server_(name_server),
        course_(course),
        report_(report) {}

  // Those that the options ask for.
  std::vector<const ModeModel*> Models() const;
  // Sources of frames.
  std::vector<std::string> ClipsOf(const ModeModel& model) const;
  // Has its frames, and nothing measured yet. Throws InputError if the model or the clip is
  // missing, or the clip too short.
  Subject Make(const ModeModel& model, const std::string& clip, bool is_for_live);

 private:
  std::optional<std::filesystem::path> FileOf(const ModeModel& model) const;
  RobotConfig ConfigOf(const ModeModel& model) const;
  const Subject& Prepared(const ModeModel& model);
  void AddSmall(Subject* subject) const;
  void AddPlainVideo(Subject* subject) const;
  void AddPlanning(Subject* subject) const;
  void Judge(const std::string& clip, Subject* subject) const;

  const BenchOptions& options_;
  const Cores cores_;
  const std::filesystem::path name_server_;
  const ModeCourse& course_;
  BenchReport* const report_;
  const TemporaryFolder schedules_;
  std::map<std::string, Subject> prepared_;  // by model, without a clip
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_SUBJECT_H_
