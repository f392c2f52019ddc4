#include "client/calibrate/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/calibrate/cache_settings.h"
#include "client/calibrate/calibration_clip.h"
#include "client/calibrate/clip_reader.h"
#include "client/calibrate/frontier_report.h"
#include "client/calibrate/setting_search.h"
#include "client/robot_setup.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/output_files.h"
#include "common/base/status_line.h"
#include "common/config/model_setup.h"
#include "common/model/heads/heads.h"
#include "common/reuse/settings.h"
#include "common/source/frame_source.h"
#include "profiler/scheme_choice.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostFrames = 10000;
constexpr int64_t kMostSkipped = 1'000'000'000;
constexpr double kMostSeconds = 1e6;
constexpr double kMostTrials = 1e6;

// Shares of the budget by which the searches for settings and for factors must end. The rest of the
// time is for what comes after.
constexpr double kSearchShare = 0.7;
constexpr double kScalesShare = 0.9;

// Settings that cost more, as a share of a dense run, are not worth having.
constexpr double kMostCost = 0.99;

constexpr int kMostResolutions = 6;
constexpr int kSparsestRival = 5;  // track-2 to track-5
constexpr int64_t kFewFramesWithEvidence = 10;

// A budget of seconds should be enough for this many trials, and a little more. If it is not, fewer
// frames are used, but no fewer than these.
constexpr double kFewestTrials = 10;
constexpr double kTrialsToPlan = 11;
constexpr size_t kFewestFrames = 12;

void CheckOptions(const CalibrationOptions& options) {
  const auto check = [](bool is_good, const char* name, const char* bounds, auto value) {
    if (!is_good) throw InputError(fmt::format("{} must be {}, got {}", name, bounds, value));
  };
  check(options.agreement > 0 && options.agreement <= 1, "--agreement", "above 0 and at most 1",
        options.agreement);
  check(options.frames >= static_cast<int64_t>(CalibrationClip::kLeastFrames) &&
            options.frames <= kMostFrames,
        "--frames", "from 6 to 10000", options.frames);
  check(options.skip >= 0 && options.skip <= kMostSkipped, "--skip", "from 0 to 1000000000",
        options.skip);
  check(options.budget_s > 0 && options.budget_s <= kMostSeconds, "--budget",
        "above 0 and at most 1000000", options.budget_s);
  check(options.trials >= 0 && options.trials <= kMostTrials, "--trials", "from 0 to 1000000",
        options.trials);
}

fs::path OutPath(const RobotConfig& config, const CalibrationOptions& options) {
  if (!options.out.empty()) return options.out;
  const fs::path model = config.model;
  const fs::path beside = options.config_file.empty() ? model : options.config_file;
  return beside.parent_path() / (model.stem().string() + ".calibrated.json");
}

void CheckPaths(const RobotConfig& config, const std::string& clip,
                const CalibrationOptions& options) {
  const std::vector<NamedPath> outputs = {{"--out", OutPath(config, options)},
                                          {"--frontier", options.frontier}};
  CheckOverwriting({{"--config", options.config_file},
                    {"--model", config.model},
                    {"--source", clip},
                    {"--class-names", config.model_config.decoder.class_names_file}},
                   outputs);
  CheckWritable(outputs);
}

int ResolutionsOf(const Graph& graph) {
  double halvings = 0;
  for (const Operator& op : graph.operators) {
    for (const ValueId output : op.outputs) {
      const Value& value = graph.value(output);
      if (!value.is_map() || value.shape[2] < 2) continue;
      const auto height = static_cast<double>(value.shape[2]);
      halvings = std::max(halvings, std::round(std::log2(graph.picture.height / height)));
    }
  }
  return std::min(kMostResolutions, static_cast<int>(halvings) + 1);
}

using Beside = CalibrationClip::Beside;

// How far the search has got, and when it must end.
class Budget {
 public:
  Budget(const CalibrationOptions& options, const Clock& clock, const std::atomic<bool>& stop)
      : options_(options), clock_(clock), stop_(stop), start_(clock.Now()) {}

