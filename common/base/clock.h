#ifndef CACHEINF_COMMON_BASE_CLOCK_H_
#define CACHEINF_COMMON_BASE_CLOCK_H_

#include <atomic>
#include <chrono>

namespace cacheinf {

// The program's time. Everything that measures or waits takes a Clock, so that a test decides what
// time it is.
class Clock {
 public:
  virtual ~Clock() = default;

  // Time since an unspecified start; never goes back. Safe to call from any thread.
  virtual std::chrono::nanoseconds Now() const = 0;

  // Call it after a wait for anything but this thread's own work: a slowed clock (slowed_clock.h)
  // does not stretch such a wait.
  virtual void EndWait() const {}
};

class SteadyClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override;
};

// Stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override;
  void Advance(std::chrono::nanoseconds by);  // REQUIRES: by >= 0

 private:
  std::atomic<std::chrono::nanoseconds::rep> now_ns_ = 0;
};

double Milliseconds(std::chrono::nanoseconds duration);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_CLOCK_H_
