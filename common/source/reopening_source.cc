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

bool IsOver(const CameraPatience& patience) { return patience.is_over && patience.is_over(); }

// Calls `attempt` once a second until it succeeds or patience ends; returns whether it did. `why`,
// with the camera's name, says what it lacks.
bool WaitFor(const std::string& name, const std::string& why, const Clock& clock,
             const CameraPatience& patience, const ReopeningSource::Pause& pause,
             const std::function<bool()>& attempt) {
  const auto begin = clock.Now();
  auto next_message = begin + kBetweenMessages;
  LogWarning(
      fmt::format("{}; waiting for it for {:.0f} s at most", why, Seconds(patience.longest)));
  while (!IsOver(patience) && clock.Now() - begin < patience.longest) {
    pause(kBetweenAttempts);
    if (attempt()) {
      LogInfo(fmt::format("{}: there after {:.1f} s", name, Seconds(clock.Now() - begin)));
      return true;
    }
    if (clock.Now() < next_message) continue;
    LogWarning(fmt::format("{}: no frames for {:.0f} s", name, Seconds(clock.Now() - begin)));
    next_message = clock.Now() + kBetweenMessages;
  }
  return false;
}

}  // namespace

ReopeningSource::ReopeningSource(std::string name, Open open, const Clock& clock,
                                 const CameraPatience& patience, Pause pause)
    : name_(std::move(name)),
      open_(std::move(open)),
      clock_(clock),
      patience_(patience),
      pause_(std::move(pause)),
      source_(OpenWhenThere(name_, open_, clock_, patience_, pause_)),
      has_tensors_(source_->has_tensors()),
      frame_rate_(source_->frame_rate()) {}

std::optional<Frame> ReopeningSource::Next() {
  std::optional<Frame> frame;
  if (source_) {
    frame = NextOf(*source_);
    if (frame) return frame;
    Close();
  }
  const bool is_back = WaitFor(name_, name_ + ": gives no more frames", clock_, patience_, pause_,
                               [&] { return (frame = TryToReopen()).has_value(); });
  if (!is_back && !IsOver(patience_)) LogError(fmt::format("{}: given up", name_));
  return frame;
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

std::unique_ptr<FrameSource> OpenWhenThere(const std::string& name,
                                           const ReopeningSource::Open& open, const Clock& clock,
                                           const CameraPatience& patience,
                                           const ReopeningSource::Pause& pause) {
  std::unique_ptr<FrameSource> source;
  std::string reason;
  const auto attempt = [&] {
    try {
      source = open();
    } catch (const AbsentSource& error) {
      reason = error.what();
    }
    return source != nullptr;
  };
  if (attempt()) return source;
  if (patience.longest.count() == 0) throw AbsentSource(reason);
  if (WaitFor(name, reason, clock, patience, pause, attempt)) return source;
  throw AbsentSource(
      fmt::format("{}, and did not come within {:.0f} s", reason, Seconds(patience.longest)));
}

}  // namespace cacheinf
