#ifndef CACHEINF_SCHEDULER_EXHAUSTIVE_H_
#define CACHEINF_SCHEDULER_EXHAUSTIVE_H_

#include <optional>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"

namespace cacheinf {

// The best split with a cut or none at every place where one may stand, of shares in tenths, if it
// takes less than `below_ms`. By branch and bound: time grows with a power of the places.
std::optional<Plan> BestOfAllSplits(const CostModel& model, bool keeps, double below_ms);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_EXHAUSTIVE_H_
