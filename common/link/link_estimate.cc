#include "common/link/link_estimate.h"

#include <algorithm>

namespace cacheinf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kCreditSeconds = .05;
constexpr double kLeastWindow = 1024;
constexpr double kFirstWindow = 2 * 1024;
constexpr double kUsualCredit = 64 * 1024;
constexpr double kLargestRoundTripSeconds = .2;  // that a window is widened for

// A link of 20 Mbit/s may drop to 0.1 while a packet is on its way. The packet must not be so large
// that nothing is heard for a channel's patience.
constexpr double kLargestThatCollapses = 16 * 1024;
constexpr double kQuickSeconds = .005;

// An acknowledgement this late is overdue: a shorter delay may be a pause of the peer.
constexpr milliseconds kOverdue(100);

constexpr seconds kPingInterval(5);  // each wakes both sides for a while
constexpr milliseconds kBusyPingInterval(100);
constexpr int kMostPingsInARow = 3;

constexpr microseconds kSameTime(100);

// A measurement must last this many times as long as its uncertainty.
constexpr int kLeastPrecision = 4;

// An estimate forgets what is older than this much busy time, or this much time.
constexpr double kBusySeconds = .1;
constexpr seconds kForgottenAfter(1);

// An estimate of less than that is a guess: within it a scheduler's pause or a socket's buffer
// counts for more than the link.
constexpr double kEnoughBytes = 64 * 1024;
constexpr double kEnoughSeconds = .005;
// A slow link is known earlier: by so many such times in a row with rates that similar.
constexpr int kEnoughInARow = 3;
constexpr double kSimilar = 4;

// If the link may have been idle, count only after this much was sent in a row, or for so long.
constexpr uint64_t kLongRun = 64 * 1024;
constexpr seconds kLongRunTime(2);

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

LinkEstimate::LinkEstimate(Time now) : window_(kFirstWindow), next_ping_at_(now) {}

void LinkEstimate::Sent(uint64_t packet_bytes, bool had_to_wait, Time now) {
  sent_ += packet_bytes;
  under_way_.push_back({sent_, unacknowledged(), now, had_to_wait});
}

bool LinkEstimate::IsPingDue(Time now) const {
  return now >= next_ping_at_ && unacknowledged() == 0 &&
         (!is_pinging_ || now - ping_at_ > kPingInterval);
}

void LinkEstimate::Pinged(Time now) {
  ping_at_ = now;
  is_pinging_ = true;
}

const char* LinkEstimate::Take(const Report& report, Time now, Time late_by) {
  if (report.arrived_bytes < acknowledged_ || report.arrived_bytes > sent_) {
    return "the peer acknowledged what was not sent";
  }
  if (report.arrived_bytes > acknowledged_) TakeArrival(report, now);
  if (is_pinging_ && report.pong == ping_at_.count()) TakePong(report, now, late_by);
  return nullptr;
}

void LinkEstimate::TakePong(const Report& report, Time now, Time late_by) {
  const Time duration = now - ping_at_;
  const bool is_precise =
      report.is_quiet == 1 &&
      Time(report.pinged_late_by) + late_by <= std::max<Time>(microseconds(200), duration / 10);
  if (is_precise) {
    round_trips_[round_trip_count_++ % round_trips_.size()] = {
        duration, Time(report.sent_at) - (now - duration / 2)};
    round_trip_at_ = now;
  }
  // The first ping only wakes a peer that looks rarely; the next one is noticed at once.
  is_pinging_ = false;
  imprecise_pings_ = is_precise ? 0 : (imprecise_pings_ + 1) % kMostPingsInARow;
  // The first one may have waited while nobody looked, for a process that still connects.
  const bool is_first = round_trip_count_ < 2;
  next_ping_at_ = imprecise_pings_ > 0 ? now : now + (is_first ? kBusyPingInterval : kPingInterval);
}

