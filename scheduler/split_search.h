#ifndef CACHEINF_SCHEDULER_SPLIT_SEARCH_H_
#define CACHEINF_SCHEDULER_SPLIT_SEARCH_H_

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "scheduler/planner.h"

namespace cacheinf {

// Returns the best split that differential evolution finds in some tens of milliseconds, polished
// by steps along one and two cuts. Starts from options.hints of kSplit and is never worse than they
// are. By its encoding, cuts stand where they may, and shares are whole thousandths.
Plan SearchSplits(const CostModel& model, bool keeps, const SolveOptions& options);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SPLIT_SEARCH_H_
