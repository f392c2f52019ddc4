#include "tests/bench/modes_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/answers.h"
#include "common/base/frame_times.h"
#include "common/link/delay_line.h"
#include "tests/bench/mode_list.h"

namespace cacheinf {
namespace {

constexpr std::array kMbits = {93.0, 20.0, 1.0, 5.0, 300.0};
constexpr int kMostRoundsOfAPlan = 2;  // that is no mode
constexpr int kAnswersASample = 20;    // of the guard
constexpr int kAnswersATrial = 8;      // of moving

FrameTimes::Time TimeOf(double ms) {
  return std::chrono::duration_cast<FrameTimes::Time>(
      std::chrono::duration<double, std::milli>(ms));
}
constexpr int kMostSplits = 12;  // per model and clip, besides the one by hand

FrameCost PredictedCost(const Prediction& prediction) {
  FrameCost cost;
  cost.robot_ms = std::min(prediction.robot_ms, prediction.latency_ms);
  cost.server_ms = std::min(prediction.server_ms, prediction.latency_ms - cost.robot_ms);
  cost.link_ms = prediction.latency_ms - cost.robot_ms - cost.server_ms;
  cost.bytes_to_server = prediction.up_bytes;
  cost.bytes_to_robot = prediction.down_bytes;
  return cost;
}

// A robot that takes every other frame of a short clip always sees the same ones; which ones is
// chance.
double MedianAgain(const CostOfFrame& cost_of, ReplayOptions options) {
  options.first = 1;
  Samples samples;
  for (const CameraAnswer& answer : Replay(cost_of, options)) {
    samples.ms.push_back(answer.latency_ms());
  }
  return samples.Median();
}

double MedianAgain(const std::vector<FrameCost>& costs, const ReplayOptions& options) {
  return MedianAgain([&](int64_t captured) { return costs[FrameOfClip(captured, costs.size())]; },
                     options);
}

// A robot that takes longer than the camera's period computes other frames if it begins a few
// milliseconds later; which ones is chance.
constexpr std::array kBeginLaterMs = {25.0, 50.0, 75.0};

std::vector<std::vector<CameraAnswer>> Later(
    const std::function<std::vector<CameraAnswer>(double begin_ms)>& replay) {
  std::vector<std::vector<CameraAnswer>> later;
  for (const double begin_ms : kBeginLaterMs) later.push_back(replay(begin_ms));
  return later;
}

Cell CellOf(std::optional<double> mbit, double speedup, const std::vector<FrameCost>& costs,
            ReplayOptions options) {
  Cell cell = {mbit, speedup, "replayed", Replay(costs, options)};
  cell.again_ms = MedianAgain(costs, options);
  cell.later = Later([&](double begin_ms) {
    options.begin_ms = begin_ms;
    return Replay(costs, options);
  });
  return cell;
}

class Replays {
 public:
  Replays(Subject* subject, const RunPlace& place, const ModeCourse& course, ModeTable* table)
      : subject_(subject), runner_(place, ""), course_(course), table_(table) {}

  void Run() {
    ReplayModes();
    for (const auto& [speedup, planning] : subject_->planning) {
      for (const double mbit : kMbits) {
        for (const char* const planner : {"ds", "ds-c", "hp"}) {
          ReplayPlanner(planner, mbit, speedup);
        }
        for (const Mode& mode : ModesOf(*subject_)) {
          if (mode.config.mode == RobotConfig::Mode::kCacheinf) ReplayChosen(mode, mbit, speedup);
        }
      }
    }
  }

 private:
  // What the plan's frames cost, measured once; null where they are not measured.
  const std::vector<FrameCost>* CostsOf(const Plan& plan) {
    const std::optional<Mode> mode = ModeOf(*subject_, plan);
    if (!mode) return nullptr;
    const auto inserted = subject_->costs.try_emplace(mode->name);
    std::vector<FrameCost>& costs = inserted.first->second;
    const bool is_new = inserted.second;
    const bool is_split = mode->config.mode == RobotConfig::Mode::kSplit;
    if (is_new && !course_.is_over() && (!is_split || ++subject_->splits <= kMostSplits)) {
      course_.Attempt(fmt::format("{} {} {}", subject_->model->name, subject_->clip, mode->name),
                      [&] {
                        std::vector<std::vector<FrameCost>> rounds;
                        for (int i = 0; i < std::min(course_.rounds(), kMostRoundsOfAPlan); ++i) {
                          rounds.push_back(runner_.Measure(*subject_, *mode));
                        }
                        costs = MedianCosts(rounds);
                      });
    }
    return costs.empty() ? nullptr : &costs;
  }

