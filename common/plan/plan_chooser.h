#ifndef CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_
#define CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"

namespace cacheinf {

// Chooses a plan for each of a robot's frames: predicts what a few take in the situation at hand,
// and corrects its predictions by what frames really took. It leaves a plan only for one that is
// clearly better in two frames in a row, because the first frame of another takes longer.
class PlanChooser {
 public:
  // What a schedule has for a situation and those near it.
  using Nearby = std::function<std::vector<Plan>(const Situation& situation)>;

  // A schedule's plans are candidates beside those that it need not find: the robot alone, and
  // every codec of its profile. Throws InputError as CostModel does.
  PlanChooser(const Profile& robot, const Profile& server, Nearby nearby);

  struct Link {
    bool is_up = false;
    std::optional<double> mbit;  // as far as it was measured
    double mbit_age_s = 0;
    double round_trip_ms = 0;
  };
  const Plan& Choose(const Link& link);

  // Of the frame that followed the last plan chosen. `executed` may be the robot alone where the
  // server was not ready.
  struct Taken {
    Plan::Kind executed = Plan::Kind::kLocal;
    double latency_ms = 0;
    double server_ms = 0;           // decoding and computing; kRemote
    double waiting_ms = 0;          // for the link and the server; kRemote
    std::optional<double> changed;  // FrameWork's of the robot, or of the server of kRemote
  };
  void Note(const Taken& taken);

  const Situation& situation() const { return situation_; }
  const Prediction& prediction() const { return prediction_; }  // of the plan chosen last
  // Why the last plan was taken, in one line: "remote video cache: 21 ms; local cache: 34 ms".
  std::string Reason() const;

 private:
  struct Candidate {
    Plan plan;
    Prediction prediction;
  };
  void NoteChange(const Taken& taken);
  void Consider(const CostModel& model, const Plan& plan);

  const CostModel model_;
  const Nearby nearby_;
  Situation situation_;
  std::vector<Candidate> candidates_;  // of the last choice
  Plan plan_;
  Prediction prediction_;
  double whole_ms_ = 0;  // of the robot alone, nothing kept
  // What frames took over what was predicted: of split plans, and of the robot's part of those
  // that it sends whole, by codec.
  double split_factor_ = 1;
  std::map<std::string, double> codec_factors_;
  int better_in_a_row_ = 0;
  // Since anybody looked at how much changes; so that the first look counts in full.
  int frames_unseen_;
  int whole_in_a_row_ = 0;  // by a plan that keeps results
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_
