#ifndef CACHEINF_COMMON_LINK_DELAY_LINE_H_
#define CACHEINF_COMMON_LINK_DELAY_LINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cacheinf {

// What one direction of an emulated link can do.
struct LinkShape {
  struct Piece {
    std::chrono::nanoseconds duration{};
    double bytes_per_second = 0;
  };

  // The bandwidth over time, again and again from the beginning; none: no limit. REQUIRES: each
  // piece lasts, and some have a bandwidth.
  std::vector<Piece> bandwidth;
  std::chrono::nanoseconds delay{};  // one way
};

// Reads "93mbit,3ms", "500kbit" or a trace, "FILE.csv,3ms" or "FILE.csv:COLUMN,3ms": lines of a
// time in seconds and, in the column of that name or else the second one, a bandwidth in Mbit/s.
// The last line lasts as long as the one before it. Throws InputError.
LinkShape ParseLinkShape(const std::string& text);

// Packets on their way through a bottleneck and a delay, in order.
class DelayLine {
 public:
  using Time = std::chrono::nanoseconds;

  // What may wait in front of the bottleneck when a packet enters.
  static constexpr size_t kRoom = size_t{64} * 1024;

  DelayLine(LinkShape shape, Time now);

  bool HasRoom(Time now) const;

  // A packet enters, and arrives later by `jitter` than it otherwise would, but never
  // overtakes one. REQUIRES: `now` never goes back.
  void Push(std::span<const uint8_t> packet, Time now, Time jitter = {});

  // When the first packet arrives or arrived; nothing if there is none.
  std::optional<Time> first_arrival() const;

  // REQUIRES: there is one.
  std::vector<uint8_t>& first() { return packets_.front().bytes; }
  void Pop() { packets_.pop_front(); }

 private:
  struct Entry {
    std::vector<uint8_t> bytes;
    Time leaves_at{};
    Time arrives_at{};
  };

  void Transmit(size_t bytes);

  const LinkShape shape_;
  size_t piece_ = 0;
  Time piece_end_;
  Time busy_until_;
  std::deque<Entry> packets_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_DELAY_LINE_H_
