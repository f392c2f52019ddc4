#ifndef CACHEINF_COMMON_SOURCE_REOPENING_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_REOPENING_SOURCE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/source/frame_source.h"

namespace cacheinf {

// A camera that may be unplugged, or not yet there. While it gives no frames, closes and reopens it
// once a second; logs when that begins, every ten seconds, and when it ends. Frame numbers
// continue; the size may differ.
class ReopeningSource final : public FrameSource {
 public:
  using Open = std::function<std::unique_ptr<FrameSource>()>;  // throws InputError where it fails
  using Pause = std::function<void(std::chrono::nanoseconds)>;

  // Opens the camera as OpenWhenThere does. The clock must outlive this object.
  ReopeningSource(std::string name, Open open, const Clock& clock, const CameraPatience& patience,
                  Pause pause);

  // Returns nothing when patience ends.
  std::optional<Frame> Next() override;

  int64_t skipped() const override { return skipped_before_ + (source_ ? source_->skipped() : 0); }
  bool is_live() const override { return true; }
  bool has_tensors() const override { return has_tensors_; }
  double frame_rate() const override { return frame_rate_; }

 private:
  std::optional<Frame> NextOf(FrameSource& source);
  std::optional<Frame> TryToReopen();
  void Close();

  std::string name_;
  Open open_;
  const Clock& clock_;
  CameraPatience patience_;
  Pause pause_;
  std::unique_ptr<FrameSource> source_;  // null while the camera is gone
  bool has_tensors_ = false;
  double frame_rate_ = 0;
  int64_t next_index_ = 0;
  int64_t first_index_ = 0;  // of the frames since the camera was last opened
  int64_t skipped_before_ = 0;
};

// Opens a camera. While it throws AbsentSource, tries again once a second, and rethrows it when
// patience ends. `name` is for messages; `pause` waits, and may return early.
std::unique_ptr<FrameSource> OpenWhenThere(const std::string& name,
                                           const ReopeningSource::Open& open, const Clock& clock,
                                           const CameraPatience& patience,
                                           const ReopeningSource::Pause& pause);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_REOPENING_SOURCE_H_
