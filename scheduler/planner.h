#ifndef CACHEINF_SCHEDULER_PLANNER_H_
#define CACHEINF_SCHEDULER_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"

namespace cacheinf {

struct SolveOptions {
  uint64_t seed = 1;
  // Plans that were good in similar situations, to begin with.
  std::vector<Plan> hints;
};

// Makes plans for a situation. Equal models and options give equal plans. For one thread at a time.
class Planner {
 public:
  virtual ~Planner() = default;

  // Returns the planner's best plan by the model, never one that needs a link that is down.
  virtual Plan Solve(const CostModel& model, const SolveOptions& options) = 0;
};

// The planners of PlannerHelp, in its order.
const std::vector<std::string>& PlannerNames();

// Says for people, a planner a line, what plans each makes.
std::string PlannerHelp();

// Throws InputError for an unknown name.
std::unique_ptr<Planner> MakePlanner(const std::string& name);

// Returns the plan with the least latency. REQUIRES: at least one plan.
const Plan& BestOf(const CostModel& model, const std::vector<Plan>& plans);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_PLANNER_H_
