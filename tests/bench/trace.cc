#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <opencv2/core.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/link/delay_line.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/clips.h"
#include "tests/bench/mode_course.h"
#include "tests/bench/mode_list.h"
#include "tests/bench/mode_runner.h"
#include "tests/bench/mode_subject.h"
#include "tests/bench/name_server.h"
#include "tests/bench/replay.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kSecondsOfAMode = 16;
constexpr double kOnTimeMs = 100;
constexpr double kStepSeconds = 0.25;

fs::path OutdoorTrace() { return SharedData("../testbed/bandwidth_outdoors.csv"); }

// Megabits per second, one every kStepSeconds.
using Steps = std::vector<double>;

Steps StepsOf(const LinkShape& shape) {
  Steps steps;
  double left_s = 0;
  double sum = 0;
  for (const LinkShape::Piece& piece : shape.bandwidth) {
    double seconds = std::chrono::duration<double>(piece.duration).count();
    while (left_s + seconds >= kStepSeconds) {
      const double used_s = kStepSeconds - left_s;
      steps.push_back((sum + used_s * piece.bytes_per_second) / kStepSeconds * 8 / 1e6);
      seconds -= used_s;
      left_s = sum = 0;
    }
    left_s += seconds;
    sum += seconds * piece.bytes_per_second;
  }
  return steps;
}

// As outdoors: wanders around 100 Mbit/s, and sometimes collapses for a second or two.
Steps GeneratedSteps() {
  std::mt19937 random(1);
  Steps steps;
  double offset = 0;
  int collapsed = 0;
  while (steps.size() * kStepSeconds < 600) {
    // std::normal_distribution differs between libraries.
    const double one = std::generate_canonical<double, 32>(random);
    const double other = std::generate_canonical<double, 32>(random);
    const double normal =
        std::sqrt(-2 * std::log(1 - one)) * std::cos(2 * std::numbers::pi * other);
    offset = 0.9 * offset + 0.2 * normal;
    if (collapsed == 0 && std::generate_canonical<double, 32>(random) < 0.02) collapsed = 6;
    steps.push_back(100 * std::exp(offset) * (collapsed > 0 ? 0.05 : 1));
    collapsed = std::max(0, collapsed - 1);
  }
  return steps;
}

double MeanOf(const Steps& steps) {
  double sum = 0;
  for (const double mbit : steps) sum += mbit;
  return sum / static_cast<double>(steps.size());
}

double DeviationOf(const Steps& steps) {
  const double mean = MeanOf(steps);
  double sum = 0;
  for (const double mbit : steps) sum += (mbit - mean) * (mbit - mean);
  return std::sqrt(sum / static_cast<double>(steps.size()));
}

// The part of this many seconds in which bandwidth varies most.
Steps MostVaried(const Steps& steps, double seconds) {
  const auto count = static_cast<ptrdiff_t>(seconds / kStepSeconds);
  if (std::ssize(steps) <= count) return steps;
  Steps best;
  for (ptrdiff_t first = 0; first + count <= std::ssize(steps); ++first) {
    Steps part(steps.begin() + first, steps.begin() + first + count);
    if (best.empty() || DeviationOf(part) > DeviationOf(best)) best = std::move(part);
  }
  return best;
}

class TraceBench {
 public:
  TraceBench(const BenchOptions& options, BenchReport* report)
      : options_(options),
        report_(report),
        course_(/*is_quick=*/false, report),
        place_({TwoCores(), name_server_.file(), models_.path()}),
        subjects_(options, place_.cores, place_.name_server, course_, report) {}

  void Run() {
    PinToCore(place_.cores.robot);
    cv::setNumThreads(1);
    std::filesystem::create_directories(options_.cache);
    const std::string link = WriteTrace();
    // One network, if no other is asked for: yolov5n if it is here.
    for (const ModeModel* const model : subjects_.Models()) {
      if (!model->is_live) continue;
      bool is_done = false;
      course_.Attempt(model->name, [&] {
        const std::vector<std::string> clips = subjects_.ClipsOf(*model);
        if (clips.empty()) throw InputError("there are no clips");
        Subject subject = subjects_.Make(*model, clips.front(), /*is_for_live=*/true);
        ModeRunner alone(place_, "");
        for (const FrameCost& cost : alone.Measure(subject, ModesOf(subject).front())) {
          subject.dense.push_back(cost.content);
        }
        RunModes(subject, link);
        is_done = true;
      });
      if (is_done && options_.models.empty()) break;
    }
  }

