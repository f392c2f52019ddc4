#ifndef CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_
#define CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// Looks for the cheapest settings that reach a target, where trying one takes long. It knows
// neither what the settings mean nor how they are tried.

namespace cacheinf {

// For every dimension the number of a value, from 0.
using SettingPoint = std::vector<int>;

struct SettingDimension {
  int values = 1;
  // Whether neighbouring values do nearly the same, mostly from the safest to the cheapest.
  bool is_ordered = true;
};

struct SearchSpace {
  std::vector<SettingDimension> dimensions;
  std::vector<SettingPoint> starts;
  // One of the points that mean the same. If settings exclude each other, an allowed one.
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

// Called by a running trial: whether it is hopeless, given its least possible cost and its best
// possible agreement.
using IsHopeless = std::function<bool(double least_cost, double most_agreement)>;

// Nothing if it was given up.
using Trial = std::function<std::optional<TrialOutcome>(const SettingPoint&, const IsHopeless&)>;

struct SearchResult {
  std::vector<FinishedTrial> finished;  // in the order of the trials
  int abandoned = 0;
  std::optional<size_t> best;  // the cheapest of the finished ones that reaches the target
  bool is_complete = false;    // ended because no step from the best one was better
};

// Tries the starts; from the best of them steps along one dimension at a time while that is better;
// then changes two dimensions of the best point at once, one to a safer value and one to a cheaper;
// finally steps from the other starts. Better is what reaches the target for less or, while nothing
// does, what agrees further. Tries every point once at most, and asks `may_go_on` before each
// trial. Deterministic: the same outcomes and number of trials give the same result.
SearchResult SearchSettings(const SearchSpace& space, double target, const Trial& trial,
                            const std::function<bool()>& may_go_on);

// The trials that no other beats in both cost and agreement, cheapest first; of equal ones the
// earlier.
std::vector<size_t> Frontier(std::span<const FinishedTrial> trials);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_