  void ReplayModes() {
    for (const Mode& mode : ModesOf(*subject_)) {
      const auto costs = subject_->costs.find(mode.every > 1 ? "local" : mode.name);
      if (costs == subject_->costs.end()) continue;
      for (const double speedup : kSpeedups) {
        ReplayOptions options{.slowdown = speedup, .every = mode.every};
        for (const double mbit : kMbits) {
          if (mode.needs_server) options.link = ParseLinkShape(LinkText(mbit));
          const auto link = mode.needs_server ? std::optional(mbit) : std::nullopt;
          table_->Add(*subject_, mode, CellOf(link, speedup, costs->second, options));
          if (!mode.needs_server) break;
        }
      }
    }
  }

  void ReplayPlanner(const std::string& planner, double mbit, double speedup) {
    const Situation situation = Planning::SituationOf(mbit, subject_->work);
    const Plan plan = subject_->planning.at(speedup)->Solve(planner, situation);
    Mode mode = {.name = planner, .config = subject_->config, .plan = plan};
    const std::vector<FrameCost>* const costs = CostsOf(plan);
    if (costs != nullptr) {
      ReplayOptions options{.link = ParseLinkShape(LinkText(mbit)), .slowdown = speedup};
      table_->Add(*subject_, mode, CellOf(mbit, speedup, *costs, options));
      return;
    }
    const FrameCost cost = PredictedCost(subject_->planning.at(speedup)->Predict(plan, situation));
    const auto cost_of = [&](int64_t captured) {
      FrameCost of_frame = cost;
      of_frame.content = DenseAnswer(captured);
      return of_frame;
    };
    table_->Add(*subject_, mode, {mbit, speedup, "predicted", Replay(cost_of, ReplayOptions())});
  }

  const SharedContent& DenseAnswer(int64_t captured) const {
    return subject_->dense[FrameOfClip(captured, subject_->dense.size())];
  }

  PlanChooser::Goal GoalOf(const RobotConfig& config) const {
    return {.objective = config.EffectiveObjective(),
            .deadline_ms = config.deadline_ms,
            .least_agreement = config.agreement};
  }

  // Tells the chooser what a robot's guard sees, in one of so many answers, and how well and how
  // fast answers move: the last answer but one, tried now and then, and the answer in hand before a
  // frame had its own. REQUIRES: the last answer is computed.
  void NoteSamples(const std::vector<CameraAnswer>& answers, double deadline_ms, const Plan& plan,
                   double slowdown, PlanChooser* chooser) const {
    if (!subject_->model->has_answers) return;
    const auto note = [](const AnswerContent& answer, const AnswerContent& dense, auto&& noted) {
      ContentAgreement agreement;
      agreement.Add(answer, dense);
      if (const auto value = agreement.value()) noted(*value, WeightOf(answer, dense));
    };
    const CameraAnswer& last = answers.back();
    if (answers.size() % kAnswersASample == 0) {
      note(*last.cost.content, *DenseAnswer(last.captured),
           [&](double value, double weight) { chooser->NoteAgreement(plan, value, weight); });
    }
    const auto before = std::find_if(answers.rbegin() + 1, answers.rend(),
                                     [](const CameraAnswer& a) { return !a.cost.is_moved; });
    if (before == answers.rend()) return;
    const bool is_late = deadline_ms > 0 && last.latency_ms() > deadline_ms;
    if (is_late || answers.size() % kAnswersATrial == 0) {
      const SharedContent moved =
          subject_->motion->Moved(before->cost.content, before->captured, last.captured);
      const auto frames = static_cast<int>(last.captured - before->captured);
      note(*moved, *last.cost.content,
           [&](double value, double weight) { chooser->NoteMoved(value, weight, frames); });
    }
    const double move_ms = slowdown * subject_->motion->move_ms();
    if (move_ms > 0) chooser->NoteMovingTook(TimeOf(move_ms));
  }

