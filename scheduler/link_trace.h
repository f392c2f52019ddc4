#ifndef CACHEINF_SCHEDULER_LINK_TRACE_H_
#define CACHEINF_SCHEDULER_LINK_TRACE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "common/plan/cost_model.h"

namespace cacheinf {

// Returns a link's successive bandwidths in Mbit/s from lines "seconds,megabits_per_second"; the
// first may be a heading. `mean_mbit`: scale to this mean; 0: unscaled. Throws InputError, naming
// the file, if it is damaged.
std::vector<double> LoadLinkTrace(const std::filesystem::path& path, double mean_mbit);

// What frames take along a trace under one planner.
struct FollowedLink {
  std::string planner;
  double mean_ms = 0;  // latencies, as in the next two
  double p50_ms = 0;
  double p95_ms = 0;
  double link_ms = 0;   // mean of sending and receiving
  double robot_ms = 0;  // mean
  std::string plan;     // the plan taken most often …
  double plan_share = 0;
};

// Follows the robot alone (dense), the server alone by each picture codec, and planners that split,
// in the situation of `model` at the trace's bandwidth both ways. Plans are made for steps of
// bandwidth, 4 % apart, and predicted at the trace's. REQUIRES: bandwidths above 0.
std::vector<FollowedLink> FollowLink(const CostModel& model, const std::vector<double>& mbit);

std::string ToText(const std::vector<FollowedLink>& followed);
std::string ToJsonText(const std::vector<FollowedLink>& followed);

}  // namespace cacheinf

#endif  // CACHEINF_SCHEDULER_LINK_TRACE_H_
