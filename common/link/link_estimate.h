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
class LinkEstimate {
 public:
  using Time = std::chrono::nanoseconds;

  explicit LinkEstimate(Time now) : next_ping_at_(now) {}

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

  // The most that may be unacknowledged.
  uint64_t Credit() const;

  // In bytes per second; nothing until there is an estimate.
  std::optional<double> bandwidth() const;
  Time bandwidth_at() const { return bandwidth_at_; }  // when it was last measured

  // What bandwidth() rests on.
  BandwidthBasis basis() const;

  // The shortest of the last few.
  std::optional<Time> round_trip() const;
  Time round_trip_at() const { return round_trip_at_; }

 private:
  struct UnderWay {
    uint64_t end = 0;  // bytes of all chunks sent up to this one
    Time sent_at{};
    bool had_to_wait = false;
  };
  struct RoundTrip {
    Time duration{};
    Time peer_time_minus_ours{};
  };

  void TakePong(const Report& report, Time now, Time late_by);
  void TakeArrival(const Report& report, Time now);
  void AddTransmission(uint64_t bytes, Time duration, Time now);
  const RoundTrip* Shortest() const;

  uint64_t sent_ = 0;
  uint64_t acknowledged_ = 0;
  std::deque<UnderWay> under_way_;

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
  Time last_arrival_{};  // in the peer's time

  // What was acknowledged since chunks began to wait.
  Time run_begin_{};
  uint64_t run_bytes_ = 0;

  double sum_bytes_ = 0;
  double sum_seconds_ = 0;
  bool has_pauses_ = false;  // what was added last
  Time bandwidth_at_{};
  Time precise_at_{};
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_
