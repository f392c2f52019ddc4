#ifndef CACHEINF_TESTS_PAIR_BUSY_CLOCK_H_
#define CACHEINF_TESTS_PAIR_BUSY_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "common/base/clock.h"
#include "common/link/channel.h"

namespace cacheinf {

// A clock that advances by a millisecond at each look, as if work went on in between.
class BusyClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return std::chrono::milliseconds(++looks_); }

 private:
  mutable std::atomic<int64_t> looks_ = 0;
};

// Bytes of messages, whether they have left or not.
inline uint64_t BytesSaid(const Channel& channel) {
  const ChannelStatistics statistics = channel.statistics();
  return statistics.sent.payload + statistics.waiting_to_leave;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_BUSY_CLOCK_H_
