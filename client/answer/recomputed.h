#ifndef CACHEINF_CLIENT_ANSWER_RECOMPUTED_H_
#define CACHEINF_CLIENT_ANSWER_RECOMPUTED_H_

#include "common/answer/answers.h"
#include "common/exec/model_state.h"

// Where a frame's work was done, for people to look at.

namespace cacheinf {

inline constexpr int kMostRecomputed = 255;

// For every pixel of the picture that the network saw, instead of a class: the share, of
// kMostRecomputed, of the multiply-adds over it that the last frame did and that changed something.
// Maps that are not kept do not count.
// REQUIRES: an executor that keeps values, whose first input is a map.
ClassMap Recomputed(const ModelState& state);

// The same after a dense run.
ClassMap AllRecomputed(const ModelState& state);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ANSWER_RECOMPUTED_H_
