#include "client/calibrate/clip_reader.h"

#include <fmt/core.h>

#include <utility>

#include "common/base/log.h"

namespace cacheinf {

ClipReader::ClipReader(FrameSource& source, int64_t skipped, int64_t most,
                       const std::atomic<bool>& stop)
    : source_(source), stop_(stop), to_skip_(skipped), left_(most) {
  if (!source_.is_live()) return;
  while (std::optional<Frame> frame = Read()) read_ahead_.push_back(*std::move(frame));
  left_ = 0;
}

std::optional<Frame> ClipReader::Next() {
  if (read_ahead_.empty()) return Read();
  Frame frame = std::move(read_ahead_.front());
  read_ahead_.pop_front();
  return frame;
}

std::optional<Frame> ClipReader::Read() {
  for (; to_skip_ > 0; --to_skip_) {
    if (stop_ || !source_.Next()) return std::nullopt;
  }
  if (stop_ || left_ == 0) return std::nullopt;
  --left_;
  std::optional<Frame> frame = source_.Next();
  if (!frame) return std::nullopt;
  frame->truth = {};
  const Picture& picture = frame->picture;
  bytes_ += static_cast<size_t>(picture.row_stride) * static_cast<size_t>(picture.height);
  if (read_ >= kUsualFrames && bytes_ > kMostBytes) {
    LogWarning(fmt::format(
        "only {} frames are used, as more would take over {} MB; smaller ones would leave room",
        read_, kMostBytes >> 20));
    left_ = 0;
    return std::nullopt;
  }
  ++read_;
  return frame;
}

}  // namespace cacheinf
