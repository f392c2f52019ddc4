#include "scheduler/link_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/json_fields.h"
#include "common/base/number_text.h"
#include "scheduler/planner.h"

namespace cacheinf {
namespace {

constexpr uint64_t kLargestTrace = uint64_t{64} << 20;
constexpr double kMostMbit = 1e6;
constexpr double kBandwidthStep = 1.04;

double MeanOf(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Makes the plan for a situation, given the plan for a bandwidth one step lower, if any.
using MakePlan = std::function<Plan(const CostModel& model, const std::vector<Plan>& hints)>;

MakePlan SolvedBy(const std::string& planner) {
  return [solver = std::shared_ptr(MakePlanner(planner))](const CostModel& model,
                                                          const std::vector<Plan>& hints) {
    SolveOptions options;
    options.hints = hints;
    return solver->Solve(model, options);
  };
}

std::vector<std::pair<std::string, MakePlan>> Ways(const Profile& robot) {
  std::vector<std::pair<std::string, MakePlan>> ways;
  ways.emplace_back(
      "local", [](const CostModel&, const std::vector<Plan>&) { return Plan{.keeps = false}; });
  for (const ProfiledCodec& codec : robot.codecs) {
    ways.emplace_back("remote " + codec.codec,
                      [codec](const CostModel& model, const std::vector<Plan>&) {
                        const Plan cached = {.kind = Plan::Kind::kRemote, .codec = codec.codec};
                        Plan dense = cached;
                        dense.keeps = false;
                        return BestOf(model, {cached, dense});
                      });
  }
  for (const std::string& planner : PlannerNames()) {
    if (planner == "local" || planner == "remote" || planner == "exhaustive") continue;
    ways.emplace_back(planner, SolvedBy(planner));
  }
  return ways;
}

FollowedLink Follow(const std::string& name, const MakePlan& make_plan, const CostModel& model,
                    const std::vector<double>& mbit) {
  const auto at = [&](double bandwidth) {
    Situation situation = model.situation();
    situation.mbit_up = situation.mbit_down = bandwidth;
    return model.At(situation);
  };
  // By step. Plans are made from the slowest link on; each begins with the one before.
  std::map<int, Plan> plans;
  const auto step_of = [](double bandwidth) {
    return static_cast<int>(std::lround(std::log(bandwidth) / std::log(kBandwidthStep)));
  };
  for (const double bandwidth : mbit) plans[step_of(bandwidth)] = {};
  std::vector<Plan> hints;
  for (auto& [step, plan] : plans) {
    plan = make_plan(at(std::pow(kBandwidthStep, step)), hints);
    hints = {plan};
  }

  FollowedLink followed;
  followed.planner = name;
  std::vector<double> latencies;
  std::map<std::string, int> frames_of_plan;
  const auto count = static_cast<double>(mbit.size());
  for (const double bandwidth : mbit) {
    const Plan& plan = plans.at(step_of(bandwidth));
    const Prediction prediction = at(bandwidth).Predict(plan);
    latencies.push_back(prediction.latency_ms);
    followed.link_ms += prediction.link_ms / count;
    followed.robot_ms += prediction.robot_ms / count;
    ++frames_of_plan[ToText(plan)];
  }
  followed.mean_ms = MeanOf(latencies);
  std::ranges::sort(latencies);
  followed.p50_ms = latencies[latencies.size() / 2];
  followed.p95_ms = latencies[(latencies.size() * 95 + 99) / 100 - 1];
  const auto usual = std::ranges::max_element(
      frames_of_plan, {}, [](const auto& plan_frames) { return plan_frames.second; });
  followed.plan = usual->first;
  followed.plan_share = usual->second / count;
  return followed;
}

}  // namespace

std::vector<double> LoadLinkTrace(const std::filesystem::path& path, double mean_mbit) {
  const std::string text = ReadFile(path, kLargestTrace);
  std::vector<double> mbit;
  int line_number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, length);
    rest.remove_prefix(std::min(length + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_number;
    if (line.empty()) continue;
    const size_t comma = std::min(line.find(','), line.size() - 1);
    const auto bandwidth = NumberIn<double>(line.substr(comma + 1));
    const bool is_row = bandwidth && NumberIn<double>(line.substr(0, comma));
    if (line_number == 1 && !is_row) continue;  // a heading
    if (!bandwidth || !(*bandwidth > 0 && *bandwidth <= kMostMbit)) {
      throw InputError(fmt::format("{}: line {} is not \"seconds,megabits_per_second\", above 0",
                                   path.string(), line_number));
    }
    mbit.push_back(*bandwidth);
  }
  if (mbit.empty()) throw InputError(path.string(), ": no bandwidths in it");
  if (mean_mbit > 0) {
    const double scale = mean_mbit / MeanOf(mbit);
    for (double& bandwidth : mbit) bandwidth *= scale;
  }
  return mbit;
}

std::vector<FollowedLink> FollowLink(const CostModel& model, const std::vector<double>& mbit) {
  std::vector<FollowedLink> followed;
  for (const auto& [name, make_plan] : Ways(model.robot())) {
    followed.push_back(Follow(name, make_plan, model, mbit));
  }
  return followed;
}

CACHEINF_FIELDS(FollowedLink, planner, mean_ms, p50_ms, p95_ms, link_ms, robot_ms, plan, plan_share)

std::string ToText(const std::vector<FollowedLink>& followed) {
  std::string text = fmt::format("{:<15}{:>9}{:>9}{:>9}{:>9}{:>9}  {}\n", "planner", "mean ms",
                                 "p50", "p95", "link", "robot", "most often");
  for (const FollowedLink& link : followed) {
    std::string plan = link.plan;
    constexpr size_t kLongestPlan = 60;
    if (plan.size() > kLongestPlan) plan = plan.substr(0, kLongestPlan) + " …";
    text += fmt::format("{:<15}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}  {} ({:.0f} %)\n",
                        link.planner, link.mean_ms, link.p50_ms, link.p95_ms, link.link_ms,
                        link.robot_ms, plan, 100 * link.plan_share);
  }
  return text;
}

std::string ToJsonText(const std::vector<FollowedLink>& followed) {
  FieldsJson list = FieldsJson::array();
  for (const FollowedLink& link : followed) list.push_back(WriteFields(link));
  return TextOf(list, 2) + "\n";
}

}  // namespace cacheinf
