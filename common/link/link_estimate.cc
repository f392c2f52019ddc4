#include "common/link/link_estimate.h"

#include <algorithm>

namespace cacheinf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What is measured must be so many times as long as what is unknown about it.
constexpr int kLeastPrecision = 4;

// An estimate forgets what lies so much busy time, or so much time at all, behind.
constexpr double kBusySeconds = .1;
constexpr seconds kForgottenAfter(1);

// What is not known to be busy counts only where this much was sent in a row.
constexpr uint64_t kLongRun = 64 * 1024;

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

bool LinkEstimate::Add(const Echo& echo) {
  const Time at_peer = echo.left_peer_at - echo.reached_peer_at;
  const Time duration = echo.answered_at - echo.pinged_at - at_peer;
  if (at_peer < Time(0) || duration < Time(0)) return false;
  if (echo.late_by > std::max<Time>(microseconds(200), duration / 10)) return false;
  round_trips_[round_trip_count_++ % round_trips_.size()] = {
      duration, echo.reached_peer_at - echo.pinged_at - duration / 2};
  round_trip_at_ = echo.answered_at;
  return true;
}

void LinkEstimate::Add(const Delivery& delivery) {
  const Time now = delivery.acknowledged_at;
  const RoundTrip* round_trip = Shortest();
  if (round_trip != nullptr) {
    const Time earliest_arrival =
        delivery.first_sent_at + round_trip->peer_time_minus_ours + round_trip->duration / 2;
    if (earliest_arrival > last_arrival_) {
      begin_ = earliest_arrival;
      begin_uncertainty_ = round_trip->duration / 8;  // the two ways may differ
      bytes_ = 0;
    }
    bytes_ += delivery.bytes;
    last_arrival_ = std::max(last_arrival_, delivery.arrived_at);
    const Time duration = delivery.arrived_at - begin_;
    if (duration > Time(0) &&
        duration >= kLeastPrecision * (begin_uncertainty_ + delivery.late_by)) {
      AddTransmission(bytes_, duration, now);
      precise_at_ = now;
      begin_ = delivery.arrived_at;
      begin_uncertainty_ = delivery.late_by;
      bytes_ = 0;
    }
  }

  // Too fast to be seen: at least what went through with all pauses.
  if (delivery.was_alone) {
    run_begin_ = delivery.first_sent_at;
    run_bytes_ = 0;
  }
  run_bytes_ += delivery.bytes;
  if (run_bytes_ < kLongRun || now == run_begin_) return;
  if (sum_seconds_ == 0 || now - precise_at_ > kForgottenAfter) {
    AddTransmission(run_bytes_, now - run_begin_, now);
  }
  run_begin_ = now;
  run_bytes_ = 0;
}

void LinkEstimate::AddTransmission(uint64_t bytes, Time duration, Time now) {
  const double kept = now - bandwidth_at_ > kForgottenAfter
                          ? 0.
                          : std::max(0., 1 - Seconds(duration) / kBusySeconds);
  sum_bytes_ = sum_bytes_ * kept + static_cast<double>(bytes);
  sum_seconds_ = sum_seconds_ * kept + Seconds(duration);
  bandwidth_at_ = now;
}

std::optional<double> LinkEstimate::bandwidth() const {
  if (sum_seconds_ == 0) return std::nullopt;
  return sum_bytes_ / sum_seconds_;
}

std::optional<std::chrono::nanoseconds> LinkEstimate::round_trip() const {
  const RoundTrip* shortest = Shortest();
  if (shortest == nullptr) return std::nullopt;
  return shortest->duration;
}

const LinkEstimate::RoundTrip* LinkEstimate::Shortest() const {
  if (round_trip_count_ == 0) return nullptr;
  const auto end = round_trips_.begin() +
                   static_cast<ptrdiff_t>(std::min(round_trip_count_, round_trips_.size()));
  return &*std::min_element(round_trips_.begin(), end,
                            [](const auto& a, const auto& b) { return a.duration < b.duration; });
}

}  // namespace cacheinf
