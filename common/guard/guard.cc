#include "common/guard/guard.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "common/answer/outputs.h"
#include "common/answer/seen_picture.h"
#include "common/exec/frame_decision.h"

namespace cacheinf {
namespace {

constexpr double kLeastClass = 0.01;  // of a sample's pixels; smaller classes are left out
// Added as agreeing.
constexpr double kPixelsGiven = 0.002;  // to each class, of the sample's pixels

bool HasBands(const AnswerReader& reader, const Graph& graph) {
  return reader.kind() == AnswerReader::Kind::kSegmentation &&
         graph.value(graph.outputs.front()).is_map();
}

std::optional<AgreementSample> SampleOf(const Agreement& agreement) {
  if (agreement.frames_with_evidence() == 0) return std::nullopt;
  if (const auto* classes = agreement.classes()) return AgreementSample{*classes->top_1(), 1};
  if (const auto* keypoints = agreement.keypoints()) return AgreementSample{*keypoints->Pck(), 1};
  if (const auto* boxes = agreement.detections()) {
    return AgreementSample{*boxes->F1(),
                           static_cast<double>(boxes->answer_boxes() + boxes->dense_boxes())};
  }
  return AgreementSample{std::max(0.0, 1 - agreement.relative_error()->mean().value_or(1)), 1};
}

// Whether either map tells classes apart in these rows, or they differ.
bool HaveEvidence(const ClassMap& answer, const ClassMap& exact, const Range& rows) {
  const auto begin = static_cast<std::ptrdiff_t>(rows.begin) * exact.width;
  const auto end = static_cast<std::ptrdiff_t>(rows.end) * exact.width;
  const int32_t first = exact.classes[static_cast<size_t>(begin)];
  const auto is_all_first = [&](const ClassMap& map) {
    return std::all_of(map.classes.begin() + begin, map.classes.begin() + end,
                       [first](int32_t label) { return label == first; });
  };
  return !is_all_first(answer) || !is_all_first(exact);
}

}  // namespace

AgreementSample CompareRows(const ClassMap& answer, const ClassMap& exact, const Range& rows) {
  const auto begin = static_cast<size_t>(rows.begin) * static_cast<size_t>(exact.width);
  const auto end = static_cast<size_t>(rows.end) * static_cast<size_t>(exact.width);
  SegmentationScore score;
  for (size_t i = begin; i < end; ++i) score.Add(answer.classes[i], exact.classes[i]);
  const auto pixels = static_cast<double>(end - begin);
  const double given = kPixelsGiven * pixels;
  const auto usual =
      std::max_element(score.classes().begin(), score.classes().end(),
                       [](const auto& a, const auto& b) { return a.truth < b.truth; });
  double sum = 0;
  int classes = 0;
  for (auto it = score.classes().begin(); it != score.classes().end(); ++it) {
    const auto larger = static_cast<double>(std::max(it->predicted, it->truth));
    if (it != usual && larger < kLeastClass * pixels) continue;
    sum += (static_cast<double>(it->both) + given) / (static_cast<double>(it->either()) + given);
    ++classes;
  }
  return {sum / classes, pixels - static_cast<double>(usual->both) + given};
}

Guard::Guard(std::shared_ptr<const CompiledModel> model, const GuardConfig& config,
             const ReuseSettings& settings, const DecoderConfig& decoder, const Clock& clock)
    : state_(std::move(model)),
      reader_(state_.graph(), decoder),
      clock_(clock),
      sampling_(state_.graph(), config, settings, HasBands(reader_, state_.graph())) {}

void Guard::Judge(const AnsweredFrame& answered) {
  const FrameDecision& decision = answered.decision;
  const bool is_whole = decision.kind == FrameDecision::Kind::kWhole;
  const Sample* const sample = sampling_.Next(is_whole, decision.frame);
  if (sample == nullptr) return;
  const auto begin = clock_.Now();
  sampling_.Judge(Compare(answered, *sample), decision.frame);
  time_.Add(clock_.Now() - begin);
}

GuardReport Guard::report() const {
  return {sampling_.counts(), state(), time_, state_.memory().arena_bytes};
}

std::optional<AgreementSample> Guard::Compare(const AnsweredFrame& answered, const Sample& sample) {
  const bool is_raw = std::holds_alternative<RawOutputs>(answered.content);
  state_.SetPicture(is_raw ? answered.seen : answered.picture);
  if (sample.is_whole) {
    state_.Run();
  } else {
    state_.Run(sample.operators);
  }
  const AnswerContent exact = reader_.Read(state_, {answered.fit, {}});
  if (const auto* map = std::get_if<ClassMap>(&exact)) {
    const Range rows = sample.is_whole ? Range{0, map->height} : sample.rows;
    const auto& answer = std::get<ClassMap>(answered.content);
    if (!HaveEvidence(answer, *map, rows)) return std::nullopt;
    return CompareRows(answer, *map, rows);
  }
  ReadOutputs(answered.outputs, numbers_);
  ReadOutputs(state_, exact_numbers_);
  Agreement agreement;
  agreement.Add(answered.content, numbers_, exact, exact_numbers_);
  return SampleOf(agreement);
}

}  // namespace cacheinf
