#include "client/robot.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>

#include "client/frame_executor.h"
#include "client/schedule_reader.h"
#include "common/answer/agreement.h"
#include "common/answer/outputs.h"
#include "common/answer/recomputed.h"
#include "common/answer/seen_picture.h"
#include "common/base/fields.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/exec/model_state.h"
#include "common/link/emulated_link.h"
#include "common/model/picture.h"
#include "common/plan/plan_chooser.h"
#include "common/plan/plan_evidence.h"
#include "common/plan/profile.h"
#include "common/plan/schedule.h"

namespace cacheinf {
namespace {

using std::chrono::nanoseconds;

// Longest wait for a server's part in a refresh before the caller may look around.
constexpr nanoseconds kLongestWaitOfRefresh = std::chrono::milliseconds(5);

nanoseconds TimeOf(double ms) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double, std::milli>(ms));
}

// Assumed until anything was acknowledged: with 0, a split with many messages would look best.
constexpr double kUntimedRoundTripMs = 10;

PlanChooser::OneWay OneWayOf(const std::optional<ChannelStatistics::Bandwidth>& bandwidth) {
  if (!bandwidth) return {};
  return {bandwidth->bits_per_second / 1e6, Milliseconds(bandwidth->age) / 1e3,
          bandwidth->is_guess()};
}

PlanChooser::Goal GoalOf(const RobotConfig& config) {
  return {.objective = config.EffectiveObjective(),
          .deadline_ms = config.deadline_ms,
          .least_agreement = config.agreement,
          .is_exact = config.cache.policy == CacheConfig::Policy::kExact};
}

PictureView ViewOf(const PictureFit& fit, const uint8_t* pixels) {
  return {pixels, fit.spec().width, fit.spec().height, fit.channels()};
}

void Add(const MemoryReport& more, MemoryReport& sum) {
  std::vector<size_t> bytes;
  const auto collect = [&bytes](const char* /*name*/, size_t more) { bytes.push_back(more); };
  VisitFields(more, collect);
  size_t at = 0;
  const auto add = [&](const char* /*name*/, size_t& sum) { sum += bytes[at++]; };
  VisitFields(sum, add);
}

}  // namespace

// A smaller model, which answers alone.
struct Robot::Smaller {
  Smaller(const SmallerModel& smaller, const RobotConfig& config, const Graph& first,
          const Clock& clock, const Clock& link_clock)
      : name(smaller.name),
        executor(smaller.model, config.WithoutServer(), clock, link_clock),
        reader(smaller, first, config.model_config.decoder) {}

  std::string name;
  FrameExecutor executor;
  SmallerModelReader reader;
  std::shared_ptr<const PictureFit> fit;
  std::vector<uint8_t> pixels;
};

Robot::Robot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
             const Clock& clock, ConnectToServers connect, const SmallerModels& smaller)
    : config_(config),
      clock_(ParseEmulation(config.server.emulate).slowdown, clock),
      executor_(std::make_unique<FrameExecutor>(std::move(model), config, clock_, clock,
                                                std::move(connect))),
      reader_(state().graph(), config.model_config.decoder),
      schedules_(std::make_unique<ScheduleReader>(
          state().graph(), state().layout(),
          ScheduleReader::Rules{[this](const Plan& plan) { return executor_->WhyNotFollow(plan); },
                                [this](const Plan& plan) { executor_->Check(plan); }})) {
  if (config.mode != RobotConfig::Mode::kCacheinf) return;
  for (const SmallerModel& model : smaller) {
    smaller_.push_back(std::make_unique<Smaller>(model, config, state().graph(), clock_, clock));
  }
  const std::string& file = config.server.schedule;
  if (file.empty()) return;
  Use(schedules_->Read(ReadFile(file, kLargestSchedule), file));
  has_schedule_ = true;
}

Robot::~Robot() = default;

void Robot::WantSchedule(const Profile& profile) {
  executor_->WantSchedule(ToJsonText(profile));
  if (!smaller_.empty() && !has_schedule_) Use(std::make_unique<PlanChooser>(profile));
}

