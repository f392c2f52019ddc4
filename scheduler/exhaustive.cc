#include "scheduler/exhaustive.h"

#include <algorithm>
#include <vector>

namespace cacheinf {
namespace {

constexpr int kStep = 100;

class BranchAndBound {
 public:
  BranchAndBound(const CostModel& model, bool keeps, double below_ms)
      : model_(model), places_(model.cut_places()), best_ms_(below_ms) {
    plan_.kind = Plan::Kind::kSplit;
    plan_.keeps = keeps;
    const size_t count = model.robot().operators.size();
    for (size_t id = 0; id < count; ++id) {
      const auto op = static_cast<int>(id);
      least_.push_back({LeastMs(Side::kRobot, op), LeastMs(Side::kServer, op)});
    }
  }

  std::optional<Plan> Find() {
    Decide(0);
    return best_;
  }

 private:
  // All rows of an operator on either side.
  struct Work {
    double robot_ms = 0;
    double server_ms = 0;
  };

  // A lower bound: any share of an operator's rows takes at least that share of this.
  double LeastMs(Side side, int id) const {
    const auto op = static_cast<size_t>(id);
    if (!plan_.keeps) return model_.OperatorMs(side, id, false);
    const Situation& situation = model_.situation();
    const bool is_robot = side == Side::kRobot;
    const Curve& ms = (is_robot ? model_.robot() : model_.server()).operators[op].ms;
    const double active = model_.robot().operators[op].active.At(is_robot ? situation.robot_work
                                                                          : situation.server_work);
    // The line through the origin under the curve touches it at one of its points or at the end.
    double slope = active > 0 ? ms.At(active) / active : ms.At(0);
    for (const Curve::Point& point : ms.points) {
      if (point.x > 0 && point.x < active) slope = std::min(slope, point.y / point.x);
    }
    return (is_robot ? situation.robot_factor : situation.server_factor) * slope *
           (active > 0 ? active : 1.0);
  }

  // A lower bound: operators from `first` on are shared at will, as if nothing had to cross.
  double LeastEndMs(const CostModel::Progress& begin, int first) const {
    std::vector<Work> rest(least_.begin() + first, least_.end());
    // First move to the robot the operators that gain least on the server.
    std::ranges::sort(rest, [](const Work& a, const Work& b) {
      return a.robot_ms * b.server_ms < b.robot_ms * a.server_ms;
    });
    double robot_ms = begin.robot_ms;
    double server_ms = begin.server_ms;
    for (const Work& work : rest) server_ms += work.server_ms;
    for (const Work& work : rest) {
      if (robot_ms >= server_ms) break;
      // Move so much of it that both end at once.
      const double both_ms = work.robot_ms + work.server_ms;
      const double share = both_ms > 0 ? std::min(1.0, (server_ms - robot_ms) / both_ms) : 1.0;
      robot_ms += share * work.robot_ms;
      server_ms -= share * work.server_ms;
    }
    return robot_ms + model_.EndMs();
  }

  // Extends a plan whose last run begins at places_[begin - 1]: decides where that run ends, and
  // what follows. A run's rows are known only once its end is, so only then is there a bound.
  void Decide(size_t begin) {  // NOLINT(misc-no-recursion): as deep as there are places
    const double ms = model_.Ms(plan_);
    if (ms < best_ms_) {
      best_ms_ = ms;
      best_ = plan_;
    }
    for (size_t place = begin; place < places_.size(); ++place) {
      const int decided = places_[place] + 1;
      plan_.cuts.push_back({places_[place], 0});
      if (LeastEndMs(model_.PredictFirst(plan_, decided), decided) < best_ms_) {
        for (int share = 0; share <= Cut::kAll; share += kStep) {
          plan_.cuts.back().robot_thousandths = share;
          Decide(place + 1);
        }
      }
      plan_.cuts.pop_back();
    }
  }

  const CostModel& model_;
  const std::vector<int>& places_;
  std::vector<Work> least_;
  Plan plan_;
  double best_ms_;
  std::optional<Plan> best_;
};

}  // namespace

std::optional<Plan> BestOfAllSplits(const CostModel& model, bool keeps, double below_ms) {
  if (!model.is_linked()) return std::nullopt;
  return BranchAndBound(model, keeps, below_ms).Find();
}

}  // namespace cacheinf
