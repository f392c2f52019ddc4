#ifndef CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_
#define CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cacheinf {

// What a link can do, judged by what arrived at the other end. A chunk's transmission lasts from
// when it could have arrived at the earliest, or the one before it did, until it arrives; pauses
// of the sender, late acknowledgements and the peer's own traffic do not count.
class LinkEstimate {
 public:
  using Time = std::chrono::nanoseconds;

  // A ping and its answer, both sent while nothing else was under way.
  struct Echo {
    Time pinged_at{};        // in this side's time
    Time reached_peer_at{};  // in the peer's time
    Time left_peer_at{};
    Time answered_at{};  // in this side's time
    Time late_by{};      // either may have lain unnoticed, for so long in all
  };

  // Chunks that were acknowledged together.
  struct Delivery {
    uint64_t bytes = 0;
    Time first_sent_at{};    // in this side's time
    bool was_alone = false;  // nothing was under way when the first of them was sent
    Time arrived_at{};       // the last of them, in the peer's time
    Time late_by{};          // it may have lain there unnoticed for so long
    Time acknowledged_at{};  // in this side's time
  };

  // Whether it is precise enough to count.
  bool Add(const Echo& echo);
  void Add(const Delivery& delivery);

  // In bytes per second; nothing until there is an estimate.
  std::optional<double> bandwidth() const;
  Time bandwidth_at() const { return bandwidth_at_; }  // when it was measured last

  // The shortest of the last few.
  std::optional<Time> round_trip() const;
  Time round_trip_at() const { return round_trip_at_; }

 private:
  struct RoundTrip {
    Time duration{};
    Time peer_time_minus_ours{};
  };

  void AddTransmission(uint64_t bytes, Time duration, Time now);
  const RoundTrip* Shortest() const;

  std::array<RoundTrip, 4> round_trips_{};
  size_t round_trip_count_ = 0;
  Time round_trip_at_{};

  // What has arrived since `begin_`, when the link was busy all the time.
  Time begin_{};  // in the peer's time
  Time begin_uncertainty_{};
  uint64_t bytes_ = 0;
  Time last_arrival_{};  // in the peer's time

  // Without pauses being known: since a chunk was sent alone.
  Time run_begin_{};
  uint64_t run_bytes_ = 0;

  double sum_bytes_ = 0;
  double sum_seconds_ = 0;
  Time bandwidth_at_{};
  Time precise_at_{};
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_LINK_ESTIMATE_H_
