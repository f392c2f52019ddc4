#ifndef CACHEINF_CLIENT_FRAME_EXECUTOR_H_
#define CACHEINF_CLIENT_FRAME_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/server_peer.h"
#include "common/answer/outputs.h"
#include "common/base/clock.h"
#include "common/base/frame_times.h"
#include "common/base/picture_view.h"
#include "common/config/robot_config.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/pair/patience.h"
#include "common/pair/progress.h"
#include "common/pair/remote_robot.h"
#include "common/pair/server_part.h"
#include "common/pair/shared_settings.h"
#include "common/pair/split_robot.h"
#include "common/plan/plan.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

// A frame as the network takes it: a picture or a tensor.
struct FittedFrame {
  int64_t index = 0;
  PictureView picture = {};  // of the model's size
  Rectangle place = {};      // the part that shows the frame
  ConstTensorView tensor = {};
};

// How a frame was executed.
struct Execution : FrameExpense {
  const FrameDecision* decision = nullptr;  // null: the server decided
  Plan::Kind kind = Plan::Kind::kLocal;     // as executed, not as planned
  PictureView seen = {};                    // what the network saw
  Homography model_from_seen = {};
  bool gave_up = false;  // the server had a part in the frame, and the robot stopped waiting for it
};

// Executes a robot's frames, alone or with a server: what changed in each, or all of it. A frame is
// decided, executed and committed, in this order:
//
//   plan     decides            executes                                  keeps
//   local    Reuse              this state                                this state
//   local    nobody: all of it  a state that keeps nothing                nothing
//   remote   the server         the server, behind a codec (RemoteRobot)  the server's state
//   split    Reuse              this state and the server's (SplitRobot)  both
//
// A smaller model has its own executor, which executes it alone (Robot::answering).
//
// A frame is executed in steps of one stage at most, so that between two steps the caller can look
// at clock, link and newest frame. A step waits only for a server's message, and only until the
// caller wants to look. A server that is not ready or does not answer in time leaves the frame, or
// the rest of it, to this state. If a server's answer to the whole frame comes meanwhile, it is
// still taken: it is there first.
//
// While a server answers, what this state keeps is kept warm: about once a second a decision
// without an answer brings it up to date, stage by stage, in idle time (StandBy). So the first
// frame without the server computes only what has changed since then.
class FrameExecutor {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNever = Patience::kNever;
  // Takes a short step of work that no frame waits for; returns false if there is none.
  using Idle = std::function<bool()>;

  // Throws InputError if the configuration does not fit the model, or has mode split and settings
  // that forbid it. This thread uses `clock`, which may be slowed; everything else uses
  // `link_clock`. Both must outlive this. `connect` and `by_hand`: see ServerPeer.
  FrameExecutor(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
                const Clock& clock, const Clock& link_clock, ConnectToServers connect = {},
                std::optional<uint64_t> by_hand = {});

  // Throws InputError if the plan cannot be followed with this model and configuration.
  void Check(const Plan& plan) const;

  // Follows the plan from the next frame on. Modes remote and split always follow the configured
  // plan; only mode cacheinf may change it. The robot computes alone until a server is ready for
  // the plan. The caller decides which frames are computed. REQUIRES: a plan that passes Check.
  void Follow(const Plan& plan);
  // How well the plan's answers, and others, are expected to agree with dense ones, and when the
  // server's first one should come. Decides how long to wait for the server.
  void Expect(const Patience::Agreements& agreements) { agreements_ = agreements; }
  const Plan& plan() const { return plan_; }

  // Asks the connected server, and each later one, for a schedule. The profile is ToJsonText of
  // common/plan/profile.h.
  void WantSchedule(std::string robot_profile);
  // Returns a server's answer once; see ServerConnection::TakeSchedule.
  std::optional<message::Schedule> TakeSchedule();

  // Whether a connected server has the model.
  bool HasServer() const { return connection_ != nullptr && connection_->has_model(); }
  // Returns why this robot must not follow a plan in mode cacheinf, whatever server it meets; empty
  // if it may. Any thread may call it. Throws InputError as WhyNotExact does.
  std::string WhyNotFollow(const Plan& plan) const;
  // Whether a server takes part in the next frame, if the plan wants one.
  bool IsServerReady();
  // Whether plans with the connected server may be followed; says once in the log why not.
  bool MayUseServer();
  // Whether rows can be shared with the connected server, as far as trying has shown.
  bool SharesRows() const { return connection_ == nullptr || connection_->why_no_rows().empty(); }

  bool Pump() { return server_ && server_->Pump(); }

  // Takes up a new server and lets go of a lost one. Call between frames. Returns false while, at
  // the start of a run, the robot must still wait for a server and, if a schedule is wanted, for
  // `has_plans`: call it again soon.
  bool MeetServer(const std::function<bool()>& has_plans = {});

  // From now on frames lie here in the model's picture. Forgets kept results, which lie elsewhere.
  void SetPlaceOfFrames(const Rectangle& place);

