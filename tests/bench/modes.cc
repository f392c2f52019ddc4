#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/clips.h"
#include "tests/bench/mode_course.h"
#include "tests/bench/mode_list.h"
#include "tests/bench/mode_runner.h"
#include "tests/bench/mode_subject.h"
#include "tests/bench/mode_table.h"
#include "tests/bench/modes_live.h"
#include "tests/bench/modes_replay.h"
#include "tests/bench/name_server.h"
#include "tests/bench/worker.h"

namespace cacheinf {
namespace {

class ModesBench {
 public:
  ModesBench(const BenchOptions& options, BenchReport* report)
      : options_(options),
        report_(report),
        course_(options.quick, report),
        place_({TwoCores(), name_server_.file(), models_.path()}),
        subjects_(options, place_.cores, place_.name_server, course_, report),
        table_(report) {}

  void Run() {
    PinToCore(place_.cores.robot);
    cv::setNumThreads(1);
    if (place_.cores.robot == place_.cores.server) {
      report_->AddNote("There is one core only: robot and server take turns on it.");
    }
    std::filesystem::create_directories(options_.cache);
    MeasureModels(/*live=*/true);
    const int cells_left_out = RunLiveCells(live_, options_.quick, place_, course_, &table_);
    for (Subject& subject : live_) ReplayCells(&subject, place_, course_, &table_);
    live_.clear();
    MeasureModels(/*live=*/false);
    if (cells_left_out + clips_left_out_ > 0) {
      report_->AddNote(fmt::format("The time was over: {} live cells and {} clips were left out.",
                                   cells_left_out, clips_left_out_));
    }
    table_.Finish();
  }

 private:
  // Live cells keep their own; the others are replayed.
  void MeasureModels(bool live) {
    for (const ModeModel* const model : subjects_.Models()) {
      if (live && !model->is_live) continue;
      course_.Attempt(model->name, [&] {
        for (const std::string& clip : subjects_.ClipsOf(*model)) {
          const std::string name = ClipName(clip);
          const bool is_live = model->is_live && (name == "juggle" || name == "road");
          if (is_live == live) MeasureClip(*model, clip, live);
        }
      });
    }
  }

  void MeasureClip(const ModeModel& model, const std::string& clip, bool live) {
    if (course_.is_over()) {
      ++clips_left_out_;
      return;
    }
    Subject subject = subjects_.Make(model, clip, live);
    MeasureSubject(&subject);
    if (live) {
      live_.push_back(std::move(subject));
    } else {
      ReplayCells(&subject, place_, course_, &table_);
    }
  }

  void MeasureSubject(Subject* subject) const {
    ModeRunner runner(place_, "");
    const std::vector<Mode> modes = ModesOf(*subject);
    std::map<std::string, std::vector<std::vector<FrameCost>>> rounds;
    for (int i = 0; i < course_.rounds(); ++i) {
      for (const Mode& mode : modes) {
        if (mode.every > 1) continue;                                    // as local, but less often
        if (mode.config.mode == RobotConfig::Mode::kCacheinf) continue;  // one of the others
        if (i > 0 && (course_.is_over() || !rounds.contains(mode.name))) continue;
        course_.Attempt(fmt::format("{} {} {}", subject->model->name, subject->clip, mode.name),
                        [&] { rounds[mode.name].push_back(runner.Measure(*subject, mode)); });
      }
    }
    for (const auto& [name, of_mode] : rounds) subject->costs[name] = MedianCosts(of_mode);
    const auto local = subject->costs.find("local");
    if (local == subject->costs.end()) throw std::runtime_error("there are no dense answers");
    for (const FrameCost& cost : local->second) subject->dense.push_back(cost.content);
    subject->motion = std::make_shared<SceneMotion>(subject->frames);
    if (const auto small = subject->costs.find("small-local"); small != subject->costs.end()) {
      subject->NoteSmall(small->second);
    }
    if (const auto cache = subject->costs.find("cache"); cache != subject->costs.end()) {
      double work = 0;
      for (const FrameCost& cost : cache->second) work += cost.robot_work;
      subject->work = MedianWork(cache->second);
      const double every = static_cast<double>(cache->second.size()) / std::max(work, 0.1);
      subject->every = std::max(2, static_cast<int>(std::lround(every)));
    }
  }

  static double MedianWork(const std::vector<FrameCost>& costs) {
    Samples work;
    for (const FrameCost& cost : costs) work.ms.push_back(cost.share.value_or(1.0));
    return work.Median();
  }

  const BenchOptions& options_;
  BenchReport* const report_;
  const ModeCourse course_;
  const NameServerOfOurOwn name_server_;
  const TemporaryFolder models_;
  const RunPlace place_;
  ModeSubjects subjects_;
  ModeTable table_;
  std::vector<Subject> live_;
  int clips_left_out_ = 0;
};

}  // namespace

void BenchModes(const BenchOptions& options, BenchReport* report) {
  ModesBench(options, report).Run();
}

}  // namespace cacheinf