  // For each frame, the plan that a robot's chooser takes by predictions and by what earlier frames
  // took.
  void ReplayChosen(const Mode& mode, double mbit, double speedup) {
    constexpr size_t kFramesToSettle = 60;
    const double deadline_ms = mode.config.deadline_ms;
    const auto chooser = subject_->planning.at(speedup)->MakeChooser(GoalOf(mode.config));
    if (!mode.config.smaller_models.empty()) {
      const std::string name = subject_->SmallerName();
      chooser->AddModel(name, SlowedDown(*subject_->small_profile, speedup));
      const auto [agreement, weight] = subject_->small_judged;
      if (weight > 0) chooser->NoteTrial({.keeps = false, .model = name}, agreement, weight);
    }
    const PlanChooser::Link link = {.is_up = true,
                                    .to_server = {mbit},
                                    .to_robot = {mbit},
                                    .round_trip_ms = Planning::SituationOf(mbit, 1).round_trip_ms};
    chooser->SetPeriod(CapturedMs(1));
    Plan plan;
    std::optional<double> share;
    bool is_predicted = false;
    int64_t computed_from = 0;
    SharedContent computed;  // the last one
    int frames_since = 0;    // that
    const auto cost_of = [&](int64_t captured) {
      FrameCost cost;
      if (computed && ++frames_since < plan.every) {
        cost.is_moved = true;
        cost.robot_ms = subject_->motion->move_ms();
        cost.content = subject_->motion->Moved(computed, computed_from, captured);
        cost.plan = ToText(plan);
        return cost;
      }
      plan = chooser->Choose(link);
      const std::vector<FrameCost>* const costs = CostsOf(BaseOf(plan));
      if (costs != nullptr) {
        cost = (*costs)[FrameOfClip(captured, costs->size())];
        share = cost.share;
      } else {
        is_predicted = true;
        share = plan.keeps ? std::optional(subject_->work) : std::nullopt;
        cost = PredictedCost(chooser->prediction());
        cost.robot_ms /= speedup;
        cost.content = DenseAnswer(captured);
      }
      cost.plan = ToText(plan);
      cost.predicted_ms = chooser->prediction().latency_ms;
      computed = cost.content;
      computed_from = captured;
      frames_since = 0;
      return cost;
    };
    ReplayOptions options{.link = ParseLinkShape(LinkText(mbit)), .slowdown = speedup};
    options.on_answer = [&](const std::vector<CameraAnswer>& answers) {
      if (frames_since > 0) return;
      const CameraAnswer& last = answers.back();
      FrameTimes times;
      const double taken_ms = last.cost.robot_ms + last.cost.server_ms + last.cost.link_ms;
      // Without a deadline a robot does not count how long a frame waited for it.
      if (deadline_ms > 0) times.waited = TimeOf(last.latency_ms() - taken_ms);
      times.waiting = TimeOf(last.cost.server_ms + last.cost.link_ms);
      times.compute = TimeOf(last.cost.robot_ms) + times.waiting;
      times.server_computing = TimeOf(last.cost.server_ms);
      chooser->Note({.executed = plan.kind,
                     .times = times,
                     .sent_bytes = last.cost.bytes_to_server,
                     .share = share});
      NoteSamples(answers, deadline_ms, plan, speedup, chooser.get());
    };
    const auto replay = [&](size_t answers) {
      computed = nullptr;
      options.answers = answers;
      return Replay(cost_of, options);
    };
    replay(kFramesToSettle);
    is_predicted = false;
    const std::vector<CameraAnswer> answers = replay(kMostAnswersOfACell);
    const std::string why = chooser->Reason();
    std::vector<std::vector<CameraAnswer>> later;
    if (IsOnTime(mode)) {
      later = Later([&](double begin_ms) {
        options.begin_ms = begin_ms;
        return replay(kMostAnswersOfACell);
      });
    }
    Cell cell = {mbit, speedup, is_predicted ? "predicted" : "replayed", answers};
    cell.why = why;
    cell.later = std::move(later);
    computed = nullptr;
    if (!IsOnTime(mode)) cell.again_ms = MedianAgain(cost_of, options);
    table_->Add(*subject_, mode, cell);
  }

  Subject* const subject_;
  ModeRunner runner_;
  const ModeCourse& course_;
  ModeTable* const table_;
};

}  // namespace

void ReplayCells(Subject* subject, const RunPlace& place, const ModeCourse& course,
                 ModeTable* table) {
  Replays(subject, place, course, table).Run();
}

}  // namespace cacheinf
