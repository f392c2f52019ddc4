#include "common/base/clock.h"

namespace cacheinf {

std::chrono::nanoseconds SteadyClock::Now() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::chrono::nanoseconds ManualClock::Now() const { return std::chrono::nanoseconds(now_ns_); }

void ManualClock::Advance(std::chrono::nanoseconds by) { now_ns_ += by.count(); }

double Milliseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace cacheinf
