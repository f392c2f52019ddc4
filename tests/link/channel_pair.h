#ifndef CACHEINF_TESTS_LINK_CHANNEL_PAIR_H_
#define CACHEINF_TESTS_LINK_CHANNEL_PAIR_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/link/channel.h"
#include "common/link/packet.h"
#include "tests/link/loopback.h"

namespace cacheinf {

// What passed through one end of a link, according to the packets themselves.
struct Seen {
  uint64_t chunk_bytes_sent = 0;
  uint64_t acknowledged = 0;
  bool has_exceeded_credit = false;  // when a chunk was sent
  bool is_silent = false;            // set it to lose all that is sent from now on
};

class WatchedLink final : public Link {
 public:
  WatchedLink(std::unique_ptr<Link> link, Seen* seen) : link_(std::move(link)), seen_(*seen) {}

  bool Send(std::span<const uint8_t> bytes) override {
    if (seen_.is_silent) return true;
    if (!link_->Send(bytes)) return false;
    Packet packet;
    if (ReadPacket(bytes, &packet) == nullptr && std::holds_alternative<Chunk>(packet.body)) {
      seen_.chunk_bytes_sent += bytes.size();
    }
    return true;
  }

  bool Receive(std::vector<uint8_t>* bytes) override {
    if (!link_->Receive(bytes)) return false;
    Packet packet;
    if (ReadPacket(*bytes, &packet) == nullptr) {
      if (const auto* report = std::get_if<Report>(&packet.body)) {
        seen_.acknowledged = std::max(seen_.acknowledged, report->arrived_bytes);
      }
    }
    return true;
  }

  void Wait(std::chrono::nanoseconds at_most) override { link_->Wait(at_most); }
  std::string fault() const override { return link_->fault(); }

 private:
  const std::unique_ptr<Link> link_;
  Seen& seen_;
};

// Two channels over a loopback, on a clock that stands still between steps.
struct ChannelPair {
  explicit ChannelPair(const LoopbackScript& script, const ChannelOptions& options = {})
      : links(MakeLoopback(script, clock)),
        robot(std::make_unique<WatchedLink>(std::move(links.first), &robot_sees), clock, options),
        server(std::make_unique<WatchedLink>(std::move(links.second), &server_sees), clock,
               options) {}

  // Advances by 100 µs until the condition holds. Returns false if it does not within `at_most`.
  bool RunUntil(const std::function<bool()>& holds,
                std::chrono::nanoseconds at_most = std::chrono::seconds(60)) {
    const auto end = clock.Now() + at_most;
    while (!holds()) {
      if (clock.Now() >= end) return false;
      for (bool has_moved = true; has_moved;) {
        has_moved = Pump(robot, robot_sees);
        has_moved = Pump(server, server_sees) || has_moved;
      }
      clock.Advance(std::chrono::microseconds(100));
    }
    return true;
  }

  void RunFor(std::chrono::nanoseconds duration) {
    RunUntil([] { return false; }, duration);
  }

  static bool Pump(Channel& channel, Seen& seen) {
    const uint64_t sent_before = seen.chunk_bytes_sent;
    const bool has_moved = channel.Pump();
    if (seen.chunk_bytes_sent > sent_before) {
      const auto bandwidth = channel.statistics().bandwidth;
      const double credit = bandwidth ? bandwidth->bits_per_second / 8 * .05 : 0;
      if (static_cast<double>(seen.chunk_bytes_sent - seen.acknowledged) >
          std::max(65536., credit)) {
        seen.has_exceeded_credit = true;
      }
    }
    return has_moved;
  }

  ManualClock clock;
  std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> links;
  Seen robot_sees;
  Seen server_sees;
  Channel robot;
  Channel server;
};

// "": it carries everything at once.
inline LoopbackScript Shaped(const std::string& shape) {
  LoopbackScript script;
  if (!shape.empty()) script.shape = ParseLinkShape(shape);
  return script;
}

inline Message RandomMessage(std::mt19937& random, size_t size, int64_t frame = 0) {
  Message message{static_cast<uint8_t>(random()), frame, std::vector<uint8_t>(size)};
  for (size_t i = 0; i < size; i += 7) message.bytes[i] = static_cast<uint8_t>(random());
  return message;
}

inline bool AreEqual(const Message& a, const Message& b) {
  return a.kind == b.kind && a.frame == b.frame && a.bytes == b.bytes;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_LINK_CHANNEL_PAIR_H_
