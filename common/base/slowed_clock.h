#ifndef CACHEINF_COMMON_BASE_SLOWED_CLOCK_H_
#define CACHEINF_COMMON_BASE_SLOWED_CLOCK_H_

#include <chrono>
#include <functional>

#include "common/base/clock.h"

namespace cacheinf {

// The clock of a thread whose work should take `factor` times as long. Now() first waits in
// proportion to the work since the last Now() or EndWait(), so timed work takes as long as on a
// slow machine: read the clock before a result leaves. Waits awake, because a core that slept is
// slower for a while. Only that thread may use it.
class SlowedClock final : public Clock {
 public:
  using Wait = std::function<void(std::chrono::nanoseconds)>;

  // The clock must outlive this.
  SlowedClock(double factor, const Clock& clock, Wait wait = {});

  std::chrono::nanoseconds Now() const override;
  void EndWait() const override;

 private:
  const double factor_;
  const Clock& clock_;
  const Wait wait_;
  mutable std::chrono::nanoseconds begin_;   // of work
  mutable std::chrono::nanoseconds owed_{};  // negative after a wait that took too long
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_SLOWED_CLOCK_H_
