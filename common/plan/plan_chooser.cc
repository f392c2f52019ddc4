#include "common/plan/plan_chooser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/clock.h"
#include "common/base/median.h"

namespace cacheinf {
namespace {

// Assumed of an unused link, so that it gets used.
constexpr double kHopedMbit = 100;
// Assume that an older figure has improved; otherwise a link that was bad once is never tried
// again.
constexpr double kTrustedSeconds = 15;
constexpr double kMostMbit = 1000;

// While nothing sees what changes, assume that the work has become less, so that a plan that looks
// gets chosen.
constexpr int kFramesTrusted = 100;
constexpr double kHopedWork = 0.1;
// So many whole frames in a row are no accident, although results are kept.
constexpr int kWholeInARow = 2;

// How much longer than predicted a plan with the server may take that was never followed: of
// several guesses the most hopeful one looks best. Those within this are left to the tries.
constexpr double kUnproven = 1.2;

// Share of a frame's time that a plan must lose before it is left, where switching costs nothing.
constexpr double kLeastLost = 0.1;

// After so many frames what is known of a codec may be outdated. Try it if it is predicted to take
// at most this many times as long as the current plan.
constexpr int kFramesKnown = 300;
constexpr double kWorthTrying = 1.3;
constexpr int kFramesToTry = 2;
constexpr double kShareForTries = 0.02;

constexpr double kNewFrameCounts = 0.2;
constexpr size_t kFramesOfMedian = 7;
constexpr double kLeastFactor = 0.1;
constexpr double kMostFactor = 20;

double HopedMbit(const PlanChooser::OneWay& way, const PlanChooser::OneWay& other) {
  const PlanChooser::OneWay& known = way.mbit ? way : other;
  const double age = std::max(1.0, known.age_s / kTrustedSeconds);
  return known.mbit ? std::min(kMostMbit, *known.mbit * age) : kHopedMbit;
}

// The frame's work, given the work that a server saw after this codec.
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

PlanChooser::PlanChooser(const Profile& robot, const Profile& server, Nearby nearby,
                         bool keeps_to_nearby)
    : model_(robot, server, Situation()),
      nearby_(std::move(nearby)),
      keeps_to_nearby_(keeps_to_nearby),
      frames_unseen_(kFramesTrusted) {
  situation_.robot_work = situation_.server_work = kHopedWork;
  for (const ProfiledCodec& codec : robot.codecs) codecs_[codec.codec].unused = kFramesKnown;
}

void PlanChooser::GoOnFrom(const PlanChooser& before) {
  home_ = before.home_;
  plan_ = before.plan_;
  frames_of_plan_ = before.frames_of_plan_;
  was_up_ = before.was_up_;
  situation_.robot_work = before.situation_.robot_work;
  situation_.server_work = before.situation_.server_work;
  frames_unseen_ = before.frames_unseen_;
  for (auto& [codec, factors] : codecs_) {
    const auto known = before.codecs_.find(codec);
    if (known != before.codecs_.end()) factors.unused = known->second.unused;
  }
}

const Plan& PlanChooser::Choose(const Link& link) {
  // Meeting a server starts another process on the robot, beside its frames.
  if (link.is_up && !was_up_) {
    robot_ = Factor(kFewestAlone);
    situation_.robot_factor = robot_.value();
  }
  was_up_ = link.is_up;
  situation_.mbit_up = link.is_up ? HopedMbit(link.to_server, link.to_robot) : 0.0;
  situation_.mbit_down = link.is_up ? HopedMbit(link.to_robot, link.to_server) : 0.0;
  situation_.round_trip_ms = link.round_trip_ms;
  const CostModel model = model_.At(situation_);
  const std::vector<Candidate> last = std::exchange(candidates_, {});
  ConsiderAll(model);
  whole_ms_ = Corrected(model, {.keeps = false}).latency_ms;
  const Plan before = plan_;
  const bool is_tried = plan_ != home_ && frames_of_plan_ > 0 && frames_of_plan_ < kFramesToTry &&
                        Find(plan_, candidates_) != nullptr;
  ChooseHome(last);
  if (!is_tried) {
    plan_ = *home_;
    if (const Candidate* const other = WorthTrying()) {
      plan_ = other->plan;
      codecs_.at(plan_.codec).unused = 0;
    }
  }
  if (plan_ != before) frames_of_plan_ = 0;
  prediction_ = Find(plan_, candidates_)->prediction;
  return plan_;
}

void PlanChooser::ConsiderAll(const CostModel& model) {
  if (keeps_to_nearby_) {
    for (const Plan& plan : nearby_(situation_)) {
      if (std::isfinite(model.Ms(plan))) Consider(model, plan);
    }
    if (!candidates_.empty()) return;
  }
  for (const bool keeps : {true, false}) Consider(model, {.keeps = keeps});
  if (keeps_to_nearby_ || !model.is_linked()) return;
  for (const ProfiledCodec& codec : model.robot().codecs) {
    for (const bool keeps : {true, false}) {
      Consider(model, {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec.codec});
    }
  }
  for (const Plan& plan : nearby_(situation_)) {
    if (plan.kind == Plan::Kind::kSplit) Consider(model, plan);
  }
  // Tiny changes of the situation must not drop home.
  if (home_ && home_->kind == Plan::Kind::kSplit && Find(*home_, candidates_) == nullptr) {
    Consider(model, *home_);
  }
}

void PlanChooser::Consider(const CostModel& model, const Plan& plan) {
  candidates_.push_back({plan, Corrected(model, plan)});
}

Prediction PlanChooser::Corrected(const CostModel& model, const Plan& plan) const {
  Prediction prediction = model.Predict(plan);
  if (plan.kind == Plan::Kind::kSplit) prediction.latency_ms *= split_.value();
  if (plan.kind == Plan::Kind::kRemote && model.is_linked()) {
    const CodecFactors& factors = codecs_.at(plan.codec);
    const double more_bytes = (factors.bytes.value() - 1) * prediction.up_bytes;
    const double more_link_ms = model.situation().LinkMs(Side::kServer, more_bytes);
    const double more_robot_ms = (factors.robot.value() - 1) * prediction.robot_ms;
    prediction.up_bytes += more_bytes;
    prediction.link_ms += more_link_ms;
    prediction.robot_ms += more_robot_ms;
    prediction.latency_ms += more_link_ms + more_robot_ms;
  }
  return prediction;
}

const PlanChooser::Candidate* PlanChooser::Find(const Plan& plan,
                                                const std::vector<Candidate>& candidates) {
  const auto found = std::ranges::find(candidates, plan, &Candidate::plan);
  return found == candidates.end() ? nullptr : &*found;
}

bool PlanChooser::IsProven(const Plan& plan) const {
  if (plan.kind == Plan::Kind::kLocal) return true;
  return plan.kind == Plan::Kind::kSplit ? is_split_proven_ : codecs_.at(plan.codec).is_proven;
}

double PlanChooser::BeginMs(const Candidate& candidate) const {
  Situation whole = situation_;
  whole.robot_work = whole.server_work = 1;
  const Prediction first = Corrected(model_.At(whole), candidate.plan);
  return std::max(0.0, first.latency_ms - candidate.prediction.latency_ms);
}

void PlanChooser::ChooseHome(const std::vector<Candidate>& last) {
  const auto latency = [this](const Candidate& candidate) {
    const bool is_doubted = candidate.plan != home_ && !IsProven(candidate.plan);
    return (is_doubted ? kUnproven : 1) * candidate.prediction.latency_ms;
  };
  const Candidate* const home = home_ ? Find(*home_, candidates_) : nullptr;
  if (home == nullptr) {
    home_ = std::ranges::min_element(candidates_, {}, latency)->plan;
    return;
  }
  const Candidate* best = nullptr;
  double most_won_ms = 0;
  for (Candidate& candidate : candidates_) {
    const Candidate* const before = Find(candidate.plan, last);
    candidate.lost_ms = std::max(
        0.0, (before == nullptr ? 0 : before->lost_ms) + latency(*home) - latency(candidate));
    double won_ms = candidate.lost_ms - kLeastLost * latency(*home);
    if (won_ms <= most_won_ms) continue;
    // A plan that is being tried has already begun.
    if (candidate.plan != plan_) {
      won_ms = std::min(won_ms, candidate.lost_ms - BeginMs(candidate) - BeginMs(*home));
    }
    if (won_ms <= most_won_ms) continue;
    best = &candidate;
    most_won_ms = won_ms;
  }
  if (best == nullptr) return;
  home_ = best->plan;
  for (Candidate& candidate : candidates_) candidate.lost_ms = 0;
}

const PlanChooser::Candidate* PlanChooser::WorthTrying() {
  const Candidate& home = *Find(*home_, candidates_);
  const Candidate* best = nullptr;
  double best_ms = kWorthTrying * home.prediction.latency_ms;
  for (const Candidate& candidate : candidates_) {
    const Plan& plan = candidate.plan;
    if (plan.kind != Plan::Kind::kRemote || plan.codec == home_->codec) continue;
    if (codecs_.at(plan.codec).unused < kFramesKnown) continue;
    if (candidate.prediction.latency_ms >= best_ms) continue;
    best = &candidate;
    best_ms = candidate.prediction.latency_ms;
  }
  if (best == nullptr) return nullptr;
  // There and back.
  const double longer_ms = std::max(0.0, best_ms - home.prediction.latency_ms);
  const double cost_ms = BeginMs(*best) + BeginMs(home) + kFramesToTry * longer_ms;
  if (for_tries_ms_ <= cost_ms) return nullptr;
  for_tries_ms_ = 0;
  return best;
}

// The work of the executed frame, if anything looked at what changed.
std::optional<double> PlanChooser::Seen(const Taken& taken) const {
  if (!taken.share || taken.executed != Plan::Kind::kRemote) return taken.share;
  const auto codec = std::ranges::find(model_.robot().codecs, plan_.codec, &ProfiledCodec::codec);
  return codec == model_.robot().codecs.end() ? taken.share : Unseen(*codec, *taken.share);
}

void PlanChooser::NoteWork(const Taken& taken, std::optional<double> seen) {
  double& work = situation_.robot_work;
  const bool is_whole =
      !seen && taken.executed == plan_.kind && plan_.keeps && taken.executed != Plan::Kind::kSplit;
  whole_in_a_row_ = is_whole ? whole_in_a_row_ + 1 : 0;
  if (whole_in_a_row_ >= kWholeInARow) seen = 1.0;  // reuse does not pay
  if (seen) {
    const bool is_first = frames_unseen_ >= kFramesTrusted;
    work += (is_first ? 1.0 : kNewFrameCounts) * (*seen - work);
    frames_unseen_ = 0;
  } else if (++frames_unseen_ == kFramesTrusted) {
    work = std::min(work, kHopedWork);
  }
  situation_.server_work = work;
}

void PlanChooser::Note(const Taken& taken) {
  const double latency_ms = Milliseconds(taken.times.latency());
  for_tries_ms_ += kShareForTries * latency_ms;
  Doubt();
  const std::optional<double> seen = Seen(taken);
  // More work than was assumed does not make a machine slow.
  Situation then = situation_;
  if (seen) then.robot_work = then.server_work = *seen;
  then.server_queue_ms = Milliseconds(taken.times.server_queueing);
  NoteWork(taken, seen);
  frames_of_plan_ = taken.executed == plan_.kind ? frames_of_plan_ + 1 : 0;
  // A first frame meets untouched memory and a server that is not ready.
  if (frames_of_plan_ <= 1) return;
  NoteQueue(taken);
  const Prediction expected = Corrected(model_.At(then), plan_);
  const bool is_whole = plan_.keeps && !seen;
  if (taken.executed == Plan::Kind::kLocal) {
    robot_unused_ = 0;
    robot_.Note(latency_ms, is_whole ? whole_ms_ : expected.latency_ms);
  } else if (taken.executed == Plan::Kind::kRemote) {
    NoteRemote(taken, expected, is_whole);
  } else {
    split_.Note(latency_ms, expected.latency_ms);
    is_split_proven_ = true;
  }
  situation_.robot_factor = robot_.value();
  situation_.server_factor = server_.value();
  situation_.link_factor = link_.value();
}

void PlanChooser::NoteQueue(const Taken& taken) {
  if (taken.executed == Plan::Kind::kLocal) return;
  server_unused_ = 0;
  queue_ms_.Add(Milliseconds(taken.times.server_queueing));
  situation_.server_queue_ms = queue_ms_.value();
}

// What was bad once is worth another try.
void PlanChooser::Doubt() {
  if (++server_unused_ % kFramesKnown == 0) {
    queue_ms_.Forget();
    situation_.server_queue_ms /= 2;
  }
  if (++robot_unused_ % kFramesKnown == 0) {
    robot_.Doubt();
    situation_.robot_factor = robot_.value();
  }
  for (auto& [codec, factors] : codecs_) {
    if (++factors.unused % kFramesKnown != 0) continue;
    factors.bytes.Doubt();
    factors.robot.Doubt();
  }
}

void PlanChooser::NoteRemote(const Taken& taken, const Prediction& expected, bool is_whole) {
  const FrameTimes& times = taken.times;
  const FrameTimes::Time by_server = times.server_decoding + times.server_computing;
  // The server's time for a frame computed whole by accident says nothing about others.
  if (!is_whole) server_.Note(Milliseconds(by_server), expected.server_ms);
  // The fixed time of a message says nothing about the bandwidth.
  const double link_ms =
      expected.link_ms + situation_.LinkMs(Side::kServer, taken.sent_bytes - expected.up_bytes);
  CodecFactors& factors = codecs_.at(plan_.codec);
  factors.bytes.Note(taken.sent_bytes, expected.up_bytes);
  factors.robot.Note(Milliseconds(times.latency() - times.waiting), expected.robot_ms);
  link_.Note(Milliseconds(times.waiting - by_server - times.server_queueing),
             link_ms + situation_.round_trip_ms);
  factors.unused = 0;
  factors.is_proven = true;
}

void PlanChooser::Factor::Note(double measured, double predicted) {
  if (predicted <= 0 || measured <= 0) return;
  last_.Add(std::clamp(value_ * measured / predicted, kLeastFactor, kMostFactor));
  value_ = last_.count() < fewest_ ? std::min(value_, last_.last()) : last_.value();
}

void PlanChooser::Factor::Doubt() {
  value_ = (1 + value_) / 2;
  last_.Forget();
}

void PlanChooser::Median::Add(double number) {
  last_.push_back(number);
  if (last_.size() > kFramesOfMedian) last_.pop_front();
}

double PlanChooser::Median::value() const { return MedianOf({last_.begin(), last_.end()}); }

std::string PlanChooser::Reason() const {
  const bool is_tried = home_ && plan_ != home_;
  const Candidate* other = is_tried ? Find(*home_, candidates_) : nullptr;
  for (const Candidate& candidate : candidates_) {
    if (is_tried || candidate.plan == plan_) continue;
    const double latency_ms = candidate.prediction.latency_ms;
    if (other == nullptr || latency_ms < other->prediction.latency_ms) other = &candidate;
  }
  std::string text = fmt::format("{}: {:.1f} ms", ToText(plan_), prediction_.latency_ms);
  if (other == nullptr) return text;
  text += fmt::format(", {}: {:.1f} ms", ToText(other->plan), other->prediction.latency_ms);
  if (is_tried) return text + "; the first is being tried";
  if (other->prediction.latency_ms >= prediction_.latency_ms) return text;
  return text + (IsProven(other->plan) ? "; the second wins too little for a change"
                                       : "; the second is a guess, as it was never followed");
}

}  // namespace cacheinf
