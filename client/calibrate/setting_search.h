#ifndef CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_
#define CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// Finds the cheapest settings that reach a target, where trying one takes long. Does not know what
// settings mean, or how they are tried.

namespace cacheinf {

// The index of a value for every dimension.
using SettingPoint = std::vector<int>;

struct SettingDimension {
  int values = 1;
  // Whether neighbouring values do nearly the same; they then mostly run from safest to cheapest.
  bool is_ordered = true;
};

struct SearchSpace {
  std::vector<SettingDimension> dimensions;
  std::vector<SettingPoint> starts;
  // Maps points of the same meaning to one of them, and excluded combinations to an allowed one.
  std::function<SettingPoint(SettingPoint)> canonical;
};

struct TrialOutcome {
  double cost = 0;
  double agreement = 0;
};

struct FinishedTrial {
  SettingPoint point;
  TrialOutcome outcome;
};

// A running trial asks whether it is hopeless, given its least possible cost and best possible
// agreement.
using IsHopeless = std::function<bool(double least_cost, double most_agreement)>;

// Returns nothing if given up.
using Trial = std::function<std::optional<TrialOutcome>(const SettingPoint&, const IsHopeless&)>;

struct SearchResult {
  std::vector<FinishedTrial> finished;  // in the order of the trials
  int abandoned = 0;
  std::optional<size_t> best;  // the cheapest finished trial that reaches the target
  bool is_complete = false;    // ended because no step from the best trial was better
};

// Tries the starts. Steps from the best one along one dimension at a time while that is better.
// Then changes two dimensions of the best point at once, one to a safer value and one to a cheaper.
// Finally steps from the other starts. Better means reaching the target for less or, while nothing
// reaches it, agreeing more. Tries every point at most once; asks `may_go_on` before each trial.
// Deterministic: the same outcomes and number of trials give the same result.
SearchResult SearchSettings(const SearchSpace& space, double target, const Trial& trial,
                            const std::function<bool()>& may_go_on);

// Returns the trials that no other beats in both cost and agreement, cheapest first; of equal
// trials the earlier.
std::vector<size_t> Frontier(std::span<const FinishedTrial> trials);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_
