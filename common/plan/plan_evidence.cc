#include "common/plan/plan_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "common/codec/picture_codec.h"
#include "common/plan/exactness.h"

namespace cacheinf {
namespace {

constexpr size_t kRatiosKept = 100;
constexpr int kFramesRemembered = 300;
// What a sample's weight is still worth after another one of weight 1: the last seven count.
constexpr double kAfterAnother = 0.85;
constexpr double kMostOfBeginning = 4;    // samples as which it counts
constexpr double kTrialsRemembered = 16;  // of weight 1
constexpr double kOldest = 63;            // frames; an older answer agrees no less

// How well answers agree until something is known. For codecs and smaller models: about as
// yolov5n's boxes do in the median of five clips (docs/measurements/modes.md).
double UnknownAgreement(const Plan& plan) {
  constexpr double kUsual = 0.95;
  constexpr double kSmaller = 0.75;
  if (!plan.model.empty()) return kSmaller;
  if (plan.codec.empty()) return kUsual;
  const PictureCodec codec = ParsePictureCodec(plan.codec);
  if (codec.kind != PictureCodecKind::kVideo) {
    return codec.jpeg_quality >= 95 ? 0.97 : codec.jpeg_quality >= 85 ? kUsual : 0.92;
  }
  double crf = 23;
  for (const auto& [option, value] : codec.video_options) {  // the last one counts
    if (option == "crf") crf = std::strtod(value.c_str(), nullptr);
  }
  return crf <= 18 ? 0.96 : crf <= 23 ? 0.91 : 0.88;
}

// The agreement that is left when both are lost.
double WithLosses(double one, double other) {
  return std::exp(-std::hypot(std::log(one), std::log(other)));
}

// When a robot begins the frames that it computes, and how many it computes.
struct Cycle {
  double wait_ms = 0;   // after a frame's capture
  double interval = 1;  // one of so many frames is computed
};

// The cycle of the frame with this ratio, which takes so long.
Cycle CycleOf(const Plan& plan, double takes_ms, const PlanEvidence::Pace& pace, size_t ratio) {
  constexpr size_t kWaits = 4;
  const double period_ms = pace.period_ms;
  const double busy_ms = takes_ms + pace.between_ms;
  if (plan.every == 1) {
    if (busy_ms <= period_ms) return {};
    const double part = (static_cast<double>(ratio % kWaits) + 0.5) / kWaits;
    return {part * period_ms, busy_ms / period_ms};
  }
  double now_ms = busy_ms;
  double frame = 0;
  const auto take_newest = [&] {
    frame = std::max(frame + 1, std::floor(now_ms / period_ms));
    now_ms = std::max(now_ms, frame * period_ms);
  };
  for (int moved = 1; moved < plan.every; ++moved) {
    const double newest_due = std::floor((now_ms - pace.deadline_ms) / period_ms);
    const double newest_answered = std::max(frame, newest_due);
    take_newest();
    now_ms += std::max(1.0, frame - newest_answered) * pace.moving_ms;
  }
  take_newest();
  return {now_ms - frame * period_ms, frame};
}

}  // namespace

std::deque<PlanEvidence::Ratio> PlanEvidence::Times::Unknown() {
  std::deque<Ratio> ratios;
  for (const double ratio : {2.5, 1.7, 1.4, 1.2, 1.1, 1.0, 1.0, 1.0, 0.9, 0.8}) {
    ratios.push_back({ratio, ratio});
  }
  return ratios;
}

void PlanEvidence::Samples::Add(double agreement, double more) {
  const double kept = std::pow(kAfterAnother, more);
  sum = kept * sum + more * agreement;
  weight = kept * weight + more;
  unknown *= kept;
}

void PlanEvidence::Samples::GetOlder(double frames) {
  const double kept = std::exp(-frames / kFramesRemembered);
  sum *= kept;
  weight *= kept;
  unknown = 1 - (1 - unknown) * kept;
}

void PlanEvidence::NoteTaken(Plan::Kind kind, double ratio, double ratio_of_known_work) {
  Times& times = times_[static_cast<size_t>(kind)];
  times.unused = 0;
  times.ratios.push_back({ratio, ratio_of_known_work});
  if (times.unknown > 0 || times.ratios.size() > kRatiosKept) times.ratios.pop_front();
  if (times.unknown > 0) --times.unknown;
}

void PlanEvidence::NoteAgreement(const Plan& plan, double agreement, double weight) {
  samples_[WayOf(plan)].Add(agreement, weight);
}

void PlanEvidence::Assume(const Plan& plan, double agreement, double weight) {
  if (weight > 0) assumed_[WayOf(plan)] = {agreement, weight};
}

void PlanEvidence::NoteTrial(const Plan& plan, double agreement, double weight) {
  if (weight <= 0) return;
  auto& [mean, known] = tried_[WayOf(plan)];
  mean += (agreement - mean) * weight / (known + weight);
  known = std::min(known + weight, kTrialsRemembered);
}

void PlanEvidence::GoOnFrom(const PlanEvidence& before) {
  std::map<std::string, Assumed> assumed = std::move(assumed_);
  *this = before;
  assumed.merge(assumed_);
  assumed_ = std::move(assumed);
}

void PlanEvidence::MovedSamples::Add(double value, double weight, int frames) {
  agreement.Add(value, weight);
  root.Add(std::sqrt(frames), weight);
}

size_t PlanEvidence::AgeOf(double frames) {
  return std::min(static_cast<size_t>(std::log2(std::max(frames, 1.0))), kAges - 1);
}

void PlanEvidence::NoteMoved(double agreement, double weight, int frames) {
  moved_.Add(agreement, weight, frames);
  moved_at_[AgeOf(frames)].Add(agreement, weight, frames);
}

double PlanEvidence::moved() const {
  return std::pow(moved_.agreement.Mean(kUnknownMoved), 1 / moved_.root.Mean(1));
}

void PlanEvidence::NoteFollowed(const Plan& plan, double frames) {
  for (Times& times : times_) {
    const double before = std::exchange(times.unused, times.unused + frames);
    if (before < kFramesRemembered && times.unused >= kFramesRemembered) {
      times = {.unused = times.unused};
    }
  }
  const std::string followed = WayOf(plan);
  for (auto& [way, samples] : samples_) {
    if (way != followed) samples.GetOlder(frames);
  }
}

std::string PlanEvidence::WayOf(const Plan& plan) {
  return ToText({.kind = plan.kind, .keeps = plan.keeps, .codec = plan.codec, .model = plan.model});
}

double PlanEvidence::Moved(double agreement, double frames) const {
  if (frames == 0) return agreement;
  const double by_a_frame = moved();
  const MovedSamples& seen = moved_at_[AgeOf(frames)];
  const double expected = std::pow(by_a_frame, seen.root.Mean(std::sqrt(frames)));
  if (expected == 0) return 0;
  const double ratio = seen.agreement.Mean(expected) / expected;
  return WithLosses(agreement, std::min(1.0, ratio * std::pow(by_a_frame, std::sqrt(frames))));
}

double PlanEvidence::MeanMoved(double agreement, int every) const {
  double sum = 0;
  for (int frames = 0; frames < every; ++frames) sum += Moved(agreement, frames);
  return sum / every;
}

double PlanEvidence::Agreement(const Plan& plan, bool hopes) const {
  if (plan.every > 1) return MeanMoved(Agreement(BaseOf(plan), hopes), plan.every);
  if (is_exact_ || (IsAlone(plan) && !plan.keeps)) return 1;
  const double beginning = Beginning(plan, hopes);
  const auto samples = samples_.find(WayOf(plan));
  if (samples == samples_.end()) return beginning;
  return samples->second.Mean(beginning, WeightOfBeginning(plan));
}

double PlanEvidence::Beginning(const Plan& plan, bool hopes) const {
  if (plan.keeps && !IsAlone(plan)) {
    Plan dense = plan;
    dense.keeps = false;
    return WithLosses(Agreement(Plan(), hopes), Agreement(dense, hopes));
  }
  if (!plan.keeps && plan.model.empty() && WhyNotExact(plan, {}).empty()) return 1;
  double sum = hopes ? 1 : UnknownAgreement(plan);
  double sum_of_weights = 1;
  for (const std::map<std::string, Assumed>* shown : {&assumed_, &tried_}) {
    const auto found = shown->find(WayOf(plan));
    if (found == shown->end()) continue;
    sum += found->second.weight * found->second.agreement;
    sum_of_weights += found->second.weight;
  }
  return sum / sum_of_weights;
}

double PlanEvidence::WeightOfBeginning(const Plan& plan) const {
  if (plan.keeps && !IsAlone(plan)) {
    Plan dense = plan;
    dense.keeps = false;
    return std::min(WeightOfBeginning(Plan()), WeightOfBeginning(dense));
  }
  double weight = 1;
  for (const std::map<std::string, Assumed>* shown : {&assumed_, &tried_}) {
    const auto found = shown->find(WayOf(plan));
    if (found != shown->end()) weight += found->second.weight;
  }
  return std::min(weight, kMostOfBeginning);
}

bool PlanEvidence::IsAgreementKnown(const Plan& plan) const {
  constexpr double kLittle = 0.025;
  return HopedAgreement(plan) - Agreement(plan) <= kLittle;
}

std::vector<double> PlanEvidence::RatiosOf(const Plan& plan) const {
  std::vector<double> ratios;
  for (const Ratio& ratio : times_[static_cast<size_t>(plan.kind)].ratios) {
    ratios.push_back(plan.keeps ? ratio.any_work : ratio.known_work);
  }
  return ratios;
}

double PlanEvidence::Late(const Plan& plan, double predicted_ms, const Pace& pace) const {
  const std::vector<double> ratios = RatiosOf(plan);
  int late = 0;
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double takes_ms = ratios[i] * predicted_ms;
    late += takes_ms + CycleOf(plan, takes_ms, pace, i).wait_ms > pace.deadline_ms ? 1 : 0;
  }
  return static_cast<double>(late) / static_cast<double>(ratios.size());
}

