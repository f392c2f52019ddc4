#include "client/calibrate/setting_search.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

namespace cacheinf {
namespace {

constexpr size_t kFirstDescents = 3;

// A trial this far below the target is still worth finishing, for the frontier.
constexpr double kInterestingShortfall = 0.05;

constexpr int kCheaper = 1;
constexpr int kSafer = -1;

// How many values each of two dimensions moves, both at once.
struct PairStep {
  int cheaper;
  int safer;
};
constexpr std::array<PairStep, 3> kPairSteps = {{{1, 1}, {1, 2}, {2, 1}}};

class Search {
 public:
  Search(const SearchSpace& space, double target, const Trial& trial,
         const std::function<bool()>& may_go_on)
      : space_(space), target_(target), trial_(trial), may_go_on_(may_go_on) {}

  SearchResult Run() {
    std::vector<size_t> starts = TryStarts();
    std::ranges::stable_sort(
        starts, [this](size_t a, size_t b) { return IsBetter(OutcomeOf(a), OutcomeOf(b)); });
    const size_t first = std::min(starts.size(), kFirstDescents);
    for (size_t i = 0; i < first; ++i) Descend(starts[i]);
    ChangePairs();
    for (size_t i = first; i < starts.size(); ++i) Descend(starts[i]);
    ChangePairs();
    result_.best = Best();
    if (result_.best && !Reaches(OutcomeOf(*result_.best))) result_.best.reset();
    result_.is_complete = !has_ended_ && !result_.finished.empty();
    return std::move(result_);
  }

 private:
  const TrialOutcome& OutcomeOf(size_t trial) const { return result_.finished[trial].outcome; }

  bool Reaches(const TrialOutcome& outcome) const { return outcome.agreement >= target_; }

  bool IsBetter(const TrialOutcome& a, const TrialOutcome& b) const {
    if (Reaches(a) != Reaches(b)) return Reaches(a);
    if (!Reaches(a) && a.agreement != b.agreement) return a.agreement > b.agreement;
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.agreement > b.agreement;
  }

  bool IsBeaten(double least_cost, double most_agreement) const {
    return std::ranges::any_of(result_.finished, [&](const FinishedTrial& other) {
      return other.outcome.cost <= least_cost && other.outcome.agreement >= most_agreement;
    });
  }

  // Whether a trial can neither beat `current` nor say much about the frontier.
  bool IsOfNoUse(double least_cost, double most_agreement, const TrialOutcome& current) const {
    if (IsBeaten(least_cost, most_agreement)) return true;
    if (!Reaches(current)) return false;
    return least_cost >= current.cost || most_agreement < target_ - kInterestingShortfall;
  }

  // Returns the finished trial of a point; nothing if it was given up or the budget is spent.
  std::optional<size_t> Try(const SettingPoint& wanted, const TrialOutcome* current) {
    SettingPoint point = space_.canonical(wanted);
    const auto known = tried_.find(point);
    if (known != tried_.end()) return known->second;
    if (has_ended_ || !may_go_on_()) {
      has_ended_ = true;
      return std::nullopt;
    }
    const IsHopeless is_hopeless = [&](double least_cost, double most_agreement) {
      return current == nullptr ? IsBeaten(least_cost, most_agreement)
                                : IsOfNoUse(least_cost, most_agreement, *current);
    };
    const std::optional<TrialOutcome> outcome = trial_(point, is_hopeless);
    std::optional<size_t>& entry = tried_[point];
    if (outcome) {
      entry = result_.finished.size();
      result_.finished.push_back({std::move(point), *outcome});
    } else {
      ++result_.abandoned;
    }
    return entry;
  }

  std::vector<size_t> TryStarts() {
    std::vector<size_t> starts;
    for (const SettingPoint& start : space_.starts) {
      const std::optional<size_t> tried = Try(start, nullptr);
      if (tried && std::ranges::find(starts, *tried) == starts.end()) starts.push_back(*tried);
    }
    return starts;
  }

  std::optional<size_t> Best() const {
    std::optional<size_t> best;
    for (size_t i = 0; i < result_.finished.size(); ++i) {
      if (!best || IsBetter(OutcomeOf(i), OutcomeOf(*best))) best = i;
    }
    return best;
  }

