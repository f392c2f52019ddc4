#include "common/source/interruptible_source.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace cacheinf {
namespace {

constexpr std::chrono::milliseconds kLook(20);
constexpr std::chrono::milliseconds kGoodbye(500);  // for a source that says nothing

// The source's own thread, and the state that it shares with callers that wait.
class Reader {
 public:
  static std::shared_ptr<Reader> Begin(std::function<std::unique_ptr<FrameSource>()> open) {
    auto reader = std::make_shared<Reader>();
    std::thread([reader, open = std::move(open)] { reader->Run(open); }).detach();
    return reader;
  }

  // Waits until the source is open. Returns whether it may block, or else takes it, if there is
  // one.
  bool MayBlock(const std::function<bool()>& is_over, std::unique_ptr<FrameSource>* record) {
    std::unique_lock lock(mutex_);
    if (!Wait(lock, is_over)) has_changed_.wait_for(lock, kGoodbye, [this] { return is_done_; });
    if (!is_done_) {
      is_left_ = true;
      return false;
    }
    Rethrow();
    *record = std::move(record_);
    return may_block_;
  }

  // REQUIRES: a source that may block, which is open.
  std::optional<Frame> Next(const std::function<bool()>& is_over) {
    std::unique_lock lock(mutex_);
    is_done_ = false;
    wants_frame_ = true;
    has_changed_.notify_all();
    if (!Wait(lock, is_over)) return std::nullopt;
    Rethrow();
    return std::exchange(frame_, std::nullopt);
  }

  // Closes the source, unless it is busy for too long.
  void Leave() {
    std::unique_lock lock(mutex_);
    is_left_ = true;
    has_changed_.notify_all();
    has_changed_.wait_for(lock, kGoodbye, [this] { return is_closed_; });
  }

  bool is_live() const { return is_live_; }
  bool has_tensors() const { return has_tensors_; }
  double frame_rate() const { return frame_rate_; }
  int64_t skipped() {
    const std::lock_guard lock(mutex_);
    return skipped_;
  }

 private:
  void Run(const std::function<std::unique_ptr<FrameSource>()>& open) {
    std::unique_ptr<FrameSource> source;
    Do([&] { source = open(); });
    std::unique_lock lock(mutex_);
    may_block_ = source && source->may_block();
    if (may_block_) {
      is_live_ = source->is_live();
      has_tensors_ = source->has_tensors();
      frame_rate_ = source->frame_rate();
      skipped_ = source->skipped();
      Tell();
      Read(*source, lock);
      lock.unlock();
      source.reset();
      lock.lock();
    } else {
      record_ = std::move(source);
      Tell();
    }
    is_closed_ = true;
    has_changed_.notify_all();
  }

  // Reads a frame whenever one is wanted, until the source is left.
  void Read(FrameSource& source, std::unique_lock<std::mutex>& lock) {
    for (;;) {
      has_changed_.wait(lock, [this] { return wants_frame_ || is_left_; });
      if (is_left_) return;
      wants_frame_ = false;
      lock.unlock();
      std::optional<Frame> frame;
      Do([&] { frame = source.Next(); });
      lock.lock();
      frame_ = std::move(frame);
      skipped_ = source.skipped();
      Tell();
    }
  }

  void Do(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  }

  void Tell() {
    is_done_ = true;
    has_changed_.notify_all();
  }

  bool Wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_over) {
    while (!is_done_ && !is_over()) has_changed_.wait_for(lock, kLook);
    return is_done_;
  }

  void Rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable has_changed_;
  bool is_done_ = false;  // what was asked for last: the source, or a frame
  bool wants_frame_ = false;
  bool is_left_ = false;
  bool is_closed_ = false;
  std::unique_ptr<FrameSource> record_;
  std::optional<Frame> frame_;
  std::exception_ptr error_;
  int64_t skipped_ = 0;
  // Once the source is open.
  bool may_block_ = false;
  bool is_live_ = false;
  bool has_tensors_ = false;
  double frame_rate_ = 0;
};

class InterruptibleSource final : public FrameSource {
 public:
  InterruptibleSource(std::shared_ptr<Reader> reader, std::function<bool()> is_over)
      : reader_(std::move(reader)), is_over_(std::move(is_over)) {}
  ~InterruptibleSource() override { reader_->Leave(); }
  InterruptibleSource(const InterruptibleSource&) = delete;
  InterruptibleSource& operator=(const InterruptibleSource&) = delete;

  std::optional<Frame> Next() override { return reader_->Next(is_over_); }
  int64_t skipped() const override { return reader_->skipped(); }
  bool is_live() const override { return reader_->is_live(); }
  bool has_tensors() const override { return reader_->has_tensors(); }
  double frame_rate() const override { return reader_->frame_rate(); }

 private:
  const std::shared_ptr<Reader> reader_;
  const std::function<bool()> is_over_;
};

}  // namespace

std::unique_ptr<FrameSource> OpenInterruptibly(std::function<std::unique_ptr<FrameSource>()> open,
                                               std::function<bool()> is_over) {
  const std::shared_ptr<Reader> reader = Reader::Begin(std::move(open));
  std::unique_ptr<FrameSource> record;
  try {
    if (!reader->MayBlock(is_over, &record)) {
      if (record) reader->Leave();
      return record;
    }
  } catch (const AbsentSource&) {
    if (!is_over()) throw;
    return nullptr;  // the wait ended early
  }
  return std::make_unique<InterruptibleSource>(reader, std::move(is_over));
}

}  // namespace cacheinf
