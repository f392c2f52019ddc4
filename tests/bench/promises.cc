#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/robot_setup.h"
#include "common/answer/agreement.h"
#include "common/base/error.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/clips.h"
#include "tests/bench/contender.h"
#include "tests/bench/mode_course.h"
#include "tests/bench/mode_list.h"
#include "tests/bench/mode_runner.h"
#include "tests/bench/mode_subject.h"
#include "tests/bench/name_server.h"
#include "tests/bench/planning.h"
#include "tests/bench/worker.h"

namespace cacheinf {
namespace {

constexpr std::array kMbits = {20.0, 2.0};
constexpr double kSlowdown = 5;
constexpr double kSecondsToProfile = 8;  // on each side
constexpr int kFramesOfAClip = 150;      // the first third is profiled, the rest is shown
constexpr int64_t kFramesShown = 600;
constexpr size_t kFewestAnswers = 30;  // of a plan in use
constexpr double kMostOffAgreement = 0.05;
constexpr double kMostOffInTime = 0.10;

// What is expected of one plan's answers, and what they were.
struct OfPlan {
  Samples agreement;
  Samples in_time;
  // Over single answers, as the robot samples them.
  double seen_agreement = 0;
  double seen_weight = 0;
  size_t seen_in_time = 0;

  void See(const AgreementMeasure& measure) {
    if (!measure.value) return;
    seen_agreement += measure.weight * *measure.value;
    seen_weight += measure.weight;
  }
};

double MeanOf(const Samples& samples) {
  double sum = 0;
  for (const double number : samples.ms) sum += number;
  return sum / static_cast<double>(samples.ms.size());
}

class PromisesBench {
 public:
  PromisesBench(const BenchOptions& options, BenchReport* report)
      : options_(options),
        report_(report),
        course_(options.quick, report),
        place_({TwoCores(), name_server_.file(), models_.path()}) {}

  void Run() {
    PinToCore(place_.cores.robot);
    cv::setNumThreads(1);
    std::filesystem::create_directories(options_.cache);
    for (const std::filesystem::path& file : ClipModels(options_)) {
      for (const std::string& clip : Clips(options_)) {
        const std::string name = ClipName(clip);
        const bool is_of_all = options_.videos.empty() && !options_.full;
        if (is_of_all && name != "juggle" && name != "road" && name != "tennis") continue;
        course_.Attempt(file.stem().string() + " " + name, [&] { RunClip(file, clip); });
        if (options_.quick) break;
      }
    }
    AddSum("agreement", off_agreement_, kMostOffAgreement);
    AddSum("P(in time)", off_in_time_, kMostOffInTime);
  }

 private:
  void RunClip(const std::filesystem::path& file, const std::string& clip) {
    Subject subject;
    subject.clip = ClipName(clip);
    subject.config = ConfigFor(file, options_);
    subject.config.threads = 1;
    subject.config.guard.is_on = false;
    subject.config.server.wait_s = 10;
    subject.config.server.name_server = place_.name_server;
    subject.compiled = Compile(LoadGraph(subject.config, /*has_tensors=*/false), subject.config);
    subject.frames = ReadFrames(clip, kFramesOfAClip);
    const auto third = subject.frames.size() / 3;
    if (third < 8) throw InputError(clip + " is too short");
    const ModelProfiles profiles = ObtainProfiles(subject.compiled, subject.config,
                                                  {.clips = {clip},
                                                   .seconds = kSecondsToProfile,
                                                   .frames = static_cast<int>(third),
                                                   .judges = true,
                                                   .folder = options_.cache / "profiles-of-thirds",
                                                   .robot_core = place_.cores.robot,
                                                   .server_core = place_.cores.server});
    subject.planning[kSlowdown] = std::make_shared<const Planning>(
        profiles, kSlowdown, std::vector{place_.cores.robot, place_.cores.server},
        models_.path() / "promises.schedule.json");
    subject.frames.erase(subject.frames.begin(),
                         subject.frames.begin() + static_cast<ptrdiff_t>(third));
    const auto dense = MakeRobotContender(subject.compiled, subject.config);
    for (const FrameCost& cost : MeasureFrames(*dense, subject.frames, /*needs_server=*/false)) {
      subject.dense.push_back(cost.content);
    }
    for (const double mbit : kMbits) {
      for (const double deadline_ms : kDeadlinesMs) {
        if (deadline_ms >= 100) RunCell(subject, file.stem().string(), mbit, deadline_ms);
      }
    }
  }

