#ifndef CACHEINF_TESTS_LINK_CHANNEL_PAIR_H_
#define CACHEINF_TESTS_LINK_CHANNEL_PAIR_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "common/link/loopback.h"

namespace cacheinf {

// Two channels over a loopback, on a clock that stands still between steps.
struct ChannelPair {
  explicit ChannelPair(const LoopbackScript& script, const ChannelOptions& options = {})
      : links(MakeLoopback(script, clock)),
        robot(std::move(links.first), clock, options),
        server(std::move(links.second), clock, options) {}

  // Goes on in steps of 100 µs until the condition holds; false if it does not for so long.
  bool RunUntil(const std::function<bool()>& holds,
                std::chrono::nanoseconds at_most = std::chrono::seconds(20)) {
    const auto end = clock.Now() + at_most;
    while (!holds()) {
      if (clock.Now() >= end) return false;
      Step();
    }
    return true;
  }

  void RunFor(std::chrono::nanoseconds duration) {
    RunUntil([] { return false; }, duration);
  }

  void Step() {
    while (robot.Pump() | server.Pump()) {
      most_over_credit = std::max({most_over_credit, OverCredit(robot), OverCredit(server)});
    }
    clock.Advance(std::chrono::microseconds(100));
  }

  static int64_t OverCredit(const Channel& channel) {
    const ChannelStatistics statistics = channel.statistics();
    return static_cast<int64_t>(statistics.unacknowledged) -
           static_cast<int64_t>(statistics.credit);
  }

  ManualClock clock;
  std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> links;
  Channel robot;
  Channel server;
  int64_t most_over_credit = 0;
};

inline Message RandomMessage(std::mt19937& random, size_t size, int64_t frame = 0) {
  Message message{static_cast<uint8_t>(random()), frame, std::vector<uint8_t>(size)};
  for (uint8_t& byte : message.bytes) byte = static_cast<uint8_t>(random());
  return message;
}

inline bool AreEqual(const Message& a, const Message& b) {
  return a.kind == b.kind && a.frame == b.frame && a.bytes == b.bytes;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_LINK_CHANNEL_PAIR_H_
