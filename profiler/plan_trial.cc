#include "profiler/plan_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "common/answer/agreement.h"
#include "common/answer/seen_picture.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/pair/remote_picture.h"

namespace cacheinf {
namespace {

// The part of the share that is spent once enough is known.
constexpr double kLater = 0.5;

}  // namespace

PlanTrial::PlanTrial(std::shared_ptr<const CompiledModel> model, const DecoderConfig& decoder,
                     const std::vector<std::string>& codecs, double share,
                     const SmallerModels& smaller)
    : format_(PictureFormatOf(model->graph())),
      state_(std::move(model)),
      reader_(state_.graph(), decoder),
      share_(share),
      pictures_(kFramesInARow, std::vector<uint8_t>(format_.byte_count())) {
  for (const std::string& text : codecs) {
    const PictureCodec codec = ParsePictureCodec(text);
    if (codec.is_lossless()) continue;
    candidates_.push_back({{.kind = Plan::Kind::kRemote, .keeps = false, .codec = text}, codec});
  }
  for (const SmallerModel& of : smaller) {
    candidates_.push_back({.plan = {.keeps = false, .model = of.name},
                           .smaller = std::make_unique<Smaller>(of, state_.graph(), decoder)});
  }
  saved_ = CostOfRound();
}

double PlanTrial::Share() const {
  const bool is_enough = std::ranges::all_of(
      candidates_, [](const Candidate& candidate) { return candidate.judged >= kEnough; });
  return is_enough ? kLater * share_ : share_;
}

PictureView PlanTrial::picture(size_t index) const {
  return {pictures_[index].data(), format_.width, format_.height, format_.channels};
}

void PlanTrial::Offer(const PictureView& picture, const Picture& frame, const PictureFit* fit) {
  saved_ = std::min(CostOfRound(), saved_ + Share());
  if (candidates_.empty() || taken_ == kFramesInARow) return;
  if (taken_ == 0) {
    if (saved_ < CostOfRound()) return;
    saved_ = 0;
  }
  std::copy_n(picture.pixels, format_.byte_count(), pictures_[taken_++].begin());
  if (taken_ < kFramesInARow) return;
  fit_.reset();
  if (fit != nullptr) fit_.emplace(*fit);
  for (const auto& [plan, codec, smaller, judged] : candidates_) {
    if (!smaller) continue;
    const PictureFormat format = PictureFormatOf(smaller->state.graph());
    smaller->fit.emplace(smaller->state.graph().picture, frame.width, frame.height);
    smaller->pixels.resize(format.byte_count());
    smaller->fit->Resize(frame, {0, format.height}, smaller->pixels.data());
  }
}

bool PlanTrial::Step() {
  if (taken_ < kFramesInARow) return false;
  if (answering_ != nullptr) {
    answering_->Step();
    if (answering_->next_stage() < answering_->stage_count()) return true;
    FinishAnswer();
  } else if (!dense_) {
    BeginAnswer(state_, picture(kFramesInARow - 1));
  } else if (candidate_ < candidates_.size()) {
    BeginCandidate();
  }
  if (dense_ && candidate_ == candidates_.size()) {  // the round is over
    dense_.reset();
    candidate_ = 0;
    taken_ = 0;
  }
  return true;
}

void PlanTrial::BeginAnswer(ModelState& state, const PictureView& seen) {
  state.SetPicture(seen);
  state.BeginDense();
  answering_ = &state;
}

void PlanTrial::FinishAnswer() {
  ModelState& state = *std::exchange(answering_, nullptr);
  state.Commit();
  Answer answer;
  if (&state == &state_) {
    answer.content = reader_.Read(state, {fit_ ? &*fit_ : nullptr, {}});
  } else {
    Smaller& smaller = *candidates_[candidate_].smaller;
    answer.content = smaller.reader.Read(state, {&*smaller.fit, {}}, *fit_);
  }
  ReadOutputs(state, answer.numbers);
  if (dense_) return Judge(answer);
  dense_ = std::move(answer);
}

void PlanTrial::BeginCandidate() {
  const auto& [plan, codec, smaller, judged] = candidates_[candidate_];
  if (!smaller) return Code(codec);
  const PictureFormat format = PictureFormatOf(smaller->state.graph());
  BeginAnswer(smaller->state,
              {smaller->pixels.data(), format.width, format.height, format.channels});
}

// Codes one more picture and, after the last, begins to answer the picture that came out.
void PlanTrial::Code(const PictureCodec& codec) {
  try {
    if (!coding_) {
      coding_.emplace(codec, format_, codec.stands_alone() ? kFramesInARow - 1 : 0);
    }
    bytes_.clear();
    coding_->encoder.Append(picture(coding_->next), &bytes_);
    if (const char* const fault = coding_->decoder.Decode(bytes_)) return DropCodec(fault);
  } catch (const std::exception& error) {
    return DropCodec(error.what());
  }
  if (++coding_->next == kFramesInARow) BeginAnswer(state_, coding_->decoder.picture());
}

void PlanTrial::Judge(const Answer& answer) {
  Candidate& candidate = candidates_[candidate_++];
  coding_.reset();
  const AgreementMeasure measure =
      MeasureOfFrame(answer.content, answer.numbers, dense_->content, dense_->numbers,
                     /*lie_alike=*/!candidate.smaller);
  if (!measure.value) return;
  ++candidate.judged;
  results_.push_back({candidate.plan, *measure.value, measure.weight});
}

void PlanTrial::DropCodec(const std::string& why) {
  const auto dropped = candidates_.begin() + static_cast<std::ptrdiff_t>(candidate_);
  LogWarning(
      fmt::format("nobody knows what codec {} costs in agreement: {}", dropped->plan.codec, why));
  candidates_.erase(dropped);
  coding_.reset();
}

std::optional<PlanAgreement> PlanTrial::TakeResult() {
  if (results_.empty()) return std::nullopt;
  PlanAgreement result = std::move(results_.front());
  results_.pop_front();
  return result;
}

}  // namespace cacheinf