void Robot::AddProfile(const std::string& smaller, const Profile& profile) {
  chooser_->AddModel(smaller, profile);
}

void Robot::Use(std::unique_ptr<PlanChooser> chooser) {
  chooser->Pursue(GoalOf(config_));
  if (chooser_) chooser->GoOnFrom(*chooser_);
  chooser_ = std::move(chooser);
}

FrameExecutor& Robot::answering() const {
  return by_smaller_ == nullptr ? *executor_ : by_smaller_->executor;
}

// Fit, take a plan, decide (Begin and BeginComputing); execute, commit, read (Step).
Answer Robot::Process(const Frame& frame, const Verdict& verdict, nanoseconds waited) {
  Begin(frame, verdict, waited);
  while (true) {
    if (std::optional<Answer> answer = Step()) return *std::move(answer);
  }
}

void Robot::Begin(const Frame& frame, const Verdict& verdict, nanoseconds waited,
                  const std::function<bool()>& is_over) {
  clock_.EndWait();
  while (!executor_->MeetServer([this] { return HasSchedule(); }) && !(is_over && is_over())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    clock_.EndWait();
  }
  begin_ = clock_.Now();
  Fit(frame);
  frame_ = &frame;
  current_ = EmptyAnswer(frame, waited);
  moved_content_.reset();
  NoteBetween();
  ++frames_since_;
  is_tracked_ = !verdict.forget && moved_.has_answer() && frames_since_ < answering().plan().every;
  if (!is_tracked_) BeginComputing(frame, verdict);
}

Answer Robot::EmptyAnswer(const Frame& frame, nanoseconds waited) const {
  Answer answer;
  answer.frame = answer.computed_from = frame.index;
  answer.stamp = frame.stamp;
  answer.deadline_ms = config_.deadline_ms;
  answer.emulation = config_.server.emulate;
  answer.times.waited = waited;
  return answer;
}

std::optional<Answer> Robot::Step(nanoseconds look_at, const std::function<bool()>& idle) {
  if (is_tracked_) return Track();
  if (!answering().Step(look_at, idle)) return std::nullopt;
  return Read(answering().Commit());
}

void Robot::StopWaiting() { answering().StopWaiting(); }

std::optional<Robot::Refreshed> Robot::Refresh(const Frame& frame, const Verdict& verdict,
                                               const std::function<void()>& between) {
  clock_.EndWait();
  const auto begin = clock_.Now();
  std::optional<FrameWork> work;
  if (!is_tracked_ && answering().BeginRefresh(fitted_picture(), verdict)) {
    while (
        !answering().Step(between ? clock_.Now() + kLongestWaitOfRefresh : FrameExecutor::kNever)) {
      if (between) between();
    }
    work = answering().CommitRefresh();
  }
  const nanoseconds took = clock_.Now() - begin;
  if (chooser_) TryMoving(frame);
  if (!work) return std::nullopt;
  return Refreshed{*work, took};
}

void Robot::TryMoving(const Frame& frame) {
  const AnswerContent* const computed = is_tracked_ ? nullptr : &moved_.answer();
  const auto result = moved_trial_.Offer(current_.frame, computed, frame.picture);
  if (!result) return;
  chooser_->NoteMoved(result->agreement, result->weight, result->frames);
  if (result->took) chooser_->NoteMovingTook(*result->took);
}

bool Robot::StandBy() {
  clock_.EndWait();
  if (by_smaller_ != nullptr) return false;
  return executor_->StandBy();
}

std::optional<Answer> Robot::Moved(const Frame& frame, nanoseconds waited) {
  if (!moved_.has_answer()) return std::nullopt;
  if (fit_ && !fit_->IsFor(frame.picture)) return std::nullopt;
  clock_.EndWait();
  const auto begin = clock_.Now();
  Answer answer = EmptyAnswer(frame, waited);
  answer.is_moved = true;
  answer.computed_from = moved_from_;
  answer.content = moved_.MoveTo(frame.picture);
  if (frame.index == current_.frame) moved_content_ = answer.content;
  answer.times.preprocess = clock_.Now() - begin;
  if (chooser_ && MovedAnswer::Moves(answer.content)) {
    chooser_->NoteMovingTook(answer.times.preprocess);
  }
  return answer;
}