 private:
  // Returns the link as in a configuration.
  std::string WriteTrace() {
    fs::path trace = options_.trace;
    if (trace.empty() && fs::exists(OutdoorTrace())) trace = OutdoorTrace();
    Steps steps = GeneratedSteps();
    if (!trace.empty()) {
      const LinkShape shape = ParseLinkShape(trace.string() + ",3ms");
      if (shape.bandwidth.size() < 2) throw InputError(trace.string() + " is not a trace");
      steps = StepsOf(shape);
    }
    const double scale = options_.mean_mbit > 0 ? options_.mean_mbit / MeanOf(steps) : 1;
    steps = MostVaried(steps, kSecondsOfAMode);
    for (double& mbit : steps) mbit *= scale;
    Steps sorted = steps;
    std::ranges::sort(sorted);
    report_->AddNote(fmt::format(
        "link: {:.0f} s of {}, scaled by {:.3f}, 3 ms each way: {:.1f} Mbit/s at least, {:.1f} in "
        "the median, {:.1f} at most",
        static_cast<double>(steps.size()) * kStepSeconds,
        trace.empty() ? "a generated trace" : trace.filename().string(), scale, sorted.front(),
        sorted[sorted.size() / 2], sorted.back()));
    const fs::path file = models_.path() / "trace.csv";
    std::ofstream stream(file);
    stream << "seconds,megabits_per_second\n";
    for (size_t i = 0; i < steps.size(); ++i) {
      stream << fmt::format("{:.2f},{:.4f}\n", static_cast<double>(i) * kStepSeconds, steps[i]);
    }
    if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written");
    return file.string() + ",3ms";
  }

  void RunModes(const Subject& subject, const std::string& link) {
    ModeRunner runner(place_, link);
    for (const Mode& mode : ModesOf(subject)) {
      if (mode.every > 1 || mode.is_small) continue;
      course_.Attempt(fmt::format("{} {} {}", subject.model->name, subject.clip, mode.name), [&] {
        const CellLength length = {.answers = 100000, .ms = 1000 * kSecondsOfAMode};
        const LiveAnswers live = runner.RunLive(
            subject, mode, kSpeedups.front(), [this] { return course_.is_live_over(); }, length);
        AddRow(subject, mode, live);
      });
    }
  }

  void AddRow(const Subject& subject, const Mode& mode, const LiveAnswers& live) {
    Samples latencies;
    ContentAgreement agreement;
    int changes = 0;
    std::set<std::string> plans;
    const std::string* before = nullptr;
    for (const AnsweredFrame& answer : live.answers) {
      latencies.ms.push_back(answer.latency_ms());
      const size_t shown = FrameOfClip(answer.captured, subject.dense.size());
      agreement.Add(*answer.cost.content, *subject.dense[shown]);
      const std::string& plan = answer.cost.plan;
      if (before != nullptr && plan != *before) ++changes;
      before = &plan;
      if (!plan.empty()) plans.insert(plan);
    }
    report_->AddRow({{"model", subject.model->name},
                     {"clip", subject.clip},
                     {"speedup", kSpeedups.front()},
                     {"mode", mode.name},
                     {"frames", live.answers.size()},
                     {"p50_ms", latencies.Median()},
                     {"p95_ms", latencies.Quantile(0.95)},
                     {"on_time", NumberOrNull(OnTime(live.answers, subject.dense, kOnTimeMs))},
                     {"late", Late(live.answers, kOnTimeMs)},
                     {"agreement", NumberOrNull(agreement.value())},
                     {"plan_changes", changes},
                     {"plans", plans.size()}});
    if (mode.name != "cacheinf") return;
    std::string text = "cacheinf's plans:";
    for (const std::string& plan : plans) {
      const auto frames = std::ranges::count_if(
          live.answers, [&](const AnsweredFrame& answer) { return answer.cost.plan == plan; });
      text += fmt::format(" {} ({} frames);", plan, frames);
    }
    report_->AddNote(text + " the last: " + live.why);
  }

  const BenchOptions& options_;
  BenchReport* const report_;
  const ModeCourse course_;
  const NameServerOfOurOwn name_server_;
  const TemporaryFolder models_;
  const RunPlace place_;
  ModeSubjects subjects_;
};

}  // namespace

void BenchTrace(const BenchOptions& options, BenchReport* report) {
  TraceBench(options, report).Run();
}

}  // namespace cacheinf
