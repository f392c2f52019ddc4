#ifndef CACHEINF_SCHEDULER_SCHEDULE_SOLVER_H_
#define CACHEINF_SCHEDULER_SCHEDULE_SOLVER_H_

#include <atomic>
#include <cstddef>
#include <functional>

#include "common/plan/profile.h"
#include "common/plan/schedule.h"

namespace cacheinf {

// Returns an unsolved schedule of these profiles. Its axes have the given numbers of steps:
// bandwidths from `least_mbit` to `most_mbit` on a logarithmic scale, after 0; and shares of a
// dense frame's work up to 1, finer where small.
Schedule MakeSchedule(const Profile& robot, const Profile& server, size_t bandwidths, size_t shares,
                      double least_mbit = 1, double most_mbit = 300);

struct SolverOptions {
  int threads = 1;
  double time_limit_s = 0;                  // 0: none
  const std::atomic<bool>* stop = nullptr;  // ends it early once true
  // Gets the number of solved buckets after every one, from any thread but one at a time, while no
  // bucket is written.
  std::function<void(size_t solved)> progress;
};

// Solves the unsolved buckets with schedule.planner, starting from the plans of neighbours. With
// planner cacheinf, each bucket then tries its neighbours' plans, too. Equal schedules give equal
// results, whatever the threads, and also if stopped and resumed. Returns false if it did not
// finish. Throws InputError if the profiles do not fit each other.
bool SolveSchedule(const Profile& robot, const Profile& server, const SolverOptions& options,
                   Schedule& schedule);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SCHEDULE_SOLVER_H_
