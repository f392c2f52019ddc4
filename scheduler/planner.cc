#include "scheduler/planner.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/plan/schedule.h"
#include "scheduler/exhaustive.h"
#include "scheduler/single_cut.h"
#include "scheduler/split_search.h"

namespace cacheinf {
namespace {

class LocalPlanner : public Planner {
 public:
  Plan Solve(const CostModel& model, const SolveOptions&) override {
    return BestOf(model, {{.keeps = true}, {.keeps = false}});
  }
};

Plan RemotePlan(const std::string& codec, bool keeps) {
  return {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec};
}

// The cut may be at the picture, whose bytes need not cross as a slice's numbers.
Plan SingleCut(const CostModel& model, bool keeps) {
  return BestOf(model, {BestSingleCut(model, keeps), RemotePlan("raw", keeps)});
}

std::string KindOf(const std::string& codec) { return codec.substr(0, codec.find(':')); }

// Without a link, plans the robot alone. By latency alone the worst quality of a codec would always
// win, so only the first of each kind counts, which is the usual quality.
class RemotePlanner : public Planner {
 public:
  Plan Solve(const CostModel& model, const SolveOptions&) override {
    if (!model.is_linked()) return LocalPlanner().Solve(model, {});
    std::vector<Plan> plans;
    std::set<std::string> kinds;
    for (const ProfiledCodec& codec : model.robot().codecs) {
      if (!kinds.insert(KindOf(codec.codec)).second) continue;
      for (const bool keeps : {true, false}) {
        plans.push_back(RemotePlan(codec.codec, keeps));
      }
    }
    return plans.empty() ? Plan() : BestOf(model, plans);
  }
};

// Without caches nothing depends on the work, so one plan serves all situations that differ only in
// that.
class DensePlans {
 public:
  const Plan& Of(const CostModel& model, const SolveOptions& options, const auto& solve) {
    Situation situation = model.situation();
    situation.robot_work = situation.server_work = 1;
    if (!solved_ || solved_->situation != situation || solved_->seed != options.seed) {
      solved_ = {situation, options.seed, solve()};
    }
    return solved_->plan;
  }

 private:
  struct Solved {
    Situation situation;
    uint64_t seed;
    Plan plan;
  };
  std::optional<Solved> solved_;
};

class SingleCutPlanner : public Planner {
 public:
  explicit SingleCutPlanner(bool keeps) : keeps_(keeps) {}

  Plan Solve(const CostModel& model, const SolveOptions& options) override {
    if (keeps_) return SingleCut(model, true);
    return plans_.Of(model, options, [&] { return SingleCut(model, false); });
  }

 private:
  bool keeps_;
  DensePlans plans_;
};

class HybridParallelPlanner : public Planner {
 public:
  Plan Solve(const CostModel& model, const SolveOptions& options) override {
    return plans_.Of(model, options, [&] {
      SolveOptions with_hints = options;
      with_hints.hints = {BestSingleCut(model, false)};
      return BestOf(model, {SearchSplits(model, false, with_hints), SingleCut(model, false)});
    });
  }

 private:
  DensePlans plans_;
};

class CacheInfPlanner : public Planner {
 public:
  Plan Solve(const CostModel& model, const SolveOptions& options) override {
    std::vector<Plan> plans;
    for (const std::unique_ptr<Planner>& planner : baselines_) {
      plans.push_back(planner->Solve(model, options));
    }
    SolveOptions with_hints = options;
    with_hints.hints.insert(with_hints.hints.begin(), plans.begin(), plans.end());
    plans.insert(plans.end(), options.hints.begin(), options.hints.end());
    plans.push_back(SearchSplits(model, true, with_hints));
    return BestOf(model, plans);
  }

 private:
  static std::vector<std::unique_ptr<Planner>> Baselines() {
    std::vector<std::unique_ptr<Planner>> planners;
    for (const std::string& name : PlannerNames()) {
      if (name == kCacheInfPlanner) return planners;
      planners.push_back(MakePlanner(name));
    }
    return planners;
  }

  std::vector<std::unique_ptr<Planner>> baselines_ = Baselines();
};

class ExhaustivePlanner : public Planner {
 public:
  Plan Solve(const CostModel& model, const SolveOptions&) override {
    if (model.cut_places().size() > kMostPlaces) {
      throw InputError(
          fmt::format("planner \"exhaustive\" would not end: \"{}\" has {} places for "
                      "cuts, and {} are what it can search; take another planner",
                      model.robot().model, model.cut_places().size(), kMostPlaces));
    }
    std::vector<Plan> plans = {LocalPlanner().Solve(model, {}), RemotePlanner().Solve(model, {}),
                               SingleCut(model, false), SingleCut(model, true)};
    for (const bool keeps : {false, true}) {
      const std::optional<Plan> split =
          BestOfAllSplits(model, keeps, model.Ms(BestOf(model, plans)));
      if (split) plans.push_back(*split);
    }
    return BestOf(model, plans);
  }

 private:
  static constexpr size_t kMostPlaces = 10;
};

}  // namespace

namespace {

struct NamedPlanner {
  const char* name;
  const char* plans;  // for people
  std::unique_ptr<Planner> (*make)();
};

template <typename Kind, auto... arguments>
std::unique_ptr<Planner> Make() {
  return std::make_unique<Kind>(arguments...);
}

constexpr NamedPlanner kPlanners[] = {
    {"local", "the robot alone, with caches or dense, whichever is faster", Make<LocalPlanner>},
    {"remote", "the server alone: the best codec, with caches or dense", Make<RemotePlanner>},
    {"ds", "DSCCS: the robot up to one cut, then the server, without caches",
     Make<SingleCutPlanner, false>},
    {"ds-c", "the same with caches", Make<SingleCutPlanner, true>},
    {"hp", "Hybrid-Parallel: both share the rows of every operator, without caches",
     Make<HybridParallelPlanner>},
    {kCacheInfPlanner, "the best of all these and of sharing rows with caches",
     Make<CacheInfPlanner>},
    {"exhaustive", "the best possible with shares in tenths, for tiny networks only",
     Make<ExhaustivePlanner>}};

}  // namespace

const std::vector<std::string>& PlannerNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const NamedPlanner& planner : kPlanners) names.emplace_back(planner.name);
    return names;
  }();
  return kNames;
}

std::string PlannerHelp() {
  std::string text = "Planners:\n";
  for (const NamedPlanner& planner : kPlanners) {
    text += fmt::format("  {:<11} {}\n", planner.name, planner.plans);
  }
  return text;
}

std::unique_ptr<Planner> MakePlanner(const std::string& name) {  // NOLINT(misc-no-recursion)
  for (const NamedPlanner& planner : kPlanners) {
    if (name == planner.name) return planner.make();
  }
  throw InputError(fmt::format("there is no planner \"{}\"; planners: {}", name,
                               fmt::join(PlannerNames(), ", ")));
}

const Plan& BestOf(const CostModel& model, const std::vector<Plan>& plans) {
  const Plan* best = &plans.front();
  double best_ms = std::numeric_limits<double>::infinity();
  for (const Plan& plan : plans) {
    const double ms = model.Ms(plan);
    if (ms >= best_ms) continue;
    best = &plan;
    best_ms = ms;
  }
  return *best;
}

}  // namespace cacheinf
