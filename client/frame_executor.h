#ifndef CACHEINF_CLIENT_FRAME_EXECUTOR_H_
#define CACHEINF_CLIENT_FRAME_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/server_peer.h"
#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/base/slowdown.h"
#include "common/config/robot_config.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/pair/remote_robot.h"
#include "common/pair/server_part.h"
#include "common/pair/split_robot.h"
#include "common/plan/plan.h"
#include "common/reuse/frame_cache.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/verdict.h"

namespace cacheinf {

// A frame as the network takes it: one of these.
struct FittedFrame {
  int64_t index = 0;
  PictureView picture = {};  // of the model's size
  Rectangle place = {};      // the part of it that shows the frame
  ConstTensorView tensor = {};
};

// How a frame was executed.
struct Execution {
  const FrameDecision* decision = nullptr;  // null: a server's own
  std::optional<FrameWork> work = {};       // where results are kept
  std::optional<ServerPart> server = {};    // where one had a part in it
  Plan::Kind kind = Plan::Kind::kLocal;     // as it came out
  PictureView seen = {};                    // by the network
  Homography model_from_seen = {};
};

// Executes a robot's frames on its state, alone or with a server: what changed of each, or all.
class FrameExecutor {
 public:
  using Time = std::chrono::nanoseconds;

  // `may_split`: whether rows are ever shared with a server. The clock outlives this. Throws
  // InputError if the configuration does not fit the model, or forbids to split it.
  FrameExecutor(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
                bool may_split, const Clock& clock, Slowdown slowdown);

  // Throws InputError if the plan cannot be followed with this model and configuration.
  void Check(const Plan& plan) const;

  // From the next frame on. Modes remote and split follow a plan of the configuration; only mode
  // cacheinf may be told another. Until a server is ready for it, the robot computes alone.
  // REQUIRES: a plan that passes Check.
  void Follow(const Plan& plan);
  const Plan& plan() const { return plan_; }

  // Asks every server that comes for a schedule; the profile is ToJsonText of
  // common/plan/profile.h.
  void WantSchedule(std::string robot_profile) { robot_profile_ = std::move(robot_profile); }
  // What a server answered, once; ServerConnection::TakeSchedule.
  std::optional<std::vector<uint8_t>> TakeSchedule();

  // Whether there is a server that has the model.
  bool HasServer() const { return connection_ != nullptr && connection_->has_model(); }
  // Whether rows can be shared with that; says once in the log why not.
  bool SharesRows();

  // Between two frames: takes up a server that has come, and lets go of one that is lost. At the
  // start of a run waits for it.
  void MeetServer();

  // What is kept is of other frames than those to come, which lie here in the model's picture.
  void SetPlaceOfFrames(const Rectangle& place);

  // Afterwards the outputs of `state` are the frame's, whatever the server does, for which nothing
  // waits longer than until `give_up_at`. Valid until the next call, or Refresh.
  const Execution& Execute(const FittedFrame& frame, const Verdict& verdict, Time give_up_at);
  const Execution& last() const { return last_; }

  // FrameCache::Refresh, where results are kept.
  std::optional<RefreshWork> Refresh(const PictureView& picture, const Verdict& verdict);

  // The one that has the outputs of the last frame.
  const ModelState& state() const { return *answered_; }

  // Of the connection to the server; nothing if there is none.
  std::optional<ChannelStatistics> link_statistics() const;

 private:
  void MakeCache();
  bool IsServerReady();
  void Join();
  void JoinRemotely();
  void JoinSplit();
  std::vector<Cut> CutsOf(const Plan& plan) const;
  message::Settings SettingsForServer() const;
  message::Settings RemoteSettings() const;
  bool ExecuteRemotely(const FittedFrame& frame, Time give_up_at);
  void ExecuteWhole(const FittedFrame& frame, ModelState& state);
  FrameCache::Execution Together(Time give_up_at);

  const RobotConfig config_;
  const std::shared_ptr<const CompiledModel> model_;
  const StateOptions options_;
  ModelState state_;
  // Keeps nothing, which makes it sooner done with a whole frame, beside one that keeps results.
  std::optional<ModelState> whole_state_;
  const ModelState* answered_ = &state_;
  const Clock& clock_;
  const Slowdown slowdown_;
  std::optional<FrameCache> cache_;  // where results are kept
  FrameDecision whole_;              // of a frame that leaves the cache out
  Execution last_;

  Plan plan_;
  std::vector<Cut> cuts_;  // of a plan that splits
  // Each refers to those before it.
  std::optional<ServerPeer> server_;
  ServerConnection* connection_ = nullptr;  // to the server that is there
  std::optional<RemoteRobot> remote_;       // at most one of these
  std::optional<SplitRobot> split_;
  std::string codec_;          // of `remote_`
  std::string robot_profile_;  // empty: no schedule is wanted
  std::string why_no_shared_rows_;
  std::optional<Time> wait_until_;
  bool must_forget_ = false;  // the last answer is none of the cache's
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_FRAME_EXECUTOR_H_
