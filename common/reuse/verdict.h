#ifndef CACHEINF_COMMON_REUSE_VERDICT_H_
#define CACHEINF_COMMON_REUSE_VERDICT_H_

#include <cstdint>
#include <optional>

#include "common/base/words.h"

namespace cacheinf {

// How much is reused.
enum class SafetyLevel : uint8_t {
  kNormal,         // as configured
  kShorterExpiry,  // everything stored is refreshed in half the time
  kSafer,          // also, less counts as unchanged
  kDense,          // nothing is reused
};
constexpr Words<4> WordsOf(SafetyLevel) { return {"normal", "shorter expiry", "safer", "dense"}; }

// What a guard, a recorder or the clock (reuse_timing.h) asks of the next decision.
struct Verdict {
  bool forget = false;  // treat the frame as the first
  SafetyLevel level = SafetyLevel::kNormal;
  // The last frame, in which something was reused, took longer than a whole one would have.
  bool is_slow = false;
};

// What readers of an answer should know about how it was made.
struct GuardState {
  SafetyLevel level = SafetyLevel::kNormal;
  std::optional<double>
      agreement;  // with dense answers, estimated; nothing before a sample with anything to compare
  bool is_in_doubt = false;  // too few samples had anything to compare, or one of the last was bad
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_VERDICT_H_
