#include "common/guard/safety_levels.h"

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

constexpr std::ptrdiff_t kLeastBad = 2;
constexpr int kLongestPatience = 64;  // times the first patience

}  // namespace

SafetyLevels::SafetyLevels(std::vector<SafetyLevel> levels, int samples, int patience, double least)
    : levels_(std::move(levels)),
      samples_(static_cast<size_t>(samples)),
      first_patience_(patience),
      least_(least),
      patience_(patience) {}

bool SafetyLevels::Add(const AgreementSample& sample) {
  last_.push_back(sample);
  if (last_.size() > samples_) last_.pop_front();
  const bool is_good = IsGood(sample);
  good_ = is_good ? good_ + 1 : 0;
  if (is_failing() && at_ + 1 < levels_.size()) {
    if (is_on_trial_) patience_ = std::min(2 * patience_, kLongestPatience * first_patience_);
    Enter(at_ + 1, /*is_on_trial=*/false);
    return true;
  }
  if (good_ < patience_) return false;
  if (at_ > 0) {
    Enter(at_ - 1, /*is_on_trial=*/true);
    return true;
  }
  good_ = 0;
  is_on_trial_ = false;
  patience_ = first_patience_;
  return false;
}

std::optional<double> SafetyLevels::estimate() const {
  if (last_.empty()) return std::nullopt;
  double sum = 0;
  double weight = 0;
  for (const AgreementSample& sample : last_) {
    sum += sample.weight * sample.agreement;
    weight += sample.weight;
  }
  return sum / weight;
}

bool SafetyLevels::is_failing() const { return CountBad() >= kLeastBad && *estimate() < least_; }

bool SafetyLevels::is_suspicious() const { return CountBad() > 0; }

std::ptrdiff_t SafetyLevels::CountBad() const {
  return std::count_if(last_.begin(), last_.end(),
                       [this](const AgreementSample& sample) { return !IsGood(sample); });
}

void SafetyLevels::Enter(size_t at, bool is_on_trial) {
  at_ = at;
  is_on_trial_ = is_on_trial;
  last_.clear();
  good_ = 0;
}

}  // namespace cacheinf
