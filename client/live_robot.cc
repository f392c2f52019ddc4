#include "client/live_robot.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/exec/frame_decision.h"
#include "common/link/emulated_link.h"
#include "common/model/picture.h"
#include "common/reuse/settings.h"
#include "profiler/plan_trial.h"
#include "profiler/scheme_choice.h"
#include "sparse_ops/cuda/device.h"

namespace cacheinf {
namespace {

constexpr size_t kFramesAhead = 2;        // of a record
constexpr size_t kLiveFramesWaiting = 1;  // the newest
// Frames that may wait while a step goes on. Each gets at least a moved answer.
constexpr size_t kLiveFramesWithDeadline = 8;

Graph LoadSmaller(const std::string& smaller, const RobotConfig& config, bool has_tensors) {
  try {
    return LoadGraph(config.WithSmallerModel(smaller), has_tensors);
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.find("--shape") == std::string::npos) throw;
    throw InputError(text + " (a smaller model gets its shape as --smaller-model FILE@SHAPE)");
  }
}

// Returns what to go on with after a GPU was lost or lacked memory. Rethrows any other error, also
// a fault that the stand-in found in a kernel. REQUIRES: the error is being handled.
RobotConfig WithoutGpu(RobotConfig config, const std::exception& error) {
  const bool is_of_gpu = dynamic_cast<const cuda::DeviceError*>(&error) != nullptr;
  if (!is_of_gpu || dynamic_cast<const cuda::KernelFault*>(&error) != nullptr) throw;
  LogWarning(fmt::format("{}; the robot goes on without the GPU", error.what()));
  config.backend = RobotConfig::Backend::kCpu;
  return config;
}

void WarnOfWhatHasNoEffect(const RobotConfig& config) {
  for (const std::string& unused : UnusedSettings(config)) LogWarning(unused);
  if (!config.smaller_models.empty() && !config.HasLadder()) {
    LogWarning("smaller_models are not used: only mode cacheinf chooses among models");
  }
  const ServerLinkConfig& server = config.server;
  if (server.address.empty()) {
    for (const auto& [name, is_set] : {std::pair("--robot-key", !server.robot_key.empty()),
                                       std::pair("--server-key", !server.server_key.empty()),
                                       std::pair("--schedule", !server.schedule.empty()),
                                       std::pair("--server-model", !server.model.empty()),
                                       std::pair("--cut", !server.cuts.empty()),
                                       std::pair("--interface", !server.interface.empty())}) {
      if (is_set) LogWarning(fmt::format("{} has no effect without --server", name));
    }
  }
  if (!config.UsesServer() && !config.server.address.empty()) {
    LogWarning(fmt::format(
        "the server gets nothing to compute: mode {} is the robot alone; mode cacheinf uses both",
        NameOf(config.mode)));
  }
}

}  // namespace

RobotModels::RobotModels(Graph network, const RobotConfig& config, bool has_tensors,
                         const std::optional<Frame>& first_frame, const Clock& clock,
                         const std::atomic<bool>& stop, BackendMaker make_backend)
    : make_backend_(std::move(make_backend)) {
  Graph graph = CompleteNetwork(network, config, has_tensors);
  watch_.emplace(config, std::move(network));
  if (first_frame) watch_->Before(*first_frame);
  const auto add = [&](const std::string& name, Graph&& of) {
    ChooseSchemes(config, ThreadsToUse(config), clock, stop, of);
    graphs_.emplace_back(name, std::make_shared<const Graph>(std::move(of)));
  };
  add("", std::move(graph));
  if (!config.HasLadder()) return;
  for (const std::string& smaller : config.smaller_models) {
    add(NameOfSmallerModel(smaller), LoadSmaller(smaller, config, has_tensors));
  }
}

const RobotModels::Compiled& RobotModels::For(const RobotConfig& config) {
  const auto known = compiled_.find(config.backend);
  if (known != compiled_.end()) return known->second;
  Compiled models;
  for (const auto& [name, of] : graphs_) {
    auto model = std::make_shared<const CompiledModel>(of, make_backend_(config));
    if (name.empty()) {
      models.first = std::move(model);
    } else {
      models.smaller.push_back({name, std::move(model)});
    }
  }
  return compiled_.emplace(config.backend, std::move(models)).first->second;
}

bool RobotModels::AreSame(const RobotConfig& one, const RobotConfig& other) {
  const auto asked = [](const RobotConfig& config) {
    RobotConfig of;
    of.model = config.model;
    if (config.HasLadder()) of.smaller_models = config.smaller_models;
    of.shapes = config.shapes;
    of.inputs = config.inputs;
    of.threads = config.threads;
    of.backend = config.backend;
    of.scheme = config.scheme;
    of.model_config = config.model_config;
    of.output.dump_outputs = config.output.dump_outputs;
    return WriteJson(of.Fields());
  };
  return asked(one) == asked(other);
}

