#include "common/plan/plan_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/plan/exactness.h"

namespace cacheinf {
namespace {

constexpr size_t kRatiosKept = 100;
constexpr int kFramesRemembered = 300;
// What a sample's weight is still worth after another one of weight 1: the last seven count.
constexpr double kAfterAnother = 0.85;
const double kAfterAFrame = std::exp(-1.0 / kFramesRemembered);
constexpr double kTrialsRemembered = 16;  // of weight 1
constexpr double kOldest = 63;            // frames; an older answer agrees no less

// How long a frame waits for a robot that is busy with the one before.
double WaitMs(const Plan& plan, double takes_ms, double period_ms) {
  return takes_ms > plan.every * period_ms ? period_ms / 2 : 0;
}

}  // namespace

std::deque<PlanEvidence::Ratio> PlanEvidence::Times::Unknown() {
  std::deque<Ratio> ratios;
  for (const double ratio : {0.8, 0.9, 1.0, 1.0, 1.0, 1.1, 1.2, 1.4, 1.7, 2.5}) {
    ratios.push_back({ratio, ratio});
  }
  return ratios;
}

void PlanEvidence::Samples::Add(double agreement, double more) {
  const double kept = std::pow(kAfterAnother, more);
  sum = kept * sum + more * agreement;
  weight = kept * weight + more;
  unknown_weight *= kept;
}

void PlanEvidence::Samples::GetOlder() {
  sum *= kAfterAFrame;
  weight *= kAfterAFrame;
  unknown_weight = 1 - (1 - unknown_weight) * kAfterAFrame;
}

void PlanEvidence::NoteTaken(Plan::Kind kind, double ratio, double ratio_of_known_work) {
  Times& times = times_[static_cast<size_t>(kind)];
  times.unused = 0;
  times.ratios.push_back({ratio, ratio_of_known_work});
  if (times.ratios.size() > kRatiosKept) times.ratios.pop_front();
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

void PlanEvidence::NoteMoved(double agreement, double weight) { moved_.Add(agreement, weight); }

void PlanEvidence::NoteFollowed(const Plan& plan) {
  for (Times& times : times_) {
    if (++times.unused == kFramesRemembered) times.ratios = Times::Unknown();
  }
  const std::string followed = WayOf(plan);
  for (auto& [way, samples] : samples_) {
    if (way != followed) samples.GetOlder();
  }
}

std::string PlanEvidence::WayOf(const Plan& plan) {
  return ToText({.kind = plan.kind, .keeps = plan.keeps, .codec = plan.codec, .model = plan.model});
}

double PlanEvidence::Moved(int every) const {
  double sum = 0;
  for (int frames = 0; frames < every; ++frames) sum += std::pow(moved(), frames);
  return sum / every;
}

double PlanEvidence::Agreement(const Plan& plan, double unknown) const {
  if (plan.every > 1) return Moved(plan.every) * Agreement(BaseOf(plan), unknown);
  if (is_exact_ || (IsAlone(plan) && !plan.keeps)) return 1;
  const double beginning = Beginning(plan, unknown);
  const auto samples = samples_.find(WayOf(plan));
  return samples == samples_.end() ? beginning : samples->second.Mean(beginning);
}

double PlanEvidence::Beginning(const Plan& plan, double unknown) const {
  if (plan.keeps && !IsAlone(plan)) {
    Plan dense = plan;
    dense.keeps = false;
    return Agreement(Plan(), unknown) * Agreement(dense, unknown);
  }
  if (!plan.keeps && plan.model.empty() && WhyNotExact(plan, {}).empty()) return 1;
  double sum = unknown;
  double sum_of_weights = 1;
  for (const std::map<std::string, Assumed>* shown : {&assumed_, &tried_}) {
    const auto found = shown->find(WayOf(plan));
    if (found == shown->end()) continue;
    sum += found->second.weight * found->second.agreement;
    sum_of_weights += found->second.weight;
  }
  return sum / sum_of_weights;
}

bool PlanEvidence::IsAgreementKnown(const Plan& plan) const {
  return HopedAgreement(plan) - Agreement(plan) <= (1 - kUnknown) / 2;
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
  const auto late = std::ranges::count_if(ratios, [&](double ratio) {
    const double takes_ms = ratio * predicted_ms;
    return takes_ms + WaitMs(plan, takes_ms, pace.period_ms) > pace.deadline_ms;
  });
  return static_cast<double>(late) / static_cast<double>(ratios.size());
}

double PlanEvidence::P95Ms(const Plan& plan, double predicted_ms) const {
  std::vector<double> ratios = RatiosOf(plan);
  const auto p95 = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) * 95 / 100);
  std::ranges::nth_element(ratios, p95);
  return *p95 * predicted_ms;
}

double PlanEvidence::InHand(const Plan& plan, double predicted_ms, const Pace& pace) const {
  std::array<double, static_cast<size_t>(kOldest) + 1> by_age;
  by_age[0] = 1;
  for (size_t age = 1; age < by_age.size(); ++age) by_age[age] = by_age[age - 1] * moved();
  const std::vector<double> ratios = RatiosOf(plan);
  double in_hand = 0;
  for (const double ratio : ratios) {
    const double takes_ms = ratio * predicted_ms;
    const double wait_ms = WaitMs(plan, takes_ms, pace.period_ms);
    // A frame is computed every `interval` frames: of two whole numbers one or the other.
    const double interval = std::max<double>(plan.every, takes_ms / pace.period_ms);
    double sum = 0;
    for (int since = 0; since < interval; ++since) {
      const double left_ms = pace.deadline_ms + since * pace.period_ms - wait_ms - takes_ms;
      const double before = std::ceil(std::max(0.0, -left_ms) / (interval * pace.period_ms));
      const double age = std::min(kOldest, since + std::round(before * interval));
      sum += std::min(1.0, interval - since) * by_age[static_cast<size_t>(age)];
    }
    in_hand += sum / interval;
  }
  return Agreement(BaseOf(plan)) * in_hand / static_cast<double>(ratios.size());
}

}  // namespace cacheinf
