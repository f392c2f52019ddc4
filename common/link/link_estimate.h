#ifndef CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_
#define CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/link/packet.h"

namespace cacheinf {

// Tracks which chunks are under way, and estimates from the peer's reports what the link can do.
//
// A chunk's transmission lasts from its earliest possible arrival, or that of the chunk before it,
// until it arrives. All this is in the peer's time, which pings relate to ours. So no pause of the
// sender, late report or traffic of the peer makes a link look slow.
//
// That shows how long chunks that have arrived took. If one is overdue, the estimate is the most
// that the link can have carried since that one left.
//
// On a link of less than 10 Mbit/s, as many bytes may be under way as take 50 ms. The number begins
// small, grows as long as chunks are acknowledged within 50 ms beyond a round trip, and shrinks
// when not.
class LinkEstimate {
 public:
  using Time = std::chrono::nanoseconds;

  explicit LinkEstimate(Time now);

  // Notes that a packet with a chunk leaves. `had_to_wait`: for credit or room.
  void Sent(uint64_t packet_bytes, bool had_to_wait, Time now);

  // Whether the next report should carry a ping. Call Pinged once it has left, with its number as
  // `now`.
  bool IsPingDue(Time now) const;
  void Pinged(Time now);

  // Takes a report that came at most `late_by` ago. Returns null, or what is wrong with it.
  const char* Take(const Report& report, Time now, Time late_by);

  // Bytes of packets with chunks.
  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t unacknowledged() const { return sent_ - acknowledged_; }

  // The most bytes that may be unacknowledged. Here and below `now` is when the caller last looked
  // for reports.
  uint64_t Credit(Time now) const;
  // How large a packet with a chunk may be, so that no report waits behind it for long: at least
  // 1 KiB.
  uint64_t LargestPacket(Time now) const;

  // In bytes per second; nothing until there is an estimate.
  std::optional<double> bandwidth(Time now) const;
  // When the bandwidth was last measured; now, if an acknowledgement is overdue.
  Time bandwidth_at(Time now) const;

  // What bandwidth() rests on.
  BandwidthBasis basis(Time now) const;

  // The shortest of the last few.
  std::optional<Time> round_trip() const;
  Time round_trip_at() const { return round_trip_at_; }

 private:
  struct UnderWay {
    uint64_t end = 0;    // bytes of all chunks sent up to this one
    uint64_t ahead = 0;  // so many of these were under way when it left
    Time sent_at{};
    bool had_to_wait = false;
  };
  struct RoundTrip {
    Time duration{};
    Time peer_time_minus_ours{};
  };

  void TakePong(const Report& report, Time now, Time late_by);
  void TakeArrival(const Report& report, Time now);
  void CountInARow(double rate, Time duration);
  // Takes bytes that came too soon to measure: a slower estimate came from delays, and is wrong.
  void TakeAtLeast(uint64_t bytes, Time at_most, Time now);
  void AddTransmission(uint64_t bytes, Time duration, Time now);
  void Widen(const UnderWay& last, uint64_t bytes, Time now);
  std::optional<double> measured() const;
  std::optional<double> MostWhileOverdue(Time now) const;
  double Window(Time now) const;
  Time AtLeast() const;
  const RoundTrip* Shortest() const;

  uint64_t sent_ = 0;
  uint64_t acknowledged_ = 0;
  std::deque<UnderWay> under_way_;
  double window_;                // bytes, without what is under way for a round trip
  Time quickest_ = Time::max();  // acknowledgement

  Time next_ping_at_;
  Time ping_at_{};
  bool is_pinging_ = false;
  int imprecise_pings_ = 0;
  std::array<RoundTrip, 4> round_trips_{};
  size_t round_trip_count_ = 0;
  Time round_trip_at_{};

  // What has arrived since `begin_`, with the link always busy.
  Time begin_{};  // in the peer's time
  Time begin_uncertainty_{};
  uint64_t bytes_ = 0;
  Time last_arrival_{};                         // in the peer's time
  Time last_sent_at_ = -std::chrono::hours(1);  // of what was acknowledged last, in ours

  // What was acknowledged since chunks began to wait.
  Time run_begin_{};
  uint64_t run_bytes_ = 0;

  double sum_bytes_ = 0;
  double sum_seconds_ = 0;
  double last_rate_ = 0;     // of what was measured last, in bytes per second
  int in_a_row_ = 0;         // of long times with similar rates
  bool has_pauses_ = false;  // what was added last
  Time bandwidth_at_{};
  Time precise_at_{};
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_
