#ifndef CACHEINF_CLIENT_LIVE_ROBOT_H_
#define CACHEINF_CLIENT_LIVE_ROBOT_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/answer/answer.h"
#include "client/frame_loop.h"
#include "client/head_watch.h"
#include "client/idle_profile.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "common/answer/smaller_model.h"
#include "common/base/clock.h"
#include "common/base/slowed_clock.h"
#include "common/base/words.h"
#include "common/config/robot_config.h"
#include "common/guard/guard.h"
#include "common/model/graph/graph.h"
#include "common/reuse/reuse_timing.h"
#include "common/reuse/verdict.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"

namespace cacheinf {

class PlanTrial;

// A network, and those of its ladder, ready to run. Robots that share it take turns on one thread.
class RobotModels {
 public:
  struct Compiled {
    std::shared_ptr<const CompiledModel> first;
    SmallerModels smaller;
  };

  // Takes what LoadNetwork gave. Checks the outputs of the `first_frame`, if there is one, before
  // anything that takes long. Throws InputError, in one sentence, for what the user can fix.
  RobotModels(
      Graph network, const RobotConfig& config, bool has_tensors,
      const std::optional<Frame>& first_frame, const Clock& clock, const std::atomic<bool>& stop,
      BackendMaker make_backend = [](const RobotConfig& of) { return MakeBackend(of); });

  // For the configuration's backend; compiles once for each.
  const Compiled& For(const RobotConfig& config);

  // Whether both configurations ask for the same models.
  static bool AreSame(const RobotConfig& one, const RobotConfig& other);

  HeadWatch& watch() { return *watch_; }

 private:
  std::optional<HeadWatch> watch_;  // always set
  std::vector<std::pair<std::string, std::shared_ptr<const Graph>>> graphs_;
  const BackendMaker make_backend_;
  std::map<RobotConfig::Backend, Compiled> compiled_;
};

// How far a frame has got.
enum class FrameStep : uint8_t { kAnswer, kPublish, kCheck, kGuard, kRefresh };
constexpr Words<5> WordsOf(FrameStep) { return {"answer", "publish", "check", "guard", "refresh"}; }

// Who a robot's answers are for. All calls come on the thread that calls LiveRobot.
class FrameObserver {
 public:
  using Time = std::chrono::nanoseconds;

  virtual ~FrameObserver() = default;

  // Whether nobody waits for another answer: a frame that waits for a server is answered without
  // it.
  virtual bool IsOver() { return false; }

  // Returns what to tell the robot about the next frame, given what is `wanted` of it.
  virtual Verdict Before(const Frame& /*frame*/, const Verdict& wanted) { return wanted; }
  virtual void Skip(const Frame& frame, const std::string& reason) = 0;

  // Hands out an answer. PublishMoved's comes before the frame's own, or is the only one: KeepMoved
  // says so once a newer frame has overtaken the frame.
  virtual void PublishMoved(const Frame& frame, const Answer& answer) = 0;
  virtual void KeepMoved(const Frame& /*frame*/, const Answer& /*answer*/) {}
  virtual void Publish(const Frame& frame, const Answer& answer) = 0;

  // Once Publish is over, while the robot still holds the frame's outputs.
  virtual void Keep(const Frame& /*frame*/, const Answer& /*answer*/) {}
  virtual void KeepRefresh(const Robot::Refreshed& /*refreshed*/) {}
  // Called between two steps of work on a frame and, with a deadline, of the work after it, so that
  // other robots can move their answers.
  virtual void LookElsewhere() {}
  // The guard has found a fault.
  virtual void Alarm(const std::string& /*text*/) {}
  // A step threw. `unkept` is the answer published before Keep was called, if any.
  virtual void Fail(const Frame& /*frame*/, FrameStep /*step*/, const Answer* /*unkept*/,
                    const std::string& /*error*/) {}
  // The robot was made anew, with another model, because its GPU is gone.
  virtual void Restart(const RobotConfig& /*config*/, const RobotModels::Compiled& /*models*/) {}

