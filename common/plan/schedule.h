#ifndef CACHEINF_COMMON_PLAN_SCHEDULE_H_
#define CACHEINF_COMMON_PLAN_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"

namespace cacheinf {

// Differs if any measurement differs.
uint64_t FingerprintOf(const Profile& profile);

// This planner takes the best of all plans. The schedule of any other planner is followed as it
// stands.
inline constexpr const char* kCacheInfPlanner = "cacheinf";

// A plan for every situation, solved in advance.
struct Schedule {
  static constexpr int kVersion = 2;

  struct Bucket {
    bool is_solved = false;
    Plan plan;
    double latency_ms = 0;  // predicted
    double energy_j = 0;
  };

  std::string model;
  std::string planner;
  uint64_t seed = 1;
  // The profiles it was solved from; a robot predicts its frames by them.
  Profile robot;
  Profile server;

  // Shared by all buckets.
  double round_trip_ms = 0;
  double server_queue_ms = 0;
  // Ascending axes: the bandwidth, which may begin with 0, and the work of each side for what it
  // does not hold. Plans are solved for equal bandwidth both ways and looked up by the slower way;
  // the cost model predicts what they take where the ways differ.
  std::vector<double> mbit;
  std::vector<double> robot_work;
  std::vector<double> server_work;
  // The last axis varies fastest.
  std::vector<Bucket> buckets;

  Situation SituationOf(size_t bucket) const;
  size_t IndexOf(size_t mbit_index, size_t robot_index, size_t server_index) const {
    return (mbit_index * robot_work.size() + robot_index) * server_work.size() + server_index;
  }

  struct Found {
    size_t bucket = 0;        // the nearest
    std::vector<Plan> plans;  // of the buckets around the situation, nearest first
    double latency_ms = 0;    // interpolated
  };
  // REQUIRES: all buckets are solved.
  Found Lookup(const Situation& situation) const;
};

// In bytes.
inline constexpr uint64_t kLargestSchedule = uint64_t{256} << 20;

// One JSON object. Loading throws InputError, which names the file and says what to do, for a
// schedule that is damaged, of another version, or not solved to the end. `may_lack` allows
// unsolved buckets.
std::string ToJsonText(const Schedule& schedule);
Schedule ParseSchedule(const std::string& text, const std::string& name, bool may_lack = false);
Schedule LoadSchedule(const std::filesystem::path& path, bool may_lack = false);

// Throws InputError, which says what to do, if the schedule was solved from other profiles.
void CheckIsOf(const Schedule& schedule, const std::string& name, const Profile& robot,
               const Profile& server);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_SCHEDULE_H_
