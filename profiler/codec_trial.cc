#include "profiler/codec_trial.h"

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

// Of the share, once enough is known.
constexpr double kLater = 0.5;

}  // namespace

CodecTrial::CodecTrial(std::shared_ptr<const CompiledModel> model, const DecoderConfig& decoder,
                       const std::vector<std::string>& codecs, double share)
    : format_(PictureFormatOf(model->graph())),
      state_(std::move(model)),
      reader_(state_.graph(), decoder),
      share_(share),
      pictures_(kFramesInARow, std::vector<uint8_t>(format_.byte_count())) {
  for (const std::string& text : codecs) {
    const PictureCodec codec = ParsePictureCodec(text);
    if (!codec.is_lossless()) candidates_.push_back({text, codec});
  }
  saved_ = CostOfRound();
}

double CodecTrial::Share() const {
  const bool is_enough = std::ranges::all_of(
      candidates_, [](const Candidate& candidate) { return candidate.judged >= kEnough; });
  return is_enough ? kLater * share_ : share_;
}

PictureView CodecTrial::picture(size_t index) const {
  return {pictures_[index].data(), format_.width, format_.height, format_.channels};
}

void CodecTrial::Offer(const PictureView& picture) {
  saved_ = std::min(CostOfRound(), saved_ + Share());
  if (candidates_.empty() || taken_ == kFramesInARow) return;
  if (taken_ == 0) {
    if (saved_ < CostOfRound()) return;
    saved_ = 0;
  }
  std::copy_n(picture.pixels, format_.byte_count(), pictures_[taken_++].begin());
}

bool CodecTrial::Step() {
  if (taken_ < kFramesInARow) return false;
  if (is_answering_) {
    state_.Step();
    if (state_.next_stage() < state_.stage_count()) return true;
    Answer answer = TakeAnswer();
    if (dense_) {
      Judge(answer);
    } else {
      dense_ = std::move(answer);
    }
  } else if (!dense_) {
    BeginAnswer(picture(kFramesInARow - 1));
  } else if (candidate_ < candidates_.size()) {
    Code();
  }
  if (dense_ && candidate_ == candidates_.size()) {  // the round is over
    dense_.reset();
    candidate_ = 0;
    taken_ = 0;
  }
  return true;
}

void CodecTrial::BeginAnswer(const PictureView& seen) {
  state_.SetPicture(seen);
  state_.BeginDense();
  is_answering_ = true;
}

CodecTrial::Answer CodecTrial::TakeAnswer() {
  state_.Commit();
  is_answering_ = false;
  // In the model's pixels: how a frame was fitted changes no overlap of two boxes.
  Answer answer = {reader_.Read(state_, {}), {}};
  ReadOutputs(state_, answer.numbers);
  return answer;
}

// Codes one more picture and, after the last, begins to answer what came out of it.
void CodecTrial::Code() {
  const PictureCodec& codec = candidates_[candidate_].codec;
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
  if (++coding_->next == kFramesInARow) BeginAnswer(coding_->decoder.picture());
}

void CodecTrial::Judge(const Answer& answer) {
  Agreement agreement;
  agreement.Add(answer.content, answer.numbers, dense_->content, dense_->numbers);
  const AgreementMeasure measure = agreement.measure();
  Candidate& candidate = candidates_[candidate_++];
  coding_.reset();
  if (!measure.value) return;
  ++candidate.judged;
  results_.push_back({candidate.text, *measure.value, measure.weight});
}

void CodecTrial::DropCodec(const std::string& why) {
  const auto dropped = candidates_.begin() + static_cast<std::ptrdiff_t>(candidate_);
  LogWarning(fmt::format("nobody knows what codec {} costs in agreement: {}", dropped->text, why));
  candidates_.erase(dropped);
  coding_.reset();
}

std::optional<CodecAgreement> CodecTrial::TakeResult() {
  if (results_.empty()) return std::nullopt;
  CodecAgreement result = std::move(results_.front());
  results_.pop_front();
  return result;
}

}  // namespace cacheinf
