#ifndef CACHEINF_SCHEDULER_SINGLE_CUT_H_
#define CACHEINF_SCHEDULER_SINGLE_CUT_H_

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"

namespace cacheinf {

// DSCCS: the robot computes some operators, then the server all others, and answers. By a minimum
// cut of the network's graph, which is exact where one side waits while the other computes and
// while rows cross; and by the model, where they do not, of it and of cuts in the order of
// execution. May be all of the robot's.
Plan BestSingleCut(const CostModel& model, bool keeps);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SINGLE_CUT_H_
