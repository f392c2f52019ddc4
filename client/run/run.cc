#include "client/run/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/answer/output_paths.h"
#include "client/live_robot.h"
#include "client/record/recorder.h"
#include "client/robot.h"
#include "client/run/caption.h"
#include "client/run/comparison.h"
#include "client/run/dense_check.h"
#include "client/run/line_file.h"
#include "client/run/overlay_video.h"
#include "client/run/summary.h"
#include "common/answer/outputs.h"
#include "common/answer/overlay.h"
#include "common/base/error.h"
#include "common/base/failure.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_line.h"
#include "common/guard/guard.h"
#include "common/model/picture.h"
#include "common/reuse/verdict.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"
#include "common/source/interruptible_source.h"

namespace cacheinf {
namespace {

// Does everything that follows an answer.
class Publisher {
 public:
  Publisher(const RobotConfig& config, const Robot& robot, const FrameSource& source,
            const std::atomic<bool>& stop)
      : robot_(robot), mode_(config.ModeName()) {
    const OutputConfig& output = config.output;
    if (source.has_tensors() && !(output.overlay.empty() && output.picture.empty())) {
      throw InputError("an overlay or picture needs pictures, but the source gives tensors");
    }
    if (output.answers_on_stdout()) {
      answers_.emplace([&stop] { return stop.load(); });
    } else if (!output.answers.empty()) {
      answers_.emplace(output.answers, [&stop] { return stop.load(); });
    }
    if (!output.dump_outputs.empty()) dump_.emplace(output.dump_outputs, robot.state().graph());
    if (!output.overlay.empty()) overlay_.emplace(output.overlay, source.frame_rate());
    picture_ = output.picture;
  }