  // Whether any budget is left for work that may use up to `share` of it.
  bool HasLeft(double share) const {
    if (stop_) return false;
    if (options_.trials > 0) return trials_ < share * static_cast<double>(options_.trials);
    return seconds() < share * options_.budget_s;
  }

  bool is_stopped() const { return stop_; }
  bool is_timed() const { return options_.trials == 0; }
  void CountTrial() { ++trials_; }
  int64_t trials() const { return trials_; }

  double seconds() const { return Milliseconds(clock_.Now() - start_) / 1e3; }

  double SecondsLeft() const {
    if (is_timed()) return std::max(0.0, options_.budget_s - seconds());
    const auto left = static_cast<double>(options_.trials - trials_);
    return trials_ == 0 ? 0 : std::max(0.0, left) * seconds() / static_cast<double>(trials_);
  }

 private:
  const CalibrationOptions& options_;
  const Clock& clock_;
  const std::atomic<bool>& stop_;
  std::chrono::nanoseconds start_;
  int64_t trials_ = 0;
};

struct Candidate {
  RobotConfig config;
  ClipScore score;
};

class Calibration {
 public:
  Calibration(const RobotConfig& config, const CalibrationOptions& options, CalibrationClip& clip,
              const Clock& clock, Budget& budget)
      : config_(config), options_(options), clip_(clip), budget_(budget), status_(clock) {}

  void Search(int resolutions) {
    Try(
        WithExactPolicy(config_), [](const ClipScore&) { return false; }, 1.0);
    const SearchResult found =
        SearchBy(CacheSettingSpace(), kSearchShare,
                 [this](const SettingPoint& point) { return WithCacheSettings(config_, point); });
    is_complete_ = found.is_complete;
    const std::optional<size_t> best = Best();
    if (!best || candidates_[*best].config.cache.policy != CacheConfig::Policy::kChange) return;
    const RobotConfig even = candidates_[*best].config;
    SearchBy(ScaleSpace(resolutions), budget_.is_timed() ? kScalesShare : 1.0,
             [&even](const SettingPoint& point) { return WithScales(even, point); });
  }

  bool has_tried() const { return !candidates_.empty(); }
  bool is_complete() const { return is_complete_; }

  // How many settings a robot refused, and its reason for the first of them.
  int64_t refused() const { return refused_; }
  const std::string& first_refusal() const { return first_refusal_; }

  const RobotConfig& ConfigOf(size_t candidate) const { return candidates_[candidate].config; }

