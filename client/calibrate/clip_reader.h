#ifndef CACHEINF_CLIENT_CALIBRATE_CLIP_READER_H_
#define CACHEINF_CLIENT_CALIBRATE_CLIP_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/source/frame_source.h"

namespace cacheinf {

// Gives a source's frames to a calibration, which keeps them, one by one: there may be no time for
// all.
class ClipReader {
 public:
  // So many frames may be kept whatever their size; more only while all pictures take no more
  // bytes.
  static constexpr size_t kUsualFrames = 64;
  static constexpr size_t kMostBytes = size_t{512} << 20;

  // Skips frames, then gives at most so many. Reads those of a live source, which does not wait,
  // at once. Source and stop must outlive this.
  ClipReader(FrameSource& source, int64_t skipped, int64_t most, const std::atomic<bool>& stop);

  // Nothing at the end, after `stop`, or, with a warning, where more would take too much memory.
  std::optional<Frame> Next();

 private:
  std::optional<Frame> Read();

  FrameSource& source_;
  const std::atomic<bool>& stop_;
  int64_t to_skip_;
  int64_t left_;
  size_t read_ = 0;
  size_t bytes_ = 0;
  std::deque<Frame> read_ahead_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_CLIP_READER_H_
