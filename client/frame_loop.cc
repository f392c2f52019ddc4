#include "client/frame_loop.h"

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

constexpr FrameLoop::Time kBetweenLooks = std::chrono::milliseconds(5);  // at newer frames

FrameLoop::Time FromMs(double milliseconds) {
  const std::chrono::duration<double, std::milli> time(milliseconds);
  return std::chrono::duration_cast<FrameLoop::Time>(time);
}

}  // namespace

FrameLoop::FrameLoop(FrameQueue& source, double deadline_ms, const Clock& clock, Waited waited,
                     HandOut hand_out, Idle idle, std::function<void()> between)
    : source_(source),
      deadline_(FromMs(deadline_ms)),
      clock_(clock),
      waited_(std::move(waited)),
      hand_out_(std::move(hand_out)),
      idle_(std::move(idle)),
      between_(std::move(between)) {}

std::optional<Frame> FrameLoop::Next(Robot& robot) {
  while (idle_ && (!source_.is_live() || !HasNext()) && idle_()) {
  }
  if (HasNext()) LookAround(robot);
  has_moved_answer_ = newest_ && open_newest_.is_answered;
  std::optional<Frame> next = newest_ ? std::exchange(newest_, std::nullopt) : Take();
  robot.SetPeriod(period_);
  EndWait();
  return next;
}

Answer FrameLoop::Finish(Robot& robot, const Frame& frame) {
  const Time now = clock_.Now();
  current_ = {&frame, now + deadline_ - waited_(frame), deadline_ == Time(0) || has_moved_answer_};
  longest_gap_before_ = std::exchange(longest_gap_, Time(0));
  while (true) {
    LookAround(robot);
    if (between_) between_();
    if (std::optional<Answer> answer = robot.Step(LookAt(), idle_)) {
      current_.is_answered = true;
      return *std::move(answer);
    }
  }
}

void FrameLoop::LookAround(Robot& robot) {
  if (deadline_ == Time(0)) return;
  const Time now = clock_.Now();
  longest_gap_ = std::max(longest_gap_, now - last_look_);
  while (source_.is_live() && source_.HasNext()) TakeNewer(robot);
  AnswerIfDue(robot, current_);
  if (newest_) AnswerIfDue(robot, open_newest_);
  last_look_ = now;
}

std::optional<Frame> FrameLoop::Take() {
  std::optional<Frame> frame = source_.Next();
  if (!frame || !source_.is_live()) return frame;
  if (last_taken_ && frame->index > last_taken_->first) {
    const Time each = (frame->stamp - last_taken_->second) / (frame->index - last_taken_->first);
    period_ = period_ == Time(0) ? each : period_ + (each - period_) / 8;
  }
  last_taken_ = {frame->index, frame->stamp};
  return frame;
}

// REQUIRES: a frame waits in the source.
void FrameLoop::TakeNewer(Robot& robot) {
  if (newest_ && !open_newest_.is_answered) Move(robot, open_newest_, /*is_last=*/true);
  newest_ = Take();
  open_newest_ = {&*newest_, clock_.Now() + deadline_ - waited_(*newest_), false};
}

void FrameLoop::AnswerIfDue(Robot& robot, Open& open) {
  if (open.is_answered || clock_.Now() + margin() < open.due) return;
  Move(robot, open, /*is_last=*/false);
}

void FrameLoop::Move(Robot& robot, Open& open, bool is_last) {
  open.is_answered = true;
  const Time begin = clock_.Now();
  const std::optional<Answer> answer = robot.Moved(*open.frame, waited_(*open.frame));
  if (!answer && is_last) ++dropped_;
  if (!answer) return;
  hand_out_(*open.frame, *answer, is_last);
  moving_ = clock_.Now() - begin;
}

// When the next moved answer must be made, or a newer frame may have come.
FrameLoop::Time FrameLoop::LookAt() const {
  if (deadline_ == Time(0)) return Time::max();
  Time due = Time::max();
  if (!current_.is_answered) due = current_.due;
  if (newest_ && !open_newest_.is_answered) due = std::min(due, open_newest_.due);
  const Time newer = clock_.Now() + kBetweenLooks;
  return due == Time::max() ? newer : std::min(newer, due - margin());
}

}  // namespace cacheinf
