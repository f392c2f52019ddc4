#include "common/source/reopening_source.h"

#include <fmt/core.h>

#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"

namespace cacheinf {
namespace {

constexpr std::chrono::seconds kBetweenAttempts{1};
constexpr std::chrono::seconds kBetweenMessages{10};

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ReopeningSource::ReopeningSource(std::string name, Open open, const Clock& clock,
                                 const CameraPatience& patience, Pause pause)
    : name_(std::move(name)),
      open_(std::move(open)),
      clock_(clock),
      patience_(patience),
      pause_(std::move(pause)),
      source_(open_()),
      has_tensors_(source_->has_tensors()),
      frame_rate_(source_->frame_rate()) {}

std::optional<Frame> ReopeningSource::Next() {
  if (source_) {
    if (std::optional<Frame> frame = NextOf(*source_)) return frame;
    Close();
  }
  return WaitForFrame();
}

std::optional<Frame> ReopeningSource::NextOf(FrameSource& source) {
  std::optional<Frame> frame = source.Next();
  if (!frame) return std::nullopt;
  frame->index += first_index_;
  next_index_ = frame->index + 1;
  frame->name = fmt::format("{}, frame {}", name_, frame->index);
  return frame;
}

void ReopeningSource::Close() {
  skipped_before_ += source_->skipped();
  first_index_ = next_index_;
  source_.reset();
}

std::optional<Frame> ReopeningSource::WaitForFrame() {
  const auto lost = clock_.Now();
  auto next_message = lost + kBetweenMessages;
  LogWarning(fmt::format("{}: gives no more frames; waiting for it for {:.0f} s at most", name_,
                         Seconds(patience_.longest)));
  while (!IsOver() && clock_.Now() - lost < patience_.longest) {
    pause_(kBetweenAttempts);
    if (std::optional<Frame> frame = TryToReopen()) {
      LogInfo(fmt::format("{}: back after {:.1f} s", name_, Seconds(clock_.Now() - lost)));
      return frame;
    }
    if (clock_.Now() < next_message) continue;
    LogWarning(fmt::format("{}: no frames for {:.0f} s", name_, Seconds(clock_.Now() - lost)));
    next_message = clock_.Now() + kBetweenMessages;
  }
  if (!IsOver()) LogError(fmt::format("{}: given up", name_));
  return std::nullopt;
}

std::optional<Frame> ReopeningSource::TryToReopen() {
  try {
    source_ = open_();
    if (std::optional<Frame> frame = NextOf(*source_)) return frame;
    Close();
  } catch (const InputError&) {
    if (source_) Close();
  }
  return std::nullopt;
}

}  // namespace cacheinf