  // How much time since `moment` this has spent that should count for no frame.
  virtual Time TimeSpentSince(Time /*moment*/) const { return Time(0); }
};

// A robot, the clocked loop that it answers frames in, and what it does between two frames: the
// guard's samples, standby, trials of plans, and measuring itself for a schedule. If a GPU is lost
// or lacks memory, the processor answers that frame and all later ones; the guard then starts over,
// and no schedule is made.
//
//   while (auto frame = robot.Next()) robot.Handle(*frame);
class LiveRobot {
 public:
  // How many frames a queue should let wait for a robot.
  static size_t FramesAhead(const RobotConfig& config, bool is_live);

  // Everything must outlive this; `clock` must be the one that stamps live frames. Throws
  // InputError, in one sentence, for what the user can fix. REQUIRES: a checked configuration that
  // differs from that of `models` only in what models do not depend on.
  LiveRobot(const RobotConfig& config, RobotModels& models, FrameQueue& source, const Clock& clock,
            FrameObserver& observer);
  ~LiveRobot();
  LiveRobot(const LiveRobot&) = delete;
  LiveRobot& operator=(const LiveRobot&) = delete;

  // Returns the source's next frame. While it waits for a live frame, a robot with plans to choose
  // from measures itself. A recording leaves no time for that: rough figures are corrected by what
  // its frames take.
  std::optional<Frame> Next();

  // Whether a frame waits, so that Next returns at once.
  bool HasNext() { return loop_.HasNext(); }

  // Answers a frame of Next, and prepares for the one after it. If the GPU is lost before the
  // answer is out, answers the frame again. Throws InputError if outputs contradict their decoder.
  void Handle(const Frame& frame);

  // From Rest to Wake a live robot measures itself on another thread, if anything is left to
  // measure. Only for a thread that does not wait in Next. Returns whether the robot measures
  // itself.
  bool Rest();
  void Wake();

  // Gives moved answers that are due. Only for a thread that serves other robots too.
  void LookAround() { loop_.LookAround(*robot_); }

  // Takes a step of the most urgent work for idle time, between two frames or while a server is
  // waited for. Returns false if there is nothing to do.
  bool TakeIdleStep();

  // The same object throughout, though a lost GPU replaces what is behind it.
  const Robot& robot() const { return *robot_; }
  Robot& robot() { return *robot_; }
  // Without the GPU once it is lost.
  const RobotConfig& config() const { return config_; }
  const Guard* guard() const { return guard_ ? &*guard_ : nullptr; }

  // How many frames got no answer: newer ones came before there was an answer to move.
  int64_t dropped() const { return loop_.dropped(); }

  // "measures itself: 40 %"; empty if it does not.
  std::string Measuring();

 private:
  struct Progress;

  void Start(const RobotConfig& config);
  void TakeProfiles();
  IdleProfile* NextToMeasure();
  void Handle(const Frame& frame, Progress& progress);
  bool BeginOrSkip(const Frame& frame);
  void Refresh(const Frame& frame, const Answer& answer);
  std::chrono::nanoseconds TimeWaited(const Frame& frame) const;
  void BeginSample(const Answer& answer);
  void StepGuard();
  bool StepTrial();

  RobotConfig config_;
  RobotModels& models_;
  FrameQueue& source_;
  const Clock& clock_;
  FrameObserver& observer_;
  FrameLoop loop_;
  const SlowedClock guard_clock_;  // as the robot's own; for samples and trials
  std::optional<Robot> robot_;     // always set; replaced in place once a GPU is lost
  // Profiles of the models that plans use, by the models' names; the first model's is empty.
  std::map<std::string, IdleProfile> profiles_;
  std::optional<Guard> guard_;
  std::unique_ptr<PlanTrial> trial_;  // if there are plans to choose from
  size_t trial_steps_left_ = 0;       // before the next frame of a record
  ReuseTiming timing_;
  IdleProfile* measuring_ = nullptr;  // while the robot rests
  int width_ = 0;                     // of the last frame
  int height_ = 0;
  std::optional<std::pair<int, int>> unfit_size_;  // of the last frame that was skipped
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_LIVE_ROBOT_H_
