#include "client/run/frame_loop.h"

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

FrameLoop::Time FromMs(double milliseconds) {
  const std::chrono::duration<double, std::milli> time(milliseconds);
  return std::chrono::duration_cast<FrameLoop::Time>(time);
}

}  // namespace

FrameLoop::FrameLoop(FrameQueue& source, double deadline_ms, const Clock& clock, Waited waited,
                     HandOut hand_out)
    : source_(source),
      deadline_(FromMs(deadline_ms)),
      clock_(clock),
      waited_(std::move(waited)),
      hand_out_(std::move(hand_out)) {}

std::optional<Frame> FrameLoop::Next(Robot& robot) {
  while (newest_ && source_.HasNext()) TakeNewer(robot);
  if (newest_) return std::exchange(newest_, std::nullopt);
  return source_.Next();
}

Answer FrameLoop::Finish(Robot& robot, const Frame& frame) {
  current_ = {&frame, clock_.Now() + deadline_ - waited_(frame), deadline_ == Time(0)};
  Time longest{};
  while (true) {
    const Time begin = clock_.Now();
    if (std::optional<Answer> answer = robot.Step(LookAt())) {
      longest_step_ = longest;
      return *std::move(answer);
    }
    if (deadline_ == Time(0)) continue;
    longest = std::max(longest, clock_.Now() - begin);
    longest_step_ = std::max(longest, longest_step_);
    if (source_.is_live() && source_.HasNext()) TakeNewer(robot);
    AnswerIfDue(robot, current_);
    if (newest_) AnswerIfDue(robot, open_newest_);
  }
}

// REQUIRES: a frame waits in the source.
void FrameLoop::TakeNewer(Robot& robot) {
  if (newest_ && !open_newest_.is_answered) Move(robot, open_newest_, /*is_last=*/true);
  newest_ = source_.Next();
  open_newest_ = {&*newest_, clock_.Now() + deadline_ - waited_(*newest_)};
}

void FrameLoop::AnswerIfDue(Robot& robot, Open& open) {
  if (open.is_answered || clock_.Now() + margin() < open.due) return;
  Move(robot, open, /*is_last=*/false);
}

void FrameLoop::Move(Robot& robot, Open& open, bool is_last) {
  open.is_answered = true;
  const Time begin = clock_.Now();
  const std::optional<Answer> answer = robot.Moved(*open.frame, waited_(*open.frame));
  if (!answer) return;
  hand_out_(*open.frame, *answer, is_last);
  moving_ = clock_.Now() - begin;
}

// When the next moved answer must be made.
FrameLoop::Time FrameLoop::LookAt() const {
  Time due = Time::max();
  if (!current_.is_answered) due = current_.due;
  if (newest_ && !open_newest_.is_answered) due = std::min(due, open_newest_.due);
  return due == Time::max() ? due : due - margin();
}

}  // namespace cacheinf
