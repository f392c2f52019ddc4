#include "client/moved_trial.h"

#include <algorithm>
#include <variant>

#include "common/answer/agreement.h"

namespace cacheinf {
namespace {

constexpr int kLongestTrialPause = 128;
constexpr double kEnough = 4;      // frames with many boxes
constexpr int kLongestTrial = 16;  // frames of the camera

}  // namespace

std::optional<MovedTrial::Result> MovedTrial::Offer(int64_t frame, const AnswerContent* content,
                                                    const Picture& picture) {
  if (!moved_.has_answer()) {
    if (content == nullptr || pause_-- > 0) return std::nullopt;
    AnswerContent kept = *content;
    moved_.Keep(kept, picture);
    frame_ = frame;
    return std::nullopt;
  }
  const auto begin = clock_.Now();
  const AnswerContent moved = moved_.MoveTo(picture);
  took_ = clock_.Now() - begin;
  if (content == nullptr) return std::nullopt;
  const int frames = static_cast<int>(frame - frame_);
  const std::optional<Result> result = Compare(moved, *content, frames);
  weight_ += result ? result->weight : 0;
  if (weight_ >= kEnough && frames < kLongestTrial) return result;
  moved_.Forget();
  pause_ = next_pause_;
  if (weight_ >= kEnough) next_pause_ = std::min(2 * next_pause_, kLongestTrialPause);
  return result;
}

void MovedTrial::NoteCompared(double weight) {
  if (moved_.has_answer()) return;
  weight_ += weight;
  pause_ = next_pause_;
}

std::optional<MovedTrial::Result> MovedTrial::Compare(const AnswerContent& moved,
                                                      const AnswerContent& content, int frames) {
  const AgreementMeasure measure = MeasureOfContent(moved, content);
  if (!measure.value) return std::nullopt;
  Result result = {*measure.value, measure.weight, frames};
  if (MovedAnswer::Moves(content)) result.took = took_;
  return result;
}

}  // namespace cacheinf