double PlanEvidence::PercentileMs(const Plan& plan, double predicted_ms, size_t percent) const {
  std::vector<double> ratios = RatiosOf(plan);
  const auto at = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) * percent / 100);
  std::ranges::nth_element(ratios, at);
  return *at * predicted_ms;
}

double PlanEvidence::InHand(const Plan& plan, double predicted_ms, const Pace& pace) const {
  const double agreement = Agreement(BaseOf(plan));
  // Sums over answers of all ages below so many frames; few are needed.
  std::vector<double> sums = {0, agreement};
  const auto sum_below = [&](double age) {
    const double known = std::min(age, kOldest + 1);
    while (static_cast<double>(sums.size()) <= known) {
      sums.push_back(sums.back() + Moved(agreement, static_cast<double>(sums.size() - 1)));
    }
    return sums[static_cast<size_t>(known)] + (age - known) * (sums.back() - sums.end()[-2]);
  };
  const auto sum_of = [&](double age, double count) {
    return sum_below(age + count) - sum_below(age);
  };
  const std::vector<double> ratios = RatiosOf(plan);
  double in_hand = 0;
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double takes_ms = ratios[i] * predicted_ms;
    const Cycle cycle = CycleOf(plan, takes_ms, pace, i);
    const double interval = cycle.interval;
    const double period_ms = pace.period_ms;
    const double cycle_ms = interval * period_ms;
    const double late_ms = takes_ms + cycle.wait_ms - pace.deadline_ms;
    const double handed_ms = late_ms + pace.lead_ms;  // after the frame's deadline, if moved
    const auto cycles_before = [&](double more_ms) {
      return std::ceil(std::max(0.0, more_ms) / cycle_ms);
    };
    const double first_age = late_ms <= 0 ? 0 : std::round(cycles_before(handed_ms) * interval);
    double sum = sum_of(first_age, 1);
    // The frames after the first have an answer from so many cycles before or, from `change` on,
    // from one cycle less.
    const double cycles = cycles_before(handed_ms - period_ms);
    const double frames = std::ceil(interval);
    const double change =
        cycles == 0
            ? frames
            : std::clamp(std::ceil((handed_ms - (cycles - 1) * cycle_ms) / period_ms), 1.0, frames);
    const auto add = [&](double begin, double end, double before) {
      if (begin < end) sum += sum_of(begin + std::round(before * interval), end - begin);
    };
    add(1, change, cycles);
    add(change, frames, cycles - 1);
    // The interval is one of two whole numbers.
    const double last = change < frames ? cycles - 1 : cycles;
    if (frames > interval) {
      sum -= (frames - interval) * sum_of(frames - 1 + std::round(last * interval), 1);
    }
    in_hand += sum / interval;
  }
  return in_hand / static_cast<double>(ratios.size());
}

}  // namespace cacheinf
