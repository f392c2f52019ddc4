#include "common/plan/plan_chooser.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace cacheinf {
namespace {

// Of a link that nothing was sent over yet, so that something will be.
constexpr double kHopedMbit = 100;
// An older figure is believed to have become better: else a link that was bad once is never tried
// again.
constexpr double kTrustedSeconds = 15;
constexpr double kMostMbit = 1000;

// While nobody looks at what changes, it is believed to have become less, so that somebody will.
constexpr int kFramesTrusted = 100;
constexpr double kHopedChange = 0.1;
// Frames computed whole, although results are kept, of which one is no accident.
constexpr int kWholeInARow = 2;

// A plan has to be so much quicker than the one at hand, in so many frames.
constexpr double kClearlyBetter = 0.95;
constexpr int kFramesToSwitch = 2;

constexpr double kNewFrameCounts = 0.2;
constexpr double kLeastFactor = 0.1;
constexpr double kMostFactor = 20;

void Follow(double measured, double predicted, double& factor) {
  if (predicted <= 0 || measured <= 0) return;
  // The prediction holds the factor as it is.
  const double now = std::clamp(factor * measured / predicted, kLeastFactor, kMostFactor);
  factor += kNewFrameCounts * (now - factor);
}

// What changed of a picture, of which a server has found so much changed.
double Unseen(const ProfiledCodec& codec, double seen) {
  double least = 0;
  double most = 1;
  for (int i = 0; i < 16; ++i) {
    const double middle = (least + most) / 2;
    (codec.SeenOf(middle) < seen ? least : most) = middle;
  }
  return most;
}

}  // namespace

PlanChooser::PlanChooser(const Profile& robot, const Profile& server, Nearby nearby)
    : model_(robot, server, Situation()),
      nearby_(std::move(nearby)),
      frames_unseen_(kFramesTrusted) {
  situation_.robot_changed = situation_.server_changed = kHopedChange;
}

const Plan& PlanChooser::Choose(const Link& link) {
  double mbit = 0;
  if (link.is_up) {
    const double age = std::max(1.0, link.mbit_age_s / kTrustedSeconds);
    mbit = std::min(kMostMbit, link.mbit ? *link.mbit * age : kHopedMbit);
  }
  situation_.mbit_up = situation_.mbit_down = mbit;
  situation_.round_trip_ms = link.round_trip_ms;
  const CostModel model = model_.At(situation_);
  candidates_.clear();
  for (const bool keeps : {true, false}) Consider(model, {.keeps = keeps});
  whole_ms_ = candidates_.back().prediction.latency_ms;
  if (link.is_up) {
    for (const ProfiledCodec& codec : model.robot().codecs) {
      for (const bool keeps : {true, false}) {
        Consider(model, {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec.codec});
      }
    }
    for (const Plan& plan : nearby_(situation_)) {
      if (plan.kind == Plan::Kind::kSplit) Consider(model, plan);
    }
  }
  const auto latency = [](const Candidate& candidate) { return candidate.prediction.latency_ms; };
  const Candidate& best = *std::ranges::min_element(candidates_, {}, latency);
  const auto current = std::ranges::find(candidates_, plan_, &Candidate::plan);
  const bool is_possible = current != candidates_.end();
  const bool is_better = !is_possible || latency(best) < kClearlyBetter * latency(*current);
  better_in_a_row_ = is_better ? better_in_a_row_ + 1 : 0;
  if (!is_possible || better_in_a_row_ >= kFramesToSwitch) {
    plan_ = best.plan;
    better_in_a_row_ = 0;
  }
  prediction_ = std::ranges::find(candidates_, plan_, &Candidate::plan)->prediction;
  return plan_;
}

void PlanChooser::Consider(const CostModel& model, const Plan& plan) {
  Prediction prediction = model.Predict(plan);
  if (plan.kind == Plan::Kind::kSplit) prediction.latency_ms *= split_factor_;
  if (plan.kind == Plan::Kind::kRemote) {
    const double factor = codec_factors_.try_emplace(plan.codec, 1).first->second;
    prediction.latency_ms += (factor - 1) * prediction.robot_ms;
    prediction.robot_ms *= factor;
  }
  candidates_.push_back({plan, prediction});
}

void PlanChooser::NoteChange(const Taken& taken) {
  double& changed = situation_.robot_changed;
  std::optional<double> seen = taken.changed;
  const bool is_whole =
      !seen && taken.executed == plan_.kind && plan_.keeps && taken.executed != Plan::Kind::kSplit;
  whole_in_a_row_ = is_whole ? whole_in_a_row_ + 1 : 0;
  if (whole_in_a_row_ >= kWholeInARow) seen = 1.0;  // reuse does not pay
  if (seen) {
    if (taken.changed && taken.executed == Plan::Kind::kRemote) {
      const auto codec =
          std::ranges::find(model_.robot().codecs, plan_.codec, &ProfiledCodec::codec);
      if (codec != model_.robot().codecs.end()) seen = Unseen(*codec, *seen);
    }
    const bool is_first = frames_unseen_ >= kFramesTrusted;
    changed += (is_first ? 1.0 : kNewFrameCounts) * (*seen - changed);
    frames_unseen_ = 0;
  } else if (++frames_unseen_ == kFramesTrusted) {
    changed = std::min(changed, kHopedChange);
  }
  situation_.server_changed = changed;
}

void PlanChooser::Note(const Taken& taken) {
  NoteChange(taken);
  if (taken.executed != plan_.kind) return;
  const bool is_whole = plan_.keeps && !taken.changed;
  if (taken.executed == Plan::Kind::kRemote) {
    // Of a frame computed whole by accident the server's time says nothing of others.
    if (!is_whole) Follow(taken.server_ms, prediction_.server_ms, situation_.server_factor);
    // What a message takes however short it is says nothing about the bandwidth.
    Follow(taken.waiting_ms - taken.server_ms, prediction_.link_ms + situation_.round_trip_ms,
           situation_.link_factor);
    Follow(taken.latency_ms - taken.waiting_ms, prediction_.robot_ms, codec_factors_[plan_.codec]);
  } else if (taken.executed == Plan::Kind::kLocal) {
    Follow(taken.latency_ms, is_whole ? whole_ms_ : prediction_.latency_ms,
           situation_.robot_factor);
  } else {
    Follow(taken.latency_ms, prediction_.latency_ms, split_factor_);
  }
}

std::string PlanChooser::Reason() const {
  std::vector<const Candidate*> sorted;
  for (const Candidate& candidate : candidates_) sorted.push_back(&candidate);
  std::ranges::stable_sort(
      sorted, {}, [](const Candidate* candidate) { return candidate->prediction.latency_ms; });
  std::string text = fmt::format("{}: {:.1f} ms", ToText(plan_), prediction_.latency_ms);
  for (const Candidate* candidate : sorted) {
    if (candidate->plan == plan_) continue;
    text +=
        fmt::format(", {}: {:.1f} ms", ToText(candidate->plan), candidate->prediction.latency_ms);
    break;
  }
  return text;
}

}  // namespace cacheinf
