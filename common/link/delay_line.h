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

  // The bandwidth over time, repeated from the beginning; empty: unlimited. It begins at the
  // clock's zero, so that a new link goes on where the last one was. REQUIRES: every piece has a
  // duration, and at least one a bandwidth.
  std::vector<Piece> bandwidth;
  std::chrono::nanoseconds delay{};  // one way
};

// Parses "93mbit,3ms", "500kbit" or a trace, "FILE.csv,3ms" or "FILE.csv:COLUMN,3ms". A trace's
// lines hold a time in seconds and a bandwidth in Mbit/s, in the named or else the second column.
// The last line lasts as long as the one before it. Throws InputError.
LinkShape ParseLinkShape(const std::string& text);

// Carries packets in order through a bottleneck and a delay.
class DelayLine {
 public:
  using Time = std::chrono::nanoseconds;

  // Bytes that may wait at the bottleneck when a packet enters.
  static constexpr size_t kRoom = size_t{64} * 1024;

  DelayLine(LinkShape shape, Time now);

  bool HasRoom(Time now) const;

  // Enters a packet, which arrives later by `jitter` but never overtakes another. REQUIRES: `now`
  // never goes back.
  void Push(std::span<const uint8_t> packet, Time now, Time jitter = {});

  // When the first packet arrives or arrived; nothing if there is none.
  std::optional<Time> first_arrival() const;

  // REQUIRES: there is a packet.
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
