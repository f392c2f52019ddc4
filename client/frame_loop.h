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

// Takes a robot from frame to frame, step by step on one thread, and looks between two steps at the
// clock and at newer frames, so that every frame has an answer by its deadline once there is one to
// give: a frame whose own answer is not there in time is answered by the last one, as the scene has
// moved since (Robot::Moved). So a frame may have two answers, of which the later one counts; and a
// live frame that a newer one overtakes gets a moved answer alone. That is made as late as
// possible, because the current frame's answer, if it comes first, is the newest one to move; where
// there is no answer yet, it waits as long as there is room. Once the newest frame has begun, what
// it overtook waits no longer, so that a server computes while answers are moved.
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

  // How long a frame has waited since its stamp; 0 for one of a record, whose deadline counts from
  // Begin.
  using Waited = std::function<Time(const Frame& frame)>;
  // Takes a moved answer.
  using HandOut = std::function<void(const Frame& frame, const Answer& answer)>;
  // Takes a short step of work that no frame waits for; returns false if there is none.
  using Idle = std::function<bool()>;

  // Source and clock must outlive this. `deadline_ms` 0: none. `overtaken` is told of each moved
  // answer, once, that its frame gets no other; `between` is called between two steps of Finish.
  FrameLoop(FrameQueue& source, double deadline_ms, const Clock& clock, Waited waited,
            HandOut hand_out, HandOut overtaken = {}, Idle idle = {},
            std::function<void()> between = {});

  // Takes so many frames and no more, but for those that get no answer. REQUIRES: frames > 0.
  void LimitTo(int64_t frames) { left_ = frames; }

  // Returns the next frame to compute, and tells the robot how often a live one comes. Waits for
  // it, in idle steps; a record waits for these.
  std::optional<Frame> Next(Robot& robot);

  // The frame that Next gave last gets no answer: no model can take it.
  void NoteUnfit() { GiveBack(); }

  // Whether a frame waits, so that Next returns at once.
  bool HasNext() { return !waiting_.empty() || source_.HasNext(); }

  // Finishes the frame that the robot has begun. Nothing if that only tracks it, and it has a moved
  // answer already: `overtaken` is told.
  std::optional<Answer> Finish(Robot& robot, const Frame& frame);

  // Gives moved answers that are due. Call it between steps of work that delays the next frame.
  void LookAround(Robot& robot);

  // Call it after a wait, in which nobody had to look.
  void EndWait() { last_look_ = clock_.Now(); }

  // Frames that newer ones overtook, more than may wait, while there was no answer to move.
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
  // Came meanwhile: the newest, and those that it overtook; from Next to Finish these alone.
  std::deque<Waiting> waiting_;
  Time last_look_{};  // or the end of the last move
  // Between two of them, since this frame was begun, and since the last one was.
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
