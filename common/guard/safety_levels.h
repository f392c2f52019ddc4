#ifndef CACHEINF_COMMON_GUARD_SAFETY_LEVELS_H_
#define CACHEINF_COMMON_GUARD_SAFETY_LEVELS_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "common/answer/agreement.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

// Goes from level to level as samples come in.
//
// The estimate is the weighted mean of the last samples at the level. If it is below `least`, and
// two of them were, the next safer level follows: one box that flickers is no cause. After
// `patience` good samples in a row the level before is tried again. If that fails before as many
// good samples in a row, patience doubles, up to 64 times its first value.
class SafetyLevels {
 public:
  // REQUIRES: at least one level, samples and patience of at least 1.
  SafetyLevels(std::vector<SafetyLevel> levels, int samples, int patience, double least);

  // Returns whether the level changed.
  bool Add(const AgreementSample& sample);

  SafetyLevel level() const { return levels_[at_]; }
  std::optional<double> estimate() const;  // nothing without a sample at this level
  bool IsGood(const AgreementSample& sample) const { return sample.agreement >= least_; }

  // Whether the last samples agree too little: two were bad, and so is the estimate.
  bool is_failing() const;

  // Whether one of the last samples was bad. Another may come soon then.
  bool is_suspicious() const;

  // Whether little is known of this level: one of the last samples was bad, or there were too few.
  bool is_in_doubt() const { return last_.size() < samples_ || is_suspicious(); }

 private:
  std::ptrdiff_t CountBad() const;
  void Enter(size_t at, bool is_on_trial);

  std::vector<SafetyLevel> levels_;
  size_t samples_;
  int first_patience_;
  double least_;
  int patience_;
  size_t at_ = 0;
  std::deque<AgreementSample> last_;  // at this level
  int good_ = 0;                      // in a row
  bool is_on_trial_ = false;          // came from a safer level, not yet proven
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_GUARD_SAFETY_LEVELS_H_
