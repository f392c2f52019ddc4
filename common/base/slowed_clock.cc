#include "common/base/slowed_clock.h"

#include <thread>
#include <utility>

namespace cacheinf {

using std::chrono::nanoseconds;

SlowedClock::SlowedClock(double factor, const Clock& clock, Wait wait)
    : factor_(factor),
      clock_(clock),
      wait_(std::move(wait)),
      begin_(factor > 1 ? clock.Now() : nanoseconds(0)) {}

nanoseconds SlowedClock::Now() const {
  const nanoseconds now = clock_.Now();
  if (factor_ <= 1) return now;
  const std::chrono::duration<double, std::nano> work = now - begin_;
  owed_ += std::chrono::duration_cast<nanoseconds>(work * (factor_ - 1));
  begin_ = now;
  if (owed_ <= nanoseconds(0)) return now;
  if (wait_) {
    wait_(owed_);
  } else {
    while (clock_.Now() < now + owed_) std::this_thread::yield();
  }
  begin_ = clock_.Now();
  owed_ -= begin_ - now;
  return begin_;
}

void SlowedClock::EndWait() const {
  if (factor_ > 1) begin_ = clock_.Now();
}

}  // namespace cacheinf
