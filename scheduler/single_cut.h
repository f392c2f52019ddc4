#ifndef CACHEINF_SCHEDULER_SINGLE_CUT_H_
#define CACHEINF_SCHEDULER_SINGLE_CUT_H_

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"

namespace cacheinf {

// Returns DSCCS's plan: the robot computes some operators, then the server all others, and answers;
// or the robot computes all. Takes the best, by the model, of cuts in order of execution and of a
// minimum cut of the network's graph, which is exact if one side waits while the other computes and
// while rows cross.
Plan BestSingleCut(const CostModel& model, bool keeps);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SINGLE_CUT_H_