  // The cheapest candidate that reaches the target for less than a dense run; nothing if none does.
  std::optional<size_t> Best() const {
    std::optional<size_t> best;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const ClipScore& score = candidates_[i].score;
      if (score.agreement < options_.agreement || CostOf(score) > kMostCost) continue;
      if (!best || IsBetter(score, candidates_[*best].score)) best = i;
    }
    return best;
  }

  // The candidate that agrees most. REQUIRES: something was tried.
  size_t Safest() const {
    size_t safest = 0;
    for (size_t i = 1; i < candidates_.size(); ++i) {
      const ClipScore& score = candidates_[i].score;
      const ClipScore& other = candidates_[safest].score;
      const bool is_cheaper = CostOf(score) < CostOf(other);
      if (score.agreement > other.agreement || (score.agreement == other.agreement && is_cheaper)) {
        safest = i;
      }
    }
    return safest;
  }

  // Measures the chosen one again, beside dense runs, and the others as far as time allows.
  FrontierReport Report(size_t chosen, bool is_reached) {
    FrontierReport report = {options_.agreement, is_reached, IsByTime(), clip_.measure(),
                             clip_.dense_ms(),   {},         {}};
    std::vector<size_t> frontier = Frontier(AsTrials());
    if (std::ranges::find(frontier, chosen) == frontier.end()) frontier.push_back(chosen);
    for (const size_t index : frontier) {
      const Candidate& candidate = candidates_[index];
      FrontierPoint point = {candidate.config, candidate.score, {}, index == chosen, IsByTime()};
      if (point.is_chosen) Check(point);
      report.frontier.push_back(std::move(point));
    }
    for (FrontierPoint& point : report.frontier) {
      if (!point.is_chosen && CanCheckOthers()) Check(point);
    }
    AddRivals(report);
    return report;
  }

 private:
  bool IsByTime() const { return options_.by == CalibrationOptions::By::kTime; }

  // Compares two that reach the target.
  bool IsBetter(const ClipScore& a, const ClipScore& b) const {
    if (CostOf(a) != CostOf(b)) return CostOf(a) < CostOf(b);
    return a.agreement > b.agreement;
  }

  double CostOf(const ClipScore& score) const { return IsByTime() ? score.time : score.work; }

  bool CanCheckOthers() const {
    return budget_.is_timed() ? budget_.HasLeft(1.0) : !budget_.is_stopped();
  }

  SearchResult SearchBy(const SearchSpace& space, double share,
                        const std::function<RobotConfig(const SettingPoint&)>& config_at) {
    const std::function<bool()> may_go_on = [this, share] { return MayTry(share); };
    const Trial trial = [&](const SettingPoint& point,
                            const IsHopeless& is_hopeless) -> std::optional<TrialOutcome> {
      const std::optional<ClipScore> score = Try(
          config_at(point),
          [&](const ClipScore& at_best) {
            return is_hopeless(IsByTime() ? 0.0 : at_best.work, *at_best.agreement);
          },
          share);
      if (!score) return std::nullopt;
      return TrialOutcome{CostOf(*score), *score->agreement};
    };
    return SearchSettings(space, options_.agreement, trial, may_go_on);
  }

  std::optional<ClipScore> Try(RobotConfig config,
                               const std::function<bool(const ClipScore&)>& is_hopeless,
                               double share) {
    budget_.CountTrial();
    // Under a budget of trials, finish the current one.
    const auto go_on = [this, share] {
      return budget_.is_timed() ? MayTry(share) : !budget_.is_stopped();
    };
    const std::optional<ClipScore> score = ScoreUnlessRefused(config, go_on, is_hopeless);
    if (score) candidates_.push_back({std::move(config), *score});
    ShowProgress();
    return score;
  }

  std::optional<ClipScore> ScoreUnlessRefused(
      const RobotConfig& config, const std::function<bool()>& go_on,
      const std::function<bool(const ClipScore&)>& is_hopeless) {
    try {
      const std::optional<ClipScore> score = clip_.Try(
          config, IsByTime() ? Beside::kSomeFrames : Beside::kNothing, go_on, is_hopeless);
      LogTrial(config, score ? Describe(*score) : "given up");
      return score;
    } catch (const InputError& refusal) {
      if (refused_++ == 0) first_refusal_ = refusal.what();
      LogTrial(config, refusal.what());
      return std::nullopt;
    }
  }

  // Without a first trial there is nothing to choose from.
  bool MayTry(double share) const {
    return budget_.HasLeft(share) || (candidates_.empty() && !budget_.is_stopped());
  }

  static std::string Describe(const ClipScore& score) {
    return fmt::format("agreement {:.4f} for {:.1f} % of dense work, {:.2f} dense runs' time",
                       *score.agreement, 100 * score.work, score.time);
  }

  void LogTrial(const RobotConfig& config, const std::string& outcome) const {
    LogDebug(
        fmt::format("trial {}: {}: {}", budget_.trials(), DescribeCacheSettings(config), outcome));
  }

  void ShowProgress() {
    status_.Show([this] {
      const std::optional<size_t> best = Best();
      const std::string found =
          best ? fmt::format("best: {} ({})", Describe(candidates_[*best].score),
                             DescribeCacheSettings(candidates_[*best].config))
               : fmt::format("none reaches {} yet", options_.agreement);
      return fmt::format("trial {}  at most {:.0f} s left  {}", budget_.trials(),
                         budget_.SecondsLeft(), found);
    });
  }

  std::vector<FinishedTrial> AsTrials() const {
    std::vector<FinishedTrial> trials;
    for (const Candidate& candidate : candidates_) {
      trials.push_back({{}, {CostOf(candidate.score), *candidate.score.agreement}});
    }
    return trials;
  }

  void Check(FrontierPoint& point) {
    const auto [chosen_by, held_out] =
        clip_.Score(point.config, point.is_chosen ? Beside::kEveryFrame : Beside::kSomeFrames);
    point.held_out = held_out;
    point.has_times = true;
    // Keep what the choice was made by.
    if (IsByTime()) return;
    point.chosen_by.latency = chosen_by.latency;
    point.chosen_by.time = chosen_by.time;
  }

  void AddRivals(FrontierReport& report) const {
    const auto add = [&](const std::string& name, const std::string& options, int every) {
      const auto [chosen_by, held_out] = clip_.ScoreTracking(every);
      report.rivals.push_back({name, options, chosen_by, held_out});
    };
    add("dense", "--mode dense", 1);
    for (int k = 2; k <= kSparsestRival; ++k) {
      add(fmt::format("track-{}", k), fmt::format("--mode dense --track {}", k), k);
    }
  }

  const RobotConfig& config_;
  const CalibrationOptions& options_;
  CalibrationClip& clip_;
  Budget& budget_;
  StatusLine status_;
  std::vector<Candidate> candidates_;
  int64_t refused_ = 0;
  std::string first_refusal_;
  bool is_complete_ = false;
};