  void RunCell(const Subject& subject, const std::string& model, double mbit, double deadline_ms) {
    ModeRunner runner(place_, LinkText(mbit));
    const CellLength length = {.answers = kFramesShown, .ms = CapturedMs(kFramesShown)};
    const LiveAnswers live = runner.RunLive(
        subject, CacheInfMode(subject, deadline_ms), kSlowdown,
        [this] { return course_.is_over(); }, length);
    std::map<std::string, OfPlan> plans;
    for (const CameraAnswer& answer : live.answers) {
      if (!answer.cost.promise) continue;
      OfPlan& plan = plans[answer.cost.plan];
      plan.agreement.ms.push_back(answer.cost.promise->agreement);
      plan.in_time.ms.push_back(answer.cost.promise->in_time);
      const size_t frame = FrameOfClip(answer.captured, subject.dense.size());
      plan.See(MeasureOfContent(*answer.cost.content, *subject.dense[frame]));
      plan.seen_in_time += answer.latency_ms() <= deadline_ms ? 1 : 0;
    }
    for (const auto& [name, plan] : plans) {
      const size_t answers = plan.in_time.ms.size();
      if (answers < kFewestAnswers) continue;
      const double in_time = static_cast<double>(plan.seen_in_time) / static_cast<double>(answers);
      std::optional<double> agreement;
      if (plan.seen_weight > 0) agreement = plan.seen_agreement / plan.seen_weight;
      const std::string where = fmt::format("{}, {}, {:g} Mbit/s, {:g} ms, {}", model, subject.clip,
                                            mbit, deadline_ms, name);
      off_in_time_.emplace_back(std::abs(MeanOf(plan.in_time) - in_time), where);
      if (agreement) {
        off_agreement_.emplace_back(std::abs(MeanOf(plan.agreement) - *agreement), where);
      }
      report_->AddRow({{"model", model},
                       {"clip", subject.clip},
                       {"mbit", mbit},
                       {"deadline_ms", deadline_ms},
                       {"plan", name},
                       {"answers", answers},
                       {"expected_agreement", MeanOf(plan.agreement)},
                       {"agreement", NumberOrNull(agreement)},
                       {"expected_in_time", MeanOf(plan.in_time)},
                       {"in_time", in_time}});
    }
  }

  // How far expectations are from what was seen, over all plans in use.
  void AddSum(const std::string& what, std::vector<std::pair<double, std::string>>& off,
              double most) {
    if (off.empty()) return;
    std::sort(off.rbegin(), off.rend());
    Samples samples;
    for (const auto& [far, where] : off) samples.ms.push_back(far);
    const auto within =
        std::ranges::count_if(off, [&](const auto& one) { return one.first <= most; });
    report_->AddNote(fmt::format(
        "{}, expected beside seen: {:.3f} apart in the median of {} plans in use, within {:g} in "
        "{}, {:.3f} at worst ({})",
        what, samples.Median(), off.size(), most, within, off.front().first, off.front().second));
  }

  const BenchOptions& options_;
  BenchReport* const report_;
  const ModeCourse course_;
  const NameServerOfOurOwn name_server_;
  const TemporaryFolder models_;
  const RunPlace place_;
  std::vector<std::pair<double, std::string>> off_agreement_;
  std::vector<std::pair<double, std::string>> off_in_time_;
};

}  // namespace

void BenchPromises(const BenchOptions& options, BenchReport* report) {
  PromisesBench(options, report).Run();
}

}  // namespace cacheinf
