#include "client/run/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "client/answer/output_paths.h"
#include "client/idle_profile.h"
#include "client/record/recorder.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "client/run/caption.h"
#include "client/run/comparison.h"
#include "client/run/dense_check.h"
#include "client/run/frame_loop.h"
#include "client/run/head_watch.h"
#include "client/run/overlay_video.h"
#include "client/run/summary.h"
#include "client/server_peer.h"
#include "common/answer/outputs.h"
#include "common/answer/overlay.h"
#include "common/answer/smaller_model.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/slowed_clock.h"
#include "common/base/status_line.h"
#include "common/exec/frame_decision.h"
#include "common/guard/guard.h"
#include "common/link/emulated_link.h"
#include "common/model/picture.h"
#include "common/reuse/reuse_timing.h"
#include "common/reuse/settings.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"
#include "profiler/plan_trial.h"
#include "profiler/scheme_choice.h"
#include "sparse_ops/cuda/device.h"

namespace cacheinf {
namespace {

constexpr size_t kFramesAhead = 2;
constexpr size_t kLiveFramesWaiting = 1;  // the newest
// While a step goes on. Each is answered then, if only by a moved answer.
constexpr size_t kLiveFramesWithDeadline = 8;

// A file of lines, or standard output; throws InputError as soon as it cannot be written.
class LineFile {
 public:
  LineFile() : name_("standard output") {}
  explicit LineFile(const std::string& path) : name_(path), file_(path) { Check(); }

  void Write(const std::string& line) {
    stream() << line << '\n' << std::flush;
    Check();
  }

 private:
  std::ostream& stream() { return file_.is_open() ? file_ : std::cout; }

  void Check() {
    if (!file_ || !stream()) throw InputError(fmt::format("{}: cannot be written", name_));
  }

  std::string name_;
  std::ofstream file_;
};

// Does everything that follows an answer.
class Publisher {
 public:
  Publisher(const RobotConfig& config, const Robot& robot, const FrameSource& source)
      : robot_(robot), mode_(config.ModeName()) {
    const OutputConfig& output = config.output;
    if (source.has_tensors() && !(output.overlay.empty() && output.picture.empty())) {
      throw InputError("an overlay or picture needs pictures, but the source gives tensors");
    }
    if (output.answers_on_stdout()) {
      answers_.emplace();
    } else if (!output.answers.empty()) {
      answers_.emplace(output.answers);
    }
    if (!output.dump_outputs.empty()) dump_.emplace(output.dump_outputs, robot.state().graph());
    if (!output.overlay.empty()) overlay_.emplace(output.overlay, source.frame_rate());
    picture_ = output.picture;
  }

  // Reads all it needs from the robot before writing anything: reading may lose a GPU. Of a frame's
  // answers, and of frames that a later one overtook, a video shows the first.
  void Publish(const Frame& frame, const Answer& answer) {
    if (dump_ && !answer.is_moved) dump_->Write(answer.frame, robot_.outputs());
    std::optional<ClassMap> recomputed;
    const bool draws = overlay_ || !picture_.empty();
    if (draws && !answer.is_moved) recomputed = robot_.recomputed();
    if (answers_) answers_->Write(ToJsonLine(answer, robot_.reader()));
    if (overlay_ && frame.index > drawn_) {
      drawn_ = frame.index;
      const PictureFit& fit = *robot_.fit();
      Picture drawn = DrawAnswer(frame.picture, fit, answer.content, robot_.reader());
      if (recomputed) drawn = OutlineRecomputed(drawn, fit, *recomputed);
      if (answer.server) drawn = DrawBoundaries(drawn, fit, *answer.server);
      overlay_->Write(drawn, CaptionOf(answer, mode_, robot_.reader(), recomputed.has_value()));
    }
    if (!picture_.empty()) last_ = Published{frame, *robot_.fit(), answer.content, recomputed};
  }

  // Call after the last frame.
  void Finish() {
    if (overlay_) overlay_->Close();
    if (!last_) return;
    WriteComparison(picture_, last_->frame, last_->fit, last_->content, robot_.reader(),
                    last_->recomputed ? &*last_->recomputed : nullptr);
  }

 private:
  const Robot& robot_;
  const std::string mode_;
  std::optional<LineFile> answers_;
  std::optional<OutputDump> dump_;
  std::optional<OverlayVideo> overlay_;
  int64_t drawn_ = -1;  // the last frame of the video