void LinkEstimate::TakeArrival(const Report& report, Time now) {
  const uint64_t bytes = report.arrived_bytes - acknowledged_;
  const UnderWay first = under_way_.front();
  const Time arrived_at(report.arrived_at);
  const Time late_by(report.arrived_late_by);
  acknowledged_ = report.arrived_bytes;
  UnderWay last = first;
  while (!under_way_.empty() && under_way_.front().end <= acknowledged_) {
    last = under_way_.front();
    under_way_.pop_front();
  }
  next_ping_at_ = std::min(next_ping_at_, ping_at_ + kBusyPingInterval);

  const RoundTrip* round_trip = Shortest();
  const Time earliest_arrival =
      round_trip == nullptr
          ? arrived_at
          : first.sent_at + round_trip->peer_time_minus_ours + round_trip->duration / 2;
  // Before a round trip is known, only what leaves at the same time is known to follow closely.
  const bool was_idle = round_trip == nullptr ? first.sent_at > last_sent_at_ + kSameTime
                                              : earliest_arrival > last_arrival_;
  last_sent_at_ = last.sent_at;
  if (was_idle) {
    begin_ = earliest_arrival;
    // The two directions may differ.
    begin_uncertainty_ = round_trip == nullptr ? Time(0) : round_trip->duration / 16;
    bytes_ = 0;
  }
  bytes_ += bytes;
  last_arrival_ = std::max(last_arrival_, arrived_at);
  const Time duration = arrived_at - begin_;
  const bool is_precise =
      duration > Time(0) && duration >= kLeastPrecision * std::max(begin_uncertainty_, late_by);
  if (is_precise) {
    CountInARow(static_cast<double>(bytes_) / Seconds(duration), duration);
    AddTransmission(bytes_, duration, now);
    has_pauses_ = false;
    precise_at_ = now;
  } else if (round_trip != nullptr) {
    // All of a round trip's delay may lie on this way.
    TakeAtLeast(bytes_, duration + begin_uncertainty_ + late_by + round_trip->duration / 2, now);
  }
  if (is_precise || was_idle) {
    begin_ = arrived_at;
    begin_uncertainty_ = late_by;
    bytes_ = 0;
  }
  Widen(last, bytes, now);

  // If transmissions are too short to measure, the link is at least as fast as the throughput with
  // all pauses.
  if (!first.had_to_wait) {
    run_begin_ = first.sent_at;
    run_bytes_ = 0;
  }
  run_bytes_ += bytes;
  const Time run = now - run_begin_;
  if ((run_bytes_ < kLongRun && run < kLongRunTime) || run == Time(0)) return;
  const bool is_faster = static_cast<double>(run_bytes_) > measured().value_or(0) * Seconds(run);
  if (is_faster && (sum_seconds_ == 0 || now - precise_at_ > kForgottenAfter)) {
    AddTransmission(run_bytes_, run, now);
    has_pauses_ = true;
  }
  run_begin_ = now;
  run_bytes_ = 0;
}

void LinkEstimate::CountInARow(double rate, Time duration) {
  const bool is_similar = rate < kSimilar * last_rate_ && last_rate_ < kSimilar * rate;
  in_a_row_ = Seconds(duration) < kEnoughSeconds ? 0 : is_similar ? in_a_row_ + 1 : 1;
  last_rate_ = rate;
}

void LinkEstimate::TakeAtLeast(uint64_t bytes, Time at_most, Time now) {
  if (at_most <= Time(0)) return;
  const double rate = static_cast<double>(bytes) / Seconds(at_most);
  if (sum_seconds_ == 0 || rate < kSimilar * *measured()) return;
  in_a_row_ = 0;
  sum_bytes_ = sum_seconds_ = 0;
  AddTransmission(bytes, at_most, now);
  has_pauses_ = true;
}

void LinkEstimate::AddTransmission(uint64_t bytes, Time duration, Time now) {
  const double kept = now - bandwidth_at_ > kForgottenAfter
                          ? 0.
                          : std::max(0., 1 - Seconds(duration) / kBusySeconds);
  sum_bytes_ = sum_bytes_ * kept + static_cast<double>(bytes);
  sum_seconds_ = sum_seconds_ * kept + Seconds(duration);
  bandwidth_at_ = now;
}

