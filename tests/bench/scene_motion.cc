#include "tests/bench/scene_motion.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "common/answer/answers.h"
#include "common/answer/moved_answer.h"

namespace cacheinf {
namespace {

// Answers are followed so far at once, and no further than a second.
constexpr size_t kFirstFrames = 4;
constexpr size_t kMostFrames = 32;

}  // namespace

SceneMotion::SceneMotion(const std::vector<Frame>& clip) {
  for (const Frame& frame : clip) frames_.push_back(frame.picture);
}

SharedContent SceneMotion::Moved(const SharedContent& answer, int64_t from, int64_t to) {
  if (!MovedAnswer::Moves(*answer)) return answer;
  const auto period = 2 * static_cast<int64_t>(frames_.size() - 1);
  const size_t frames = std::min(static_cast<size_t>(to - from), kMostFrames);
  std::vector<SharedContent>& known = known_[{answer, from % period}];
  if (known.size() < frames) {
    known = Follow(answer, from, std::clamp(2 * frames, kFirstFrames, kMostFrames));
  }
  return known[frames - 1];
}

const Picture& SceneMotion::FrameAt(int64_t captured) const {
  return frames_[FrameOfClip(captured, frames_.size())];
}

std::vector<SharedContent> SceneMotion::Follow(const SharedContent& answer, int64_t from,
                                               size_t frames) {
  MovedAnswer moved;
  AnswerContent content = *answer;
  moved.Keep(content, FrameAt(from));
  std::vector<SharedContent> all;
  while (all.size() < frames) {
    const auto frame = from + static_cast<int64_t>(all.size()) + 1;
    AnswerContent next;
    move_ms_.ms.push_back(TimeOnce([&] { next = moved.MoveTo(FrameAt(frame)); }));
    all.push_back(std::make_shared<const AnswerContent>(std::move(next)));
  }
  return all;
}

}  // namespace cacheinf
