#ifndef CACHEINF_CLIENT_ROBOT_H_
#define CACHEINF_CLIENT_ROBOT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/answer/answer.h"
#include "client/moved_trial.h"
#include "client/server_peer.h"
#include "common/answer/answers.h"
#include "common/answer/moved_answer.h"
#include "common/answer/smaller_model.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/picture_view.h"
#include "common/base/slowed_clock.h"
#include "common/config/robot_config.h"
#include "common/plan/plan.h"
#include "common/reuse/verdict.h"
#include "common/source/frame_source.h"

namespace cacheinf {

class CompiledModel;
class FrameExecutor;
class ModelState;
class PictureFit;
class PlanChooser;
class ScheduleReader;
struct ChannelStatistics;
struct Execution;
struct FittedFrame;
struct FrameDecision;
struct MemoryReport;
struct Profile;
struct SeenPicture;

// A frame whose size the graph cannot take; later frames may fit.
class UnfitFrame : public InputError {
 public:
  using InputError::InputError;
};

// Answers frames one after the other, as the mode says:
//   dense    computes every frame.
//   cache    computes what changed in each frame (common/reuse/reuse.h).
//   remote   sends pictures to a server, which computes them.
//   split    computes what changed in each frame, some rows of it on a server.
//   cacheinf computes each frame the way that is best by the objective: alone, by this model or a
//            smaller one, remote or split.
// In the last three, a frame without a server is answered as in mode cache. If `track` of the
// configuration or the plan of mode cacheinf says so, the robot computes only every k-th frame, in
// any mode, and moves its answer to those between (Moved). It also computes a frame whose size
// differs from the one before.
class Robot {
 public:
  // The model takes one input: a picture where frames are pictures (see graph.picture), else the
  // frames' tensors. Throws InputError if the configuration does not fit the model. The clock must
  // outlive the robot. `connect`: see ServerPeer. Also throws InputError if a smaller model's
  // answers cannot stand for the model's. REQUIRES: no smaller models unless in mode cacheinf.
  Robot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config, const Clock& clock,
        ConnectToServers connect = {}, const SmallerModels& smaller = {});
  ~Robot();
  Robot(const Robot&) = delete;
  Robot& operator=(const Robot&) = delete;

  // In mode cacheinf a server makes the schedule from this, unless the configuration names one;
  // with neither, the robot answers alone, also by its smaller models. Give a better profile once
  // there is one.
  void WantSchedule(const Profile& profile);
  // What one of the smaller models costs; until then no plan uses it. Give a better profile once
  // there is one. REQUIRES: a configured schedule, or WantSchedule before.
  void AddProfile(const std::string& smaller, const Profile& profile);

  // The period of a live camera: what is in hand depends on it (plan_evidence.h).
  void SetPeriod(std::chrono::nanoseconds period) { period_ = period; }
  // How long before a deadline the robot starts to move an answer that must be there by then:
  // likewise.
  void NoteLead(std::chrono::nanoseconds lead) { lead_ = lead; }

  // Throws UnfitFrame, and changes nothing, if the frame's size does not fit the graph; throws
  // InputError if the graph takes no frames of this kind. `waited` is the answer's: the deadline
  // counts from that long before this call.
  Answer Process(const Frame& frame, const Verdict& verdict = {},
                 std::chrono::nanoseconds waited = {});

  // The same in steps of one stage at most, so that between two of them the caller can look at the
  // clock and at newer frames. A step returns the answer once it is there; it waits for a server at
  // most until `look_at`, and meanwhile takes steps of `idle` (FrameExecutor::Step). Only the first
  // Begin may wait for a server, as long as the configuration says (server.wait_s), or until
  // `is_over`. REQUIRES: the frame lives until it is answered.
  void Begin(const Frame& frame, const Verdict& verdict = {}, std::chrono::nanoseconds waited = {},
             const std::function<bool()>& is_over = {});
  std::optional<Answer> Step(std::chrono::nanoseconds look_at = std::chrono::nanoseconds::max(),
                             const std::function<bool()>& idle = {});
  // Whether the frame that has begun is only tracked: its answer is a moved one.
  bool is_tracking() const { return is_tracked_; }
  // The frame, or its refresh, is finished without a server, unless the server answers at once.
  void StopWaiting();

  // The last computed answer as it must look in this frame, which is the one that has begun or a
  // newer one. `waited` is the answer's. Nothing if no frame of this size was computed yet. The
  // answer is moved only with a deadline or a plan that tracks, else repeated.
  std::optional<Answer> Moved(const Frame& frame, std::chrono::nanoseconds waited);

  struct Refreshed {
    FrameWork work;
    std::chrono::nanoseconds took{};
  };
  // Prepares for the next frame once the answer to this one is out, and in mode cacheinf tries now
  // and then how well answers move. Takes all its steps; between two of them it calls `between`,
  // which may give answers that are due. Returns nothing if there was nothing to prepare. `verdict`
  // is the next frame's, as far as it is known. REQUIRES: the frame of the last Process, which
  // answered it.
  std::optional<Refreshed> Refresh(const Frame& frame, const Verdict& verdict = {},
                                   const std::function<void()>& between = {});

