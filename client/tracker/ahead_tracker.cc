#include "client/tracker/ahead_tracker.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cacheinf {

AheadTracker::AheadTracker(std::unique_ptr<Tracker> tracker, const Clock& clock)
    : tracker_(std::move(tracker)), clock_(clock) {}

AheadTracker::~AheadTracker() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  has_changed_.notify_all();
  thread_.join();
}

void AheadTracker::Begin(const PictureView& frame) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kIdle) throw std::logic_error("two frames are tracked ahead at once");
    frame_ = frame;
    state_ = State::kTracking;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
  has_changed_.notify_all();
}

void AheadTracker::SetReference(const PictureView& reference) {
  Finish();
  tracker_->SetReference(reference);
}

void AheadTracker::SetReferenceToLastFrame() {
  Finish();
  tracker_->SetReferenceToLastFrame();
}

Motion AheadTracker::Track(const PictureView& frame) {
  const auto asked = clock_.Now();
  time_ahead_ = {};
  if (!Finish()) return tracker_->Track(frame);
  if (frame_.pixels != frame.pixels) throw std::logic_error("another frame was tracked ahead");
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  time_ahead_ = std::max(std::chrono::nanoseconds(0), std::min(asked, end_) - begin_);
  return motion_;
}

// Waits for the other thread. Whether a frame was begun.
bool AheadTracker::Finish() {
  std::unique_lock lock(mutex_);
  if (state_ == State::kIdle) return false;
  has_changed_.wait(lock, [this] { return state_ == State::kDone; });
  state_ = State::kIdle;
  return true;
}

void AheadTracker::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_changed_.wait(lock, [this] { return state_ == State::kTracking || is_closed_; });
    if (is_closed_) return;
    lock.unlock();
    const auto begin = clock_.Now();
    Motion motion;
    std::exception_ptr error;
    try {
      motion = tracker_->Track(frame_);
    } catch (...) {
      error = std::current_exception();
    }
    const auto end = clock_.Now();
    lock.lock();
    motion_ = motion;
    error_ = error;
    begin_ = begin;
    end_ = end;
    state_ = State::kDone;
    has_changed_.notify_all();
  }
}

}  // namespace cacheinf
