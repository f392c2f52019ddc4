#ifndef CACHEINF_SCHEDULER_SPLIT_SEARCH_H_
#define CACHEINF_SCHEDULER_SPLIT_SEARCH_H_

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "scheduler/planner.h"

namespace cacheinf {

// The best split that differential evolution finds within options.trials (0: by the network's
// size), polished by steps along one cut and along two at once. Never worse than options.hints of
// kSplit, of which it begins. By encoding, cuts stand where they may, and shares are whole
// thousandths.
Plan SearchSplits(const CostModel& model, bool keeps, const SolveOptions& options);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SPLIT_SEARCH_H_