  // Takes a step of keeping its own results warm while a server answers, for idle time. Returns
  // false if nothing is due.
  bool StandBy();

  // Whether there are plans to choose from.
  bool chooses() const { return chooser_ != nullptr; }
  // Notes what a sample of a plan's answers, or a trial of a plan, has shown: plan_evidence.h.
  void NoteAgreement(const Plan& plan, double agreement, double weight);
  void NoteTrial(const Plan& plan, double agreement, double weight);

  // The plan by which the last computed answer was really computed. It does not say how often a
  // frame is computed.
  Plan plan() const;

  // The decision executed last; null if the last answer is an earlier one or a server's.
  const FrameDecision* decision() const;

  // The last computed answer's outputs, until Refresh; NaN where a server left out what no answer
  // reads (shared_settings.h). Those of a smaller model differ in size.
  FrameOutputs outputs() const;

  // Holds what the first model keeps.
  const ModelState& state() const;
  MemoryReport memory() const;  // of all models
  const AnswerReader& reader() const { return reader_; }

  // How the last frame was fitted to the model; null before the first frame and for tensors.
  const PictureFit* fit() const { return fit_.get(); }

  // The last computed frame as fitted to the first model, and what the network saw in its place.
  // Valid until Refresh, and for pictures only.
  PictureView model_picture() const;
  PictureView seen_picture() const;

  // Whether pixels of the seen picture and of the outputs lie elsewhere than in the frame, or than
  // the first model's.
  bool sees_moved() const;

  // How much of the last answer's work was done over each pixel of the model's picture
  // (recomputed.h); nothing if the cache did not run the frame. Slow: meant for drawing.
  std::optional<ClassMap> recomputed() const;

  // The object that chooses plans, and what it expects of them; null without a schedule. The next
  // frame may replace it.
  const PlanChooser* chooser() const { return chooser_.get(); }

  // Why the last frame's plan was taken, in one line; empty without a schedule.
  std::string WhyPlan() const;

  // Why no server can take frames, in one sentence; empty if one can, or nothing is known.
  std::string WhyNoServer() const;

  // Returns nothing if there is no connection to a server.
  std::optional<ChannelStatistics> link_statistics() const;

 private:
  struct Smaller;

  bool HasSchedule();
  void Use(std::unique_ptr<PlanChooser> chooser);
  void FollowPlan();
  FrameExecutor& answering() const;
  void NoteFrame(Answer& answer);
  void NoteBetween();
  void NoteMoved(const AnswerContent& content);
  void TryMoving(const Frame& frame);
  std::string PlanText() const;
  std::chrono::nanoseconds Due(std::chrono::nanoseconds captured) const;
  void FitTensor(const Frame& frame);
  void Fit(const Frame& frame);
  PictureView Resize(const Frame& frame, const PictureFit& fit, std::vector<uint8_t>& pixels) const;
  PictureView fitted_picture() const;
  Answer Track();
  Answer EmptyAnswer(const Frame& frame, std::chrono::nanoseconds waited) const;
  void BeginComputing(const Frame& frame, const Verdict& verdict);
  Answer Read(const Execution& execution);
  SeenPicture Seen() const;

  const RobotConfig config_;
  const SlowedClock clock_;
  const std::unique_ptr<FrameExecutor> executor_;
  AnswerReader reader_;
  const std::unique_ptr<ScheduleReader> schedules_;
  std::unique_ptr<PlanChooser> chooser_;  // once there is a schedule, or smaller models' profiles
  bool has_schedule_ = false;
  std::vector<std::unique_ptr<Smaller>> smaller_;
  Smaller* by_smaller_ = nullptr;   // computes the current frame; null: the first model does
  bool has_changed_model_ = false;  // since the last computed frame

  std::shared_ptr<const PictureFit> fit_;
  std::chrono::nanoseconds period_{};  // of the camera; 0: unknown
  std::chrono::nanoseconds lead_{};    // of moved answers before the deadline
  std::vector<uint8_t> pixels_;        // the model's picture

  const Frame* frame_ = nullptr;  // the one being answered
  Answer current_;                // its answer, without the content
  std::chrono::nanoseconds begin_{};
  std::chrono::nanoseconds prepared_{};

  MovedAnswer moved_;
  int64_t moved_from_ = 0;                      // the frame of its answer
  int frames_since_ = 0;                        // that frame, counting the one being answered
  bool is_tracked_ = false;                     // the frame that is being answered
  std::optional<AnswerContent> moved_content_;  // for the frame that is being answered
  MovedTrial moved_trial_{clock_};

  std::chrono::nanoseconds decode_{0};                   // of the last computed answer
  std::optional<std::chrono::nanoseconds> answered_at_;  // the last frame, if that was computed
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROBOT_H_
