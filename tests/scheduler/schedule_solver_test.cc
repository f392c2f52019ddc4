#include "scheduler/schedule_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "scheduler/planner.h"
#include "scheduler/schedule_text.h"
#include "tests/scheduler/random_networks.h"

namespace cacheinf {
namespace {

// Solves a schedule with few buckets.
Schedule Solve(const ProfilePair& pair, int threads, const std::string& planner = "cacheinf") {
  Schedule schedule = MakeSchedule(pair.robot, pair.server, 4, 3);
  schedule.planner = planner;
  schedule.round_trip_ms = 2;
  SolverOptions options;
  options.threads = threads;
  EXPECT_TRUE(SolveSchedule(pair.robot, pair.server, options, schedule));
  return schedule;
}

TEST(ScheduleSolver, StepsAreFactorsOfBandwidthAndFinerWhereLittleChanges) {
  const ProfilePair pair = MakeRandomNetwork(3, 6).pair;
  const Schedule schedule = MakeSchedule(pair.robot, pair.server, 4, 2, 1, 100);
  ASSERT_EQ(schedule.mbit.size(), 4U);
  for (const size_t i : {1, 2, 3}) EXPECT_NEAR(schedule.mbit[i], std::pow(10, i - 1), 1e-9);
  EXPECT_EQ(schedule.robot_work, (std::vector<double>{0.25, 1}));
  EXPECT_EQ(MakeSchedule(pair.robot, pair.server, 2, 1, 1, 100).mbit,
            (std::vector<double>{0, 100}));
}

TEST(ScheduleSolver, GivesTheSameScheduleWhateverTheThreads) {
  const ProfilePair pair = MakeRandomNetwork(3, 6).pair;
  EXPECT_EQ(ToJsonText(Solve(pair, 1)), ToJsonText(Solve(pair, 3)));
}

TEST(ScheduleSolver, GoesOnWhereItWasStopped) {
  const ProfilePair pair = MakeRandomNetwork(4, 6).pair;
  Schedule schedule = MakeSchedule(pair.robot, pair.server, 4, 3);
  schedule.round_trip_ms = 2;
  std::atomic<bool> stop = false;
  SolverOptions options;
  options.stop = &stop;
  options.progress = [&](size_t solved) { stop = solved == 17; };
  EXPECT_FALSE(SolveSchedule(pair.robot, pair.server, options, schedule));
  schedule = ParseSchedule(ToJsonText(schedule), "stopped", /*may_lack=*/true);
  EXPECT_EQ(std::ranges::count(schedule.buckets, true, &Schedule::Bucket::is_solved), 17);
  options.stop = nullptr;
  EXPECT_TRUE(SolveSchedule(pair.robot, pair.server, options, schedule));
  EXPECT_EQ(ToJsonText(schedule), ToJsonText(Solve(pair, 1)));
}

TEST(ScheduleSolver, IsNeverWorseThanABaseline) {
  for (const uint32_t seed : {5, 6}) {
    const ProfilePair pair = MakeRandomNetwork(seed, 6).pair;
    const Schedule best = Solve(pair, 2);
    for (const char* planner : {"local", "remote", "ds", "ds-c", "hp"}) {
      const Schedule other = Solve(pair, 2, planner);
      for (size_t i = 0; i < best.buckets.size(); ++i) {
        EXPECT_LE(best.buckets[i].latency_ms, other.buckets[i].latency_ms)
            << planner << ", bucket " << i << ", seed " << seed;
        // A baseline's plans are its own.
        const CostModel model(pair.robot, pair.server, other.SituationOf(i));
        EXPECT_EQ(other.buckets[i].plan, MakePlanner(planner)->Solve(model, {}))
            << planner << ", bucket " << i << ", seed " << seed;
      }
    }
  }
}

// 546 operators, 10 bandwidths by 10 by 10 ratios, within a minute on two cores.
TEST(SlowScheduleSolver, SolvesADetectorOfManyOperators) {
  const ProfilePair pair = MakeKapaoLike();
  ASSERT_EQ(pair.robot.operators.size(), 546U);
  Schedule schedule = MakeSchedule(pair.robot, pair.server, 10, 10);
  schedule.round_trip_ms = 4;
  SolverOptions options;
  options.threads = 2;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(SolveSchedule(pair.robot, pair.server, options, schedule));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  std::cout << spent.count() << " s\n" << TableOf(schedule);
  EXPECT_LT(spent.count(), 60);
}

}  // namespace
}  // namespace cacheinf
