#include "client/schedule_reader.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/codec/compressed_text.h"
#include "common/plan/profiled_graph.h"
#include "common/plan/schedule.h"

namespace cacheinf {
namespace {

constexpr size_t kMostScheduleBytes = size_t{64} << 20;
constexpr const char* kOfServer = "the server's schedule";

}  // namespace

ScheduleReader::ScheduleReader(const Graph& graph, const Layout& layout, bool may_split,
                               std::function<void(const Plan& plan)> check)
    : graph_(graph), layout_(layout), may_split_(may_split), check_(std::move(check)) {}

std::unique_ptr<PlanChooser> ScheduleReader::Read(const std::string& text,
                                                  const std::string& name) const {
  const auto schedule = std::make_shared<const Schedule>(ParseSchedule(text, name));
  CheckAreOf(schedule->robot.operators, name, graph_, layout_);
  for (const ProfiledCodec& codec : schedule->robot.codecs) {
    check_({.kind = Plan::Kind::kRemote, .codec = codec.codec});
  }
  for (const Schedule::Bucket& bucket : schedule->buckets) {
    if (may_split_ && bucket.plan.kind == Plan::Kind::kSplit) check_(bucket.plan);
  }
  const auto nearby = [schedule, may_split = may_split_](const Situation& situation) {
    std::vector<Plan> plans = schedule->Lookup(situation).plans;
    if (!may_split)
      std::erase_if(plans, [](const Plan& plan) { return plan.kind == Plan::Kind::kSplit; });
    return plans;
  };
  return std::make_unique<PlanChooser>(schedule->robot, schedule->server, nearby,
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
