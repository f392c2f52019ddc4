#include "common/guard/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/model/graph/cost.h"

namespace cacheinf {
namespace {

constexpr int kBandsInAMap = 8;
constexpr double kDearestBand = 0.4;  // of a dense run; beyond it whole answers tell more
constexpr int kBandsForAWhole = 4;
constexpr int kMostFramesToWait = 8;
constexpr double kHasteWithoutEvidence = 2;
constexpr double kHasteInSuspicion = 4;
constexpr int64_t kSamplesBeforeComplaint = 8;
// New settings are judged soon, but not before errors have had time to add up.
constexpr int kFramesBeforeFirst = 8;
constexpr int kSamplesOfAnEstimate = 8;
constexpr int kPatience = 16;  // good samples in a row before a bolder level is tried
constexpr const char* kTogether = "all plans together";
constexpr uint64_t kSeed = 1;  // for the samples' places

SafetyLevels OneLevel(double least) {
  return SafetyLevels({SafetyLevel::kNormal}, kSamplesOfAnEstimate, kPatience, least);
}

// Which samples are counted together. The cuts of a split say little about its agreement.
std::string KeyOf(Plan plan) {
  plan.cuts.clear();
  return ToText(plan);
}

const Value& FirstOutput(const Graph& graph) { return graph.value(graph.outputs.front()); }

// The share of a dense run's multiply-adds that these rows take.
double ShareOf(const RowsOfOperators& rows, const Graph& graph) {
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

}  // namespace

Sampling::Sampling(const Graph& graph, const GuardConfig& config, const ReuseSettings& settings,
                   bool has_bands)
    : graph_(graph),
      share_(config.share),
      least_(config.least),
      levels_(LevelsFor(settings), kSamplesOfAnEstimate, kPatience, least_),
      unknown_(OneLevel(least_)),
      together_{OneLevel(least_)},
      random_(kSeed) {
  if (has_bands) {
    const int height = static_cast<int>(FirstOutput(graph).shape[2]);
    band_rows_ = std::max(1, height / kBandsInAMap);
    if (Band((height - band_rows_) / 2).cost > kDearestBand) band_rows_ = 0;
  }
  next_ = Choose();
  saved_ = std::max(0.0, next_.cost - kFramesBeforeFirst * share_);
}

std::optional<Sample> Sampling::Next(const Plan& plan, bool is_whole, int64_t frame) {
  ++counts_.frames[static_cast<size_t>(levels_.level())];
  alarm_.clear();
  if (!IsDue(plan)) return std::nullopt;
  is_overdue_ = is_open_;
  if (is_open_) return std::nullopt;
  if (IsAlone(plan)) {
    if (frames_to_wait_ > 0) {
      --frames_to_wait_;
      return std::nullopt;
    }
    const bool is_dense = levels_.level() == SafetyLevel::kDense;
    // A whole answer says nothing about reuse, and one right after it looks too good.
    if (is_whole && !is_dense) {
      if (!is_put_off_) frames_to_wait_ = Random(kMostFramesToWait);
      is_put_off_ = true;
      return std::nullopt;
    }
    is_put_off_ = false;
    if (is_dense) {
      Spend();
      AddAlone({}, frame);
      return std::nullopt;
    }
  }
  is_open_ = true;
  Sample sample = Spend();
  sample.frame = frame;
  sample.plan = plan;
  return sample;
}

void Sampling::Judge(const Sample& sample, const std::optional<AgreementSample>& agreement) {
  is_open_ = is_overdue_ = false;
  ++counts_.samples;
  counts_.whole_samples += sample.is_whole ? 1 : 0;
  if (agreement) {
    ++counts_.samples_with_evidence;
    if (IsAlone(sample.plan)) {
      AddAlone(*agreement, sample.frame);
    } else {
      AddWithServer(*agreement, sample.plan, sample.frame);
    }
  } else if (counts_.samples_with_evidence == 0 && counts_.samples == kSamplesBeforeComplaint) {
    LogWarning(
        fmt::format("guard: frame {}: none of {} samples had anything to compare; it is in doubt "
                    "until one has",
                    sample.frame, counts_.samples));
  }
}

GuardState Sampling::state(const Plan& plan) const {
  const SafetyLevels& samples = SamplesOf(plan);
  const bool is_dense = samples.level() == SafetyLevel::kDense;
  return {levels_.level(), samples.estimate(), !is_dense && samples.is_in_doubt()};
}

std::map<std::string, PlanSamples> Sampling::plans() const {
  std::map<std::string, PlanSamples> plans;
  for (const auto& [key, of] : with_server_) {
    plans[key] = {of.samples, of.bad_samples, *of.last.estimate(), of.last.is_failing()};
  }
  // If plans change often, none alone has enough samples to show it.
  const auto fails = [](const auto& of) { return of.second.fails; };
  if (together_.last.is_failing() && std::ranges::none_of(plans, fails)) {
    plans[kTogether] = {together_.samples, together_.bad_samples, *together_.last.estimate(), true};
  }
  return plans;
}

const SafetyLevels& Sampling::SamplesOf(const Plan& plan) const {
  if (IsAlone(plan)) return levels_;
  const auto found = with_server_.find(KeyOf(plan));
  return found == with_server_.end() ? unknown_ : found->second.last;
}

double Sampling::Haste(const Plan& plan) const {
  const SafetyLevels& samples = SamplesOf(plan);
  // What is known to be wrong, and does not get better by looking, is no cause for haste.
  if (samples.level() == SafetyLevel::kDense || samples.is_failing()) return 1;
  if (samples.is_suspicious()) return kHasteInSuspicion;
  return samples.is_in_doubt() ? kHasteWithoutEvidence : 1;
}

Sample Sampling::Spend() {
  saved_ -= next_.cost;
  return std::exchange(next_, Choose());
}

bool Sampling::IsDue(const Plan& plan) {
  saved_ += Haste(plan) * share_;
  if (saved_ < next_.cost) return false;
  // However long there was nothing to sample, only one sample is due.
  saved_ = std::min(saved_, next_.cost + share_);
  return true;
}

Sample Sampling::Choose() {
  if (band_rows_ == 0 || Random(kBandsForAWhole + 1) == 0) return {};
  const int height = static_cast<int>(FirstOutput(graph_).shape[2]);
  return Band(Random(height - band_rows_ + 1));
}

Sample Sampling::Band(int first_row) const {
  Sample band;
  band.is_whole = false;
  band.rows = {first_row, first_row + band_rows_};
  band.operators = RowsNeeded(graph_, graph_.outputs.front(), band.rows);
  band.cost = ShareOf(band.operators, graph_);
  return band;
}

int Sampling::Random(int count) {
  return static_cast<int>(random_() % static_cast<uint64_t>(count));
}

void Sampling::AddAlone(const AgreementSample& agreement, int64_t frame) {
  const SafetyLevel before = levels_.level();
  const bool is_good = levels_.IsGood(agreement);
  const bool has_changed = levels_.Add(agreement);
  if (!is_good) {
    ++counts_.bad_samples;
    must_forget_ = true;
    alarm_ = fmt::format("an answer agrees with a dense one by {:.3f}, below the least of {:.3f}",
                         agreement.agreement, least_);
  }
  if (!has_changed) return;
  ++counts_.changes;
  const SafetyLevel level = levels_.level();
  LogWarning(fmt::format("guard: frame {}: from {} to {}, {}", frame, NameOf(before), NameOf(level),
                         level < before ? "after good samples"
                         : is_good      ? "because of earlier samples"
                                        : alarm_));
  if (level == SafetyLevel::kDense) {
    LogWarning(
        "guard: reused results do not agree at any level, so the robot computes frames whole");
  }
}

void Sampling::AddWithServer(const AgreementSample& agreement, const Plan& plan, int64_t frame) {
  WithServer& of =
      with_server_.try_emplace(KeyOf(plan), WithServer{OneLevel(least_)}).first->second;
  for (WithServer* const samples : {&of, &together_}) {
    (void)samples->last.Add(agreement);
    ++samples->samples;
    if (!samples->last.IsGood(agreement)) ++samples->bad_samples;
  }
  if (of.last.IsGood(agreement)) return;
  ++counts_.bad_samples;
  alarm_ =
      fmt::format("an answer by {} agrees with a dense one by {:.3f}, below the least of {:.3f}",
                  ToText(plan), agreement.agreement, least_);
  if (!of.is_reported && of.last.is_failing()) {
    of.is_reported = together_.is_reported = true;
    Report(of, ToText(plan), frame);
  } else if (!together_.is_reported && together_.last.is_failing()) {
    together_.is_reported = true;
    Report(together_, kTogether, frame);
  }
}

void Sampling::Report(const WithServer& of, const std::string& plan, int64_t frame) const {
  LogWarning(fmt::format(
      "guard: frame {}: answers by {} agree with dense ones by {:.3f}, below the least of {:.3f}",
      frame, plan, *of.last.estimate(), least_));
}

}  // namespace cacheinf
