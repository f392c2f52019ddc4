#ifndef CACHEINF_COMMON_SOURCE_FRAME_QUEUE_H_
#define CACHEINF_COMMON_SOURCE_FRAME_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/clock.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// What became of a live source's frames while nobody was ready for them.
struct QueueCount {
  int64_t most_waiting = 0;  // at once
  int64_t dropped = 0;       // for newer ones, as there was no room
  int64_t most_dropped = 0;  // of these, between two frames that Next gave
};

// Reads a source on its own thread, so that the next frame is ready when the last one is answered.
// Next gives frames in order. At most `capacity` of them wait. When more come from a live source,
// those that waited longest are dropped: their answers would come too late. Any other source is not
// read further until there is room.
class FrameQueue : public FrameSource {
 public:
  // With a clock as `pace`, makes a record live: from the first call of Next on, frames come, and
  // are stamped, at their times in the record. REQUIRES: capacity >= 1.
  FrameQueue(std::unique_ptr<FrameSource> source, size_t capacity, const Clock* pace = nullptr);

  // A source with frames that come by Push; it does not know whether they are tensors.
  FrameQueue(size_t capacity, bool is_live);

  // Waits until the source has delivered the frame that it is reading.
  ~FrameQueue() override;
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  // Gives the frame its index and returns that. If the queue is not live, waits for room. Drops the
  // frame once the queue is closed. REQUIRES: a queue without a source.
  int64_t Push(Frame frame);

  // How many frames may wait from now on. REQUIRES: a queue without a source; capacity >= 1.
  void SetCapacity(size_t capacity);

  // Lets Next end after the frames that wait. REQUIRES: a queue without a source.
  void Close();

  // Waits for a frame. Rethrows what the source threw, after the frames read before that.
  std::optional<Frame> Next() override;

  // Whether a frame waits.
  bool HasNext();

  // The first frame, before it is due. Waits for it; nothing if there is none, or it was asked for
  // before. Next gives it, or a newer one, again.
  std::optional<Frame> First();

  const QueueCount& count() const { return count_; }

  // Frames that the source skipped before the one that Next gave last.
  int64_t skipped() const override { return skipped_; }
  bool is_live() const override { return is_live_; }
  bool has_tensors() const override { return has_tensors_; }
  double frame_rate() const override { return frame_rate_; }
  int truth_class_count() const override { return truth_class_count_; }

 private:
  struct Waiting {
    Frame frame;
    int64_t skipped = 0;  // by the source, up to this frame
  };

  void ReadAll();
  bool ReadOne(bool is_first);
  bool Add(std::unique_lock<std::mutex>& lock, Frame&& frame, int64_t skipped);
  void DropBeyond(size_t count);
  void WaitUntilDue(std::unique_lock<std::mutex>& lock, Frame& frame);

  const std::unique_ptr<FrameSource> source_;  // null: frames are pushed
  const Clock* const pace_;
  const bool is_live_;
  const bool has_tensors_;
  const double frame_rate_;
  const int truth_class_count_;

  // Used by the caller of Next.
  int64_t skipped_;
  QueueCount count_;

  // Shared by both threads.
  std::mutex mutex_;
  std::condition_variable has_changed_;
  size_t capacity_;
  std::optional<Frame> first_;
  std::optional<std::chrono::nanoseconds> start_;  // of the record that is paced
  std::deque<Waiting> waiting_;
  int64_t most_waiting_ = 0;
  int64_t overrun_ = 0;  // frames that found no room and replaced older ones
  int64_t skipped_at_end_ = 0;
  int64_t pushed_ = 0;
  bool is_at_end_ = false;
  bool is_closed_ = false;
  std::exception_ptr error_;

  std::thread reader_;  // the last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_FRAME_QUEUE_H_
