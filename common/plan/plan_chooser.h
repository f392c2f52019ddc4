#ifndef CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_
#define CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/frame_times.h"
#include "common/base/objective.h"
#include "common/codec/picture_codec.h"
#include "common/plan/cost_model.h"
#include "common/plan/plan.h"
#include "common/plan/plan_evidence.h"
#include "common/plan/profile.h"

namespace cacheinf {

// Chooses a plan for each of a robot's frames. Predicts the latency of a few plans in the current
// situation, and corrects the predictions by what frames really took. The objective decides:
//   on-time  the best plan has the most agreement in hand at the deadline (plan_evidence.h). Plans
//            within .005 of it are as good. The least sum among them wins: the share of late
//            frames, plus the robot's work as a share of the most by any of them;
//   latency  the best plan is the quickest of those that agree well enough. What is not known of a
//            plan's agreement does not count against it. If none agrees well enough, the one that
//            agrees best is followed, and the log says so once.
// A plan's first frame may cost as much as a whole one, so it leaves a plan only once staying has
// cost as much as going to a better one and back. A server plan must promise clearly more if its
// kind of codec was never followed. Only use shows how a codec does on a scene and, on time, how
// often the robot alone is late. So it tries plans that may be as good, for two frames at a time.
// Trials may cost a fiftieth of all frames; on time, .005 of agreement per camera frame, by which
// plans may differ and still be as good. The first trials are made on credit, when most is unknown.
// All costs are in milliseconds or, on time, in agreement. On time, knowledge ages by the camera's
// frames, as a slow robot computes few.
//
// Where answers move with the scene, and it is known how long that takes, a plan may compute only
// every second or third frame, and the others get its answer, moved: latency, agreement and work
// are then means over these frames. A choice holds for all of them. This needs no prediction of its
// own, and costs nothing to begin or to end. On time, a robot slower than its camera may also
// compute every second frame: a frame that has waited is old, and may be late once computed, but
// the next frame is new. Under policy exact every frame is computed.
class PlanChooser {
 public:
  // Returns a schedule's plans for a situation and those near it.
  using Nearby = std::function<std::vector<Plan>(const Situation& situation)>;

  // Considers a schedule's plans, and those that need no schedule: the robot alone, and every codec
  // of its profile. With `keeps_to_nearby` it considers only the schedule's plans or, where none
  // can be followed, the robot alone. Throws InputError as CostModel does.
  PlanChooser(const Profile& robot, const Profile& server, Nearby nearby,
              bool keeps_to_nearby = false);

  // Considers only what the robot can do alone: link and server are never up.
  explicit PlanChooser(const Profile& robot);

  // Considers a smaller model of this name and profile, too, unless it keeps to a schedule. May be
  // called again with a better profile.
  void AddModel(const std::string& name, const Profile& robot);

  struct Goal {
    Objective objective = Objective::kLatency;
    double deadline_ms = 0;      // of kOnTime: above 0
    double least_agreement = 0;  // of kLatency
    bool is_exact = false;       // every plan gives a dense run's bits
  };
  // REQUIRES: no Choose yet.
  void Pursue(const Goal& goal);
  // Time between frames of the camera. Until this is called, the deadline is assumed.
  void SetPeriod(double period_ms) { period_ms_ = period_ms; }
  // The share of a dense run's work that the robot's first frame alone takes, if it keeps results.
  // Until this is called, 1 is assumed. Where frames show nothing, it also bounds what changes from
  // frame to frame.
  void SetShareAlone(double share);
  // How long before the deadline the robot starts to move an answer.
  void NoteLead(double lead_ms) { lead_ms_.Add(lead_ms); }
  // How long the last frame, computed by the last choice, still kept the robot busy once its answer
  // was there.
  void NoteBetween(double ms) { between_ms_[{plan_.kind, plan_.keeps}].Add(ms); }

  // Goes on from a chooser with worse figures of the same robot: follows its plan until another
  // wins more than changing costs, and keeps its goal, its smaller models and what it has seen.
  // REQUIRES: no Choose yet.
  void GoOnFrom(const PlanChooser& before);

