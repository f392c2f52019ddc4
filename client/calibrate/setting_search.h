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

// Of every dimension the number of a value, from 0.
using SettingPoint = std::vector<int>;

struct SettingDimension {
  int values = 1;
  // Whether neighbouring values do nearly the same: from the safest to the cheapest, mostly.
  bool is_ordered = true;
};

struct SearchSpace {
  std::vector<SettingDimension> dimensions;
  std::vector<SettingPoint> starts;
  // Of the points that mean the same, one. Where settings exclude each other, one that is allowed.
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

// Asked by a trial that has got part of the way: whether it is of no use to go on, given that it
// will cost at least so much and agree at most so far.
using IsHopeless = std::function<bool(double least_cost, double most_agreement)>;

// Nothing if it was given up.
using Trial = std::function<std::optional<TrialOutcome>(const SettingPoint&, const IsHopeless&)>;

struct SearchResult {
  std::vector<FinishedTrial> finished;  // in the order in which they were tried
  int abandoned = 0;
  std::optional<size_t> best;  // the cheapest of the finished ones that reaches the target
  bool is_complete = false;    // ended because no step from the best one was better
};

// Tries the starts; from the best of them steps along one dimension at a time while that is better;
// then changes two dimensions of the best point at once, one to a safer value and one to a cheaper;
// at last steps from the other starts. Better is what reaches the target for less or, while nothing
// does, what agrees further. Every point is tried once at most; `may_go_on` is asked before each
// trial. Nothing is left to chance: the same outcomes and number of trials give the same result.
SearchResult SearchSettings(const SearchSpace& space, double target, const Trial& trial,
                            const std::function<bool()>& may_go_on);

// The trials that no other one beats in both cost and agreement, cheapest first; of equal ones the
// earlier.
std::vector<size_t> Frontier(std::span<const FinishedTrial> trials);

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_SETTING_SEARCH_H_
