#ifndef CACHEINF_COMMON_EXEC_APPLY_H_
#define CACHEINF_COMMON_EXEC_APPLY_H_

#include "common/base/picture_view.h"
#include "common/exec/change_policy.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/exec/picture_input.h"

// The one place where decisions become calls of an executor that keeps values.

namespace cacheinf {

// Brings the stored values to what is decided. Returns what was computed; counts nothing of a whole
// frame. `seen` is what the network sees; a refresh ignores it. If this throws, the next decision
// makes up for it.
// REQUIRES: masks of the picture's size; an executor of a graph that takes one picture, which moves
// maps where the decision does.
ChangedWork Apply(const FrameDecision& decision, const PictureView& seen,
                  const ChangePolicy& policy, PictureInput& input, ModelState& state);

// Of all stored values after the last decision.
InverseSpreads MeasureStoredSpreads(ModelState& state);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_APPLY_H_
