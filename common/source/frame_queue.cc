#include "common/source/frame_queue.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace cacheinf {

FrameQueue::FrameQueue(std::unique_ptr<FrameSource> source, size_t capacity, const Clock* pace,
                       std::function<bool()> is_over)
    : source_(std::move(source)),
      pace_(source_->is_live() ? nullptr : pace),
      is_over_(std::move(is_over)),
      is_live_(source_->is_live() || pace != nullptr),
      has_tensors_(source_->has_tensors()),
      frame_rate_(source_->frame_rate()),
      truth_class_count_(source_->truth_class_count()),
      skipped_(source_->skipped()),
      capacity_(capacity),
      reader_([this] { ReadAll(); }) {}

FrameQueue::FrameQueue(size_t capacity, bool is_live)
    : pace_(nullptr),
      is_live_(is_live),
      has_tensors_(false),
      frame_rate_(0),
      truth_class_count_(0),
      skipped_(0),
      capacity_(capacity) {}

FrameQueue::~FrameQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  has_changed_.notify_all();
  if (reader_.joinable()) reader_.join();
}

int64_t FrameQueue::Push(Frame frame) {
  std::unique_lock lock(mutex_);
  const int64_t index = pushed_++;
  frame.index = index;
  if (frame.name.empty()) frame.name = "frame " + std::to_string(frame.index);
  if (!is_at_end_) Add(lock, std::move(frame), 0);
  return index;
}

void FrameQueue::SetCapacity(size_t capacity) {
  {
    const std::lock_guard lock(mutex_);
    capacity_ = capacity;
    if (is_live_) DropBeyond(capacity);
  }
  has_changed_.notify_all();
}

void FrameQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    is_at_end_ = true;
  }
  has_changed_.notify_all();
}

std::optional<Frame> FrameQueue::First() {
  std::unique_lock lock(mutex_);
  has_changed_.wait(lock, [this] { return first_ || is_at_end_; });
  return std::exchange(first_, std::nullopt);
}

bool FrameQueue::HasNext() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

std::optional<Frame> FrameQueue::Next() {
  std::unique_lock lock(mutex_);
  if (pace_ != nullptr && !start_) {
    start_ = pace_->Now();
    has_changed_.notify_all();
  }
  has_changed_.wait(lock, [this] { return !waiting_.empty() || is_at_end_; });
  const int64_t dropped = std::exchange(overrun_, 0);
  count_.dropped += dropped;
  count_.most_dropped = std::max(count_.most_dropped, dropped);
  count_.most_waiting = most_waiting_;
  if (waiting_.empty()) {
    skipped_ = skipped_at_end_;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::nullopt;
  }
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  has_changed_.notify_all();
  skipped_ = next.skipped;
  return std::move(next.frame);
}

void FrameQueue::ReadAll() {
  std::exception_ptr error;
  try {
    for (bool is_first = true; ReadOne(is_first); is_first = false) {
    }
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
    skipped_at_end_ = source_->skipped();
    is_at_end_ = true;
  }
  has_changed_.notify_all();
}

// Whether there may be more.
bool FrameQueue::ReadOne(bool is_first) {
  std::optional<Frame> frame = source_->Next();
  if (!frame) return false;
  std::unique_lock lock(mutex_);
  if (is_first) {
    first_ = *frame;
    has_changed_.notify_all();
  }
  if (pace_ != nullptr && !WaitUntilDue(lock, *frame)) return false;
  return Add(lock, std::move(*frame), source_->skipped());
}

// Whether there may be more.
bool FrameQueue::Add(std::unique_lock<std::mutex>& lock, Frame&& frame, int64_t skipped) {
  if (is_live_) DropBeyond(capacity_ - 1);
  has_changed_.wait(lock, [this] { return waiting_.size() < capacity_ || is_closed_; });
  if (is_closed_) return false;
  waiting_.push_back({std::move(frame), skipped});
  if (is_live_) most_waiting_ = std::max(most_waiting_, static_cast<int64_t>(waiting_.size()));
  lock.unlock();
  has_changed_.notify_all();
  return true;
}

// REQUIRES: the lock is held.
void FrameQueue::DropBeyond(size_t count) {
  for (; waiting_.size() > count; ++overrun_) waiting_.pop_front();
}

// Whether anybody still waits for it.
bool FrameQueue::WaitUntilDue(std::unique_lock<std::mutex>& lock, Frame& frame) {
  constexpr std::chrono::nanoseconds kLongestWait = std::chrono::milliseconds(20);
  has_changed_.wait(lock, [this] { return start_ || is_closed_; });
  if (is_closed_) return false;
  frame.stamp += *start_;
  while (pace_->Now() < frame.stamp) {
    has_changed_.wait_for(lock, std::min(kLongestWait, frame.stamp - pace_->Now()));
    if (is_closed_ || (is_over_ && is_over_())) return false;
  }
  return true;
}

}  // namespace cacheinf
