#ifndef CACHEINF_TESTS_PAIR_BUSY_CLOCK_H_
#define CACHEINF_TESTS_PAIR_BUSY_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <functional>

#include "common/base/clock.h"
#include "common/base/slowed_clock.h"
#include "common/link/channel.h"

namespace cacheinf {

// Lets a millisecond pass before each look, as if work went on in between.
class BusyClock final : public Clock {
 public:
  explicit BusyClock(ManualClock& time) : time_(time) {}

  std::chrono::nanoseconds Now() const override {
    time_.Advance(std::chrono::milliseconds(1));
    return time_.Now();
  }

 private:
  ManualClock& time_;
};

// A side that takes twice as long for its work, which is all that goes on between two looks at its
// clock.
class SlowSide {
 public:
  using Nap = std::function<void()>;

  // `nap` is called at the beginning of each wait that makes up for work; without it the side is as
  // fast as can be.
  SlowSide(ManualClock& time, const Nap& nap)
      : busy_(time),
        clock_(nap ? 2 : 1, nap ? static_cast<const Clock&>(busy_) : time, [&time, nap](auto wait) {
          nap();
          time.Advance(wait);
        }) {}

  const Clock& clock() const { return clock_; }

 private:
  const BusyClock busy_;
  const SlowedClock clock_;
};

// Bytes of messages, whether they have left or not.
inline uint64_t BytesSaid(const Channel& channel) {
  const ChannelStatistics statistics = channel.statistics();
  return statistics.sent.payload + statistics.waiting_to_leave;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_BUSY_CLOCK_H_