void Robot::NoteAgreement(const Plan& plan, double agreement, double weight) {
  if (chooser_) chooser_->NoteAgreement(plan, agreement, weight);
}

void Robot::NoteTrial(const Plan& plan, double agreement, double weight) {
  if (chooser_) chooser_->NoteTrial(plan, agreement, weight);
}

Answer Robot::Track() {
  Answer answer = *Moved(*frame_, current_.times.waited);
  answer.times.preprocess = clock_.Now() - begin_;
  if (!chooser_) return answer;
  answer.plan = PlanText();
  return answer;
}

void Robot::BeginComputing(const Frame& frame, const Verdict& verdict) {
  FittedFrame fitted = {.index = frame.index};
  if (fit_) {
    fitted.picture = Resize(frame, *fit_, pixels_);
    fitted.place = fit_->place();
  } else {
    fitted.tensor = frame.tensor.view();
  }
  prepared_ = clock_.Now();
  FollowPlan();
  if (by_smaller_ != nullptr) {
    fitted.picture = Resize(frame, *by_smaller_->fit, by_smaller_->pixels);
    fitted.place = by_smaller_->fit->place();
    prepared_ = clock_.Now();
  }
  if (verdict.forget) executor_->Forget();  // whoever answers
  answering().Decide(fitted, verdict, Due(begin_ - current_.times.waited));
  answering().Begin();
}

// The answer, once its outputs are there.
Answer Robot::Read(const Execution& execution) {
  const auto computed = clock_.Now();
  Answer answer = current_;
  static_cast<FrameExpense&>(answer) = execution;
  answer.content = by_smaller_ == nullptr ? reader_.Read(outputs(), Seen())
                                          : by_smaller_->reader.Read(outputs(), Seen(), *fit_);
  if (moved_content_ && chooser_ && !has_changed_model_) NoteMoved(answer.content);
  moved_content_.reset();
  const bool will_move = config_.deadline_ms > 0 || answering().plan().every > 1;
  moved_.Keep(answer.content, will_move ? frame_->picture : Picture());
  moved_from_ = answer.computed_from;
  frames_since_ = 0;
  answer.times.waited = current_.times.waited;
  answer.times.preprocess = prepared_ - begin_;
  answer.times.compute = computed - prepared_;
  answered_at_ = clock_.Now();
  answer.times.decode = *answered_at_ - computed;
  decode_ = answer.times.decode;
  if (chooser_) NoteFrame(answer);
  return answer;
}

// Takes up what the server has sent. Returns whether there is a schedule.
bool Robot::HasSchedule() {
  if (auto sent = executor_->TakeSchedule()) {
    LogInfo(sent->is_rough
                ? "the server has sent a first plan, from rough figures; it measures the "
                  "model for a better one"
                : "the server has sent a schedule");
    schedules_->Begin(std::move(sent->schedule));
  }
  try {
    if (auto chooser = schedules_->Take()) {
      Use(std::move(chooser));
      has_schedule_ = true;
    }
  } catch (const InputError& error) {
    LogWarning(fmt::format("the robot goes on without a schedule: {}", error.what()));
  }
  return has_schedule_;
}

