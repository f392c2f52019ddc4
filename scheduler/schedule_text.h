#ifndef CACHEINF_SCHEDULER_SCHEDULE_TEXT_H_
#define CACHEINF_SCHEDULER_SCHEDULE_TEXT_H_

#include <string>
#include <vector>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "common/plan/schedule.h"

// Schedules and plans for people, and for programs that draw.

namespace cacheinf {

// Shows a table of plans over bandwidth and work (equal on both sides), with a legend.
std::string TableOf(const Schedule& schedule);

// Shows the lanes of a frame, one piece per line, with a bar of when it happens.
std::string ToText(const Timeline& timeline);

// The same as Chrome trace events, which Perfetto reads.
std::string ToTraceJson(const Timeline& timeline);

// A plan that a planner made.
struct PlannedBy {
  std::string planner;
  Plan plan;
};

// Says, for each plan, which options of cacheinf-robot run follow it.
std::string HowToFollow(const std::vector<Plan>& plans, const Profile& profile);

// Shows the plans side by side, fastest first, says in one sentence why the first wins, and how to
// follow each.
std::string Explain(const CostModel& model, std::vector<PlannedBy> plans);

// A planner's results over all buckets.
struct PlannerTimes {
  std::string planner;
  std::vector<Plan> plans;  // one per bucket
  std::vector<double> latency_ms;
  std::vector<double> energy_j;
};
std::string ToCsv(const Schedule& schedule, const std::vector<PlannerTimes>& planners);

// How many times as long each planner's plans take as the last one's: median and extremes.
std::string SummaryOf(const std::vector<PlannerTimes>& planners);

// Plots milliseconds a frame over Mbit/s, a line per planner, in a panel for each of three shares
// of work. Both axes have a logarithmic scale; a bandwidth of 0 is left out.
std::string ToSvg(const Schedule& schedule, const std::vector<PlannerTimes>& planners);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_SCHEDULE_TEXT_H_