// Widens or narrows the window.
void LinkEstimate::Widen(const UnderWay& last, uint64_t bytes, Time now) {
  quickest_ = std::min(quickest_, now - last.sent_at);
  const double waited = Seconds(now - last.sent_at - AtLeast());
  if (waited > kCreditSeconds) {
    const double fitting = measured() ? *measured() * kCreditSeconds : window_ / 2;
    window_ = std::clamp(fitting, kLeastWindow, window_);
  } else {
    // Few bytes say little about how more of them would fare.
    const double proven =
        std::min(window_ + static_cast<double>(bytes), 2 * static_cast<double>(last.ahead));
    window_ = std::min(std::max(window_, proven), kUsualCredit);
  }
}

// What an acknowledgement takes on an idle link, as far as is known.
LinkEstimate::Time LinkEstimate::AtLeast() const {
  const Time otherwise = quickest_ == Time::max() ? Time(0) : quickest_;
  return round_trip().value_or(otherwise);
}

double LinkEstimate::Window(Time now) const {
  if (const auto most = MostWhileOverdue(now)) {
    return std::clamp(*most * kCreditSeconds, kLeastWindow, window_);
  }
  return std::max(window_, measured().value_or(0) * kCreditSeconds);
}

uint64_t LinkEstimate::Credit(Time now) const {
  const double window = Window(now);
  const double round_trip_seconds = std::min(Seconds(AtLeast()), kLargestRoundTripSeconds);
  const double wide = window * (1 + round_trip_seconds / kCreditSeconds);
  return static_cast<uint64_t>(std::max(window, std::min(wide, kUsualCredit)));
}

uint64_t LinkEstimate::LargestPacket(Time now) const {
  // Two of them, so that one is on its way while the other is acknowledged.
  const double half = std::max(Window(now) / 2, kLeastWindow);
  // A chunk that takes less than a quarter of a round trip says little about the bandwidth.
  const double seconds = std::max(kQuickSeconds, .3 * Seconds(AtLeast()));
  const double quick = std::max(kLargestThatCollapses, measured().value_or(0) * seconds);
  return std::min(static_cast<uint64_t>(std::min(half, quick)), uint64_t{kLargestChunkPacket});
}

std::optional<double> LinkEstimate::measured() const {
  if (sum_seconds_ == 0) return std::nullopt;
  return sum_bytes_ / sum_seconds_;
}

// In bytes per second; nothing if none is overdue.
std::optional<double> LinkEstimate::MostWhileOverdue(Time now) const {
  if (under_way_.empty()) return std::nullopt;
  const UnderWay& first = under_way_.front();
  const Time took = now - first.sent_at - AtLeast();
  const auto most = static_cast<double>(first.ahead) / Seconds(took);
  const bool is_overdue = took > kOverdue && most < measured().value_or(0);
  return is_overdue ? std::optional(most) : std::nullopt;
}

std::optional<double> LinkEstimate::bandwidth(Time now) const {
  const auto most = MostWhileOverdue(now);
  return most ? most : measured();
}

LinkEstimate::Time LinkEstimate::bandwidth_at(Time now) const {
  return MostWhileOverdue(now) ? now : bandwidth_at_;
}

BandwidthBasis LinkEstimate::basis(Time now) const {
  if (MostWhileOverdue(now)) return BandwidthBasis::kMeasured;
  const bool is_enough = sum_bytes_ >= kEnoughBytes && sum_seconds_ >= kEnoughSeconds;
  if (!is_enough && in_a_row_ < kEnoughInARow) return BandwidthBasis::kTooLittle;
  return has_pauses_ ? BandwidthBasis::kAtLeast : BandwidthBasis::kMeasured;
}

std::optional<std::chrono::nanoseconds> LinkEstimate::round_trip() const {
  const RoundTrip* shortest = Shortest();
  if (shortest == nullptr) return std::nullopt;
  return shortest->duration;
}

const LinkEstimate::RoundTrip* LinkEstimate::Shortest() const {
  if (round_trip_count_ == 0) return nullptr;
  const size_t count = std::min(round_trip_count_, round_trips_.size());
  return &*std::min_element(round_trips_.begin(),
                            round_trips_.begin() + static_cast<ptrdiff_t>(count),
                            [](const auto& a, const auto& b) { return a.duration < b.duration; });
}

}  // namespace cacheinf
