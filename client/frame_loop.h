#ifndef CACHEINF_CLIENT_FRAME_LOOP_H_
#define CACHEINF_CLIENT_FRAME_LOOP_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "client/answer/answer.h"
#include "client/robot.h"
#include "common/base/clock.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// Takes a robot from frame to frame, step by step on one thread. Looks at the clock and at newer
// frames between two steps, so that every frame has an answer by its deadline once there is one to
// give: if a frame's own answer is late, the frame gets the last one, moved with the scene
// (Robot::Moved). So a frame may have two answers, and the later one counts; a live frame that a
// newer one overtakes gets only a moved one. Answers are moved as late as possible, because if the
// current frame's comes first, it is the newest one to move; while there is no answer yet, a frame
// waits as long as there is room. Once the newest frame has begun, those that it overtook get their
// answers, so that a server computes while answers are moved.
//
//   while (auto frame = loop.Next(robot)) {
//     robot.Begin(*frame, …);
//     if (auto answer = loop.Finish(robot, *frame)) …
//   }
//
// Without a deadline nothing moves, and Next gives a live source's newest frame.
class FrameLoop {
 public:
  using Time = std::chrono::nanoseconds;

  // How long a frame has waited since its stamp; 0 for a frame of a record: its deadline counts
  // from Begin.
  using Waited = std::function<Time(const Frame& frame)>;
  // Takes a moved answer.
  using HandOut = std::function<void(const Frame& frame, const Answer& answer)>;
  // Takes a short step of work that no frame waits for; returns false if there is none.
  using Idle = std::function<bool()>;

  // Source and clock must outlive this. `deadline_ms` 0: none. `overtaken` is called once for each
  // moved answer whose frame gets no other; `between` is called between two steps of Finish.
  FrameLoop(FrameQueue& source, double deadline_ms, const Clock& clock, Waited waited,
            HandOut hand_out, HandOut overtaken = {}, Idle idle = {},
            std::function<void()> between = {});

  // Takes only so many frames, not counting those that get no answer. REQUIRES: frames > 0.
  void LimitTo(int64_t frames) { left_ = frames; }

  // Returns the next frame to compute, and tells the robot how often a live one comes. Waits for
  // it, in idle steps; a frame of a record waits until the idle steps are done.
  std::optional<Frame> Next(Robot& robot);

  // Notes that the frame that Next gave last gets no answer: no model can take it.
  void NoteUnfit() { GiveBack(); }

  // Whether a frame waits, so that Next returns at once.
  bool HasNext() { return !waiting_.empty() || source_.HasNext(); }

  // Finishes the frame that the robot has begun. Returns nothing if the robot only tracks it and it
  // already has a moved answer: `overtaken` is called.
  std::optional<Answer> Finish(Robot& robot, const Frame& frame);

  // Gives moved answers that are due. Call it between steps of work that delays the next frame.
  void LookAround(Robot& robot);

  // Call it after a wait during which nobody had to look.
  void EndWait() { last_look_ = clock_.Now(); }

  // How many overtaken frames were dropped, because there was no answer to move when they had to
  // go.
  int64_t dropped() const { return dropped_; }

 private:
  struct Waiting {
    Frame frame;
    Time due{};
    bool is_tried = false;  // there was no answer to move when it was due
    std::optional<Answer> moved = {};
  };

  std::optional<Frame> Take();
  void GiveBack();
  void TakeNewer();
  void AnswerWaiting(Robot& robot);
  void AnswerOvertaken(Robot& robot);
  void LeaveOldest();
  std::optional<Answer> Move(Robot& robot, const Frame& frame);
  void AnswerOne(Robot& robot, Waiting& waiting);
  Time LookAt() const;
  // As of the last look or move.
  bool IsDue(Time due) const { return due <= last_look_ + margin(); }
  Time margin() const { return std::max(longest_gap_, longest_gap_before_) + moving_; }

  FrameQueue& source_;
  const Time deadline_;
  const Clock& clock_;
  const Waited waited_;
  const HandOut hand_out_;
  const HandOut overtaken_;
  const Idle idle_;
  const std::function<void()> between_;
  const Frame* current_ = nullptr;  // that is computed
  Time due_{};                      // the current frame's answer
  bool is_answered_ = true;         // the current frame, by a moved answer; or it needs none
  std::optional<Answer> moved_;     // of the frame that Next gave last
  // Frames that came meanwhile: the newest, and those that it overtook; from Next to Finish only
  // the latter.
  std::deque<Waiting> waiting_;
  Time last_look_{};  // or the end of the last move
  // Times between two looks, since this frame was begun, and since the last one was.
  Time longest_gap_{};
  Time longest_gap_before_{};
  Time moving_{};  // what moving an answer took last
  int64_t dropped_ = 0;
  std::optional<int64_t> left_;                         // frames to take; nothing: all
  Time period_{};                                       // of a live source
  std::optional<std::pair<int64_t, Time>> last_taken_;  // its index and stamp
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_FRAME_LOOP_H_
