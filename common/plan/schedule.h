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

// Differs if anything that was measured does.
uint64_t FingerprintOf(const Profile& profile);

// Takes the best of all plans. What another planner has solved is followed as it stands.
inline constexpr const char* kCacheInfPlanner = "cacheinf";

// A plan for every situation, solved beforehand.
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
  // What it was solved from, by which a robot predicts what its frames take.
  Profile robot;
  Profile server;

  // What buckets share.
  double round_trip_ms = 0;
  double server_queue_ms = 0;
  // Their axes, which ascend: the bandwidth, of which the first may be 0, and what differs from
  // what each side holds. Plans are solved for the same bandwidth both ways and looked up by that
  // of the slower way; what they take where the ways differ is the cost model's to predict.
  std::vector<double> mbit;
  std::vector<double> robot_work;
  std::vector<double> server_work;
  // Of the last axis first.
  std::vector<Bucket> buckets;

  Situation SituationOf(size_t bucket) const;
  size_t IndexOf(size_t mbit_index, size_t robot_index, size_t server_index) const {
    return (mbit_index * robot_work.size() + robot_index) * server_work.size() + server_index;
  }

  struct Found {
    size_t bucket = 0;        // the nearest
    std::vector<Plan> plans;  // of it and of its neighbours around the situation, nearest first
    double latency_ms = 0;    // between theirs
  };
  // REQUIRES: all buckets solved.
  Found Lookup(const Situation& situation) const;
};

// One JSON object. Loading refuses what is damaged, of another version, or not solved to the end,
// by InputError that names the file and says what to do. `may_lack`: buckets not yet solved are
// fine.
std::string ToJsonText(const Schedule& schedule);
Schedule ParseSchedule(const std::string& text, const std::string& name, bool may_lack = false);
Schedule LoadSchedule(const std::filesystem::path& path, bool may_lack = false);

// Throws InputError, which says what to do, if it was solved from other profiles.
void CheckIsOf(const Schedule& schedule, const std::string& name, const Profile& robot,
               const Profile& server);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_SCHEDULE_H_