  // Reads all it needs from the robot before writing anything: reading may lose a GPU. A video
  // shows a frame's first answer, and nothing that comes after a later frame.
  void Publish(const Frame& frame, const Answer& answer) {
    if (dump_ && !answer.is_moved) Dump(answer.frame);
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

  // Whether nobody reads the answers any more.
  bool is_left() const { return answers_ && answers_->is_left(); }

  // Call after the last frame. Returns what could not be written, in one sentence; empty: nothing.
  std::string Finish() {
    std::string gap = answers_ ? answers_->Gap() : "";
    if (undumped_ > 0) {
      gap += fmt::format("{}{}: the outputs of {} frames could not be written",
                         gap.empty() ? "" : "; ", dump_->folder(), undumped_);
    }
    const auto note = [&gap](const auto& write) {
      try {
        write();
      } catch (const InputError& error) {
        gap += (gap.empty() ? "" : "; ") + std::string(error.what());
      }
    };
    if (overlay_) note([this] { overlay_->Close(); });
    if (last_) {
      note([this] {
        WriteComparison(picture_, last_->frame, last_->fit, last_->content, robot_.reader(),
                        last_->recomputed ? &*last_->recomputed : nullptr);
      });
    }
    return gap;
  }

 private:
  // As with lines: a disk that took outputs before may have room again.
  void Dump(int64_t frame) {
    try {
      dump_->Write(frame, robot_.outputs());
      ++dumped_;
      if (std::exchange(is_dump_full_, false)) LogInfo(dump_->folder() + ": written again");
    } catch (const InputError& error) {
      if (dumped_ == 0) throw;
      ++undumped_;
      if (!std::exchange(is_dump_full_, true)) {
        LogWarning(fmt::format("{}; outputs are missing until they can be written", error.what()));
      }
    }
  }

  const Robot& robot_;
  const std::string mode_;
  std::optional<LineFile> answers_;
  std::optional<OutputDump> dump_;
  int64_t dumped_ = 0;    // frames
  int64_t undumped_ = 0;  // frames that could not be
  bool is_dump_full_ = false;
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
                                  const std::function<bool()>& is_over) {
  const std::chrono::duration<double> longest(config.camera_wait_s);
  const auto longest_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(longest);
  const auto open = [spec = config.source, &clock, patience = CameraPatience{longest_ns, is_over}] {
    return OpenSource(spec, clock, patience);
  };
  std::unique_ptr<FrameSource> source = OpenInterruptibly(open, is_over);
  if (!source) {
    throw Stopped(fmt::format("stopped before source {} gave a frame", config.source));
  }
  return source;
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

// Runs a robot, and writes, counts, checks and records what it answers.
class Run final : public FrameObserver {
 public:
  Run(const RobotConfig& config, RobotModels& models, FrameQueue& source, const Clock& clock,
      const std::atomic<bool>& stop)
      : config_(config),
        source_(source),
        clock_(clock),
        stop_(stop),
        robot_(config, models, source, clock, *this),
        publisher_(config, robot_.robot(), source, stop) {
    Surround(robot_.config(), models.For(robot_.config()));
    summary_.mode = config.ModeName();
    summary_.emulation = config.server.emulate;
    if (!config.server.address.empty()) summary_.server.emplace();
    if (summary_.server && config.UsesServer()) summary_.server->missed = config.server.address;
    summary_.deadline_ms = config.deadline_ms;
    summary_.memory = robot_.robot().memory();
    start_ = clock.Now();
  }

  LiveRobot& robot() { return robot_; }

  // Covers the frames so far.
  const Summary& summary() {
    const auto checking = check_ ? check_->time_spent() : std::chrono::nanoseconds(0);
    summary_.elapsed = clock_.Now() - start_ - checking;
    return summary_;
  }

  // Call after the last frame. Throws InputError if there were frames but none fitted.
  Summary Finish() {
    const bool is_interrupted = stop_;
    (void)summary();
    if (check_) {
      summary_.agreement = check_->agreement();
      summary_.against = config_.against;
      for (const Agreement& older : check_->of_older()) {
        summary_.agreement_of_older.push_back(older.measure().value);
      }
    }
    if (robot_.guard() != nullptr) summary_.guard = robot_.guard()->report();
    if (summary_.frames == 0 && unfit_ > 0 && !is_interrupted) throw InputError(why_unfit_);
    if (summary_.server) {
      summary_.server->link = robot_.robot().link_statistics();
      summary_.server->why_alone = robot_.robot().WhyNoServer();
      const bool relies_on_it =
          config_.mode == RobotConfig::Mode::kRemote || config_.mode == RobotConfig::Mode::kSplit;
      if (relies_on_it && summary_.frames > 0 && summary_.server->frames == 0 &&
          summary_.server->why_alone.empty()) {
        summary_.server->why_alone = "no answer of the server came while it was waited for";
      }
    }
    summary_.why_plan = robot_.robot().WhyPlan();
    summary_.unwritten = publisher_.Finish();
    if (recorder_) summary_.AddUnwritten(recorder_->Finish());
    summary_.skipped = source_.skipped() + unfit_;
    summary_.queue = source_.count();
    summary_.queue.dropped += robot_.dropped();
    summary_.interrupted = is_interrupted;
    return summary_;
  }

  std::string Progress() {
    const std::string line = ProgressLine(summary(), config_.frames);
    const std::string measuring = robot_.Measuring();
    return measuring.empty() ? line : fmt::format("{}  {}", line, measuring);
  }

  bool IsOver() override { return stop_ || is_left_; }

  Verdict Before(const Frame& frame, const Verdict& wanted) override {
    return recorder_ ? recorder_->Before(frame, wanted) : wanted;
  }

  void Skip(const Frame& /*frame*/, const std::string& reason) override {
    if (unfit_++ == 0) why_unfit_ = reason;
  }

  void PublishMoved(const Frame& frame, const Answer& answer) override {
    Publish(frame, answer);
    summary_.AddMoved(answer);
  }

  void KeepMoved(const Frame& frame, const Answer& answer) override {
    summary_.AddOvertaken(answer);
    if (recorder_ && recorder_->HasBegun(frame)) recorder_->Keep(frame, answer, robot_.robot());
  }

  void Publish(const Frame& frame, const Answer& answer) override {
    publisher_.Publish(frame, answer);
    is_left_ = publisher_.is_left();
  }

  void Keep(const Frame& frame, const Answer& answer) override {
    const Robot& robot = robot_.robot();
    summary_.Add(answer);
    if (summary_.server && robot.link_statistics()) summary_.server->missed.clear();
    Score(frame, answer, robot, source_.truth_class_count(), summary_);
    if (check_) check_->CheckIfDue(frame, answer, robot);
    if (recorder_) recorder_->Keep(frame, answer, robot);
  }

  void KeepRefresh(const Robot::Refreshed& refreshed) override {
    summary_.Add(refreshed);
    if (recorder_) recorder_->KeepRefresh(*robot_.robot().decision());
  }

  void Alarm(const std::string& text) override {
    if (recorder_) recorder_->Record("guard", text);
  }

  void Fail(const Frame& frame, FrameStep step, const Answer* unkept,
            const std::string& error) override {
    if (!recorder_) return;
    try {
      if (unkept != nullptr) recorder_->Keep(frame, *unkept, robot_.robot());
      recorder_->KeepFailure(frame, step, error);
    } catch (const std::exception& another) {
      LogError(fmt::format("frame {} is not recorded: {}", frame.index, another.what()));
    }
  }

  void Restart(const RobotConfig& config, const RobotModels::Compiled& models) override {
    if (check_) start_ += check_->time_spent();
    Surround(config, models);
  }

  // Time of checks, which no reported time includes.
  Time TimeSpentSince(Time moment) const override {
    return check_ ? check_->TimeSpentSince(moment) : Time(0);
  }

 private:
  void Surround(const RobotConfig& config, const RobotModels::Compiled& models) {
    if (config.check > 0) {
      check_.emplace(models.first, config, source_.has_tensors(), clock_);
    }
    if (!config.record.folder.empty()) recorder_.emplace(config, models.first->graph());
  }

  const RobotConfig& config_;
  FrameQueue& source_;
  const Clock& clock_;
  const std::atomic<bool>& stop_;
  bool is_left_ = false;  // by whoever read the answers
  LiveRobot robot_;
  Publisher publisher_;
  std::optional<DenseCheck> check_;
  std::optional<Recorder> recorder_;
  Summary summary_;
  int64_t unfit_ = 0;
  std::string why_unfit_;  // of the first such frame
  std::chrono::nanoseconds start_{0};
};

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
  CheckServerLink(config.server);
  // A source that says nothing may ask later, too.
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  const auto stops = [&stop, is_over] { return stop || *is_over; };
  std::unique_ptr<FrameSource> source = Open(config, clock, stops);
  Graph network = LoadNetwork(config, source->has_tensors());
  const Clock* const pace = PaceOf(config, *source, clock);
  const bool is_live = source->is_live() || pace != nullptr;
  FrameQueue queue(std::move(source), LiveRobot::FramesAhead(config, is_live), pace, stops);
  const RunsUntilHere end(*is_over);
  return RunRobotOn(queue, std::move(network), config, clock, stop);
}

Summary RunRobotOn(FrameQueue& source, Graph network, const RobotConfig& config, const Clock& clock,
                   const std::atomic<bool>& stop, const BackendMaker& make_backend) {
  RobotModels models(std::move(network), config, source.has_tensors(), source.First(), clock, stop,
                     make_backend);
  Run run(config, models, source, clock, stop);
  {
    StatusLine status(clock);
    while (!run.IsOver()) {
      const std::optional<Frame> frame = run.robot().Next();
      if (!frame) break;
      run.robot().Handle(*frame);
      status.Show([&] { return run.Progress(); });
    }
  }
  Summary summary = run.Finish();
  if (!config.output.summary.empty()) {
    try {
      WriteWhole(config.output.summary,
                 ToJsonText(summary, config, run.robot().robot().reader()) + "\n");
    } catch (const InputError& error) {
      summary.AddUnwritten(error.what());
    }
  }
  return summary;
}

}  // namespace cacheinf
