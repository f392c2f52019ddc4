#include "client/reconnection.h"

#include <algorithm>

namespace cacheinf {
namespace {

using std::chrono::seconds;

constexpr seconds kFirstPause(1);
constexpr seconds kLongestPause(10);
constexpr int kMostJitter = 4;  // a pause is longer by up to a quarter

constexpr size_t kLossesOfAFlappingLink = 3;
constexpr seconds kWithin(30);
constexpr seconds kProbation(5);  // for each loss from that one on
constexpr size_t kMostProbations = 4;

}  // namespace

Reconnection::Time Reconnection::WithJitter(Time pause) {
  return pause +
         Time(std::uniform_int_distribution<Time::rep>(0, pause.count() / kMostJitter)(random_));
}

void Reconnection::NoteEnd(Time now, bool has_refused) {
  if (has_refused) {
    refusal_pause_ = std::clamp<Time>(2 * refusal_pause_, kFirstPause, kLongestPause);
    next_ = now + WithJitter(refusal_pause_);
    return;
  }
  refusal_pause_ = Time(0);
  next_ = std::max(now, met_at_ + WithJitter(kFirstPause));
  losses_.push_back(now);
  if (losses_.size() > kLossesOfAFlappingLink + kMostProbations) losses_.pop_front();
}

Reconnection::Time Reconnection::TrustedFrom() const {
  const auto is_recent = [&](Time loss) { return loss + kWithin > met_at_; };
  const auto losses = static_cast<size_t>(std::ranges::count_if(losses_, is_recent));
  if (losses < kLossesOfAFlappingLink) return met_at_;
  return met_at_ + kProbation * std::min(losses + 1 - kLossesOfAFlappingLink, kMostProbations);
}

}  // namespace cacheinf
