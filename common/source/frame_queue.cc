#include "common/source/frame_queue.h"

#include <utility>

namespace cacheinf {

FrameQueue::FrameQueue(std::unique_ptr<FrameSource> source, size_t capacity)
    : source_(std::move(source)),
      capacity_(capacity),
      is_live_(source_->is_live()),
      has_tensors_(source_->has_tensors()),
      frame_rate_(source_->frame_rate()),
      truth_class_count_(source_->truth_class_count()),
      skipped_(source_->skipped()),
      reader_([this] { ReadAll(); }) {}

FrameQueue::~FrameQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  has_changed_.notify_all();
  reader_.join();
}

std::optional<Frame> FrameQueue::Next() {
  std::unique_lock lock(mutex_);
  has_changed_.wait(lock, [this] { return !waiting_.empty() || is_at_end_; });
  dropped_ += std::exchange(overrun_, 0);
  if (waiting_.empty()) {
    skipped_ = skipped_at_end_;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::nullopt;
  }
  while (is_live_ && waiting_.size() > 1) {
    waiting_.pop_front();
    ++dropped_;
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
    while (ReadOne()) {
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
bool FrameQueue::ReadOne() {
  std::optional<Frame> frame = source_->Next();
  if (!frame) return false;
  std::unique_lock lock(mutex_);
  if (is_live_ && waiting_.size() == capacity_) {
    waiting_.pop_front();
    ++overrun_;
  }
  has_changed_.wait(lock, [this] { return waiting_.size() < capacity_ || is_closed_; });
  if (is_closed_) return false;
  waiting_.push_back({std::move(*frame), source_->skipped()});
  lock.unlock();
  has_changed_.notify_all();
  return true;
}

}  // namespace cacheinf
