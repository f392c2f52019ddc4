#ifndef CACHEINF_COMMON_REUSE_SAFETY_LEVELS_H_
#define CACHEINF_COMMON_REUSE_SAFETY_LEVELS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/config/cache_config.h"
#include "common/config/tracker_config.h"

// How much is reused, from what is configured down to nothing, and when to go up or down.

namespace cacheinf {

enum class SafetyLevel : uint8_t {
  kNormal,         // as configured
  kShorterExpiry,  // everything stored is refreshed in half the time
  kSafer,          // that, and less counts as unchanged
  kDense,          // nothing is reused
};
inline constexpr int kSafetyLevelCount = 4;
const char* NameOf(SafetyLevel level);  // "shorter expiry"

// What a guard or a recorder asks of the next decision.
struct Verdict {
  bool forget = false;  // treat the frame as the first
  SafetyLevel level = SafetyLevel::kNormal;
};

// What a reader of an answer should know about how it was made.
struct GuardState {
  SafetyLevel level = SafetyLevel::kNormal;
  std::optional<double> agreement;  // with dense answers, estimated; nothing without a sample yet
};

struct CacheSettings {
  CacheConfig cache;
  ChangeConfig change;
};

// What a level makes of the configured settings. The geometry stays what it is.
CacheSettings SettingsAt(SafetyLevel level, const CacheSettings& configured);

// The levels that differ: where the policy is exact, nothing stands between normal and dense.
std::vector<SafetyLevel> LevelsFor(const CacheConfig& configured);

// How far a sample of the answers agrees with what a dense run gives, from 0 to 1, and how much it
// counts beside others.
struct AgreementSample {
  double agreement = 1;
  double weight = 1;
};

// Goes from level to level as samples come in.
//
// The estimate is the weighted mean of the last samples at the level. If it is below the least
// allowed, by two samples or by a single one of less than half of it, the next safer level follows.
// After `patience` good samples in a row the level before is tried; if that fails before it has
// passed as many, patience doubles, up to 64 times its beginning.
class SafetyLevels {
 public:
  // REQUIRES: at least one level, samples and patience of at least 1.
  SafetyLevels(std::vector<SafetyLevel> levels, int samples, int patience, double least);

  // Returns whether the level changed.
  bool Add(const AgreementSample& sample);

  SafetyLevel level() const { return levels_[at_]; }
  std::optional<double> estimate() const;  // nothing without a sample at this level
  bool IsGood(const AgreementSample& sample) const { return sample.agreement >= least_; }

  // Whether the next sample is urgent: the last one was bad, or the level changed and has none
  // yet.
  bool is_in_doubt() const { return is_in_doubt_; }

 private:
  bool MustFall() const;
  void Enter(size_t at, bool is_on_trial);

  std::vector<SafetyLevel> levels_;
  size_t samples_;
  int first_patience_;
  double least_;
  int patience_;
  size_t at_ = 0;
  std::deque<AgreementSample> last_;  // at this level
  int good_ = 0;                      // in a row
  bool is_in_doubt_ = false;
  bool is_on_trial_ = false;  // came from a safer level, and has not proved itself yet
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_SAFETY_LEVELS_H_
