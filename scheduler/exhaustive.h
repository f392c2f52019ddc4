#ifndef CACHEINF_SCHEDULER_EXHAUSTIVE_H_
#define CACHEINF_SCHEDULER_EXHAUSTIVE_H_

#include <optional>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"

namespace cacheinf {

// Returns the best split with shares in tenths and any of the possible cuts, if it takes less than
// `below_ms`. Uses branch and bound; time grows with a power of the number of places for cuts.
std::optional<Plan> BestOfAllSplits(const CostModel& model, bool keeps, double below_ms);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_EXHAUSTIVE_H_
