#ifndef CACHEINF_TESTS_LINK_PACKET_FEED_H_
#define CACHEINF_TESTS_LINK_PACKET_FEED_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/link/link.h"
#include "common/link/packet.h"

namespace cacheinf {

// A link to a peer that sends what the test says and hears nothing.
class PacketFeed final : public Link {
 public:
  explicit PacketFeed(std::deque<std::vector<uint8_t>>* packets) : packets_(*packets) {}

  bool Send(std::span<const uint8_t> packet) override {
    return !packet.empty() && packet.size() <= kLargestPacket;
  }
  bool Receive(std::vector<uint8_t>* packet) override {
    if (packets_.empty()) return false;
    *packet = std::move(packets_.front());
    packets_.pop_front();
    return true;
  }
  void Wait(std::chrono::nanoseconds /*at_most*/) override {}
  std::string fault() const override { return ""; }

 private:
  std::deque<std::vector<uint8_t>>& packets_;
};

// Packets as a peer may send them: messages of one chunk, of several and of none, one that is given
// up, and reports that acknowledge, ask and answer.
inline std::vector<std::vector<uint8_t>> PacketSeeds() {
  const std::vector<uint8_t> payload(60, 7);
  const std::span<const uint8_t> bytes(payload);
  Report question;
  question.arrived_bytes = 90;
  question.ping = 5;
  Report answer;
  answer.arrived_bytes = 90;
  answer.arrived_at = 1000;
  answer.pong = 0;
  answer.is_quiet = 1;
  const PacketBody bodies[] = {answer,
                               Chunk{1, 0, 100, 0, bytes.first(60)},
                               Chunk{1, 0, 100, 60, bytes.first(40)},
                               question,
                               Chunk{2, 1, 0, 0, {}},
                               Chunk{3, 2, 1 << 20, 0, bytes.first(10)},
                               Abandonment{2},
                               Chunk{4, 3, 5, 0, bytes.first(5)}};
  std::vector<std::vector<uint8_t>> packets;
  for (const PacketBody& body : bodies) {
    packets.emplace_back();
    WritePacket({packets.size() - 1, body}, &packets.back());
  }
  return packets;
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_LINK_PACKET_FEED_H_
