#include "scheduler/schedule_solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "common/base/clock.h"
#include "scheduler/planner.h"

namespace cacheinf {
namespace {

class ScheduleSolver {
 public:
  ScheduleSolver(const Profile& robot, const Profile& server, const SolverOptions& options,
                 Schedule& schedule)
      : options_(options), schedule_(schedule), model_(robot, server, schedule.SituationOf(0)) {
    for (const Schedule::Bucket& bucket : schedule_.buckets) solved_ += bucket.is_solved ? 1 : 0;
  }

  bool Solve() {
    if (solved_ == schedule_.buckets.size()) return true;
    std::vector<std::jthread> threads;
    for (int i = 1; i < options_.threads; ++i) threads.emplace_back([this] { SolveColumns(); });
    SolveColumns();
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
    if (solved_ != schedule_.buckets.size()) return false;
    AskNeighbours();
    return true;
  }

 private:
  bool HasToStop() const {
    const std::chrono::duration<double> spent = clock_.Now() - begin_;
    return failed_ || (options_.stop != nullptr && *options_.stop) ||
           (options_.time_limit_s > 0 && spent.count() > options_.time_limit_s);
  }

  // One thread solves all buckets of a bandwidth, in order, so that what buckets learn from each
  // other depends on no other thread.
  void SolveColumns() {
    try {
      const std::unique_ptr<Planner> planner = MakePlanner(schedule_.planner);
      for (size_t column = next_column_++; column < schedule_.mbit.size();
           column = next_column_++) {
        const size_t size = schedule_.buckets.size() / schedule_.mbit.size();
        for (size_t bucket = column * size; bucket < (column + 1) * size; ++bucket) {
          if (HasToStop()) return;
          if (!schedule_.buckets[bucket].is_solved) SolveBucket(bucket, column * size, *planner);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void SolveBucket(size_t bucket, size_t first_of_column, Planner& planner) {
    SolveOptions options;
    options.seed = schedule_.seed;
    // The step before on both axes of work.
    for (const size_t step : {size_t{1}, schedule_.server_work.size()}) {
      if (bucket < first_of_column + step) continue;
      options.hints.push_back(schedule_.buckets[bucket - step].plan);
    }
    const CostModel model = model_.At(schedule_.SituationOf(bucket));
    const Schedule::Bucket solved = Predicted(model, planner.Solve(model, options));
    const std::lock_guard lock(mutex_);
    schedule_.buckets[bucket] = solved;
    ++solved_;
    if (options_.progress) options_.progress(solved_);
  }

  static Schedule::Bucket Predicted(const CostModel& model, const Plan& plan) {
    const Prediction prediction = model.Predict(plan);
    return {true, plan, prediction.latency_ms, prediction.energy_j};
  }

  void AskNeighbours() {
    // Other planners' plans stay their own.
    if (schedule_.planner != kCacheInfPlanner) return;
    const std::vector<Schedule::Bucket> before = schedule_.buckets;
    const size_t row = schedule_.server_work.size();
    const size_t column = row * schedule_.robot_work.size();
    for (size_t bucket = 0; bucket < before.size(); ++bucket) {
      std::vector<Plan> plans = {before[bucket].plan};
      const auto ask = [&](size_t step, size_t end) {
        const size_t position = bucket % end / step;
        for (const size_t neighbour : {bucket - step, bucket + step}) {
          const bool is_below = neighbour != bucket + step;
          if (is_below ? position == 0 : (position + 1) * step >= end) continue;
          const Plan& plan = before[neighbour].plan;
          if (std::ranges::find(plans, plan) == plans.end()) plans.push_back(plan);
        }
      };
      ask(1, row);
      ask(row, column);
      ask(column, before.size());
      if (plans.size() == 1) continue;
      const CostModel model = model_.At(schedule_.SituationOf(bucket));
      schedule_.buckets[bucket] = Predicted(model, BestOf(model, plans));
    }
  }

  const SolverOptions& options_;
  Schedule& schedule_;
  const CostModel model_;
  const SteadyClock clock_;
  const std::chrono::nanoseconds begin_ = clock_.Now();
  std::atomic<size_t> next_column_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what follows, and the writing of buckets
  size_t solved_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

Schedule MakeSchedule(const Profile& robot, const Profile& server, size_t bandwidths, size_t shares,
                      double least_mbit, double most_mbit) {
  Schedule schedule;
  schedule.model = robot.model;
  schedule.planner = kCacheInfPlanner;
  schedule.robot = robot;
  schedule.server = server;
  schedule.mbit = {0};
  for (size_t i = 1; i < bandwidths; ++i) {
    const double place =
        bandwidths == 2 ? 1.0 : static_cast<double>(i - 1) / static_cast<double>(bandwidths - 2);
    schedule.mbit.push_back(place == 1.0 ? most_mbit
                                         : least_mbit * std::pow(most_mbit / least_mbit, place));
  }
  for (size_t i = 1; i <= shares; ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(shares);
    schedule.robot_work.push_back(place * place);
  }
  schedule.server_work = schedule.robot_work;
  schedule.buckets.resize(bandwidths * shares * shares);
  return schedule;
}

bool SolveSchedule(const Profile& robot, const Profile& server, const SolverOptions& options,
                   Schedule& schedule) {
  return ScheduleSolver(robot, server, options, schedule).Solve();
}

}  // namespace cacheinf
