#include "client/schedule_reader.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/codec/compressed_text.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/schedule.h"

namespace cacheinf {
namespace {

constexpr size_t kMostScheduleBytes = size_t{64} << 20;
constexpr const char* kOfServer = "the server's schedule";

}  // namespace

ScheduleReader::ScheduleReader(const Graph& graph, const Layout& layout, Rules rules)
    : graph_(graph), layout_(layout), rules_(std::move(rules)) {}

std::unique_ptr<PlanChooser> ScheduleReader::Read(const std::string& text,
                                                  const std::string& name) const {
  const auto schedule = std::make_shared<const Schedule>(ParseSchedule(text, name));
  CheckAreOf(schedule->robot.operators, name, graph_, layout_);
  int with_server = 0;
  std::string why_not;  // why the robot may not follow the first such plan
  const auto may_follow = [&](const Plan& plan) {
    const std::string reason = rules_.why_not(plan);
    if (!reason.empty()) {
      if (why_not.empty()) why_not = reason;
      return false;
    }
    rules_.check(plan);
    if (plan.kind != Plan::Kind::kLocal) ++with_server;
    return true;
  };
  Profile robot = schedule->robot;
  std::erase_if(robot.codecs, [&](const ProfiledCodec& codec) {
    return !may_follow({.kind = Plan::Kind::kRemote, .codec = codec.codec});
  });
  for (const Schedule::Bucket& bucket : schedule->buckets) (void)may_follow(bucket.plan);
  if (with_server == 0 && !why_not.empty()) {
    LogWarning(
        fmt::format("{}: the robot may follow none of its plans with a server, and answers "
                    "alone: {}",
                    name, why_not));
  }
  const auto nearby = [schedule, rules = rules_](const Situation& situation) {
    std::vector<Plan> plans = schedule->Lookup(situation).plans;
    std::erase_if(plans, [&](const Plan& plan) { return !rules.why_not(plan).empty(); });
    return plans;
  };
  return std::make_unique<PlanChooser>(robot, schedule->server, nearby,
                                       schedule->planner != kCacheInfPlanner);
}

void ScheduleReader::Begin(std::vector<uint8_t> compressed) {
  next_ = std::move(compressed);
  if (!reading_.valid()) BeginNext();
}

void ScheduleReader::BeginNext() {
  reading_ =
      std::async(std::launch::async, [this, compressed = *std::exchange(next_, std::nullopt)] {
        std::string text;
        if (const char* const fault = DecompressText(compressed, kMostScheduleBytes, &text)) {
          throw InputError(fmt::format("{}: {}", kOfServer, fault));
        }
        return Read(text, kOfServer);
      });
}

std::unique_ptr<PlanChooser> ScheduleReader::Take() {
  const bool is_read =
      reading_.valid() && reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (!is_read) return nullptr;
  auto read = std::exchange(reading_, {});
  if (next_) BeginNext();
  return read.get();
}

}  // namespace cacheinf