  // One direction of the link, if it was measured; else the other direction stands in, also for a
  // guess that is slower: a scheduler may have delayed one answer of few bytes.
  struct OneWay {
    std::optional<double> mbit = {};
    double age_s = 0;
    bool is_guess = false;
  };
  // A delay can be measured only as a round trip; predictions take half of it each way.
  struct Link {
    bool is_up = false;  // whether plans with the server can be followed
    OneWay to_server = {};
    OneWay to_robot = {};
    double round_trip_ms = 0;
    bool shares_rows = true;  // whether plans that split the network can be followed, too
  };
  const Plan& Choose(const Link& link);

  // What the frame that was computed by the last choice took. `executed` is the robot alone if the
  // server was not ready.
  struct Taken {
    Plan::Kind executed = Plan::Kind::kLocal;
    FrameTimes times = {};
    double sent_bytes = 0;  // to the server; kRemote
    // Share of a dense run's multiply-adds, if only what changed was computed; the server's in
    // kRemote.
    std::optional<double> share = {};
    bool gave_up = false;  // the robot waited for the server in vain, and finished the frame alone
  };
  void Note(const Taken& taken);

  // What samples have shown about plans, whether followed or not: plan_evidence.h.
  void NoteAgreement(const Plan& plan, double agreement, double weight) {
    evidence_.NoteAgreement(plan, agreement, weight);
  }
  void NoteTrial(const Plan& plan, double agreement, double weight) {
    evidence_.NoteTrial(plan, agreement, weight);
  }
  void NoteMoved(double agreement, double weight, int frames) {
    evidence_.NoteMoved(agreement, weight, frames);
  }
  // How long it took to move an answer.
  void NoteMovingTook(FrameTimes::Time time);
  const PlanEvidence& evidence() const { return evidence_; }

  const Situation& situation() const { return situation_; }
  const Prediction& prediction() const { return prediction_; }  // of a computed frame
  // What the last plan's first frame takes: all of it changes or, alone, what SetShareAlone says.
  double FirstFrameMs() const { return OfFirstFrame(plan_).latency_ms; }
  // Why the last plan was taken, in one line: "remote video cache: 21.0 ms, local cache: 34.0 ms",
  // on time "remote video cache: .97 in hand at 100 ms (p95 62); local dense .81 (late .31)", and
  // what is assumed rather than known. If the second is better, the line says why it was not taken.
  std::string Reason() const;

 private:
  struct Candidate {
    Plan plan;
    Prediction prediction;  // of a computed frame
    double cost = 0;        // of a frame: milliseconds or, on time, what it lacks of the best plan
    double lost = 0;        // so far by staying with home_ although this costs less
  };
  // The median of the last few numbers, because a machine that does something else for a frame or
  // two has not become slower.
  class Median {
   public:
    void Add(double number);
    void Forget() { last_.clear(); }
    size_t count() const { return last_.size(); }
    double last() const { return last_.back(); }
    double value() const;  // REQUIRES: a number

   private:
    std::deque<double> last_;
  };
  // What frames took over what was predicted.
  class Factor {
   public:
    // `fewest`: with fewer frames, slow ones do not count.
    explicit Factor(size_t fewest = 1) : fewest_(fewest) {}
    // REQUIRES: the prediction includes the factor's current value.
    void Note(double measured, double predicted);
    // As it was predicted with.
    void GoOnFrom(const Factor& before);
    // What is known may be outdated: only the next frames count.
    void Doubt();
    double value() const { return value_; }