struct LiveRobot::Progress {
  FrameStep step = FrameStep::kAnswer;
  std::optional<Answer> answer;
  bool is_kept = false;  // by the observer
};

size_t LiveRobot::FramesAhead(const RobotConfig& config, bool is_live) {
  if (!is_live) return kFramesAhead;
  return config.deadline_ms > 0 ? kLiveFramesWithDeadline : kLiveFramesWaiting;
}

LiveRobot::LiveRobot(const RobotConfig& config, RobotModels& models, FrameQueue& source,
                     const Clock& clock, FrameObserver& observer)
    : models_(models),
      source_(source),
      clock_(clock),
      observer_(observer),
      loop_(
          source, config.deadline_ms, clock,
          [this](const Frame& frame) { return TimeWaited(frame); },
          [this](const Frame& frame, const Answer& answer) {
            observer_.PublishMoved(frame, answer);
          },
          [this](const Frame& frame, const Answer& answer) { observer_.KeepMoved(frame, answer); },
          [this] { return TakeIdleStep(); },
          [this] {
            if (observer_.IsOver()) robot_->StopWaiting();
            observer_.LookElsewhere();
          }),
      guard_clock_(ParseEmulation(config.server.emulate).slowdown, clock) {
  WarnOfWhatHasNoEffect(config);
  if (config.frames > 0) loop_.LimitTo(config.frames);
  try {
    Start(config);
  } catch (const std::exception& error) {
    Start(WithoutGpu(config, error));
  }
}

LiveRobot::~LiveRobot() = default;

void LiveRobot::Start(const RobotConfig& config) {
  config_ = config;
  const RobotModels::Compiled& models = models_.For(config_);
  robot_.emplace(models.first, config_, clock_, ConnectToServers(), models.smaller);
  timing_ = {};
  if (config_.KeepsResults() && config_.guard.is_on) {
    guard_.emplace(models.first, config_.guard, Resolve(config_.cache, config_.tracker.change),
                   config_.model_config.decoder, guard_clock_, config_.UsesServer());
  }
  if (config_.mode == RobotConfig::Mode::kCacheinf && models.first->graph().picture.width > 0) {
    trial_ = std::make_unique<PlanTrial>(models.first, config_.model_config.decoder,
                                         CodecsToChooseFrom(config_), PlanTrial::kUsualShare,
                                         models.smaller);
  }
  profiles_.clear();
  if (NeedsProfile(config_)) profiles_.try_emplace("", models.first, config_, clock_);
  RobotConfig alone = config_;
  alone.server.address.clear();
  for (const auto& [name, smaller] : models.smaller) {
    profiles_.try_emplace(name, smaller, alone, clock_);
  }
  TakeProfiles();
}

// The first model comes first.
void LiveRobot::TakeProfiles() {
  for (auto& [name, of] : profiles_) {
    const std::optional<Profile> profile = of.Take();
    if (!profile) continue;
    if (name.empty()) {
      robot_->WantSchedule(*profile);
    } else {
      robot_->AddProfile(name, *profile);
    }
  }
}

// Null if all are measured.
IdleProfile* LiveRobot::NextToMeasure() {
  const auto next =
      std::ranges::find_if(profiles_, [](const auto& of) { return !of.second.is_measured(); });
  return next == profiles_.end() ? nullptr : &next->second;
}

std::string LiveRobot::Measuring() {
  const IdleProfile* const profile = NextToMeasure();
  return profile != nullptr ? profile->progress() : "";
}

std::optional<Frame> LiveRobot::Next() {
  if (!HasNext()) (void)Rest();
  std::optional<Frame> frame = loop_.Next(*robot_);
  Wake();
  return frame;
}

bool LiveRobot::Rest() {
  const bool is_idle = source_.is_live() && (robot_->link_statistics() || config_.HasLadder());
  measuring_ = is_idle ? NextToMeasure() : nullptr;
  if (measuring_ != nullptr) measuring_->Resume();
  return measuring_ != nullptr;
}

void LiveRobot::Wake() {
  if (measuring_ != nullptr) std::exchange(measuring_, nullptr)->Pause();
  loop_.EndWait();
  TakeProfiles();
}

void LiveRobot::Handle(const Frame& frame) {
  models_.watch().Before(frame);
  Progress progress;
  try {
    Handle(frame, progress);
  } catch (const std::exception& error) {
    observer_.Fail(frame, progress.step,
                   progress.answer && !progress.is_kept ? &*progress.answer : nullptr,
                   error.what());
    Start(WithoutGpu(config_, error));
    observer_.Restart(config_, models_.For(config_));
    if (progress.step <= FrameStep::kPublish) return Handle(frame);
  }
  models_.watch().After(robot_->reader());
}

