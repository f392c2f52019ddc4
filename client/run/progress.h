#ifndef CACHEINF_CLIENT_RUN_PROGRESS_H_
#define CACHEINF_CLIENT_RUN_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "client/run/summary.h"
#include "common/answer/statistics.h"
#include "common/base/clock.h"

namespace cacheinf {

// Shows how a run is going: one line that changes in place on a terminal, else a line in the log
// every few seconds.
class Progress {
 public:
  // The clock outlives this. `total_frames` is 0 if unknown.
  Progress(const Clock& clock, int64_t total_frames, bool on_terminal);
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `elapsed` is the time that the frames took.
  void Update(int64_t frames, std::chrono::nanoseconds elapsed, const LatencyHistogram& latency,
              const WorkShares& work = {});

 private:
  const Clock& clock_;
  int64_t total_frames_;
  bool on_terminal_;
  std::chrono::nanoseconds last_shown_;
  bool has_line_ = false;
};

// "frame 120/300  31.2 fps  p50 30.1 ms  p95 33.9 ms  p99 40.2 ms  reuse 88 %  work 21 %": with a
// cache, the mean share of the pixels that counted as unchanged and of a dense run's
// multiply-adds.
std::string ProgressLine(int64_t frames, int64_t total_frames, std::chrono::nanoseconds elapsed,
                         const LatencyHistogram& latency, const WorkShares& work = {});

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_PROGRESS_H_
