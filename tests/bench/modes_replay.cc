#include "tests/bench/modes_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/base/frame_times.h"
#include "common/link/delay_line.h"
#include "tests/bench/mode_list.h"

namespace cacheinf {
namespace {

constexpr std::array kMbits = {93.0, 20.0, 1.0, 5.0, 300.0};
constexpr PlanChooser::Goal kGoal = {.objective = Objective::kLatency};
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
double MedianAgain(size_t clip_frames, const CostOfFrame& cost_of, ReplayOptions options) {
  options.first = 1;
  Samples samples;
  for (const AnsweredFrame& answer : Replay(clip_frames, cost_of, options)) {
    samples.ms.push_back(answer.latency_ms());
  }
  return samples.Median();
}

double MedianAgain(const std::vector<FrameCost>& costs, const ReplayOptions& options) {
  return MedianAgain(
      costs.size(), [&](size_t frame) { return costs[frame]; }, options);
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
        ReplayChosen(mbit, speedup);
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
                        for (int i = 0; i < course_.rounds(); ++i) {
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
          table_->Add(*subject_, mode,
                      {link, speedup, "replayed", Replay(costs->second, options), "",
                       MedianAgain(costs->second, options)});
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
      table_->Add(
          *subject_, mode,
          {mbit, speedup, "replayed", Replay(*costs, options), "", MedianAgain(*costs, options)});
      return;
    }
    const FrameCost cost = PredictedCost(subject_->planning.at(speedup)->Predict(plan, situation));
    const auto cost_of = [&](size_t frame) {
      FrameCost of_frame = cost;
      of_frame.content = subject_->dense[frame];
      return of_frame;
    };
    table_->Add(
        *subject_, mode,
        {mbit, speedup, "predicted", Replay(subject_->dense.size(), cost_of, ReplayOptions())});
  }

  // For each frame, the plan that a robot's chooser takes by predictions and by what earlier frames
  // took.
  void ReplayChosen(double mbit, double speedup) {
    constexpr size_t kFramesToSettle = 20;
    const auto chooser = subject_->planning.at(speedup)->MakeChooser(kGoal);
    const PlanChooser::Link link = {.is_up = true,
                                    .to_server = {mbit},
                                    .to_robot = {mbit},
                                    .round_trip_ms = Planning::SituationOf(mbit, 1).round_trip_ms};
    Plan plan;
    std::optional<double> share;
    bool is_predicted = false;
    const auto cost_of = [&](size_t frame) {
      plan = chooser->Choose(link);
      const std::vector<FrameCost>* const costs = CostsOf(plan);
      FrameCost cost;
      if (costs != nullptr) {
        cost = (*costs)[frame];
        share = cost.share;
      } else {
        is_predicted = true;
        share.reset();
        cost = PredictedCost(chooser->prediction());
        cost.robot_ms /= speedup;
        cost.content = subject_->dense[frame];
      }
      cost.plan = ToText(plan);
      cost.predicted_ms = chooser->prediction().latency_ms;
      return cost;
    };
    ReplayOptions options{.link = ParseLinkShape(LinkText(mbit)), .slowdown = speedup};
    options.on_answer = [&](const FrameCost& cost) {
      const auto time_of = [](double ms) {
        return std::chrono::duration_cast<FrameTimes::Time>(
            std::chrono::duration<double, std::milli>(ms));
      };
      FrameTimes times;
      times.waiting = time_of(cost.server_ms + cost.link_ms);
      times.compute = time_of(cost.robot_ms) + times.waiting;
      times.server_computing = time_of(cost.server_ms);
      chooser->Note({.executed = plan.kind,
                     .times = times,
                     .sent_bytes = cost.bytes_to_server,
                     .share = share});
    };
    options.answers = kFramesToSettle;
    Replay(subject_->frames.size(), cost_of, options);
    is_predicted = false;
    options.answers = kAnswersOfACell;
    const Mode mode = {.name = "cacheinf", .config = subject_->config};
    const std::vector<AnsweredFrame> answers = Replay(subject_->frames.size(), cost_of, options);
    const std::string why = chooser->Reason();
    const double again_ms = MedianAgain(subject_->frames.size(), cost_of, options);
    table_->Add(*subject_, mode,
                {mbit, speedup, is_predicted ? "predicted" : "replayed", answers, why, again_ms});
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
