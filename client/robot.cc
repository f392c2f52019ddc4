#include "client/robot.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "client/frame_executor.h"
#include "client/schedule_reader.h"
#include "common/answer/recomputed.h"
#include "common/answer/seen_picture.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/link/emulated_link.h"
#include "common/model/picture.h"
#include "common/plan/plan_chooser.h"
#include "common/plan/profile.h"
#include "common/reuse/settings.h"

namespace cacheinf {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kLargestSchedule = size_t{64} << 20;

bool MaySplit(const RobotConfig& config) {
  if (config.mode == RobotConfig::Mode::kSplit) return true;
  if (config.mode != RobotConfig::Mode::kCacheinf) return false;
  const ReuseSettings settings = Resolve(config.cache, config.tracker.change);
  return !settings.is_by_warp() && settings.change_policy().can_split();
}

int MostRepeats(const RobotConfig& config) {
  if (config.mode == RobotConfig::Mode::kStale) return std::numeric_limits<int>::max();
  return config.mode == RobotConfig::Mode::kEveryK ? config.every - 1 : 0;
}

PlanChooser::OneWay OneWayOf(const std::optional<ChannelStatistics::Bandwidth>& bandwidth) {
  if (!bandwidth) return {};
  return {bandwidth->bits_per_second / 1e6, Milliseconds(bandwidth->age) / 1e3};
}

}  // namespace

Robot::Robot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
             const Clock& clock)
    : config_(config),
      clock_(ParseEmulation(config.server.emulate).slowdown, clock),
      executor_(std::make_unique<FrameExecutor>(std::move(model), config, MaySplit(config), clock_,
                                                clock)),
      reader_(state().graph(), config.model_config.decoder),
      schedules_(std::make_unique<ScheduleReader>(
          state().graph(), state().layout(),
          ScheduleReader::Rules{[this](const Plan& plan) { return executor_->WhyNotFollow(plan); },
                                [this](const Plan& plan) { executor_->Check(plan); }})),
      most_repeats_(MostRepeats(config)) {
  if (config.mode != RobotConfig::Mode::kCacheinf) return;
  const std::string& file = config.server.schedule;
  if (!file.empty()) chooser_ = schedules_->Read(ReadFile(file, kLargestSchedule), file);
}

Robot::~Robot() = default;

void Robot::WantSchedule(const Profile& profile) { executor_->WantSchedule(ToJsonText(profile)); }

Answer Robot::Process(const Frame& frame, const Verdict& verdict, nanoseconds waited) {
  clock_.EndWait();
  executor_->MeetServer([this] { return HasPlans(); });
  const auto begin = clock_.Now();
  Fit(frame);
  if (verdict.forget) kept_.reset();
  const bool repeats = kept_ && repeats_ < most_repeats_;
  Answer answer = repeats ? Repeat(frame, begin) : Compute(frame, verdict, begin, waited);
  answer.times.waited = waited;
  return answer;
}

std::optional<Robot::Refreshed> Robot::Refresh(const Frame& frame, const Verdict& verdict) {
  clock_.EndWait();
  const auto begin = clock_.Now();
  std::optional<FrameWork> work = executor_->Refresh(model_picture(), verdict);
  if (config_.mode == RobotConfig::Mode::kStale && kept_->computed_from != frame.index) {
    Compute(frame, verdict, begin);
    work.emplace();
  }
  const nanoseconds took = clock_.Now() - begin;
  if (!work) return std::nullopt;
  return Refreshed{*work, took};
}

Answer Robot::Repeat(const Frame& frame, nanoseconds begin) {
  ++repeats_;
  Answer answer;
  answer.frame = frame.index;
  answer.stamp = frame.stamp;
  answer.deadline_ms = config_.deadline_ms;
  answer.emulation = config_.server.emulate;
  answer.computed_from = kept_->computed_from;
  answer.content = kept_->content;
  answer.times.preprocess = clock_.Now() - begin;
  return answer;
}

Answer Robot::Compute(const Frame& frame, const Verdict& verdict, nanoseconds begin,
                      nanoseconds waited) {
  const FittedFrame fitted = Resize(frame);
  const auto prepared = clock_.Now();
  FollowPlan();
  executor_->Decide(fitted, verdict, Due(begin - waited));
  executor_->Execute();
  const Execution& execution = executor_->Commit();
  const auto computed = clock_.Now();
  Answer answer;
  answer.frame = answer.computed_from = frame.index;
  answer.stamp = frame.stamp;
  answer.deadline_ms = config_.deadline_ms;
  answer.emulation = config_.server.emulate;
  static_cast<FrameExpense&>(answer) = execution;
  answer.content = reader_.Read(outputs(), Seen());
  if (most_repeats_ > 0) kept_ = answer;
  repeats_ = 0;
  answer.times.preprocess = prepared - begin;
  answer.times.compute = computed - prepared;
  answer.times.decode = clock_.Now() - computed;
  decode_ = answer.times.decode;
  if (chooser_) NoteFrame(answer);
  return answer;
}

