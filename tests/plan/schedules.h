#ifndef CACHEINF_TESTS_PLAN_SCHEDULES_H_
#define CACHEINF_TESTS_PLAN_SCHEDULES_H_

#include <string>
#include <vector>

#include "common/plan/schedule.h"
#include "tests/plan/profiles.h"

// Invented schedules.

namespace cacheinf {

inline ProfilePair TwoOperators() {
  std::vector<ProfiledOperator> operators(2);
  for (size_t id = 0; id < operators.size(); ++id) {
    operators[id].name = "op" + std::to_string(id);
    operators[id].inputs = {{static_cast<int>(id) - 1, AxisWindow::Identity(8)}};
    operators[id].rows = 8;
    operators[id].row_bytes = 100;
    SetCosts(operators[id], 10);
  }
  operators.back().is_output = true;
  return PairOf(operators, 4, 1000);
}

// One without buckets.
inline Schedule ScheduleOf(const ProfilePair& pair, const std::string& planner = "cacheinf") {
  Schedule schedule;
  schedule.model = pair.robot.model;
  schedule.planner = planner;
  schedule.robot = pair.robot;
  schedule.server = pair.server;
  return schedule;
}

// Bandwidths 0, 10 and 100. Every bucket has a plan and a latency of its own.
inline Schedule MadeUp(const ProfilePair& pair) {
  Schedule schedule = ScheduleOf(pair);
  schedule.seed = 0x123456789abcdef0;
  schedule.round_trip_ms = 4;
  schedule.mbit = {0, 10, 100};
  schedule.robot_work = {0.1, 0.5, 1};
  schedule.server_work = {0.2, 1};
  for (int i = 0; i < 18; ++i) {
    Schedule::Bucket bucket;
    bucket.is_solved = true;
    bucket.latency_ms = 100 + i;
    bucket.energy_j = 0.5 * i;
    if (i < 6) {
      bucket.plan.keeps = i % 2 == 0;
    } else if (i < 12) {
      bucket.plan.kind = Plan::Kind::kRemote;
      bucket.plan.codec = "jpeg:85";
    } else {
      bucket.plan.kind = Plan::Kind::kSplit;
      bucket.plan.cuts = {{-1, 50 * i}, {0, 1000}};
    }
    schedule.buckets.push_back(bucket);
  }
  return schedule;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PLAN_SCHEDULES_H_