  // Tries a point and moves there if it is better.
  bool MoveIfBetter(const SettingPoint& point, size_t& current) {
    const TrialOutcome outcome = OutcomeOf(current);
    const std::optional<size_t> tried = Try(point, &outcome);
    if (!tried || !IsBetter(OutcomeOf(*tried), outcome)) return false;
    current = *tried;
    return true;
  }

  // Returns nothing beyond the ends of a dimension.
  std::optional<SettingPoint> Step(SettingPoint point, size_t dimension, int by) const {
    point[dimension] += by;
    const bool is_inside =
        point[dimension] >= 0 && point[dimension] < space_.dimensions[dimension].values;
    return is_inside ? std::optional(std::move(point)) : std::nullopt;
  }

  bool Walk(size_t dimension, int by, size_t& current) {
    bool has_moved = false;
    while (true) {
      const auto next = Step(result_.finished[current].point, dimension, by);
      if (!next || !MoveIfBetter(*next, current)) return has_moved;
      has_moved = true;
    }
  }

  bool ImproveAlong(size_t dimension, size_t& current) {
    if (space_.dimensions[dimension].is_ordered) {
      const int first = Reaches(OutcomeOf(current)) ? kCheaper : kSafer;
      return Walk(dimension, first, current) || Walk(dimension, -first, current);
    }
    bool has_moved = false;
    for (int value = 0; value < space_.dimensions[dimension].values; ++value) {
      SettingPoint point = result_.finished[current].point;
      if (point[dimension] == value) continue;
      point[dimension] = value;
      has_moved = MoveIfBetter(point, current) || has_moved;
    }
    return has_moved;
  }

  void Descend(size_t current) {
    bool has_moved = true;
    while (has_moved && !has_ended_) {
      has_moved = false;
      for (size_t dimension = 0; dimension < space_.dimensions.size(); ++dimension) {
        has_moved = ImproveAlong(dimension, current) || has_moved;
      }
    }
  }

  bool ChangeAPair(const PairStep& step, size_t& best) {
    const size_t count = space_.dimensions.size();
    for (size_t cheaper = 0; cheaper < count; ++cheaper) {
      for (size_t safer = 0; safer < count; ++safer) {
        if (cheaper == safer || !space_.dimensions[cheaper].is_ordered ||
            !space_.dimensions[safer].is_ordered) {
          continue;
        }
        const auto half_way = Step(result_.finished[best].point, cheaper, step.cheaper);
        const auto point = half_way ? Step(*half_way, safer, -step.safer) : std::nullopt;
        if (point && MoveIfBetter(*point, best)) return true;
      }
    }
    return false;
  }

  bool ChangeAnyPair(size_t& best) {
    return std::ranges::any_of(kPairSteps,
                               [&](const PairStep& step) { return ChangeAPair(step, best); });
  }

  void ChangePairs() {
    std::optional<size_t> best = Best();
    while (best && !has_ended_ && ChangeAnyPair(*best)) {
      Descend(*best);
      best = Best();
    }
  }

  const SearchSpace& space_;
  double target_;
  const Trial& trial_;
  const std::function<bool()>& may_go_on_;
  bool has_ended_ = false;
  std::map<SettingPoint, std::optional<size_t>> tried_;
  SearchResult result_;
};

}  // namespace

SearchResult SearchSettings(const SearchSpace& space, double target, const Trial& trial,
                            const std::function<bool()>& may_go_on) {
  return Search(space, target, trial, may_go_on).Run();
}

std::vector<size_t> Frontier(std::span<const FinishedTrial> trials) {
  std::vector<size_t> order(trials.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    const TrialOutcome& x = trials[a].outcome;
    const TrialOutcome& y = trials[b].outcome;
    return x.cost != y.cost ? x.cost < y.cost : x.agreement > y.agreement;
  });
  std::vector<size_t> frontier;
  for (const size_t index : order) {
    if (frontier.empty() ||
        trials[index].outcome.agreement > trials[frontier.back()].outcome.agreement) {
      frontier.push_back(index);
    }
  }
  return frontier;
}

}  // namespace cacheinf
