#include "client/frame_loop.h"

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

constexpr FrameLoop::Time kBetweenLooks = std::chrono::milliseconds(5);  // at newer frames
constexpr size_t kMostWaiting = 8;                                       // that keep their pictures

FrameLoop::Time FromMs(double milliseconds) {
  const std::chrono::duration<double, std::milli> time(milliseconds);
  return std::chrono::duration_cast<FrameLoop::Time>(time);
}

bool HaveSameSize(const Frame& a, const Frame& b) {
  return a.picture.width == b.picture.width && a.picture.height == b.picture.height;
}

}  // namespace

FrameLoop::FrameLoop(FrameQueue& source, double deadline_ms, const Clock& clock, Waited waited,
                     HandOut hand_out, HandOut overtaken, Idle idle, std::function<void()> between)
    : source_(source),
      deadline_(FromMs(deadline_ms)),
      clock_(clock),
      waited_(std::move(waited)),
      hand_out_(std::move(hand_out)),
      overtaken_(std::move(overtaken)),
      idle_(std::move(idle)),
      between_(std::move(between)) {}

std::optional<Frame> FrameLoop::Next(Robot& robot) {
  if (left_ == 0 && waiting_.empty()) return std::nullopt;
  while (idle_ && (!source_.is_live() || !HasNext()) && idle_()) {
  }
  if (HasNext()) LookAround(robot);
  std::optional<Frame> next;
  moved_.reset();
  if (waiting_.empty()) {
    next = Take();
  } else {
    next = std::move(waiting_.back().frame);
    moved_ = std::move(waiting_.back().moved);
    waiting_.pop_back();
  }
  // No answer moves to frames of another size than the newest.
  if (!waiting_.empty() && !HaveSameSize(waiting_.back().frame, *next)) AnswerOvertaken(robot);
  robot.SetPeriod(period_);
  robot.NoteLead(margin());
  EndWait();
  return next;
}

std::optional<Answer> FrameLoop::Finish(Robot& robot, const Frame& frame) {
  current_ = &frame;
  due_ = clock_.Now() + deadline_ - waited_(frame);
  is_answered_ = deadline_ == Time(0) || moved_ || robot.is_tracking();
  longest_gap_before_ = std::exchange(longest_gap_, Time(0));
  AnswerOvertaken(robot);
  if (moved_ && robot.is_tracking()) {
    if (overtaken_) overtaken_(frame, *moved_);
    return std::nullopt;
  }
  while (true) {
    LookAround(robot);
    if (between_) between_();
    if (std::optional<Answer> answer = robot.Step(LookAt(), idle_)) {
      is_answered_ = true;
      return *std::move(answer);
    }
  }
}

void FrameLoop::LookAround(Robot& robot) {
  if (deadline_ == Time(0)) return;
  while (source_.is_live() && left_ != 0 && source_.HasNext()) TakeNewer();
  const Time now = clock_.Now();
  longest_gap_ = std::max(longest_gap_, now - last_look_);
  last_look_ = now;
  if (!is_answered_ && IsDue(due_)) {
    is_answered_ = true;
    (void)Move(robot, *current_);
  }
  AnswerWaiting(robot);
}

// Answers the newest frame, if it is due, and those that it overtook that are due or more than may
// wait. A frame for which there was no answer stays as long as it may.
void FrameLoop::AnswerWaiting(Robot& robot) {
  while (!waiting_.empty()) {
    Waiting& newest = waiting_.back();
    if (!newest.moved && IsDue(newest.due)) AnswerOne(robot, newest);
    if (waiting_.size() == 1) return;
    Waiting& oldest = waiting_.front();
    const bool must_go = waiting_.size() > kMostWaiting;
    if (!oldest.moved && (must_go || IsDue(oldest.due))) AnswerOne(robot, oldest);
    if (!oldest.moved && !must_go) return;
    LeaveOldest();
  }
}

// Answers all frames that the current one overtook.
void FrameLoop::AnswerOvertaken(Robot& robot) {
  while (!waiting_.empty()) {
    if (!waiting_.front().moved) AnswerOne(robot, waiting_.front());
    LeaveOldest();
  }
}

void FrameLoop::LeaveOldest() {
  const Waiting& oldest = waiting_.front();
  if (!oldest.moved) {
    ++dropped_;
    GiveBack();
  }
  if (oldest.moved && overtaken_) overtaken_(oldest.frame, *oldest.moved);
  waiting_.pop_front();
}

std::optional<Frame> FrameLoop::Take() {
  std::optional<Frame> frame = source_.Next();
  if (frame && left_) --*left_;
  if (!frame || !source_.is_live()) return frame;
  if (last_taken_ && frame->index > last_taken_->first) {
    const Time each = (frame->stamp - last_taken_->second) / (frame->index - last_taken_->first);
    period_ = period_ == Time(0) ? each : period_ + (each - period_) / 8;
  }
  last_taken_ = {frame->index, frame->stamp};
  return frame;
}

void FrameLoop::GiveBack() {
  if (left_) ++*left_;
}

// REQUIRES: a frame waits in the source.
void FrameLoop::TakeNewer() {
  waiting_.push_back({*Take()});
  Waiting& newest = waiting_.back();
  newest.due = clock_.Now() + deadline_ - waited_(newest.frame);
}

void FrameLoop::AnswerOne(Robot& robot, Waiting& waiting) {
  waiting.moved = Move(robot, waiting.frame);
  waiting.is_tried = !waiting.moved;
}

// Nothing if there is no answer to move.
std::optional<Answer> FrameLoop::Move(Robot& robot, const Frame& frame) {
  std::optional<Answer> answer = robot.Moved(frame, waited_(frame));
  if (!answer) return answer;
  hand_out_(frame, *answer);
  const Time now = clock_.Now();
  moving_ = now - std::exchange(last_look_, now);
  return answer;
}

// When the next moved answer must be made, or a newer frame may have come.
FrameLoop::Time FrameLoop::LookAt() const {
  if (deadline_ == Time(0)) return Time::max();
  Time due = Time::max();
  if (!is_answered_) due = due_;
  for (const Waiting& waiting : waiting_) {
    if (!waiting.moved && !waiting.is_tried) due = std::min(due, waiting.due);
  }
  const Time newer = clock_.Now() + kBetweenLooks;
  return due == Time::max() ? newer : std::min(newer, due - margin());
}

}  // namespace cacheinf
