#ifndef CACHEINF_COMMON_TRACKER_LOSS_H_
#define CACHEINF_COMMON_TRACKER_LOSS_H_

#include <cstdint>

#include "common/base/words.h"

namespace cacheinf {

// Why a frame's place against the reference is unknown.
enum class Loss : uint8_t {
  kNone,
  kNoReference,    // none yet, or one of another shape
  kFewFeatures,    // black, uniform, blurred, or too small
  kFewInliers,     // features move everywhere: another scene, or noise
  kDegenerate,     // no camera's view fits: it folds, flips, or shrinks too much
  kLittleOverlap,  // the reference shows too little of the frame
  kTooDifferent,   // aligned, but most pixels differ
};
constexpr Words<7> WordsOf(Loss) {
  return {"none",       "no reference",   "few features", "few inliers",
          "degenerate", "little overlap", "too different"};
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_LOSS_H_
