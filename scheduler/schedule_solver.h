#ifndef CACHEINF_SCHEDULER_SCHEDULE_SOLVER_H_
#define CACHEINF_SCHEDULER_SCHEDULE_SOLVER_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "common/plan/profile.h"
#include "common/plan/schedule.h"

namespace cacheinf {

// An empty schedule of these profiles, with axes of so many steps each: bandwidths from
// `least_mbit` to `most_mbit` on a logarithmic scale, after 0; shares of a dense frame's work up to
// 1, finer where there is little.
Schedule MakeSchedule(const Profile& robot, const Profile& server, size_t bandwidths, size_t shares,
                      double least_mbit = 1, double most_mbit = 300);

struct SolverOptions {
  int threads = 1;
  double time_limit_s = 0;                  // 0: none
  const std::atomic<bool>* stop = nullptr;  // ends it early once true
  // After every bucket, from any thread but one at a time, while no bucket is written: how many are
  // solved.
  std::function<void(size_t solved)> progress;
};

// Solves the buckets that are not solved by schedule.planner, seeded with the plans of those beside
// them, and lets all try their neighbours' plans in the end. Equal schedules give equal ones,
// whatever the threads, and if it was stopped in between as well. False if it did not get to the
// end. Throws InputError if the profiles do not fit each other.
bool SolveSchedule(const Profile& robot, const Profile& server, const SolverOptions& options,
                   Schedule& schedule);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SCHEDULE_SOLVER_H_