void LiveRobot::Handle(const Frame& frame, Progress& progress) {
  if (!BeginOrSkip(frame)) return;
  progress.answer = loop_.Finish(*robot_, frame);
  if (!progress.answer) return;
  Answer& answer = *progress.answer;
  if (guard_) answer.guard = guard_->state(robot_->plan());
  progress.step = FrameStep::kPublish;
  observer_.Publish(frame, answer);
  progress.step = FrameStep::kCheck;
  observer_.Keep(frame, answer);
  progress.is_kept = true;
  progress.step = FrameStep::kGuard;
  if (guard_ && !answer.is_moved) BeginSample(answer);
  progress.step = FrameStep::kRefresh;
  Refresh(frame, answer);
  if (trial_) trial_->Offer(robot_->model_picture(), frame.picture, robot_->fit());
  trial_steps_left_ = robot_->state().stage_count();
}

// Returns whether the robot has begun the frame. Skips a frame that the model cannot take, like one
// that cannot be read.
bool LiveRobot::BeginOrSkip(const Frame& frame) {
  Verdict wanted = guard_ ? guard_->verdict() : Verdict();
  wanted.is_slow = timing_.is_slow();
  const Verdict verdict = observer_.Before(frame, wanted);
  try {
    robot_->Begin(frame, verdict, TimeWaited(frame), [this] { return observer_.IsOver(); });
    if (guard_ && verdict.forget) guard_->NoteForgotten();
  } catch (const UnfitFrame& error) {
    const std::pair size(frame.picture.width, frame.picture.height);
    if (std::exchange(unfit_size_, size) != size) {
      LogWarning(fmt::format("frame {} skipped, as are later ones of its size: {}", frame.index,
                             error.what()));
    }
    loop_.NoteUnfit();
    observer_.Skip(frame, error.what());
    return false;
  }
  if (frame.picture.width != width_ || frame.picture.height != height_) {
    width_ = frame.picture.width;
    height_ = frame.picture.height;
    const PictureSpec& spec = robot_->state().graph().picture;
    LogInfo(fmt::format("frames of {}×{} pixels, model's picture {}×{}", width_, height_,
                        spec.width, spec.height));
  }
  return true;
}

void LiveRobot::Refresh(const Frame& frame, const Answer& answer) {
  const auto look_around = [this] {
    if (observer_.IsOver()) robot_->StopWaiting();
    if (config_.deadline_ms == 0) return;
    LookAround();
    observer_.LookElsewhere();
  };
  const Verdict verdict = guard_ ? guard_->verdict() : Verdict();
  const auto refresh = robot_->Refresh(frame, verdict, look_around);
  if (config_.mode == RobotConfig::Mode::kCache && answer.work) {
    const auto refresh_took = refresh ? refresh->took : std::chrono::nanoseconds(0);
    timing_.Note(*answer.work, answer.times.compute, refresh_took, frame.index);
  }
  if (refresh) observer_.KeepRefresh(*refresh);
}

// Time since a live frame's stamp.
std::chrono::nanoseconds LiveRobot::TimeWaited(const Frame& frame) const {
  using std::chrono::nanoseconds;
  if (!source_.is_live()) return nanoseconds(0);
  return std::max(nanoseconds(0),
                  clock_.Now() - frame.stamp - observer_.TimeSpentSince(frame.stamp));
}

// In a record no frame waits, so a sample is judged at once, and every run takes the same samples.
void LiveRobot::BeginSample(const Answer& answer) {
  const FrameDecision* const decision = robot_->decision();
  guard_->Begin({answer.frame, robot_->plan(),
                 decision != nullptr && decision->kind == FrameDecision::Kind::kWhole,
                 robot_->sees_moved(), answer.content, robot_->outputs(), robot_->model_picture(),
                 robot_->seen_picture(), robot_->fit()});
  while (guard_->is_open() && (!source_.is_live() || guard_->is_overdue()) && !observer_.IsOver()) {
    StepGuard();
    if (source_.is_live()) LookAround();
  }
}

bool LiveRobot::TakeIdleStep() {
  if (observer_.IsOver()) return false;
  if (guard_ && guard_->is_open()) {
    StepGuard();
    return true;
  }
  return robot_->StandBy() || StepTrial();
}

// For a record it takes as long as a dense frame at most, so that no frame waits for longer.
bool LiveRobot::StepTrial() {
  if (!trial_ || (!source_.is_live() && trial_steps_left_ == 0)) return false;
  if (trial_steps_left_ > 0) --trial_steps_left_;
  guard_clock_.EndWait();
  const bool is_taken = trial_->Step();
  (void)guard_clock_.Now();
  while (robot_->chooses()) {
    const auto result = trial_->TakeResult();
    if (!result) break;
    robot_->NoteTrial(result->plan, result->agreement, result->weight);
  }
  return is_taken;
}

void LiveRobot::StepGuard() {
  const std::optional<JudgedSample> judged = guard_->Step();
  if (!judged) return;
  robot_->NoteAgreement(judged->plan, judged->agreement, judged->weight);
  if (!guard_->alarm().empty()) observer_.Alarm(guard_->alarm());
}

}  // namespace cacheinf