  // Decides who executes the frame and, unless that is a server behind a codec, what to compute of
  // it. The frame's outputs are due at `due`, if there is a deadline. If the verdict says to
  // forget, kept results are forgotten at the latest before any is reused.
  void Decide(const FittedFrame& frame, const Verdict& verdict, Time due);
  void Forget() { forgets_ = true; }
  // Begin starts to make the frame's outputs; Step takes a step of one stage at most, and returns
  // whether the outputs are there. They come, whatever the server does. common/pair/patience.h says
  // how long a late server is waited for. If only a server's answer is missing, Step takes a step
  // of `idle` (none: StandBy) as long as that is expected to end before the answer comes; else it
  // waits for a message, at most until `look_at`. If this throws, the next decision makes up for
  // it.
  void Begin();
  bool Step(Time look_at = kNever, const Idle& idle = {});
  // The frame or refresh that has begun no longer waits for a server.
  void StopWaiting() { give_up_at_ = Time::min(); }
  // Ends a frame that was executed. The result is valid until the next Decide or BeginRefresh.
  const Execution& Commit();
  const Execution& last() const { return last_; }

  // Where results are kept, begins the work left for idle time; steps and CommitRefresh follow.
  // Returns false if there is nothing. REQUIRES: the last frame was committed.
  bool BeginRefresh(const PictureView& picture, const Verdict& verdict);
  FrameWork CommitRefresh();

  // Takes a step of keeping results warm, in idle time after a frame. Returns false if nothing is
  // due.
  bool StandBy();

  // The share of a dense run's work that the first frame without the server takes, judging by the
  // last decision about what this state keeps. 1: all of it, or nothing is known.
  double ShareAlone() const { return IsKeptWarm() ? standby_.share : 1; }

  // The outputs of the last executed frame.
  const FrameOutputs& outputs() const { return outputs_; }

  // Holds what is kept, from the last frame that Reuse decided.
  const ModelState& state() const { return state_; }

  // Why no server can take frames, in one sentence; empty if one can, or nothing is known.
  std::string WhyNoServer() const { return server_ ? server_->problem() : ""; }

  // Returns nothing if there is no connection to a server.
  std::optional<ChannelStatistics> link_statistics() const;

 private:
  void MakeReuse();
  void TalkToServer();
  void Join();
  void JoinRemotely();
  void JoinSplit();
  message::Settings SettingsForServer() const;
  message::Settings RemoteSettings() const;
  void DecideHere();
  void BeginHere();
  void BeginAlone(ModelState& state, const FrameDecision& decision);
  void BeginDecision(const FrameDecision& decision, Time give_up_at);
  bool Advance(Time look_at, const Idle& idle);
  bool TakeIdleStep(const Idle& idle);
  Progress TakeStep();
  void Abandon();
  bool TakeLateDone();
  bool IsIdle(Time now) const;
  void BeginStandby();
  void LeaveStandby();
  FrameWork CommitDecision();
  Time GiveUpAt(Patience& patience, Time due);
  bool IsKeptWarm() const;
  Patience::Alone AloneIn(const Verdict& verdict) const;
  std::string WhyNotExact(const Plan& plan, const std::string& server_arithmetic) const;
  void NoteServer(Plan::Kind kind, const ServerPart& part, const FrameTimes& times);
  void NoteTimes();
  const Graph& servers_graph() const { return servers_own_ ? *servers_own_ : model_->graph(); }

  const RobotConfig config_;
  const std::shared_ptr<const CompiledModel> model_;
  std::optional<Graph> servers_own_;  // what the server computes, if that is another model
  const SharedSettings shared_;
  const ReuseSettings settings_;
  const StateOptions options_;
  ModelState state_;
  // Keeps no results, so it runs a whole frame faster than `state_`.
  std::optional<ModelState> whole_state_;
  FrameOutputs outputs_{state_};
  const Clock& clock_;
  std::optional<Reuse> reuse_;  // of `state_`, if results are kept
  FrameDecision whole_;         // the decision for a frame that `state_` does not follow
  Execution last_;

  // The current frame.
  FittedFrame frame_;
  Verdict verdict_;
  bool forgets_ = false;  // before it reuses anything
  Time begin_{};
  Time due_{};
  Patience::Alone alone_ = Patience::Alone::kAll;
  Time alone_since_{};
  Plan::Kind executing_ = Plan::Kind::kLocal;
  ModelState* computing_ = nullptr;  // kLocal: this state
  Time give_up_at_ = kNever;         // else: when to stop waiting for the server
  ChangedWork done_;
  bool is_refresh_ = false;  // what began last

  // Keeps `state_` warm while a server answers.
  struct Standby {
    bool is_open = false;               // a decision has stages left
    std::vector<uint8_t> picture = {};  // that decision's
    Time took{};                        // so far
    std::optional<Time> kept_at = {};   // when the state's last decision was committed
    double share = 1;                   // of a dense run's work, of that decision
  };
  Standby standby_;
  Time longest_idle_step_{};  // of the last few

  Plan plan_;
  // Each refers to those before it.
  std::optional<ServerPeer> server_;
  ServerConnection* connection_ = nullptr;  // null: no server
  std::optional<RemoteRobot> remote_;       // at most one of remote_ and split_ is set
  std::optional<SplitRobot> split_;
  // Unless Expect says otherwise: those of the mode's plan and the robot's own cache.
  Patience::Agreements agreements_{.server = 1, .alone = 0.95, .moved = 0.75};
  Plan plan_of_server_;  // the last one with a server, in mode cacheinf
  Patience patience_;
  Patience patience_with_refreshes_;
  uint64_t bytes_heard_ = 0;   // from the server, before the current frame
  std::string codec_;          // of `remote_`
  std::string robot_profile_;  // empty: no schedule is wanted
  std::string why_without_server_;
  std::optional<Time> wait_until_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_FRAME_EXECUTOR_H_
