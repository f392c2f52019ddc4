#include "client/guard.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "client/answer/outputs.h"
#include "client/answer/statistics.h"
#include "common/base/log.h"
#include "common/model/graph/cost.h"

namespace cacheinf {
namespace {

constexpr int kBandsInAMap = 8;
constexpr double kDearestBand = 0.4;  // of a dense run; beyond, whole answers tell more
constexpr int kBandsForAWhole = 4;
constexpr int kMostFramesToWait = 8;
constexpr double kHasteInDoubt = 4;
// Settings that nobody has judged yet are judged soon, but after errors had time to add up.
constexpr int kFramesBeforeFirst = 8;
constexpr double kLeastClass = 0.01;  // of a sample's pixels; smaller ones are left out
constexpr int kSamplesOfAnEstimate = 8;
constexpr int kPatience = 16;  // good samples in a row before a less safe level is tried
constexpr uint64_t kSeed = 1;  // of the samples' places
// What counts as agreeing in addition.
constexpr double kPixelsGiven = 0.002;  // to each class, of the sample's
constexpr double kBoxesGiven = 2;       // one in the answer, and its match in the dense one

const Value& FirstOutput(const Graph& graph) { return graph.value(graph.outputs.front()); }

// The part of a dense run's multiply-adds that these rows take.
double ShareOf(const RowPlan& rows, const Graph& graph) {
  double all = 0;
  double done = 0;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    const auto cost = static_cast<double>(CostOf(graph, op).multiply_adds);
    all += cost;
    done += cost * rows[i].size() / RowCount(graph, op);
  }
  return all > 0 ? done / all : 1;
}

AgreementSample SampleOf(const Agreement& agreement) {
  if (const auto* classes = agreement.classes()) return {classes->top_1(), 1};
  if (const auto* keypoints = agreement.keypoints()) return {keypoints->Pck(), 1};
  if (const auto* boxes = agreement.detections()) {
    const double all =
        static_cast<double>(boxes->answer_boxes() + boxes->dense_boxes()) + kBoxesGiven;
    return {(2 * static_cast<double>(boxes->matches()) + kBoxesGiven) / all, all};
  }
  const RelativeError* error = agreement.relative_error();
  if (error->frames_without() > 0) return {0, 1};
  return {std::max(0.0, 1 - error->mean()), 1};
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

Guard::Guard(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
             const RobotConfig& config, const Clock& clock)
    : executor_(std::move(graph), std::move(backend)),
      reader_(executor_.graph(), config.model_config.decoder),
      clock_(clock),
      configured_{config.cache, config.tracker.change},
      share_(config.guard.share),
      least_(config.guard.least),
      levels_(LevelsFor(config.cache), kSamplesOfAnEstimate, kPatience, least_),
      random_(kSeed) {
  const Value& output = FirstOutput(executor_.graph());
  if (reader_.kind() == AnswerReader::Kind::kSegmentation && output.is_map()) {
    const int height = static_cast<int>(output.shape[2]);
    band_rows_ = std::max(1, height / kBandsInAMap);
    if (PlanBand((height - band_rows_) / 2).cost > kDearestBand) band_rows_ = 0;
  }
  report_.arena_bytes = executor_.memory().arena_bytes;
  next_ = ChooseNext();
  saved_ = std::max(0.0, next_.cost - kFramesBeforeFirst * share_);
}

std::optional<std::chrono::nanoseconds> Guard::Watch(const Answer& answer, Robot& robot) {
  ++report_.frames[static_cast<size_t>(levels_.level())];
  alarm_.clear();
  if (!IsDue()) return std::nullopt;
  if (frames_to_wait_ > 0) {
    --frames_to_wait_;
    return std::nullopt;
  }
  // What was computed whole says nothing of what is reused, and what comes right after it says too
  // much good.
  const bool is_whole = answer.work && answer.work->is_dense;
  if (is_whole && levels_.level() != SafetyLevel::kDense) {
    if (!is_put_off_) frames_to_wait_ = Random(kMostFramesToWait);
    is_put_off_ = true;
    return std::nullopt;
  }
  is_put_off_ = false;
  const auto begin = clock_.Now();
  AgreementSample sample;
  if (levels_.level() != SafetyLevel::kDense) {
    sample = Compare(answer, robot);
    ++report_.samples;
    report_.whole_samples += next_.is_whole ? 1 : 0;
  }
  Judge(sample, answer.frame, robot);
  saved_ -= next_.cost;
  next_ = ChooseNext();
  const auto time = clock_.Now() - begin;
  report_.time.Add(time);
  return time;
}

GuardReport Guard::report() const {
  GuardReport report = report_;
  report.state = state();
  return report;
}

bool Guard::IsDue() {
  const bool is_dense = levels_.level() == SafetyLevel::kDense;
  saved_ += levels_.is_in_doubt() && !is_dense ? kHasteInDoubt * share_ : share_;
  if (saved_ < next_.cost) return false;
  // However long there was nothing to be sampled, it is one sample that is due.
  saved_ = std::min(saved_, next_.cost + share_);
  return true;
}

Guard::Plan Guard::ChooseNext() {
  if (band_rows_ == 0 || Random(kBandsForAWhole + 1) == 0) return {};
  const int height = static_cast<int>(FirstOutput(executor_.graph()).shape[2]);
  return PlanBand(Random(height - band_rows_ + 1));
}

Guard::Plan Guard::PlanBand(int first_row) const {
  const Graph& graph = executor_.graph();
  Plan plan;
  plan.is_whole = false;
  plan.rows = {first_row, first_row + band_rows_};
  plan.operators = RowsNeeded(graph, graph.outputs.front(), plan.rows);
  plan.cost = ShareOf(plan.operators, graph);
  return plan;
}

int Guard::Random(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }

AgreementSample Guard::Compare(const Answer& answer, const Robot& robot) {
  const bool is_raw = std::holds_alternative<RawOutputs>(answer.content);
  input_.Set(is_raw ? robot.seen_picture() : robot.model_picture(), executor_);
  if (next_.is_whole) {
    executor_.Run();
  } else {
    executor_.Run(next_.operators);
  }
  const AnswerContent exact = reader_.Read(executor_, {robot.fit(), {}});
  if (const auto* map = std::get_if<ClassMap>(&exact)) {
    const Range rows = next_.is_whole ? Range{0, map->height} : next_.rows;
    return CompareRows(std::get<ClassMap>(answer.content), *map, rows);
  }
  ReadOutputs(robot.executor(), numbers_);
  ReadOutputs(executor_, exact_numbers_);
  Agreement agreement;
  agreement.Add(answer.content, numbers_, exact, exact_numbers_);
  return SampleOf(agreement);
}

void Guard::Judge(const AgreementSample& sample, int64_t frame, Robot& robot) {
  const SafetyLevel before = levels_.level();
  const bool is_good = levels_.IsGood(sample);
  const bool has_changed = levels_.Add(sample);
  if (!is_good) {
    ++report_.bad_samples;
    alarm_ = fmt::format("an answer agrees with a dense one in {:.3f}, and {:.3f} are the least",
                         sample.agreement, least_);
    robot.Forget();
  }
  if (!has_changed) return;
  ++report_.changes;
  const SafetyLevel level = levels_.level();
  const bool is_safer = level > before;
  LogWarning(fmt::format("guard: frame {}: from {} to {}, {}", frame, NameOf(before), NameOf(level),
                         !is_safer ? "after good samples"
                         : is_good ? "because of samples before"
                                   : alarm_));
  const CacheSettings settings = SettingsAt(level, configured_);
  robot.UseCacheSettings(settings.cache, settings.change);
}

}  // namespace cacheinf