   private:
    size_t fewest_;
    double value_ = 1;
    Median last_;
  };
  struct CodecFactors {
    PictureCodecKind kind{};
    Factor robot;  // of the robot's part
    Factor bytes;
    bool is_proven = false;  // frames with it have been noted
    int unused = 0;          // frames since it was last used or tried
  };
  void NoteWork(const Taken& taken, std::optional<double> seen);
  void NoteQueue(const Taken& taken);
  std::optional<double> Seen(const Taken& taken) const;
  void ConsiderAll(const CostModel& model);
  void Consider(const CostModel& model, const Plan& plan);
  bool MayTrack(int every, double computed_ms) const;
  // The mean over a plan's frames if a computed one takes so long.
  double MeanMs(const Plan& plan, double computed_ms) const;
  double RobotMs(const Candidate& candidate) const {
    return MeanMs(candidate.plan, candidate.prediction.robot_ms);
  }
  Prediction Corrected(const CostModel& model, const Plan& plan) const;
  // Returns null if the plan is not among them.
  static const Candidate* Find(const Plan& plan, const std::vector<Candidate>& candidates);
  bool IsOnTime() const { return goal_.objective == Objective::kOnTime; }
  PlanEvidence::Pace PaceOf(const Plan& plan) const;
  double moving_ms() const { return moving_ms_.count() == 0 ? 0 : moving_ms_.value(); }
  double beyond_link_ms() const;
  bool IsProven(const Plan& plan) const;
  // The codec's factors or, until it is used, those of the codec of its kind that was used last.
  const CodecFactors& FactorsOf(const std::string& codec) const;
  // Leaves out the candidates that agree too little.
  void KeepThoseThatAgree();
  void SetCosts();
  // The mean cost of a frame of the plan if a computed one takes so long.
  double Cost(const Plan& plan, double latency_ms) const;
  Prediction OfFirstFrame(const Plan& plan) const;
  // How many of the camera's frames come per frame that the plan computes, if that is predicted to
  // take so long.
  double FramesOf(const Plan& plan, double latency_ms) const;
  // What a plan's first frame costs beyond a later one. With `as_seen`, it is at least what such
  // plans took to begin; this is not said of a plan that is left, whose server is prepared by now.
  double CostToBegin(const Candidate& candidate, bool as_seen = false) const;
  void ChooseHome(const std::vector<Candidate>& last);
  int FramesKnownAlone() const;
  const Candidate* WorthTrying();
  void Doubt(int frames);
  void NoteRemote(const Taken& taken, const Prediction& expected, bool is_whole);
  double MsOfKnownWork(const Taken& taken, const Prediction& expected, bool is_whole) const;
  void NoteRatios(double latency_ms, double of_known_work_ms);
  std::string TextOf(const Candidate& planned, const Candidate* other) const;

  const CostModel model_;
  std::map<std::string, CostModel> smaller_models_;
  const Nearby nearby_;
  const bool keeps_to_nearby_;
  Goal goal_;
  double period_ms_ = 0;  // 0: unknown
  double share_alone_ = 1;
  PlanEvidence evidence_;
  Situation situation_;
  Median moving_ms_;  // an answer
  Median lead_ms_;
  std::map<std::pair<Plan::Kind, bool>, Median> between_ms_;  // by what keeps the robot busy
  std::vector<Candidate> candidates_;                         // of the last choice
  std::optional<Candidate> left_out_;                         // the quickest that agrees too little
  bool has_warned_ = false;                                   // that none agrees well enough
  std::optional<Plan> home_;                                  // left only for a better plan
  Plan plan_;  // the last choice: home_, or a plan being tried
  Prediction prediction_;
  double whole_ms_ = 0;  // of the robot alone, by the plan's model, with nothing kept
  double alone_ms_ = 0;  // of the robot alone, by the first model
  // The first frames are computed alone, while machines are at their slowest.
  static constexpr size_t kFewestAlone = 5;
  Factor robot_{kFewestAlone};
  int robot_unused_;     // frames since it was alone, or tried that
  bool was_up_ = false;  // the link
  bool shares_rows_ = true;
  Median queue_ms_;  // the server's
  int server_unused_ = 0;
  Factor server_;
  Factor link_;
  Median beyond_link_ms_;  // what crossings took beyond their bytes and the round trip
  Factor split_;
  bool is_split_proven_ = false;
  bool is_split_ = false;  // the last frame
  std::map<std::string, CodecFactors> codecs_;
  int frames_of_plan_ = 0;      // in a row that it executed
  bool is_first_frame_ = true;  // of the plan
  // What the frames of a plan with the server took beyond usual ones until it had executed one; and
  // what that was in the end, of those that have begun lately.
  // A server that needs more than a few frames is preparing itself, and says nothing.
  std::optional<double> begun_ms_;
  int frames_to_begin_ = 0;
  std::map<Plan::Kind, Median> to_begin_ms_;
  double for_tries_ = 0;
  // Frames since anything saw how much changes; starts high, so that the first looks are averaged.
  int frames_unseen_;
  int looks_ = 0;           // at how much changes, since that was unknown
  int whole_in_a_row_ = 0;  // by a plan that keeps results
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_CHOOSER_H_