  struct Published {
    Frame frame;
    PictureFit fit;
    AnswerContent content;
    std::optional<ClassMap> recomputed;
  };
  std::string picture_;
  std::optional<Published> last_;
};

// Hands frames to a robot. Logs, skips and counts those that the model cannot take, like those that
// cannot be read.
class Intake {
 public:
  explicit Intake(Robot& robot) : robot_(robot) {}

  // Returns whether the robot has begun with it.
  bool BeginOrSkip(const Frame& frame, const Verdict& verdict, std::chrono::nanoseconds waited) {
    try {
      robot_.Begin(frame, verdict, waited);
      LogNewSize(frame.picture);
      return true;
    } catch (const UnfitFrame& error) {
      LogWarning(fmt::format("frame {} skipped: {}", frame.index, error.what()));
      if (count_++ == 0) first_reason_ = error.what();
      return false;
    }
  }

  int64_t skipped() const { return count_; }
  const std::string& first_reason() const { return first_reason_; }

 private:
  void LogNewSize(const Picture& picture) {
    if (picture.width == width_ && picture.height == height_) return;
    width_ = picture.width;
    height_ = picture.height;
    const PictureSpec& spec = robot_.state().graph().picture;
    LogInfo(fmt::format("frames of {}×{} pixels, model's picture {}×{}", width_, height_,
                        spec.width, spec.height));
  }

  Robot& robot_;
  int width_ = 0;
  int height_ = 0;
  int64_t count_ = 0;
  std::string first_reason_;
};

// Signals at the end of its life that the run is over.
class RunsUntilHere {
 public:
  explicit RunsUntilHere(std::atomic<bool>& is_over) : is_over_(is_over) {}
  ~RunsUntilHere() { is_over_ = true; }
  RunsUntilHere(const RunsUntilHere&) = delete;
  RunsUntilHere& operator=(const RunsUntilHere&) = delete;