// As many frames as leave the search time for its trials.
size_t MostFrames(const CalibrationOptions& options, const Budget& budget,
                  const CalibrationClip::FrameTimes& of_frame) {
  const bool is_by_time = options.by == CalibrationOptions::By::kTime;
  const auto [read_ms, dense_ms, trial_ms] = of_frame;
  const double with_dense_ms =
      std::max(dense_ms, trial_ms) + (is_by_time ? dense_ms * CalibrationClip::kDenseShare : 0);
  const double left_s = kSearchShare * options.budget_s - budget.seconds();
  const double a_frame_s = (read_ms + dense_ms + kTrialsToPlan * 2 / 3 * with_dense_ms) / 1e3;
  const auto most = static_cast<double>(options.frames);
  const double fitting = a_frame_s > 0 ? std::clamp(left_s / a_frame_s, 0.0, most) : most;
  return std::max(kFewestFrames, static_cast<size_t>(fitting));
}

std::string SayEvidence(const CalibrationClip& clip) {
  const CalibrationClip::Evidence& evidence = clip.evidence();
  const size_t chosen_by = clip.frames_to_choose_by() - 1;
  std::string text = fmt::format(
      "{} of the {} scored frames that choose and {} of the {} held out have anything to compare\n",
      evidence.chosen_by, chosen_by, evidence.held_out, clip.frames() - 1 - chosen_by);
  if (evidence.chosen_by >= kFewFramesWithEvidence) return text;
  return text + fmt::format(
                    "only {} of the frames that choose show anything to compare, too few to rely "
                    "on; calibrate on a clip that shows more of what the model looks for\n",
                    evidence.chosen_by);
}

CalibrationResult NothingTried() {
  return {false, 0, "stopped before anything was tried; nothing is written\n"};
}

// Raw numbers of boxes agree well even if boxes are lost: places in pixels drown the scores.
void RefuseUnknownBoxes(const RobotConfig& config, const Graph& graph) {
  const DecoderConfig& decoder = config.model_config.decoder;
  if (graph.head.kind != HeadKind::kRaw || decoder.kind != HeadKind::kAuto) return;
  const HeadSpec spec = HeadSpecOf(decoder, graph.notes);
  for (const HeadKind kind : Recognise(graph, spec.class_count).candidates) {
    if (RowOf(kind).answer != HeadRow::Answer::kBoxes) continue;
    throw InputError(fmt::format(
        "{}: its outputs may be boxes (kind {}, or another), and how far raw numbers agree says "
        "nothing of those; name the kind by --set decoder.kind=KIND, or raw",
        config.model, NameOf(kind)));
  }
}

}  // namespace

