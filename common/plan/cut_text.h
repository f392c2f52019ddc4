#ifndef CACHEINF_COMMON_PLAN_CUT_TEXT_H_
#define CACHEINF_COMMON_PLAN_CUT_TEXT_H_

#include <string>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"

namespace cacheinf {

// Parses cuts as people write them: VALUE or VALUE:SHARE, the share between 0 and 1. A value is
// named by its own name or by the operator that produces it; "picture" is the model's input.
// Returns them in the order of execution; if two are behind one operator, the last counts. Throws
// InputError.
std::vector<Cut> ParseCuts(const std::vector<std::string>& texts, const Graph& graph);

// Returns the options, for a shell, that make `cacheinf-robot run --server …` follow a plan:
// "--mode split --cut picture:0.5 --cut conv_12 --server-mode cache". The profile's operators are
// those of the plan.
std::string ToOptions(const Plan& plan, const Profile& profile);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_CUT_TEXT_H_
