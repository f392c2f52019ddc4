#include "common/guard/guard.h"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/exec/layout.h"
#include "common/exec/stages.h"

namespace cacheinf {
namespace {

bool HasBands(const AnswerReader& reader, const Graph& graph) {
  return reader.kind() == AnswerReader::Kind::kSegmentation &&
         graph.value(graph.outputs.front()).is_map();
}

// Whether the outputs' numbers are compared.
bool IsOfNumbers(const AnswerContent& content) {
  return !std::holds_alternative<ClassMap>(content) &&
         !std::holds_alternative<Detections>(content) &&
         !std::holds_alternative<Keypoints>(content);
}

}  // namespace

Guard::Guard(std::shared_ptr<const CompiledModel> model, const GuardConfig& config,
             const ReuseSettings& settings, const DecoderConfig& decoder, const Clock& clock,
             bool has_server)
    : state_(std::move(model)),
      reader_(state_.graph(), decoder),
      clock_(clock),
      least_(config.least),
      sampling_(state_.graph(), config, settings,
                !has_server && HasBands(reader_, state_.graph())) {}

void Guard::Begin(const AnsweredFrame& answered) {
  last_plan_ = answered.plan;
  std::optional<Sample> sample = sampling_.Next(answered.plan, answered.is_whole, answered.frame);
  if (!sample) return;
  const bool is_raw = std::holds_alternative<RawOutputs>(answered.content);
  // What a server saw, if it lies elsewhere than in the frame, is not here.
  if (is_raw && answered.sees_moved && sample->plan.kind == Plan::Kind::kRemote) {
    return sampling_.Judge(*sample, std::nullopt);
  }
  sample_ = std::move(sample);
  stage_ = 0;
  taken_ = {};
  const PictureView& picture = is_raw ? answered.seen : answered.picture;
  pixels_.assign(picture.pixels, picture.pixels + picture.byte_count());
  picture_ = picture;
  picture_.pixels = pixels_.data();
  fit_.reset();
  if (answered.fit != nullptr) fit_.emplace(*answered.fit);
  content_ = answered.content;
  if (IsOfNumbers(content_)) ReadOutputs(answered.outputs, numbers_);
}

std::optional<JudgedSample> Guard::Step() {
  clock_.EndWait();
  const auto begin = clock_.Now();
  TakeStage();
  const bool is_last = stage_ == state_.stage_count();
  std::optional<Compared> compared;
  if (is_last) compared = Compare();
  taken_ += clock_.Now() - begin;
  if (!is_last) return std::nullopt;
  time_.Add(taken_);
  const Sample sample = *std::exchange(sample_, std::nullopt);
  if (!compared) {
    sampling_.Judge(sample, std::nullopt);
    return std::nullopt;
  }
  sampling_.Judge(sample, compared->sample);
  return JudgedSample{sample.frame, sample.plan, compared->sample.agreement, compared->frames};
}

std::optional<JudgedSample> Guard::Finish() {
  std::optional<JudgedSample> judged;
  while (is_open()) judged = Step();
  return judged;
}

GuardReport Guard::report() const {
  return {sampling_.counts(),         state(last_plan_), sampling_.plans(), least_, time_,
          state_.memory().arena_bytes};
}

void Guard::TakeStage() {
  if (stage_ == 0) state_.SetPicture(picture_);
  if (!sample_->is_whole) return TakeStageOfBand();
  if (stage_ == 0) state_.BeginDense();
  state_.Step();
  stage_ = state_.next_stage();
  if (stage_ == state_.stage_count()) state_.Commit();
}

// The state keeps nothing, so each operator is a stage of its own.
void Guard::TakeStageOfBand() {
  const RowsOfOperators& rows = sample_->operators;
  const std::vector<Stage>& stages = state_.layout().stages;
  if (state_.backend().RunsLater()) {
    state_.Run(rows);
    stage_ = stages.size();
    return;
  }
  while (stage_ < stages.size() && rows[stages[stage_].root].empty()) ++stage_;
  rows_.assign(rows.size(), {});
  if (stage_ == stages.size()) return;
  const OpId op = stages[stage_++].root;
  rows_[op] = rows[op];
  state_.Run(rows_);
}

std::optional<Guard::Compared> Guard::Compare() {
  const AnswerContent exact = reader_.Read(state_, {fit_ ? &*fit_ : nullptr, {}});
  if (const auto* map = std::get_if<ClassMap>(&exact)) {
    const Range rows = sample_->is_whole ? Range{0, map->height} : sample_->rows;
    const auto& answer = std::get<ClassMap>(content_);
    if (!HaveEvidence(answer, *map, rows)) return std::nullopt;
    return Compared{CompareRows(answer, *map, rows),
                    static_cast<double>(rows.size()) / map->height};
  }
  if (IsOfNumbers(content_)) ReadOutputs(state_, exact_numbers_);
  Agreement agreement;
  agreement.Add(content_, numbers_, exact, exact_numbers_, sample_->plan.model.empty());
  const AgreementMeasure measure = agreement.measure();
  if (!measure.value) return std::nullopt;
  Compared compared = {{*measure.value, 1}, measure.weight};
  if (const auto* boxes = agreement.detections()) {
    compared.sample.weight = static_cast<double>(boxes->answer_boxes() + boxes->dense_boxes());
  }
  return compared;
}

}  // namespace cacheinf