// Takes up what the server has sent. Returns whether there are plans to choose from.
bool Robot::HasPlans() {
  if (auto sent = executor_->TakeSchedule()) {
    LogInfo(sent->is_rough
                ? "the server has sent a first plan, from rough figures; it measures the "
                  "model for a better one"
                : "the server has sent a schedule");
    schedules_->Begin(std::move(sent->schedule));
  }
  try {
    if (auto chooser = schedules_->Take()) {
      if (chooser_) chooser->GoOnFrom(*chooser_);
      chooser_ = std::move(chooser);
    }
  } catch (const InputError& error) {
    LogWarning(fmt::format("the robot goes on without a schedule: {}", error.what()));
  }
  return chooser_ != nullptr;
}

void Robot::FollowPlan() {
  if (config_.mode != RobotConfig::Mode::kCacheinf || !HasPlans()) return;
  PlanChooser::Link link;
  const auto statistics = executor_->link_statistics();
  link.is_up = statistics && executor_->MayUseServer();
  if (statistics) {
    link.to_server = OneWayOf(statistics->bandwidth);
    link.to_robot = OneWayOf(statistics->bandwidth_back);
  }
  if (statistics && statistics->round_trip) {
    link.round_trip_ms = Milliseconds(statistics->round_trip->time);
  }
  executor_->Follow(chooser_->Choose(link));
}

void Robot::NoteFrame(Answer& answer) {
  const Execution& execution = executor_->last();
  answer.plan = ToText(plan());
  if (execution.kind == executor_->plan().kind) {
    answer.predicted = std::chrono::duration_cast<nanoseconds>(
        std::chrono::duration<double, std::milli>(chooser_->prediction().latency_ms));
  }
  const uint64_t sent_bytes = answer.server ? answer.server->sent_bytes : 0;
  chooser_->Note({.executed = execution.kind,
                  .times = answer.times,
                  .sent_bytes = static_cast<double>(sent_bytes),
                  .share = answer.share()});
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
  const std::chrono::duration<double, std::milli> deadline(config_.deadline_ms);
  return captured + std::chrono::duration_cast<nanoseconds>(deadline) - decode_;
}

// Throws, before anything has changed, if the frame does not fit.
void Robot::Fit(const Frame& frame) {
  const PictureSpec& spec = state().graph().picture;
  const Picture& picture = frame.picture;
  if (picture.empty()) return FitTensor(frame);
  if (spec.width == 0) throw InputError("the model takes tensors, but the source gives pictures");
  const bool has_new_size = !fit_ || fit_->columns().frame_size != picture.width ||
                            fit_->rows().frame_size != picture.height;
  if (!has_new_size) return;
  try {
    fit_ = std::make_shared<const PictureFit>(spec, picture.width, picture.height);
  } catch (const InputError& error) {
    throw UnfitFrame(fmt::format("{}: {}", frame.name, error.what()));
  }
  // Kept results are of another picture.
  kept_.reset();
  executor_->SetPlaceOfFrames(fit_->place());
}

void Robot::FitTensor(const Frame& frame) {
  if (config_.KeepsResults()) {
    throw InputError(
        fmt::format("mode {} needs pictures, but the source gives tensors", NameOf(config_.mode)));
  }
  const Graph& graph = state().graph();
  const Shape& shape = graph.value(graph.inputs.front()).shape;
  if (frame.tensor.shape() != shape) {
    throw UnfitFrame(fmt::format("{}: shape {} does not fit the model's input, {}", frame.name,
                                 ToString(frame.tensor.shape()), ToString(shape)));
  }
  fit_.reset();
}

FittedFrame Robot::Resize(const Frame& frame) {
  if (!fit_) return {.index = frame.index, .tensor = frame.tensor.view()};
  if (frame.fitted) {
    pixels_ = *frame.fitted;
  } else {
    pixels_.resize(model_picture().byte_count());
    fit_->Resize(frame.picture, {0, fit_->spec().height}, pixels_.data());
  }
  return {.index = frame.index, .picture = model_picture(), .place = fit_->place()};
}

std::optional<ClassMap> Robot::recomputed() const {
  const Execution& execution = executor_->last();
  if (!execution.work) return std::nullopt;
  if (execution.work->is_dense) return AllRecomputed(state());
  const PictureSpec& spec = fit_->spec();
  return Seen().InModel(Recomputed(state()), spec.width, spec.height);
}

SeenPicture Robot::Seen() const { return {fit(), executor_->last().model_from_seen}; }

PictureView Robot::model_picture() const {
  if (!fit_) return {};
  return {pixels_.data(), fit_->spec().width, fit_->spec().height, fit_->channels()};
}

PictureView Robot::seen_picture() const { return executor_->last().seen; }

bool Robot::sees_moved() const { return !Seen().model_from_seen.IsIdentity(); }

Plan Robot::plan() const {
  const Plan& planned = executor_->plan();
  return executor_->last().kind == planned.kind ? planned : Plan();
}

const FrameDecision* Robot::decision() const {
  return repeats_ > 0 ? nullptr : executor_->last().decision;
}

FrameOutputs Robot::outputs() const { return executor_->outputs(); }

const ModelState& Robot::state() const { return executor_->state(); }

std::optional<ChannelStatistics> Robot::link_statistics() const {
  return executor_->link_statistics();
}

}  // namespace cacheinf
