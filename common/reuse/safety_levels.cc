#include "common/reuse/safety_levels.h"

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

constexpr size_t kLeastSamples = 2;
constexpr int kLongestPatience = 64;  // times the first
// Errors a quarter as large have a signal-to-noise ratio so much higher: 20 log10(4).
constexpr double kDecibelsOfAQuarter = 12.041;
constexpr double kMostDecibels = 100.0;  // that can be configured

// 1 is everything in every frame.
int Halved(int frames) { return frames <= 1 ? frames : std::max(2, frames / 2); }

void ShortenExpiry(CacheConfig& cache) {
  const int usual = CacheConfig().refresh;
  cache.refresh = cache.refresh == 0 ? usual : std::min(Halved(cache.refresh), usual);
  cache.flush = Halved(cache.flush);
}

void MakeSafer(CacheSettings& settings) {
  CacheConfig& cache = settings.cache;
  // With a budget it is settled which maps are kept, and so on which ones a stem can end.
  if (cache.budget_mb == 0) cache.stem += 1;
  cache.change = std::min(cache.change / 4, CacheConfig().change);
  cache.growth += 1;
  cache.relight = false;
  ChangeConfig& change = settings.change;
  change.threshold = std::min(change.threshold / 4, ChangeConfig().threshold);
  change.psnr = std::clamp(change.psnr + kDecibelsOfAQuarter, ChangeConfig().psnr, kMostDecibels);
}

}  // namespace

const char* NameOf(SafetyLevel level) {
  switch (level) {
    case SafetyLevel::kNormal:
      return "normal";
    case SafetyLevel::kShorterExpiry:
      return "shorter expiry";
    case SafetyLevel::kSafer:
      return "safer";
    case SafetyLevel::kDense:
      return "dense";
  }
  return "";
}

CacheSettings SettingsAt(SafetyLevel level, const CacheSettings& configured) {
  CacheSettings settings = configured;
  if (level >= SafetyLevel::kShorterExpiry) ShortenExpiry(settings.cache);
  if (level >= SafetyLevel::kSafer) MakeSafer(settings);
  if (level == SafetyLevel::kDense) settings.cache.flush = 1;
  return settings;
}

std::vector<SafetyLevel> LevelsFor(const CacheConfig& configured) {
  if (configured.policy == CacheConfig::Policy::kExact) {
    return {SafetyLevel::kNormal, SafetyLevel::kDense};
  }
  return {SafetyLevel::kNormal, SafetyLevel::kShorterExpiry, SafetyLevel::kSafer,
          SafetyLevel::kDense};
}

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
  is_in_doubt_ = !is_good;
  if (MustFall()) {
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

bool SafetyLevels::MustFall() const {
  if (at_ + 1 == levels_.size()) return false;
  const bool is_certain =
      last_.size() >= std::min(kLeastSamples, samples_) || last_.back().agreement < 0.5 * least_;
  return is_certain && *estimate() < least_;
}

void SafetyLevels::Enter(size_t at, bool is_on_trial) {
  at_ = at;
  is_on_trial_ = is_on_trial;
  is_in_doubt_ = true;
  last_.clear();
  good_ = 0;
}

}  // namespace cacheinf
