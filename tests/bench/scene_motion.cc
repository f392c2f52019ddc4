#include "tests/bench/scene_motion.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <variant>

#include "common/answer/answers.h"
#include "common/answer/moved_answer.h"

namespace cacheinf {
namespace {

// Answers are followed so far at once, and no further than a second.
constexpr size_t kFirstFrames = 4;
constexpr size_t kMostFrames = 32;

bool Moves(const AnswerContent& content) {
  return std::holds_alternative<Detections>(content) || std::holds_alternative<Keypoints>(content);
}

}  // namespace

SceneMotion::SceneMotion(const std::vector<Frame>& clip, const PictureSpec& spec)
    : fit_(spec, clip.front().picture.width, clip.front().picture.height) {
  const size_t bytes = PictureView{nullptr, spec.width, spec.height, fit_.channels()}.byte_count();
  for (const Frame& frame : clip) {
    pictures_.emplace_back(bytes);
    fit_.Resize(frame.picture, {0, spec.height}, pictures_.back().data());
  }
}

SharedContent SceneMotion::Moved(const SharedContent& answer, int64_t from, int64_t to) {
  if (!Moves(*answer)) return answer;
  const auto period = 2 * static_cast<int64_t>(pictures_.size() - 1);
  const size_t frames = std::min(static_cast<size_t>(to - from), kMostFrames);
  std::vector<SharedContent>& known = known_[{answer, from % period}];
  if (known.size() < frames) {
    known = Follow(answer, from, std::clamp(2 * frames, kFirstFrames, kMostFrames));
  }
  return known[frames - 1];
}

PictureView SceneMotion::View(int64_t captured) const {
  const std::vector<uint8_t>& pixels = pictures_[FrameOfClip(captured, pictures_.size())];
  return {pixels.data(), fit_.spec().width, fit_.spec().height, fit_.channels()};
}

std::vector<SharedContent> SceneMotion::Follow(const SharedContent& answer, int64_t from,
                                               size_t frames) {
  MovedAnswer moved;
  AnswerContent content = *answer;
  moved.Keep(content, View(from));
  std::vector<SharedContent> all;
  while (all.size() < frames) {
    const auto frame = from + static_cast<int64_t>(all.size()) + 1;
    AnswerContent next;
    move_ms_.ms.push_back(TimeOnce([&] { next = moved.MoveTo(View(frame), &fit_); }));
    all.push_back(std::make_shared<const AnswerContent>(std::move(next)));
  }
  return all;
}

}  // namespace cacheinf
