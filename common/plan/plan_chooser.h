#ifndef CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_
#define CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_

#include <deque>
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
// and corrects its predictions by what frames really took. The first frame of a plan is computed
// whole, so a plan is left once staying has cost as much as going to a better one, and back, would.
// What a codec makes of a scene shows only in use: one that may be as good is tried for two frames
// whenever a fiftieth of the robot's time has paid for it.
class PlanChooser {
 public:
  // What a schedule has for a situation and those near it.
  using Nearby = std::function<std::vector<Plan>(const Situation& situation)>;

  // A schedule's plans are candidates beside those that it need not find: the robot alone, and
  // every codec of its profile. Throws InputError as CostModel does.
  PlanChooser(const Profile& robot, const Profile& server, Nearby nearby);

  // One way of the link, as far as it was measured; where it was not, the other way stands in.
  struct OneWay {
    std::optional<double> mbit = {};
    double age_s = 0;
  };
  // Of the delay only the round trip can be measured, of which predictions take half for each way.
  struct Link {
    bool is_up = false;
    OneWay to_server = {};
    OneWay to_robot = {};
    double round_trip_ms = 0;
    bool shares_rows = true;  // whether plans that split can be followed
  };
  const Plan& Choose(const Link& link);

  // Of the frame that followed the last plan chosen. `executed` may be the robot alone where the
  // server was not ready.
  struct Taken {
    Plan::Kind executed = Plan::Kind::kLocal;
    double latency_ms = 0;
    double server_ms = 0;   // decoding and computing; kRemote
    double waiting_ms = 0;  // for the link and the server; kRemote
    double sent_bytes = 0;  // to the server; kRemote
    // Of a dense run's multiply-adds, where only what changed was computed; the server's of
    // kRemote.
    std::optional<double> share;
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
    double lost_ms = 0;  // by staying home while this one was better
  };
  // What frames took over what was predicted: the median of the last few, because a machine that
  // does something else for a frame or two is no slower.
  class Factor {
   public:
    // `fewest`: fewer frames that took long say nothing.
    explicit Factor(size_t fewest = 1) : fewest_(fewest) {}
    // REQUIRES: the prediction holds the factor as it is.
    void Note(double measured, double predicted);
    // What is known may be wrong: the next frames count alone.
    void Doubt();
    double value() const { return value_; }

   private:
    size_t fewest_;
    double value_ = 1;
    std::deque<double> last_;
  };
  struct CodecFactors {
    Factor robot;  // of the robot's part
    Factor bytes;
    int unused = 0;  // frames since it was used or tried
  };
  void NoteWork(const Taken& taken, std::optional<double> seen);
  std::optional<double> Seen(const Taken& taken) const;
  void Consider(const CostModel& model, const Plan& plan);
  Prediction Corrected(const CostModel& model, const Plan& plan) const;
  // Null: it is none of them.
  static const Candidate* Find(const Plan& plan, const std::vector<Candidate>& candidates);
  // What the first frame of a plan takes beyond another of its frames.
  double BeginMs(const Candidate& candidate) const;
  void ChooseHome(const std::vector<Candidate>& last);
  const Candidate* WorthTrying();
  void Doubt();
  void NoteRemote(const Taken& taken, const Prediction& expected, bool is_whole);

  const CostModel model_;
  const Nearby nearby_;
  Situation situation_;
  std::vector<Candidate> candidates_;  // of the last choice
  std::optional<Plan> home_;           // that is left for a better one alone
  Plan plan_;                          // of the last choice: home, or one that is tried
  Prediction prediction_;
  double whole_ms_ = 0;  // of the robot alone, nothing kept
  // Frames alone are the first ones, when machines are at their slowest.
  static constexpr size_t kFewestAlone = 5;
  Factor robot_{kFewestAlone};
  int robot_unused_ = 0;  // frames since it was alone
  bool was_up_ = false;   // the link
  Factor server_;
  Factor link_;
  Factor split_;
  std::map<std::string, CodecFactors> codecs_;
  int frames_of_plan_ = 0;  // in a row
  double for_tries_ms_ = 0;
  // Since anybody looked at how much changes; so that the first look counts in full.
  int frames_unseen_;
  int whole_in_a_row_ = 0;  // by a plan that keeps results
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_