void Robot::FollowPlan() {
  if (config_.mode != RobotConfig::Mode::kCacheinf) return;
  (void)HasSchedule();
  if (!chooser_) return;
  PlanChooser::Link link;
  const auto statistics = executor_->link_statistics();
  link.is_up = statistics && executor_->MayUseServer();
  link.shares_rows = executor_->SharesRows();
  if (statistics) {
    link.to_server = OneWayOf(statistics->bandwidth);
    link.to_robot = OneWayOf(statistics->bandwidth_back);
  }
  const bool is_timed = statistics && statistics->round_trip;
  link.round_trip_ms = is_timed ? Milliseconds(statistics->round_trip->time) : kUntimedRoundTripMs;
  chooser_->SetPeriod(Milliseconds(period_));
  chooser_->NoteLead(Milliseconds(lead_));
  chooser_->SetShareAlone(executor_->ShareAlone());
  const Plan& plan = chooser_->Choose(link);
  const auto by = std::ranges::find(smaller_, plan.model, &Smaller::name);
  const Smaller* const before =
      std::exchange(by_smaller_, by == smaller_.end() ? nullptr : by->get());
  has_changed_model_ = by_smaller_ != before;
  if (has_changed_model_) moved_trial_.Forget();
  if (by_smaller_ != nullptr) {
    executor_->Follow({});
    return by_smaller_->executor.Follow(plan);
  }
  executor_->Follow(plan);
  const PlanEvidence& evidence = chooser_->evidence();
  const double agreement = evidence.Agreement(BaseOf(plan));
  // The chooser decides whether the robot alone would be better.
  executor_->Expect({.server = agreement,
                     .alone = std::min(agreement, evidence.Agreement(Plan())),
                     .moved = evidence.Moved(agreement, 1),
                     .first_of_server = TimeOf(chooser_->FirstFrameMs())});
}

void Robot::NoteFrame(Answer& answer) {
  const Execution& execution = answering().last();
  answer.plan = PlanText();
  if (execution.kind == answering().plan().kind) {
    answer.predicted = TimeOf(chooser_->prediction().latency_ms);
  }
  const uint64_t sent_bytes = answer.server ? answer.server->sent_bytes : 0;
  chooser_->Note({.executed = execution.kind,
                  .times = answer.times,
                  .sent_bytes = static_cast<double>(sent_bytes),
                  .share = answer.share(),
                  .gave_up = execution.gave_up});
}

std::string Robot::PlanText() const {
  Plan followed = plan();
  followed.every = answering().plan().every;
  return ToText(followed);
}

// A frame that has waited since before the last answer shows how long that answer's frame kept the
// robot.
void Robot::NoteBetween() {
  const auto answered = std::exchange(answered_at_, std::nullopt);
  if (!chooser_ || !answered || begin_ - current_.times.waited >= *answered) return;
  chooser_->NoteBetween(Milliseconds(begin_ - *answered));
}

// How well the frame's moved answer agrees with its own.
void Robot::NoteMoved(const AnswerContent& content) {
  const AgreementMeasure measure = MeasureOfContent(*moved_content_, content);
  const int frames = static_cast<int>(current_.frame - moved_from_);
  if (!measure.value) return;
  chooser_->NoteMoved(*measure.value, measure.weight, frames);
  moved_trial_.NoteCompared(measure.weight);
}

std::string Robot::WhyPlan() const {
  if (!chooser_) return "";
  const auto statistics = link_statistics();
  const bool is_guess = statistics && (!statistics->bandwidth || statistics->bandwidth->is_guess());
  return chooser_->Reason() + (is_guess ? "; the link is not measured yet" : "");
}

// Returns when a frame's outputs are due, so that its answer is not late.
nanoseconds Robot::Due(nanoseconds captured) const {
  if (config_.deadline_ms == 0) return FrameExecutor::kNever;
  return captured + TimeOf(config_.deadline_ms) - decode_;
}

