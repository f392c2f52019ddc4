#ifndef CACHEINF_COMMON_PLAN_COST_MODEL_H_
#define CACHEINF_COMMON_PLAN_COST_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/side.h"
#include "common/base/words.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"

namespace cacheinf {

// What a plan's cost depends on besides the profiles.
struct Situation {
  double mbit_up = 0;  // 10^6 bits a second from robot to server; 0: the link is down
  double mbit_down = 0;
  double round_trip_ms = 0;
  // Share of a dense run that a side computes for what it does not hold: 1 - r_c, 1 - r_s.
  double robot_work = 1;
  double server_work = 1;
  // What frames really took over what was predicted.
  double robot_factor = 1;
  double server_factor = 1;
  double link_factor = 1;
  double server_queue_ms = 0;  // wait before a shared server takes a frame up

  // How long bytes to this side keep the link busy; infinite if it is down.
  double LinkMs(Side receiver, double bytes) const;

  bool operator==(const Situation&) const = default;
};

struct Prediction {
  double latency_ms = 0;  // infinite if the plan needs a link that is down
  double robot_ms = 0;    // computing, including codecs
  double server_ms = 0;
  double up_bytes = 0;
  double down_bytes = 0;
  double link_ms = 0;   // sending and receiving, without waiting for the link
  double energy_j = 0;  // of the robot; infinite where the latency is
};

// What happens when, for people.
struct Timeline {
  enum class Lane : uint8_t { kRobot, kUp, kServer, kDown };
  struct Piece {
    Lane lane = Lane::kRobot;
    std::string name;
    double begin_ms = 0;
    double end_ms = 0;
  };
  std::vector<Piece> pieces;  // in order within each lane
};
constexpr Words<4> WordsOf(Timeline::Lane) { return {"robot", "up", "server", "down"}; }

// Throws InputError, which says what to do, if the profiles are not of a robot and a server with
// the same network under the same settings. `name`: the file that holds them, if any.
void CheckArePair(const Profile& robot, const Profile& server, const std::string& name = {});

// Predicts what plans cost, from two profiles of one network. For one thread at a time.
class CostModel {
 public:
  // Throws InputError as CheckArePair does.
  CostModel(const Profile& robot, const Profile& server, const Situation& situation);
  CostModel(CostModel&& other) noexcept;
  ~CostModel();

  // Returns the model of another situation. Cheap: the two share all that does not depend on the
  // situation.
  CostModel At(const Situation& situation) const;

  const Situation& situation() const { return situation_; }
  const Profile& robot() const;
  const Profile& server() const;
  bool is_linked() const { return situation_.mbit_up > 0 && situation_.mbit_down > 0; }

  // REQUIRES: the cuts ascend and are behind operators or the picture.
  Prediction Predict(const Plan& plan) const { return Predict(plan, nullptr); }
  Timeline PredictTimeline(const Plan& plan) const;
  double Ms(const Plan& plan) const { return Predict(plan, nullptr).latency_ms; }

  // Where a cut may stand: all that crosses there is kept. Ascending from -1.
  const std::vector<int>& cut_places() const;

  // The earliest times at which each side is done with the first `operator_count` operators,
  // whatever cuts follow. REQUIRES: a cut may stand behind them.
  struct Progress {
    double robot_ms = 0;
    double server_ms = 0;
  };
  Progress PredictFirst(const Plan& plan, int operator_count) const;

  // Times of an operator: to compute all its rows on that side, and to get all of its output there,
  // codec included. The latter is infinite if the output must not cross.
  double OperatorMs(Side side, int op, bool keeps) const;
  double CrossingMs(Side receiver, int op, bool keeps) const;  // op -1: the picture

  // Time before the first and after the last operator, on the robot.
  double BeginMs(bool keeps) const;
  double EndMs() const;

 private:
  struct Network;
  class Costs;
  struct Scratch;
  class Walk;

  CostModel(std::shared_ptr<const Network> network, const Situation& situation);

  Prediction Predict(const Plan& plan, Timeline* timeline) const;
  Prediction PredictRemote(const Plan& plan, Timeline* timeline) const;
  const Costs& CostsOf(bool keeps) const;
  void SetEnergy(Prediction& prediction) const;

  std::shared_ptr<const Network> network_;
  Situation situation_;
  mutable std::array<std::unique_ptr<const Costs>, 2> costs_;  // dense, with caches; lazily made
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_COST_MODEL_H_
