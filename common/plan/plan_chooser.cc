#include "common/plan/plan_chooser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/median.h"

namespace cacheinf {
namespace {

// Assumed for an unused link, so that it gets used.
constexpr double kHopedMbit = 100;
// Assume that an older figure has improved; otherwise a link that was bad once is never tried
// again.
constexpr double kTrustedSeconds = 15;
constexpr double kGuessTrustedSeconds = 1;
constexpr double kMostMbit = 1000;

// While nothing sees what changes, assume that there is less work, so that a plan that looks gets
// chosen.
constexpr int kFramesTrusted = 30;
constexpr double kHopedWork = 0.1;
// After an encoder's first picture the next ones may differ from it everywhere.
constexpr int kFramesToSettle = 5;
constexpr double kNearlyAll = 0.95;
// So many whole frames in a row are no accident if results are kept.
constexpr int kWholeInARow = 2;

// How much longer than predicted a plan with the server may take as long as none with its kind of
// codec was followed: of several guesses the most hopeful one looks best. Those within this are
// left to the tries.
constexpr double kUnproven = 1.2;

// What a plan must lose before it is left, where switching costs nothing: a share of a computed
// frame's time or, on time, of the agreement in hand of one of the camera's frames.
constexpr double kLeastLost = 0.1;
constexpr double kLeastLostOnTime = 0.2;

// Plans with hardly less agreement in hand are as good, and differ by the robot's work.
constexpr double kAsGood = 0.005;

constexpr int kMostEvery = 3;  // frames of which one is computed

// A frame counts as so many deadlines if its server was given up.
constexpr double kDeadlinesWhereGivenUp = 2;

// After so many frames what is known about a codec or the robot alone may be outdated. Try it if it
// is predicted to take at most this many times as long as the current plan.
constexpr int kFramesKnown = 300;
constexpr int kFramesKnownAlone = 50;  // by latency, as the robot's results are kept warm
constexpr double kWorthTrying = 1.3;
constexpr int kFramesToTry = 2;
constexpr double kShareForTries = 0.02;
constexpr double kCreditForTries = 1.5;  // in agreement, on time: about three tries

// What a clip has shown counts as so many frames at most: the scene may be another one.
constexpr double kMostFromClip = 8;

// A message that takes less says nothing about the bandwidth: threads that wake take as long.
constexpr double kLeastLinkMs = 2;
// What fewer took may have been a stall.
constexpr size_t kFewestCrossings = 3;
constexpr size_t kFewestBegun = 2;

constexpr double kNewFrameCounts = 0.2;
constexpr size_t kFramesOfMedian = 7;
constexpr double kLeastFactor = 0.1;
constexpr double kMostFactor = 20;

double HopedMbit(const PlanChooser::OneWay& way) {
  const double trusted_s = way.is_guess ? kGuessTrustedSeconds : kTrustedSeconds;
  return std::min(kMostMbit, *way.mbit * std::max(1.0, way.age_s / trusted_s));
}

double HopedMbit(const PlanChooser::OneWay& way, const PlanChooser::OneWay& other) {
  if (!way.mbit) return other.mbit ? HopedMbit(other) : kHopedMbit;
  const bool may_be_faster = way.is_guess && other.mbit;
  return std::max(HopedMbit(way), may_be_faster ? HopedMbit(other) : 0);
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

// The profile of a server to which nothing is ever sent.
Profile AsServer(Profile robot) {
  robot.side = Side::kServer;
  return robot;
}

// Writes an agreement or a share: ".97", "1.00".
std::string ShareText(double share) {
  const std::string text = fmt::format("{:.2f}", share);
  return text.starts_with("0.") ? text.substr(1) : text;
}

}  // namespace

PlanChooser::PlanChooser(const Profile& robot, const Profile& server, Nearby nearby,
                         bool keeps_to_nearby)
    : model_(robot, server, Situation()),
      nearby_(std::move(nearby)),
      keeps_to_nearby_(keeps_to_nearby),
      robot_unused_(kFramesKnown),
      frames_unseen_(kFramesTrusted) {
  situation_.robot_work = situation_.server_work = kHopedWork;
  for (const ProfiledCodec& codec : robot.codecs) {
    CodecFactors& factors = codecs_[codec.codec];
    factors.kind = ParsePictureCodec(codec.codec).kind;
    factors.unused = kFramesKnown;
    const auto [agreement, weight] = codec.judged;
    evidence_.Assume({.kind = Plan::Kind::kRemote, .keeps = false, .codec = codec.codec}, agreement,
                     std::min(weight, kMostFromClip));
  }
  const auto [agreement, weight] = robot.cache_judged;
  evidence_.Assume(Plan(), agreement, std::min(weight, kMostFromClip));
}

PlanChooser::PlanChooser(const Profile& robot)
    : PlanChooser(robot, AsServer(robot), [](const Situation&) { return std::vector<Plan>(); }) {}

void PlanChooser::AddModel(const std::string& name, const Profile& robot) {
  Profile with_first = robot;
  with_first.fit_ms += model_.robot().fit_ms;  // every frame is fitted to the first model, too
  smaller_models_.erase(name);
  smaller_models_.emplace(name, CostModel(with_first, AsServer(with_first), Situation()));
}

void PlanChooser::Pursue(const Goal& goal) {
  goal_ = goal;
  if (IsOnTime()) for_tries_ = kCreditForTries;
  if (goal.is_exact) evidence_.TakeAsExact();
}

void PlanChooser::GoOnFrom(const PlanChooser& before) {
  goal_ = before.goal_;
  period_ms_ = before.period_ms_;
  evidence_.GoOnFrom(before.evidence_);
  for (const auto& [name, model] : before.smaller_models_) {
    smaller_models_.emplace(name, model.At(Situation()));
  }
  has_warned_ = before.has_warned_;
  home_ = before.home_;
  plan_ = before.plan_;
  moving_ms_ = before.moving_ms_;
  lead_ms_ = before.lead_ms_;
  between_ms_ = before.between_ms_;
  to_begin_ms_ = before.to_begin_ms_;
  beyond_link_ms_ = before.beyond_link_ms_;
  for_tries_ = before.for_tries_;
  robot_unused_ = before.robot_unused_;
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
  // Meeting a server starts another process on the robot, which competes with its frames.
  if (link.is_up && !was_up_) {
    robot_ = Factor(kFewestAlone);
    situation_.robot_factor = robot_.value();
    beyond_link_ms_.Forget();
    to_begin_ms_.clear();
  }
  was_up_ = link.is_up;
  shares_rows_ = link.shares_rows;
  situation_.mbit_up = link.is_up ? HopedMbit(link.to_server, link.to_robot) : 0.0;
  situation_.mbit_down = link.is_up ? HopedMbit(link.to_robot, link.to_server) : 0.0;
  situation_.round_trip_ms = link.round_trip_ms;
  const CostModel model = model_.At(situation_);
  const std::vector<Candidate> last = std::exchange(candidates_, {});
  ConsiderAll(model);
  KeepThoseThatAgree();
  SetCosts();
  const Plan before = plan_;
  const bool is_tried = plan_ != home_ && frames_of_plan_ > 0 && frames_of_plan_ < kFramesToTry &&
                        Find(plan_, candidates_) != nullptr;
  ChooseHome(last);
  if (!is_tried) {
    plan_ = *home_;
    if (const Candidate* const other = WorthTrying()) {
      plan_ = other->plan;
      (IsAlone(plan_) ? robot_unused_ : codecs_.at(plan_.codec).unused) = 0;
    }
  }
  is_first_frame_ = BaseOf(plan_) != BaseOf(before);
  if (is_first_frame_) {
    frames_of_plan_ = 0;
    frames_to_begin_ = 0;
    begun_ms_.reset();
    if (plan_.kind != Plan::Kind::kLocal) begun_ms_ = 0;
  }
  prediction_ = Find(plan_, candidates_)->prediction;
  whole_ms_ = Corrected(model, {.keeps = false, .model = plan_.model}).latency_ms;
  alone_ms_ = Corrected(model, Plan()).latency_ms;
  return plan_;
}

void PlanChooser::ConsiderAll(const CostModel& model) {
  if (keeps_to_nearby_) {
    for (const Plan& plan : nearby_(situation_)) {
      const bool may_be = shares_rows_ || plan.kind != Plan::Kind::kSplit;
      if (may_be && std::isfinite(model.Ms(plan))) Consider(model, plan);
    }
    if (!candidates_.empty()) return;
  }
  for (const bool keeps : {true, false}) Consider(model, {.keeps = keeps});
  if (keeps_to_nearby_) return;
  for (const auto& [name, costs] : smaller_models_) {
    for (const bool keeps : {true, false}) Consider(model, {.keeps = keeps, .model = name});
  }
  if (!model.is_linked()) return;
  for (const ProfiledCodec& codec : model.robot().codecs) {
    for (const bool keeps : {true, false}) {
      Consider(model, {.kind = Plan::Kind::kRemote, .keeps = keeps, .codec = codec.codec});
    }
  }
  if (!shares_rows_) return;
  for (const Plan& plan : nearby_(situation_)) {
    if (plan.kind == Plan::Kind::kSplit) Consider(model, plan);
  }
  // Tiny changes of the situation must not drop home.
  const std::optional<Plan> home = home_ ? std::optional(BaseOf(*home_)) : std::nullopt;
  if (home && home->kind == Plan::Kind::kSplit && Find(*home, candidates_) == nullptr) {
    Consider(model, *home);
  }
}

// REQUIRES: a plan that computes every frame.
void PlanChooser::Consider(const CostModel& model, const Plan& plan) {
  candidates_.push_back({plan, Corrected(model, plan)});
  const Candidate base = candidates_.back();
  for (int every = 2; every <= kMostEvery; ++every) {
    if (!MayTrack(every, base.prediction.latency_ms)) continue;
    candidates_.push_back(base);
    candidates_.back().plan.every = every;
  }
}

bool PlanChooser::MayTrack(int every, double computed_ms) const {
  if (goal_.is_exact || keeps_to_nearby_) return false;
  if (IsOnTime() && every == 2 && computed_ms > PaceOf({}).period_ms) return true;
  if (moving_ms_.count() == 0) return false;
  // On time it otherwise saves work, and may cost hardly any agreement.
  return !IsOnTime() || evidence_.MeanMoved(1, every) >= 1 - kAsGood;
}

double PlanChooser::beyond_link_ms() const {
  if (beyond_link_ms_.count() < kFewestCrossings) return 0;
  return std::max(beyond_link_ms_.value(), -situation_.round_trip_ms);
}

PlanEvidence::Pace PlanChooser::PaceOf(const Plan& plan) const {
  const auto value = [](const Median& ms) { return ms.count() == 0 ? 0 : ms.value(); };
  const auto between = between_ms_.find({plan.kind, plan.keeps});
  return {.deadline_ms = goal_.deadline_ms,
          .period_ms = period_ms_ > 0 ? period_ms_ : goal_.deadline_ms,
          .moving_ms = moving_ms(),
          .lead_ms = value(lead_ms_),
          .between_ms = between == between_ms_.end() ? 0 : value(between->second)};
}

double PlanChooser::MeanMs(const Plan& plan, double computed_ms) const {
  if (plan.every == 1) return computed_ms;
  return (computed_ms + (plan.every - 1) * moving_ms()) / plan.every;
}

Prediction PlanChooser::Corrected(const CostModel& model, const Plan& plan) const {
  if (!plan.model.empty()) {
    return smaller_models_.at(plan.model).At(model.situation()).Predict(plan);
  }
  Prediction prediction = model.Predict(plan);
  if (plan.kind == Plan::Kind::kSplit) prediction.latency_ms *= split_.value();
  if (plan.kind == Plan::Kind::kRemote && model.is_linked()) {
    const CodecFactors& factors = FactorsOf(plan.codec);
    const double more_bytes = (factors.bytes.value() - 1) * prediction.up_bytes;
    const double more_link_ms = model.situation().LinkMs(Side::kServer, more_bytes);
    const double more_robot_ms = (factors.robot.value() - 1) * prediction.robot_ms;
    prediction.up_bytes += more_bytes;
    prediction.link_ms += more_link_ms;
    prediction.robot_ms += more_robot_ms;
    prediction.latency_ms += more_link_ms + more_robot_ms + beyond_link_ms();
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
  return plan.kind == Plan::Kind::kSplit ? is_split_proven_ : FactorsOf(plan.codec).is_proven;
}

const PlanChooser::CodecFactors& PlanChooser::FactorsOf(const std::string& codec) const {
  const CodecFactors* of = &codecs_.at(codec);
  if (of->is_proven) return *of;
  for (const auto& [name, other] : codecs_) {
    if (other.kind != of->kind || !other.is_proven) continue;
    if (!of->is_proven || other.unused < of->unused) of = &other;
  }
  return *of;
}

void PlanChooser::KeepThoseThatAgree() {
  left_out_.reset();
  if (IsOnTime()) return;
  const auto agreement = [this](const Candidate& candidate) {
    return evidence_.HopedAgreement(candidate.plan);
  };
  const Candidate best = *std::ranges::max_element(candidates_, {}, agreement);
  const double least = std::min(goal_.least_agreement, agreement(best));
  if (least < goal_.least_agreement && !std::exchange(has_warned_, true)) {
    LogWarning(fmt::format(
        "no plan agrees with dense answers as well as {}; the robot follows the best, {}: {}",
        ShareText(goal_.least_agreement), ToText(best.plan), ShareText(agreement(best))));
  }
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    if (agreement(candidate) >= least) return false;
    const double cost = Cost(candidate.plan, candidate.prediction.latency_ms);
    if (!left_out_ || cost < Cost(left_out_->plan, left_out_->prediction.latency_ms)) {
      left_out_ = candidate;
    }
    return true;
  });
}

void PlanChooser::SetCosts() {
  double least = std::numeric_limits<double>::infinity();
  for (Candidate& candidate : candidates_) {
    const double latency_ms = candidate.prediction.latency_ms;
    const bool is_doubted = candidate.plan != home_ && !IsProven(candidate.plan);
    candidate.cost = Cost(candidate.plan, (is_doubted ? kUnproven : 1) * latency_ms);
    least = std::min(least, candidate.cost);
  }
  if (!IsOnTime()) return;
  double most_robot_ms = std::numeric_limits<double>::min();
  for (Candidate& candidate : candidates_) {
    candidate.cost -= least;
    if (candidate.cost > kAsGood) continue;
    most_robot_ms = std::max(most_robot_ms, RobotMs(candidate));
  }
  for (Candidate& candidate : candidates_) {
    if (candidate.cost > kAsGood) continue;
    const double late =
        evidence_.Late(candidate.plan, candidate.prediction.latency_ms, PaceOf(candidate.plan));
    candidate.cost = kAsGood * (late + RobotMs(candidate) / most_robot_ms);
  }
}

double PlanChooser::Cost(const Plan& plan, double latency_ms) const {
  return IsOnTime() ? 1 - evidence_.InHand(plan, latency_ms, PaceOf(plan))
                    : MeanMs(plan, latency_ms);
}

Prediction PlanChooser::OfFirstFrame(const Plan& plan) const {
  Situation whole = situation_;
  whole.robot_work = whole.server_work = 1;
  if (plan.kind == Plan::Kind::kLocal && plan.keeps && plan.model.empty()) {
    whole.robot_work = std::max(situation_.robot_work, share_alone_);
  }
  return Corrected(model_.At(whole), plan);
}

double PlanChooser::CostToBegin(const Candidate& candidate, bool as_seen) const {
  const double later_ms = candidate.prediction.latency_ms;
  double first_ms = OfFirstFrame(candidate.plan).latency_ms;
  const auto seen = to_begin_ms_.find(candidate.plan.kind);
  if (as_seen && seen != to_begin_ms_.end() && seen->second.count() >= kFewestBegun) {
    first_ms = std::max(first_ms, later_ms + seen->second.value());
  }
  const double more = Cost(candidate.plan, first_ms) - Cost(candidate.plan, later_ms);
  return FramesOf(candidate.plan, first_ms) * std::max(0.0, more);
}

double PlanChooser::FramesOf(const Plan& plan, double latency_ms) const {
  if (!IsOnTime()) return plan.every;
  const PlanEvidence::Pace pace = PaceOf(plan);
  const double takes_ms = evidence_.PercentileMs(plan, latency_ms, 50);
  return std::max<double>(plan.every, (takes_ms + pace.between_ms) / pace.period_ms);
}

void PlanChooser::ChooseHome(const std::vector<Candidate>& last) {
  const Candidate* const home = home_ ? Find(*home_, candidates_) : nullptr;
  if (home == nullptr) {
    home_ = std::ranges::min_element(candidates_, {}, &Candidate::cost)->plan;
    return;
  }
  const double least_lost = IsOnTime() ? kLeastLostOnTime : kLeastLost * home->cost;
  const double frames = FramesOf(home->plan, home->prediction.latency_ms);
  const Candidate* best = nullptr;
  double most_won = 0;
  for (Candidate& candidate : candidates_) {
    const Candidate* const before = Find(candidate.plan, last);
    candidate.lost = std::max(
        0.0, (before == nullptr ? 0 : before->lost) + frames * (home->cost - candidate.cost));
    double won = candidate.lost - least_lost;
    if (won <= most_won) continue;
    // A plan that is being tried has already begun, and so has one of the same computed frames.
    const Plan base = BaseOf(candidate.plan);
    if (base != BaseOf(plan_) && base != BaseOf(*home_)) {
      won = std::min(won, candidate.lost - CostToBegin(candidate, true) - CostToBegin(*home));
    }
    if (won <= most_won) continue;
    best = &candidate;
    most_won = won;
  }
  if (best == nullptr) return;
  home_ = best->plan;
  for (Candidate& candidate : candidates_) candidate.lost = 0;
}

int PlanChooser::FramesKnownAlone() const { return IsOnTime() ? kFramesKnown : kFramesKnownAlone; }

const PlanChooser::Candidate* PlanChooser::WorthTrying() {
  const Candidate& home = *Find(*home_, candidates_);
  const double home_cost = Cost(*home_, home.prediction.latency_ms);
  const Candidate* best = nullptr;
  double best_cost = home_cost;
  for (const Candidate& candidate : candidates_) {
    const Plan& plan = candidate.plan;
    if (plan.kind == Plan::Kind::kSplit || BaseOf(plan) == BaseOf(*home_)) continue;
    const bool is_alone = IsAlone(plan);
    if (plan.codec.empty() && !is_alone) continue;
    if (is_alone ? robot_unused_ < FramesKnownAlone()
                 : codecs_.at(plan.codec).unused < kFramesKnown) {
      continue;
    }
    const double hoped = Cost(plan, candidate.prediction.latency_ms / kWorthTrying);
    if (hoped >= best_cost) continue;
    best = &candidate;
    best_cost = hoped;
  }
  if (best == nullptr) return nullptr;
  // There and back.
  const double more = Cost(best->plan, best->prediction.latency_ms) - home_cost;
  const double cost =
      CostToBegin(*best, true) + CostToBegin(home) + kFramesToTry * std::max(0.0, more);
  if (for_tries_ <= cost) return nullptr;
  for_tries_ = IsOnTime() ? for_tries_ - cost : 0;
  return best;
}

// The work of the executed frame, if anything looked at what changed.
std::optional<double> PlanChooser::Seen(const Taken& taken) const {
  if (!taken.share || taken.executed != Plan::Kind::kRemote) return taken.share;
  const auto codec = std::ranges::find(model_.robot().codecs, plan_.codec, &ProfiledCodec::codec);
  return codec == model_.robot().codecs.end() ? taken.share : Unseen(*codec, *taken.share);
}

void PlanChooser::SetShareAlone(double share) {
  share_alone_ = share;
  if (share >= 1 || frames_unseen_ < kFramesTrusted) return;
  const bool was_seen = looks_ > 0;
  const double work = was_seen ? std::min(situation_.robot_work, share) : share;
  situation_.robot_work = situation_.server_work = std::max(kHopedWork, work);
}

void PlanChooser::NoteWork(const Taken& taken, std::optional<double> seen) {
  double& work = situation_.robot_work;
  const bool is_whole =
      !seen && taken.executed == plan_.kind && plan_.keeps && taken.executed != Plan::Kind::kSplit;
  whole_in_a_row_ = is_whole ? whole_in_a_row_ + 1 : 0;
  // What changes sides is computed anew, whatever the scene does, and so is what a server has kept
  // since an older frame; that may take a few frames.
  const bool was_split = std::exchange(is_split_, taken.executed == Plan::Kind::kSplit);
  const bool may_be_new = was_split || is_split_;
  const bool is_settling =
      taken.executed == Plan::Kind::kRemote && frames_of_plan_ < kFramesToSettle;
  if ((may_be_new || is_settling) && frames_of_plan_ == 0) seen.reset();
  if ((may_be_new && seen >= 1.0) || (is_settling && seen >= kNearlyAll)) seen.reset();
  if (whole_in_a_row_ >= kWholeInARow) seen = 1.0;  // reuse does not pay
  if (seen) {
    if (frames_unseen_ >= kFramesTrusted) looks_ = 0;
    work += std::max(kNewFrameCounts, 1.0 / ++looks_) * (*seen - work);
    frames_unseen_ = 0;
  } else if (++frames_unseen_ == kFramesTrusted && share_alone_ >= 1) {
    work = std::min(work, kHopedWork);
  }
  situation_.server_work = work;
}

void PlanChooser::NoteMovingTook(FrameTimes::Time time) { moving_ms_.Add(Milliseconds(time)); }

void PlanChooser::Note(const Taken& taken) {
  const double latency_ms = Milliseconds(taken.times.latency() - taken.times.waited);
  const double frames = FramesOf(plan_, prediction_.latency_ms);
  for_tries_ += IsOnTime() ? kAsGood * frames : kShareForTries * latency_ms;
  Doubt(static_cast<int>(std::lround(frames)));
  evidence_.NoteFollowed(plan_, frames);
  if (taken.gave_up && taken.executed != plan_.kind && !is_first_frame_) {
    // The robot may have been in time alone, but its server was not.
    NoteRatios(std::max(latency_ms, kDeadlinesWhereGivenUp * goal_.deadline_ms),
               prediction_.latency_ms);
  }
  const std::optional<double> seen = Seen(taken);
  // More work than was assumed does not make a machine slow.
  Situation then = situation_;
  if (seen) then.robot_work = then.server_work = *seen;
  then.server_queue_ms = Milliseconds(taken.times.server_queueing);
  NoteWork(taken, seen);
  frames_of_plan_ = taken.executed == plan_.kind ? frames_of_plan_ + 1 : 0;
  if (frames_of_plan_ == 0 && ++frames_to_begin_ > kFramesToSettle) begun_ms_.reset();
  if (begun_ms_) {
    const bool is_alone = taken.executed != plan_.kind;
    *begun_ms_ += latency_ms - (is_alone ? alone_ms_ : prediction_.latency_ms);
    if (frames_of_plan_ == 1) {
      to_begin_ms_[plan_.kind].Add(std::max(0.0, *begun_ms_));
      begun_ms_.reset();
    }
  }
  // A first frame meets untouched memory and a server that is not ready.
  if (frames_of_plan_ <= 1) return;
  const Prediction expected = Corrected(model_.At(then), plan_);
  const bool is_whole = plan_.keeps && !seen;
  NoteRatios(latency_ms, MsOfKnownWork(taken, expected, is_whole));
  NoteQueue(taken);
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

// What would have been predicted with what is known now of how much the frame changed, but not of
// how long others' frames take. REQUIRES: NoteQueue has not been called.
double PlanChooser::MsOfKnownWork(const Taken& taken, const Prediction& expected,
                                  bool is_whole) const {
  if (is_whole) {
    Plan dense = plan_;
    dense.keeps = false;
    return Corrected(model_.At(situation_), dense).latency_ms;
  }
  if (taken.executed == Plan::Kind::kLocal) return expected.latency_ms;
  return expected.latency_ms + situation_.server_queue_ms -
         Milliseconds(taken.times.server_queueing);
}

void PlanChooser::NoteRatios(double latency_ms, double of_known_work_ms) {
  if (prediction_.latency_ms <= 0 || of_known_work_ms <= 0) return;
  evidence_.NoteTaken(plan_.kind, latency_ms / prediction_.latency_ms,
                      latency_ms / of_known_work_ms);
}

void PlanChooser::NoteQueue(const Taken& taken) {
  if (taken.executed == Plan::Kind::kLocal) return;
  server_unused_ = 0;
  queue_ms_.Add(Milliseconds(taken.times.server_queueing));
  situation_.server_queue_ms = queue_ms_.value();
}

// Gives what was bad once another try.
void PlanChooser::Doubt(int frames) {
  const auto is_outdated = [frames](int* unused) {
    const int before = std::exchange(*unused, *unused + frames);
    return *unused / kFramesKnown > before / kFramesKnown;
  };
  if (is_outdated(&server_unused_)) {
    queue_ms_.Forget();
    situation_.server_queue_ms /= 2;
    beyond_link_ms_.Forget();
  }
  if (is_outdated(&robot_unused_)) {
    robot_.Doubt();
    situation_.robot_factor = robot_.value();
  }
  for (auto& [codec, factors] : codecs_) {
    if (!is_outdated(&factors.unused)) continue;
    factors.bytes.Doubt();
    factors.robot.Doubt();
  }
}

void PlanChooser::NoteRemote(const Taken& taken, const Prediction& expected, bool is_whole) {
  const FrameTimes& times = taken.times;
  const FrameTimes::Time by_server = times.server_decoding + times.server_computing;
  // The server's time for a frame computed whole by accident says nothing about others.
  if (!is_whole) server_.Note(Milliseconds(by_server), expected.server_ms);
  const double link_ms =
      expected.link_ms + situation_.LinkMs(Side::kServer, taken.sent_bytes - expected.up_bytes);
  CodecFactors& factors = codecs_.at(plan_.codec);
  const CodecFactors& until_now = FactorsOf(plan_.codec);
  factors.bytes.GoOnFrom(until_now.bytes);
  factors.robot.GoOnFrom(until_now.robot);
  factors.bytes.Note(taken.sent_bytes, expected.up_bytes);
  factors.robot.Note(Milliseconds(times.latency() - times.waited - times.waiting),
                     expected.robot_ms);
  const double beyond_round_trip_ms =
      Milliseconds(times.waiting - by_server - times.server_queueing) - situation_.round_trip_ms;
  if (link_ms < std::max(kLeastLinkMs, situation_.round_trip_ms)) {
    beyond_link_ms_.Add(std::max(beyond_round_trip_ms - link_ms, -situation_.round_trip_ms));
  } else {
    link_.Note(std::max(beyond_round_trip_ms - beyond_link_ms(), kLeastFactor * link_ms), link_ms);
  }
  factors.unused = 0;
  factors.is_proven = true;
}

void PlanChooser::Factor::Note(double measured, double predicted) {
  if (predicted <= 0 || measured <= 0) return;
  last_.Add(std::clamp(value_ * measured / predicted, kLeastFactor, kMostFactor));
  value_ = last_.count() < fewest_ ? std::min(value_, last_.last()) : last_.value();
}

void PlanChooser::Factor::GoOnFrom(const Factor& before) { value_ = before.value_; }

void PlanChooser::Factor::Doubt() {
  value_ = (1 + value_) / 2;
  last_.Forget();
  fewest_ = 1;
}

void PlanChooser::Median::Add(double number) {
  last_.push_back(number);
  if (last_.size() > kFramesOfMedian) last_.pop_front();
}

double PlanChooser::Median::value() const { return MedianOf({last_.begin(), last_.end()}); }

std::string PlanChooser::Reason() const {
  const auto cost = [this](const Candidate& candidate) {
    return Cost(candidate.plan, candidate.prediction.latency_ms);
  };
  const Candidate* const planned = Find(plan_, candidates_);
  if (planned == nullptr) return "";
  const bool is_tried = home_ && plan_ != home_;
  const Candidate* other = is_tried ? Find(*home_, candidates_) : nullptr;
  for (const Candidate& candidate : candidates_) {
    if (is_tried || candidate.plan == plan_) continue;
    if (other == nullptr || cost(candidate) < cost(*other)) other = &candidate;
  }
  std::string text = TextOf(*planned, other);
  if (is_tried) {
    text += "; the first is being tried";
  } else if (other != nullptr && cost(*other) < cost(*planned)) {
    const auto late = [this](const Candidate& candidate) {
      return evidence_.Late(candidate.plan, candidate.prediction.latency_ms,
                            PaceOf(candidate.plan));
    };
    const bool is_as_good = IsOnTime() && cost(*planned) - cost(*other) <= kAsGood;
    if (is_as_good && RobotMs(*planned) < RobotMs(*other)) {
      text += "; the second is hardly better, for more of the robot's work";
    } else if (is_as_good && late(*planned) < late(*other)) {
      text += "; the second is hardly better, and late more often";
    } else if (!IsProven(other->plan)) {
      text += "; the second is a guess, as it was never followed";
    } else if (IsAlone(other->plan) && robot_unused_ >= FramesKnownAlone()) {
      text += "; the second is a guess, as it was not followed lately";
    } else {
      text += "; the second wins too little for a change";
    }
  }
  if (left_out_ && cost(*left_out_) < cost(*planned)) {
    text += fmt::format("; {} agrees too little ({})", ToText(left_out_->plan),
                        ShareText(evidence_.HopedAgreement(left_out_->plan)));
  }
  return text;
}

std::string PlanChooser::TextOf(const Candidate& planned, const Candidate* other) const {
  const double planned_ms = planned.prediction.latency_ms;
  if (!IsOnTime()) {
    std::string text =
        fmt::format("{}: {:.1f} ms", ToText(planned.plan), MeanMs(planned.plan, planned_ms));
    if (other == nullptr) return text;
    return text + fmt::format(", {}: {:.1f} ms", ToText(other->plan),
                              MeanMs(other->plan, other->prediction.latency_ms));
  }
  const auto in_hand = [this](const Candidate& candidate) {
    return 1 - Cost(candidate.plan, candidate.prediction.latency_ms);
  };
  const auto assumed = [this](const Candidate& candidate) {
    return evidence_.IsAgreementKnown(candidate.plan) ? "" : ", agreement assumed";
  };
  std::string text = fmt::format(
      "{}: {} in hand at {:g} ms (p95 {:.0f}{})", ToText(planned.plan), ShareText(in_hand(planned)),
      goal_.deadline_ms, evidence_.PercentileMs(planned.plan, planned_ms, 95), assumed(planned));
  if (other == nullptr) return text;
  const double late =
      evidence_.Late(other->plan, other->prediction.latency_ms, PaceOf(other->plan));
  return text + fmt::format("; {} {} (late {}{})", ToText(other->plan), ShareText(in_hand(*other)),
                            ShareText(late), assumed(*other));
}

}  // namespace cacheinf
