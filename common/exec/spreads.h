#ifndef CACHEINF_COMMON_EXEC_SPREADS_H_
#define CACHEINF_COMMON_EXEC_SPREADS_H_

#include "common/exec/change_policy.h"
#include "common/exec/model_state.h"

namespace cacheinf {

// Measures every kept map as stored. σ is the standard deviation of a channel over its pixels, or
// over a grid of some thousands of them. A channel with less than a tenth of the map's spread (root
// mean square over channels) counts as having that tenth, so that a channel that is silent in this
// picture does not make every later whisper a change; one of an 8-bit map has at least a step. All
// channels of a map of one pixel have the spread among these channels. Settles moved maps first.
// REQUIRES: a state that keeps values, and a Run before.
InverseSpreads MeasureSpreads(ModelState& state);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SPREADS_H_