// Throws, before anything has changed, if the frame does not fit.
void Robot::Fit(const Frame& frame) {
  const PictureSpec& spec = state().graph().picture;
  const Picture& picture = frame.picture;
  if (picture.empty()) return FitTensor(frame);
  if (spec.width == 0) throw InputError("the model takes tensors, but the source gives pictures");
  if (fit_ && fit_->IsFor(picture)) return;
  std::shared_ptr<const PictureFit> fit;
  std::vector<std::shared_ptr<const PictureFit>> smaller;
  const auto fit_to = [&](const ModelState& state) {
    return std::make_shared<const PictureFit>(state.graph().picture, picture.width, picture.height);
  };
  try {
    fit = fit_to(state());
    for (const auto& model : smaller_) smaller.push_back(fit_to(model->executor.state()));
  } catch (const InputError& error) {
    throw UnfitFrame(fmt::format("{}: {}", frame.name, error.what()));
  }
  fit_ = std::move(fit);
  // Kept results are of another picture.
  moved_.Forget();
  moved_trial_.Forget();
  executor_->SetPlaceOfFrames(fit_->place());
  for (size_t i = 0; i < smaller.size(); ++i) {
    smaller_[i]->fit = std::move(smaller[i]);
    smaller_[i]->executor.SetPlaceOfFrames(smaller_[i]->fit->place());
  }
}

void Robot::FitTensor(const Frame& frame) {
  if (config_.KeepsResults()) {
    throw InputError(
        fmt::format("mode {} needs pictures, but the source gives tensors", NameOf(config_.mode)));
  }
  const Graph& graph = state().graph();
  const Shape shape = graph.value(graph.inputs.front()).shape_of_numbers();
  if (frame.tensor.shape() != shape) {
    throw UnfitFrame(fmt::format("{}: shape {} does not fit the model's input, {}", frame.name,
                                 ToString(frame.tensor.shape()), ToString(shape)));
  }
  fit_.reset();
}

PictureView Robot::Resize(const Frame& frame, const PictureFit& fit,
                          std::vector<uint8_t>& pixels) const {
  if (frame.fitted) {
    pixels = *frame.fitted;
  } else {
    pixels.resize(ViewOf(fit, nullptr).byte_count());
    fit.Resize(frame.picture, {0, fit.spec().height}, pixels.data());
  }
  return ViewOf(fit, pixels.data());
}

std::optional<ClassMap> Robot::recomputed() const {
  const Execution& execution = answering().last();
  if (!execution.work) return std::nullopt;
  const ModelState& computed = answering().state();
  const PictureSpec& own = computed.graph().picture;
  ClassMap map = execution.work->is_dense
                     ? AllRecomputed(computed)
                     : Seen().InModel(Recomputed(computed), own.width, own.height);
  if (by_smaller_ == nullptr) return map;
  return Refitted(map, *by_smaller_->fit, *fit_, fit_->spec().width, fit_->spec().height);
}

SeenPicture Robot::Seen() const {
  const PictureFit* const own = by_smaller_ == nullptr ? fit() : by_smaller_->fit.get();
  return {own, answering().last().model_from_seen};
}

PictureView Robot::model_picture() const {
  return fit_ ? ViewOf(*fit_, pixels_.data()) : PictureView();
}

// The picture that the model which computed the last frame took.
PictureView Robot::fitted_picture() const {
  return by_smaller_ == nullptr ? model_picture()
                                : ViewOf(*by_smaller_->fit, by_smaller_->pixels.data());
}

PictureView Robot::seen_picture() const { return answering().last().seen; }

bool Robot::sees_moved() const {
  return by_smaller_ != nullptr || !Seen().model_from_seen.IsIdentity();
}

Plan Robot::plan() const {
  const Plan& planned = answering().plan();
  return answering().last().kind == planned.kind ? BaseOf(planned) : Plan();
}

const FrameDecision* Robot::decision() const {
  return is_tracked_ ? nullptr : answering().last().decision;
}

FrameOutputs Robot::outputs() const { return answering().outputs(); }

const ModelState& Robot::state() const { return executor_->state(); }

MemoryReport Robot::memory() const {
  MemoryReport sum = state().memory();
  for (const auto& model : smaller_) Add(model->executor.state().memory(), sum);
  return sum;
}

std::string Robot::WhyNoServer() const { return executor_->WhyNoServer(); }

std::optional<ChannelStatistics> Robot::link_statistics() const {
  return executor_->link_statistics();
}

}  // namespace cacheinf
