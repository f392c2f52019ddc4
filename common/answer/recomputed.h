#ifndef CACHEINF_COMMON_ANSWER_RECOMPUTED_H_
#define CACHEINF_COMMON_ANSWER_RECOMPUTED_H_

#include "common/answer/answers.h"
#include "common/exec/model_state.h"

// Shows people where a frame's work was done.

namespace cacheinf {

inline constexpr int kMostRecomputed = 255;

// For every pixel of the picture that the network saw, gives, in place of a class, the share of its
// multiply-adds that the last frame did and that changed something, out of kMostRecomputed. Ignores
// maps that are not kept. REQUIRES: a state that keeps values and whose first input is a map.
ClassMap Recomputed(const ModelState& state);

// The same map after a dense run.
ClassMap AllRecomputed(const ModelState& state);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_RECOMPUTED_H_