 private:
  std::atomic<bool>& is_over_;
};

std::unique_ptr<FrameSource> Open(const RobotConfig& config, const Clock& clock,
                                  std::function<bool()> is_over) {
  const std::chrono::duration<double> longest(config.camera_wait_s);
  const auto longest_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(longest);
  return OpenSource(config.source, clock, {longest_ns, std::move(is_over)});
}

// Scores against the truth if robot and source know every pixel's class and agree on the classes.
void Score(const Frame& frame, const Answer& answer, const Robot& robot, int truth_classes,
           Summary& summary) {
  const auto* map = std::get_if<ClassMap>(&answer.content);
  const PictureFit* fit = robot.fit();
  if (map == nullptr || frame.truth.empty() || fit == nullptr) return;
  const int classes = robot.reader().class_count();
  if (classes != truth_classes) {
    summary.why_not_scored =
        fmt::format("the model tells {} classes apart, the source's truth {}",
                    classes == 0 ? "an unknown number of" : std::to_string(classes), truth_classes);
    return;
  }
  const PictureSpec& spec = fit->spec();
  for (int y = 0; y < frame.truth.height; ++y) {
    const int model_y = fit->rows().ToModel(y);
    for (int x = 0; x < frame.truth.width && model_y >= 0; ++x) {
      const int model_x = fit->columns().ToModel(x);
      if (model_x < 0) continue;
      summary.score.Add(map->At(model_x, model_y, spec.width, spec.height), frame.truth.Row(y)[x]);
    }
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

struct Models {
  std::shared_ptr<const CompiledModel> first;
  SmallerModels smaller;
};

// Compiles the models for the backend of a configuration.
using Compiler = std::function<Models(const RobotConfig& config)>;

// A robot and everything around it; handles the frames.
class Run {
 public:
  // The compiler must outlive this, too.
  Run(const RobotConfig& config, const Models& models, const Compiler& compile, FrameQueue& source,
      const Clock& clock)
      : config_(config),
        compile_(compile),
        source_(source),
        clock_(clock),
        loop_(
            source, config.deadline_ms, clock,
            [this](const Frame& frame) { return TimeWaited(frame); },
            [this](const Frame& frame, const Answer& answer, bool is_last) {
              publisher_.Publish(frame, answer);
              summary_.AddMoved(answer, is_last);
            },
            [this] { return TakeIdleStep(); }),
        guard_clock_(ParseEmulation(config.server.emulate).slowdown, clock),
        robot_(std::in_place, models.first, config, clock, ConnectToServer(), models.smaller),
        publisher_(config, *robot_, source),
        intake_(*robot_) {
    for (const std::string& unused : UnusedSettings(config)) LogWarning(unused);
    if (!config.smaller_models.empty() && !config.HasLadder()) {
      LogWarning("smaller_models are not used: only mode cacheinf chooses among models");
    }
    SurroundRobot(models);
    if (!config.UsesServer() && !config.server.address.empty()) {
      LogWarning(fmt::format(
          "the server gets nothing to compute: mode {} is the robot alone; mode cacheinf uses both",
          NameOf(config.mode)));
    }
    summary_.mode = config.ModeName();
    summary_.emulation = config.server.emulate;
    if (!config.server.address.empty()) summary_.server.emplace();
    if (summary_.server && config.UsesServer()) summary_.server->missed = config.server.address;
    summary_.deadline_ms = config.deadline_ms;
    summary_.memory = robot_->memory();
    start_ = clock.Now();
  }

  // Returns the source's next frame. While it waits for a live one, a robot with plans to choose
  // from measures itself. A recording leaves no time for that: what its frames take corrects rough
  // figures.
  std::optional<Frame> Next() {
    const bool is_idle = source_.is_live() && (robot_->link_statistics() || config_.HasLadder());
    IdleProfile* const profile = is_idle ? Measuring() : nullptr;
    if (profile != nullptr) profile->Resume();
    std::optional<Frame> frame = loop_.Next(*robot_);
    if (profile != nullptr) profile->Pause();
    TakeProfiles();
    return frame;
  }

  // Records whatever throws. A frame that loses the GPU before its answer is out is answered again.
  void Handle(const Frame& frame) {
    Step step;
    try {
      Handle(frame, step);
    } catch (const std::exception& error) {
      KeepFailure(frame, step, error.what());
      config_ = WithoutGpu(config_, error);
      const Models models = compile_(config_);
      robot_.emplace(models.first, config_, clock_, ConnectToServer(), models.smaller);
      SurroundRobot(models);
      if (step.current <= FrameStep::kPublish) Handle(frame);
    }
  }

  // Covers the frames so far.
  const Summary& summary() {
    const auto checking = check_ ? check_->time_spent() : std::chrono::nanoseconds(0);
    summary_.elapsed = clock_.Now() - start_ - checking;
    return summary_;
  }

  // Call after the last frame. Throws InputError if there were frames but none fitted.
  Summary Finish(bool is_interrupted) {
    (void)summary();
    if (check_) {
      summary_.agreement = check_->agreement();
      for (const Agreement& older : check_->of_older()) {
        summary_.agreement_of_older.push_back(older.measure().value);
      }
    }
    if (guard_) summary_.guard = guard_->report();
    if (summary_.frames == 0 && intake_.skipped() > 0 && !is_interrupted) {
      throw InputError(intake_.first_reason());
    }
    if (summary_.server) summary_.server->link = robot_->link_statistics();
    summary_.why_plan = robot_->WhyPlan();
    publisher_.Finish();
    summary_.skipped = source_.skipped() + intake_.skipped();
    summary_.queue = source_.count();
    summary_.queue.dropped += loop_.dropped();
    summary_.interrupted = is_interrupted;
    return summary_;
  }

  const AnswerReader& reader() const { return robot_->reader(); }

  std::string Progress() {
    const std::string line = ProgressLine(summary(), config_.frames);
    const IdleProfile* const profile = Measuring();
    const std::string measuring = profile != nullptr ? profile->progress() : "";
    return measuring.empty() ? line : fmt::format("{}  {}", line, measuring);
  }

 private:
  void SurroundRobot(const Models& models) {
    const auto& model = models.first;
    if (check_) start_ += check_->time_spent();
    timing_ = {};
    if (config_.check > 0) check_.emplace(model, config_, clock_);
    if (config_.KeepsResults() && config_.guard.is_on) {
      guard_.emplace(model, config_.guard, Resolve(config_.cache, config_.tracker.change),
                     config_.model_config.decoder, guard_clock_, config_.UsesServer());
    }
    if (!config_.record.folder.empty()) recorder_.emplace(config_, model->graph());
    if (config_.mode == RobotConfig::Mode::kCacheinf && model->graph().picture.width > 0) {
      trial_.emplace(model, config_.model_config.decoder, CodecsToChooseFrom(config_),
                     PlanTrial::kUsualShare, models.smaller);
    }
    profiles_.clear();
    if (NeedsProfile(config_)) profiles_.try_emplace("", model, config_, clock_);
    RobotConfig alone = config_;
    alone.server.address.clear();
    for (const auto& [name, smaller] : models.smaller) {
      profiles_.try_emplace(name, smaller, alone, clock_);
    }
    TakeProfiles();
  }

  // The first model comes first.
  void TakeProfiles() {
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

  // Whose turn it is to be measured; null if all are.
  IdleProfile* Measuring() {
    const auto next =
        std::ranges::find_if(profiles_, [](const auto& of) { return !of.second.is_measured(); });
    return next == profiles_.end() ? nullptr : &next->second;
  }

  // How far a frame has got.
  struct Step {
    FrameStep current = FrameStep::kAnswer;
    std::optional<Answer> answer;
    bool is_kept = false;  // by the recorder
  };

  void Handle(const Frame& frame, Step& step) {
    Verdict wanted = guard_ ? guard_->verdict() : Verdict();
    wanted.is_slow = timing_.is_slow();
    const Verdict verdict = recorder_ ? recorder_->Before(frame, wanted) : wanted;
    if (!intake_.BeginOrSkip(frame, verdict, TimeWaited(frame))) return;
    step.answer = loop_.Finish(*robot_, frame);
    Answer& answer = *step.answer;
    if (guard_) answer.guard = guard_->state(robot_->plan());
    step.current = FrameStep::kPublish;
    publisher_.Publish(frame, answer);
    step.current = FrameStep::kCheck;
    summary_.Add(answer);
    if (summary_.server && robot_->link_statistics()) summary_.server->missed.clear();
    Score(frame, answer, *robot_, source_.truth_class_count(), summary_);
    if (check_) check_->CheckIfDue(frame, answer, *robot_);
    if (recorder_) recorder_->Keep(frame, answer, *robot_);
    step.is_kept = true;
    step.current = FrameStep::kGuard;
    if (guard_ && !answer.is_moved) BeginSample(answer);
    step.current = FrameStep::kRefresh;
    Refresh(frame, answer);
    if (trial_) trial_->Offer(robot_->model_picture(), frame.picture, robot_->fit());
  }

  void Refresh(const Frame& frame, const Answer& answer) {
    std::function<void()> look_around;
    if (config_.deadline_ms > 0) look_around = [this] { loop_.LookAround(*robot_); };
    const Verdict verdict = guard_ ? guard_->verdict() : Verdict();
    const auto refresh = robot_->Refresh(frame, verdict, look_around);
    if (config_.mode == RobotConfig::Mode::kCache && answer.work) {
      const auto refresh_took = refresh ? refresh->took : std::chrono::nanoseconds(0);
      timing_.Note(*answer.work, answer.times.compute, refresh_took, frame.index);
    }
    if (!refresh) return;
    summary_.Add(*refresh);
    if (recorder_) recorder_->KeepRefresh(*robot_->decision());
  }

  // Time since a live frame's stamp, excluding checks, which no reported time includes.
  std::chrono::nanoseconds TimeWaited(const Frame& frame) const {
    using std::chrono::nanoseconds;
    if (!source_.is_live()) return nanoseconds(0);
    const auto checking = check_ ? check_->TimeSpentSince(frame.stamp) : nanoseconds(0);
    return std::max(nanoseconds(0), clock_.Now() - frame.stamp - checking);
  }

  // Of a record nothing waits, so a sample is judged at once, and every run takes the same.
  void BeginSample(const Answer& answer) {
    const FrameDecision* const decision = robot_->decision();
    guard_->Begin({answer.frame, robot_->plan(),
                   decision != nullptr && decision->kind == FrameDecision::Kind::kWhole,
                   robot_->sees_moved(), answer.content, robot_->outputs(), robot_->model_picture(),
                   robot_->seen_picture(), robot_->fit()});
    while (guard_->is_open() && (!source_.is_live() || guard_->is_overdue())) StepGuard();
  }

  // All that idle time goes to, between two frames and while a server is waited for, most urgent
  // first. Returns false if there is nothing to do.
  bool TakeIdleStep() {
    if (guard_ && guard_->is_open()) {
      StepGuard();
      return true;
    }
    return robot_->StandBy() || StepTrial();
  }

  bool StepTrial() {
    if (!trial_) return false;
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

  void StepGuard() {
    const std::optional<JudgedSample> judged = guard_->Step();
    if (judged) robot_->NoteAgreement(judged->plan, judged->agreement, judged->weight);
    if (judged && recorder_ && !guard_->alarm().empty()) {
      recorder_->Record("guard", guard_->alarm());
    }
  }

  void KeepFailure(const Frame& frame, const Step& step, const char* error) {
    if (!recorder_) return;
    try {
      if (step.answer && !step.is_kept) recorder_->Keep(frame, *step.answer, *robot_);
      recorder_->KeepFailure(frame, step.current, error);
    } catch (const std::exception& another) {
      LogError(fmt::format("frame {} is not recorded: {}", frame.index, another.what()));
    }
  }

  RobotConfig config_;
  const Compiler& compile_;
  FrameQueue& source_;
  const Clock& clock_;
  FrameLoop loop_;
  const SlowedClock guard_clock_;  // as the robot's own; of samples and trials
  std::optional<Robot> robot_;     // always set; replaced in place once a GPU is lost
  // Of models of which plans are made, by their names; the first model's is empty.
  std::map<std::string, IdleProfile> profiles_;
  std::optional<DenseCheck> check_;
  std::optional<Guard> guard_;
  std::optional<PlanTrial> trial_;  // if there are plans to choose from
  ReuseTiming timing_;
  std::optional<Recorder> recorder_;
  Publisher publisher_;
  Intake intake_;
  Summary summary_;
  std::chrono::nanoseconds start_{0};
};

Graph LoadSmaller(const std::string& smaller, const RobotConfig& config, bool has_tensors) {
  try {
    return LoadGraph(config.WithSmallerModel(smaller), has_tensors);
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.find("--shape") == std::string::npos) throw;
    throw InputError(text + " (a smaller model gets its shape as --smaller-model FILE@SHAPE)");
  }
}

// What paces the source's frames; null: nothing.
const Clock* PaceOf(const RobotConfig& config, const FrameSource& source, const Clock& clock) {
  if (!config.realtime) return nullptr;
  if (source.is_live()) {
    LogWarning(fmt::format("realtime: source {} is live without it", config.source));
  } else if (source.frame_rate() == 0) {
    throw InputError(
        fmt::format("realtime: source {} states no frame rate; make a video of it", config.source));
  }
  return &clock;
}

}  // namespace

Summary RunRobot(const RobotConfig& config, const Clock& clock, const std::atomic<bool>& stop) {
  CheckOutputPaths(config);
  CheckAddress(config.server);
  std::atomic<bool> is_over = false;
  std::unique_ptr<FrameSource> source = Open(config, clock, [&] { return stop || is_over; });
  Graph network = LoadNetwork(config, source->has_tensors());
  const Clock* const pace = PaceOf(config, *source, clock);
  const bool is_live = source->is_live() || pace != nullptr;
  const size_t most_live = config.deadline_ms > 0 ? kLiveFramesWithDeadline : kLiveFramesWaiting;
  FrameQueue queue(std::move(source), is_live ? most_live : kFramesAhead, pace);
  const RunsUntilHere end(is_over);
  return RunRobotOn(queue, std::move(network), config, clock, stop);
}

Summary RunRobotOn(FrameQueue& source, Graph network, const RobotConfig& config, const Clock& clock,
                   const std::atomic<bool>& stop, const BackendMaker& make_backend) {
  Graph graph = CompleteNetwork(network, config, source.has_tensors());
  HeadWatch watch(config, std::move(network));
  if (const std::optional<Frame> first = source.First()) watch.Before(*first);
  std::vector<std::pair<std::string, std::shared_ptr<const Graph>>> graphs;
  const auto add = [&](const std::string& name, Graph&& of) {
    ChooseSchemes(config, ThreadsToUse(config), clock, stop, of);
    graphs.emplace_back(name, std::make_shared<const Graph>(std::move(of)));
  };
  add("", std::move(graph));
  if (config.HasLadder()) {
    for (const std::string& smaller : config.smaller_models) {
      add(NameOfSmallerModel(smaller), LoadSmaller(smaller, config, source.has_tensors()));
    }
  }
  const Compiler compile = [&](const RobotConfig& with) {
    SmallerModels models;
    for (const auto& [name, of] : graphs) {
      models.push_back({name, std::make_shared<const CompiledModel>(of, make_backend(with))});
    }
    const auto first = models.front().model;
    models.erase(models.begin());
    return Models{first, std::move(models)};
  };
  std::optional<Run> run;
  const auto begin = [&](const RobotConfig& with) {
    run.emplace(with, compile(with), compile, source, clock);
  };
  try {
    begin(config);
  } catch (const std::exception& error) {
    begin(WithoutGpu(config, error));
  }
  {
    StatusLine status(clock);
    const Summary& so_far = run->summary();
    while (!stop && (config.frames == 0 || so_far.frames < config.frames)) {
      const std::optional<Frame> frame = run->Next();
      if (!frame) break;
      watch.Before(*frame);
      run->Handle(*frame);
      watch.After(run->reader());
      status.Show([&] { return run->Progress(); });
    }
  }
  Summary summary = run->Finish(stop);
  if (!config.output.summary.empty()) {
    LineFile(config.output.summary).Write(ToJsonText(summary, config, run->reader()));
  }
  return summary;
}

}  // namespace cacheinf
