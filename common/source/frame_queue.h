#ifndef CACHEINF_COMMON_SOURCE_FRAME_QUEUE_H_
#define CACHEINF_COMMON_SOURCE_FRAME_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "common/source/frame_source.h"

namespace cacheinf {

// Reads a source on its own thread, so that the next frame is ready when the last one is answered.
// From a live source Next gives the newest frame and drops those that waited longer: an answer to
// them would come too late. From any other source it gives every frame, in order, and reads a few
// ahead.
class FrameQueue : public FrameSource {
 public:
  // At most `capacity` frames wait. REQUIRES: capacity >= 1.
  FrameQueue(std::unique_ptr<FrameSource> source, size_t capacity);

  // Waits for the source to deliver the frame that it is reading.
  ~FrameQueue() override;
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  // Waits for a frame. Rethrows what the source threw, after the frames read before that.
  std::optional<Frame> Next() override;

  // Frames that were read but dropped for newer ones.
  int64_t dropped() const { return dropped_; }

  // Frames that the source skipped before the one that Next gave last.
  int64_t skipped() const override { return skipped_; }
  bool is_live() const override { return is_live_; }
  bool has_tensors() const override { return has_tensors_; }
  double frame_rate() const override { return frame_rate_; }
  int truth_class_count() const override { return truth_class_count_; }

 private:
  struct Waiting {
    Frame frame;
    int64_t skipped = 0;  // by the source, until then
  };

  void ReadAll();
  bool ReadOne();

  const std::unique_ptr<FrameSource> source_;
  const size_t capacity_;
  const bool is_live_;
  const bool has_tensors_;
  const double frame_rate_;
  const int truth_class_count_;

  // Used by the caller of Next.
  int64_t skipped_;
  int64_t dropped_ = 0;

  // Shared by both threads.
  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::deque<Waiting> waiting_;
  int64_t overrun_ = 0;  // frames that found no room and replaced older ones
  int64_t skipped_at_end_ = 0;
  bool is_at_end_ = false;
  bool is_closed_ = false;
  std::exception_ptr error_;

  std::thread reader_;  // the last member: it uses all others
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_FRAME_QUEUE_H_