CalibrationResult Calibrate(const RobotConfig& config, const std::string& clip_name,
                            const CalibrationOptions& options, const Clock& clock,
                            const std::atomic<bool>& stop) {
  CheckOptions(options);
  if (config.model.empty()) throw InputError("no model is given");
  CheckPaths(config, clip_name, options);
  const std::unique_ptr<FrameSource> source = OpenSource(clip_name, clock);
  if (source->has_tensors()) {
    throw InputError(
        fmt::format("source {}: calibration needs pictures, but these are tensors", clip_name));
  }
  Graph loaded = LoadGraph(config, /*has_tensors=*/false);
  RefuseUnknownBoxes(config, loaded);
  ChooseSchemes(config, ThreadsToUse(config), clock, stop, loaded);
  const auto model = Compile(std::move(loaded), config);
  const fs::path out = OutPath(config, options);
  LogInfo(
      fmt::format("first dense answers to {} frames of {} at most, then trials, for {}; then "
                  "{} is written",
                  options.frames, clip_name,
                  options.trials > 0 ? fmt::format("{} trials", options.trials)
                                     : fmt::format("about {:.0f} s", options.budget_s),
                  out.string()));
  Budget budget(options, clock, stop);
  ClipReader reader(*source, options.skip, options.frames, stop);
  const auto frames = static_cast<size_t>(options.frames);
  size_t most_frames = frames;
  CalibrationClip::MostFrames limit;
  if (budget.is_timed()) {
    limit = [&](const CalibrationClip::FrameTimes& of_frame) {
      return most_frames = MostFrames(options, budget, of_frame);
    };
  }
  CalibrationClip clip(
      model, config, [&reader] { return reader.Next(); }, clock, stop, limit);
  if (stop) return NothingTried();

  Calibration calibration(config, options, clip, clock, budget);
  calibration.Search(ResolutionsOf(model->graph()));
  if (!calibration.has_tried()) {
    if (calibration.refused() == 0 || stop) return NothingTried();
    throw InputError(
        fmt::format("none of the settings tried can be used: {}", calibration.first_refusal()));
  }
  const std::optional<size_t> best = calibration.Best();
  const size_t chosen = best ? *best : calibration.Safest();
  const FrontierReport report = calibration.Report(chosen, best.has_value());

  RobotConfig found = WithoutUnusedSettings(calibration.ConfigOf(chosen));
  if (!best) found.mode = RobotConfig::Mode::kDense;
  WriteRobotConfig(std::move(found), out);
  if (!options.frontier.empty()) WriteFile(options.frontier, ToCsv(report));

  CalibrationResult result;
  result.is_reached = best.has_value();
  result.trials = budget.trials();
  result.text =
      fmt::format("{} frames: settings are chosen by the first {}, the others are held out",
                  clip.frames(), clip.frames_to_choose_by());
  if (most_frames < frames && clip.frames() == most_frames) {
    result.text += fmt::format("; more would not leave {} s time for {} trials", options.budget_s,
                               kFewestTrials);
  }
  result.text += fmt::format(
      "\n{}{} trials in {:.0f} s{}", SayEvidence(clip), budget.trials(), budget.seconds(),
      calibration.is_complete() ? "" : "; the search ended before it was complete");
  if (calibration.refused() > 0) {
    result.text += fmt::format("; {} of them of settings that cannot be used ({})",
                               calibration.refused(), calibration.first_refusal());
  }
  result.text +=
      fmt::format("\n\n{}\n{}written to {}\n", ToTable(report), Advice(report), out.string());
  return result;
}

}  // namespace cacheinf
