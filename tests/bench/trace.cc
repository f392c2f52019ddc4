#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numbers>
#include <opencv2/core.hpp>
#include <random>
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
#include "tests/bench/trace_picture.h"
#include "tests/bench/worker.h"
#include "tests/testing/places.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kSecondsOfAMode = 16;  // a lap of the trace
constexpr double kStepSeconds = 0.25;
constexpr double kBlackFromSeconds = 6;
constexpr double kBlackSeconds = 3;
constexpr double kMostBelow = 0.02;
constexpr CameraFrames kScoredFrames = {
    15, static_cast<int64_t>((kSecondsOfAMode + 0.5) * kFramesPerSecond)};
const char* const kClips[] = {"juggle", "road"};

fs::path OutdoorTrace() { return SharedData("../testbed/bandwidth_outdoors.csv"); }

// Megabits per second, one every kStepSeconds.
using LinkSteps = std::vector<double>;

LinkSteps StepsOf(const LinkShape& shape) {
  LinkSteps steps;
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
LinkSteps GeneratedSteps() {
  std::mt19937 random(1);
  LinkSteps steps;
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

double MeanOf(const LinkSteps& steps) {
  double sum = 0;
  for (const double mbit : steps) sum += mbit;
  return sum / static_cast<double>(steps.size());
}

double DeviationOf(const LinkSteps& steps) {
  const double mean = MeanOf(steps);
  double sum = 0;
  for (const double mbit : steps) sum += (mbit - mean) * (mbit - mean);
  return std::sqrt(sum / static_cast<double>(steps.size()));
}

// The part of this many seconds in which bandwidth varies most.
LinkSteps MostVaried(const LinkSteps& steps, double seconds) {
  const auto count = static_cast<ptrdiff_t>(seconds / kStepSeconds);
  if (std::ssize(steps) <= count) return steps;
  LinkSteps best;
  for (ptrdiff_t first = 0; first + count <= std::ssize(steps); ++first) {
    LinkSteps part(steps.begin() + first, steps.begin() + first + count);
    if (best.empty() || DeviationOf(part) > DeviationOf(best)) best = std::move(part);
  }
  return best;
}

// The same mean, and nothing for a while.
LinkSteps BlackSteps(const LinkSteps& steps) {
  LinkSteps black(steps.size(), MeanOf(steps));
  for (double s = kBlackFromSeconds; s < kBlackFromSeconds + kBlackSeconds; s += kStepSeconds) {
    black.at(static_cast<size_t>(s / kStepSeconds)) = 0;
  }
  return black;
}

struct Trace {
  std::string name;
  LinkSteps steps;
  std::string link;  // as in a configuration
};

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
    fs::create_directories(options_.cache);
    const std::vector<Trace> traces = MakeTraces();
    for (const ModeModel* const model : subjects_.Models()) {
      if (model->on_time_ms == 0) continue;
      for (const std::string& clip : subjects_.ClipsOf(*model)) {
        if (options_.videos.empty() &&
            std::ranges::find(kClips, ClipName(clip)) == std::end(kClips)) {
          continue;
        }
        course_.Attempt(model->name + " " + ClipName(clip), [&] { RunClip(*model, clip, traces); });
        if (options_.quick) return AddSum();
      }
    }
    AddSum();
  }

 private:
  // What a mode had in hand.
  struct Ran {
    std::string mode;
    double on_time = 0;
    TraceCourse course;
  };

  std::vector<Trace> MakeTraces() {
    fs::path trace = options_.trace;
    if (trace.empty() && fs::exists(OutdoorTrace())) trace = OutdoorTrace();
    LinkSteps steps = GeneratedSteps();
    if (!trace.empty()) {
      const LinkShape shape = ParseLinkShape(trace.string() + ",3ms");
      if (shape.bandwidth.size() < 2) throw InputError(trace.string() + " is not a trace");
      steps = StepsOf(shape);
    }
    const double scale = options_.mean_mbit > 0 ? options_.mean_mbit / MeanOf(steps) : 1;
    steps = MostVaried(steps, kSecondsOfAMode);
    for (double& mbit : steps) mbit *= scale;
    const std::string name = trace.empty() ? "generated" : trace.stem().string();
    return {WriteTrace(name, steps), WriteTrace("black", BlackSteps(steps))};
  }

  Trace WriteTrace(const std::string& name, const LinkSteps& steps) {
    LinkSteps sorted = steps;
    std::ranges::sort(sorted);
    report_->AddNote(fmt::format(
        "link {}: {:.0f} s, again and again, 3 ms each way: {:.1f} Mbit/s at least, {:.1f} in the "
        "median, {:.1f} at most",
        name, static_cast<double>(steps.size()) * kStepSeconds, sorted.front(),
        sorted[sorted.size() / 2], sorted.back()));
    const fs::path file = models_.path() / (name + ".csv");
    std::ofstream stream(file);
    stream << "seconds,megabits_per_second\n";
    for (size_t i = 0; i < steps.size(); ++i) {
      stream << fmt::format("{:.2f},{:.4f}\n", static_cast<double>(i) * kStepSeconds, steps[i]);
    }
    if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written");
    return {name, steps, file.string() + ",3ms"};
  }

  void RunClip(const ModeModel& model, const std::string& clip, const std::vector<Trace>& traces) {
    Subject subject = subjects_.Make(model, clip, /*is_for_live=*/true);
    ModeRunner alone(place_, "");
    for (const FrameCost& cost : alone.Measure(subject, ModesOf(subject).front())) {
      subject.dense.push_back(cost.content);
    }
    for (const Mode& mode : ModesOf(subject)) {
      if (mode.is_small) subject.NoteSmall(alone.Measure(subject, mode));
    }
    for (const Trace& trace : traces) RunModes(subject, trace);
  }

  void RunModes(const Subject& subject, const Trace& trace) {
    const double deadline_ms = subject.model->on_time_ms;
    ModeRunner runner(place_, trace.link);
    std::vector<Mode> modes = ModesOf(subject);
    std::erase_if(modes, [](const Mode& mode) {
      const bool is_raw = mode.needs_server && mode.config.server.codec == "raw";
      return mode.every > 1 || mode.is_small || is_raw ||
             mode.config.mode == RobotConfig::Mode::kCacheinf;
    });
    for (Mode& mode : modes) {
      if (!mode.is_plain_video) mode.config.deadline_ms = deadline_ms;
    }
    modes.push_back(CacheInfMode(subject, deadline_ms));
    const CellLength length = {.answers = 100000, .ms = ScoredMs(kScoredFrames)};
    std::vector<Ran> ran;
    for (const Mode& mode : modes) {
      const std::string what =
          fmt::format("{} {} {} {}", subject.model->name, subject.clip, trace.name, mode.name);
      course_.Attempt(what, [&] {
        const LiveAnswers live = runner.RunLive(
            subject, mode, kSpeedups.front(), [this] { return course_.is_over(); }, length);
        ran.push_back(AddRow(subject, trace, mode, live));
      });
    }
    Compare(subject, trace, ran);
  }

  Ran AddRow(const Subject& subject, const Trace& trace, const Mode& mode,
             const LiveAnswers& live) {
    const double deadline_ms = subject.model->on_time_ms;
    Samples latencies;
    ContentAgreement agreement;
    int changes = 0;
    std::map<std::string, int> plans;
    Ran ran = {.mode = mode.name, .course = {.name = mode.name, .begin_ms = live.begin_ms}};
    const std::string* before = nullptr;
    for (const CameraAnswer& answer : live.answers) {
      latencies.ms.push_back(answer.latency_ms());
      const size_t shown = FrameOfClip(answer.captured, subject.dense.size());
      agreement.Add(*answer.cost.content, *subject.dense[shown]);
      const std::string& plan = answer.cost.plan;
      if (before != nullptr && plan != *before) ++changes;
      before = &plan;
      if (!plan.empty()) ++plans[plan];
      ran.course.answers.push_back({answer.captured_ms, answer.latency_ms(), plan});
    }
    const auto in_hand = InHand(live.handed_out, kScoredFrames, deadline_ms);
    const auto on_time = OnTime(in_hand, kScoredFrames, subject.dense);
    ran.on_time = on_time.value_or(0);
    for (size_t i = 0; i < in_hand.size(); ++i) {
      const auto frame = kScoredFrames.begin + static_cast<int64_t>(i);
      const auto of_frame = OnTime({in_hand[i]}, {frame, frame + 1}, subject.dense);
      if (of_frame) ran.course.in_hand.emplace_back(CapturedMs(frame), *of_frame);
    }
    report_->AddRow({{"model", subject.model->name},
                     {"clip", subject.clip},
                     {"trace", trace.name},
                     {"speedup", kSpeedups.front()},
                     {"deadline_ms", deadline_ms},
                     {"mode", mode.name},
                     {"frames", live.answers.size()},
                     {"p50_ms", latencies.Median()},
                     {"p95_ms", latencies.Quantile(0.95)},
                     {"on_time", NumberOrNull(on_time)},
                     {"late", Late(live.answers, deadline_ms)},
                     {"agreement", NumberOrNull(agreement.value())},
                     {"plan_changes", changes},
                     {"plans", plans.size()}});
    if (mode.config.mode != RobotConfig::Mode::kCacheinf) return ran;
    std::string text =
        fmt::format("{}, {}, {}: cacheinf's plans:", subject.model->name, subject.clip, trace.name);
    for (const auto& [plan, frames] : plans) text += fmt::format(" {} ({} frames);", plan, frames);
    report_->AddNote(text + " the last: " + live.why);
    return ran;
  }

  // `ran` ends with mode cacheinf, if that ran.
  void Compare(const Subject& subject, const Trace& trace, const std::vector<Ran>& ran) {
    if (ran.size() < 2 || !ran.back().mode.starts_with("cacheinf")) return;
    const Ran& chosen = ran.back();
    const Ran& best = *std::ranges::max_element(ran.begin(), ran.end() - 1, {}, &Ran::on_time);
    const std::string where =
        fmt::format("{}, {}, {}", subject.model->name, subject.clip, trace.name);
    compared_.emplace_back(
        best.on_time - chosen.on_time,
        fmt::format("{}: {:.3f} in hand at {:g} ms, the best fixed mode ({}) "
                    "{:.3f}",
                    where, chosen.on_time, subject.model->on_time_ms, best.mode, best.on_time));
    const auto plain = std::ranges::find(ran, "plain-video", &Ran::mode);
    std::vector<TraceCourse> shown = {chosen.course, best.course};
    if (plain != ran.end() && &*plain != &best) shown.push_back(plain->course);
    const fs::path file =
        fs::absolute(options_.cache / fmt::format("trace-{}-{}-{}.png", subject.model->name,
                                                  subject.clip, trace.name));
    DrawTrace({.title = fmt::format("{}, deadline {:g} ms", where, subject.model->on_time_ms),
               .deadline_ms = subject.model->on_time_ms,
               .step_ms = 1000 * kStepSeconds,
               .mbit = trace.steps},
              shown, file);
    report_->AddNote("picture: " + file.string());
  }

  void AddSum() {
    if (compared_.empty()) return;
    std::sort(compared_.rbegin(), compared_.rend());
    const auto above =
        std::ranges::count_if(compared_, [](const auto& one) { return one.first < 0; });
    const auto far =
        std::ranges::count_if(compared_, [](const auto& one) { return one.first > kMostBelow; });
    report_->AddNote(fmt::format(
        "cacheinf has more in hand than the best fixed mode in {} of {} runs, and is more than {} "
        "below in {}; worst first:",
        above, compared_.size(), kMostBelow, far));
    for (const auto& [below, text] : compared_) {
      report_->AddNote(fmt::format("{:+.3f}: {}", -below, text));
    }
  }

  const BenchOptions& options_;
  BenchReport* const report_;
  const ModeCourse course_;
  const NameServerOfOurOwn name_server_;
  const TemporaryFolder models_;
  const RunPlace place_;
  ModeSubjects subjects_;
  std::vector<std::pair<double, std::string>> compared_;
};

}  // namespace

void BenchTrace(const BenchOptions& options, BenchReport* report) {
  TraceBench(options, report).Run();
}

}  // namespace cacheinf
