#ifndef CACHEINF_CLIENT_TRACKER_AHEAD_TRACKER_H_
#define CACHEINF_CLIENT_TRACKER_AHEAD_TRACKER_H_

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "client/tracker/tracker.h"
#include "common/base/clock.h"

namespace cacheinf {

// Can track the frame that will be asked for next on a thread of its own, while its caller does
// something else. What comes out is what the tracker would have given, because that depends on the
// pictures alone: a frame that was tracked ahead for nothing is forgotten with the next reference.
//
// One thread calls all functions; the other one starts with the first Begin.
class AheadTracker final : public Tracker {
 public:
  // The clock outlives this.
  AheadTracker(std::unique_ptr<Tracker> tracker, const Clock& clock);
  ~AheadTracker() override;
  AheadTracker(const AheadTracker&) = delete;
  AheadTracker& operator=(const AheadTracker&) = delete;

  // Begins to track a frame against the reference as it is now. Its pixels stay where and what they
  // are until the next call of another function has returned, which is Track of this frame,
  // SetReference or Drop. REQUIRES: none was begun since the last such call.
  void Begin(const PictureView& frame);

  // Waits for what was begun, if anything was, and drops it. REQUIRES: a reference follows.
  void Drop() { Finish(); }

  void SetReference(const PictureView& reference) override;
  void SetReferenceToLastFrame() override;

  // Throws std::logic_error if a frame at another place was begun.
  Motion Track(const PictureView& frame) override;

  // Of the last frame that was tracked: the time that it took before Track was called.
  std::chrono::nanoseconds time_ahead() const { return time_ahead_; }

 private:
  enum class State { kIdle, kTracking, kDone };

  void Work();
  bool Finish();

  const std::unique_ptr<Tracker> tracker_;
  const Clock& clock_;
  std::chrono::nanoseconds time_ahead_{0};

  // Of both threads.
  std::mutex mutex_;
  std::condition_variable has_changed_;
  State state_ = State::kIdle;
  bool is_closed_ = false;
  PictureView frame_;
  Motion motion_;
  std::exception_ptr error_;
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds end_{0};

  std::thread thread_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_TRACKER_AHEAD_TRACKER_H_
