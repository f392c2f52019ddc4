#ifndef CACHEINF_COMMON_REUSE_REUSE_TIMING_H_
#define CACHEINF_COMMON_REUSE_REUSE_TIMING_H_

#include <chrono>
#include <cstdint>
#include <deque>

#include "common/reuse/frame_work.h"

namespace cacheinf {

// Knows by the clock whether reuse pays: kernels that compute some pixels take longer for each than
// those that compute all, and how much longer depends on the network.
//
// A frame in which something was reused is slow if it takes more than 1.1 times the median of the
// last whole ones, or if it does with the refresh after it and its answer is hardly quicker (.9).
// The first whole frame takes longer, because its memory is new; until there is another, the limit
// is two thirds of its time, and a whole frame follows what exceeds it. Frames of less than 2 ms
// are never slow. Two slow frames in a row are a cause to rest; after a rest, one is enough.
class ReuseTiming {
 public:
  using Time = std::chrono::nanoseconds;

  // Call it for every answer where results are kept, once its refresh is over, if it has one. Says
  // in the log when reuse has not paid for a while, and when it has paid again for long.
  void Note(const FrameWork& work, Time took, Time refresh_took, int64_t frame);

  // Whether the last frame is a cause to rest; see Verdict::is_slow.
  bool is_slow() const { return is_slow_; }

 private:
  void NoteWhole(Time took);
  Time Whole() const;

  std::deque<Time> whole_;  // the last few, the newest last
  int slow_ = 0;            // in a row
  int quick_ = 0;           // in a row, since the warning
  bool has_warned_ = false;
  bool is_slow_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_REUSE_TIMING_H_
