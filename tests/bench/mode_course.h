#ifndef CACHEINF_TESTS_BENCH_MODE_COURSE_H_
#define CACHEINF_TESTS_BENCH_MODE_COURSE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "tests/bench/bench.h"

namespace cacheinf {

// How long `modes` goes on, and what happens to failures meanwhile.
class ModeCourse {
 public:
  ModeCourse(bool is_quick, BenchReport* report);

  // How many rounds measure a mode's frames; each round takes one mode after the other.
  int rounds() const { return rounds_; }
  double minutes() const { return Milliseconds(clock_.Now() - begin_) / 60000; }
  // What is not measured by then is omitted.
  bool is_live_over() const { return stop_ || minutes() > live_minutes_; }
  bool is_over() const { return stop_ || minutes() > all_minutes_; }

  // Reports what fails, and goes on. Does nothing once the bench was stopped.
  void Attempt(const std::string& what, const std::function<void()>& action) const;

 private:
  BenchReport* const report_;
  const int rounds_;
  const double live_minutes_;
  const double all_minutes_;
  const std::atomic<bool>& stop_;
  const SteadyClock clock_;
  const std::chrono::nanoseconds begin_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_MODE_COURSE_H_
