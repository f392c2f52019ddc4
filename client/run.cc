#include "client/run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "client/comparison.h"
#include "client/dense_check.h"
#include "client/guard.h"
#include "client/output_paths.h"
#include "client/outputs.h"
#include "client/overlay.h"
#include "client/progress.h"
#include "client/recorder.h"
#include "client/robot.h"
#include "client/robot_setup.h"
#include "client/scheme_choice.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/source/frame_queue.h"
#include "common/source/frame_source.h"

namespace cacheinf {
namespace {

constexpr size_t kFramesAhead = 2;

// A file of lines; throws InputError as soon as it cannot be written.
class LineFile {
 public:
  explicit LineFile(std::string path) : path_(std::move(path)), file_(path_) { Check(); }

  void Write(const std::string& line) {
    file_ << line << '\n' << std::flush;
    Check();
  }

 private:
  void Check() const {
    if (!file_) throw InputError(fmt::format("{}: cannot be written", path_));
  }

  std::string path_;
  std::ofstream file_;
};

// Everything that is done with an answer once it is there.
class Publisher {
 public:
  Publisher(const OutputConfig& output, const Robot& robot, const FrameSource& source)
      : robot_(robot) {
    if (source.has_tensors() && !(output.overlay.empty() && output.picture.empty())) {
      throw InputError("an overlay or picture needs pictures, but the source gives tensors");
    }
    if (!output.answers.empty()) answers_.emplace(output.answers);
    if (!output.dump_outputs.empty()) dump_.emplace(output.dump_outputs, robot.executor().graph());
    if (!output.overlay.empty()) overlay_.emplace(output.overlay, source.frame_rate());
    picture_ = output.picture;
  }

  void Publish(const Frame& frame, const Answer& answer) {
    if (answers_) answers_->Write(ToJsonLine(answer, robot_.reader()));
    if (dump_) dump_->Write(answer.frame, robot_.executor());
    if (!overlay_ && picture_.empty()) return;
    const std::optional<ClassMap> recomputed = robot_.recomputed();
    if (overlay_) {
      const Picture drawn =
          DrawAnswer(frame.picture, *robot_.fit(), answer.content, robot_.reader());
      overlay_->Write(recomputed ? OutlineRecomputed(drawn, *robot_.fit(), *recomputed) : drawn);
    }
    if (!picture_.empty()) last_ = Published{frame, answer.content, recomputed};
  }

  // After the last frame.
  void Finish() {
    if (overlay_) overlay_->Close();
    if (!last_) return;
    WriteComparison(picture_, last_->frame, *robot_.fit(), last_->content, robot_.reader(),
                    last_->recomputed ? &*last_->recomputed : nullptr);
  }

 private:
  const Robot& robot_;
  std::optional<LineFile> answers_;
  std::optional<OutputDump> dump_;
  std::optional<OverlayVideo> overlay_;

  struct Published {
    Frame frame;
    AnswerContent content;
    std::optional<ClassMap> recomputed;
  };
  std::string picture_;
  std::optional<Published> last_;
};

// Hands frames to a robot. Those that the model cannot take are logged, skipped and counted, like
// those that cannot be read.
class Intake {
 public:
  explicit Intake(Robot& robot) : robot_(robot) {}

  std::optional<Answer> ProcessOrSkip(const Frame& frame) {
    try {
      Answer answer = robot_.Process(frame);
      LogNewSize(frame.picture);
      return answer;
    } catch (const UnfitFrame& error) {
      LogWarning(fmt::format("frame {} skipped: {}", frame.index, error.what()));
      if (count_++ == 0) first_reason_ = error.what();
      return std::nullopt;
    }
  }

  int64_t skipped() const { return count_; }
  const std::string& first_reason() const { return first_reason_; }

 private:
  void LogNewSize(const Picture& picture) {
    if (picture.width == width_ && picture.height == height_) return;
    width_ = picture.width;
    height_ = picture.height;
    const PictureSpec& spec = robot_.executor().graph().picture;
    LogInfo(fmt::format("frames of {}×{} pixels, model's picture {}×{}", width_, height_,
                        spec.width, spec.height));
  }

  Robot& robot_;
  int width_ = 0;
  int height_ = 0;
  int64_t count_ = 0;
  std::string first_reason_;
};

// What makes the robot throw is recorded first.
std::optional<Answer> ProcessAndKeepFailure(const Frame& frame, Intake& intake,
                                            std::optional<Recorder>& recorder) {
  try {
    return intake.ProcessOrSkip(frame);
  } catch (const std::exception& error) {
    if (recorder) recorder->KeepFailure(frame, error.what());
    throw;
  }
}

// Says at the end of its life that a run is over.
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

// Compares with the truth where both know the class of a pixel, and mean the same by it.
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

}  // namespace

Summary RunRobot(const RobotConfig& config, const Clock& clock, const std::atomic<bool>& stop) {
  CheckOutputPaths(config);
  std::atomic<bool> is_over = false;
  FrameQueue source(Open(config, clock, [&] { return stop || is_over; }), kFramesAhead);
  const RunsUntilHere end(is_over);
  Graph loaded = LoadGraph(config, source.has_tensors());
  if (config.backend == RobotConfig::Backend::kCpu) {
    ChooseSchemes(config.scheme, ThreadsToUse(config), clock, stop, loaded);
  }
  const auto graph = std::make_shared<const Graph>(std::move(loaded));
  Robot robot(graph, MakeBackend(config), config, clock);
  std::optional<DenseCheck> check;
  if (config.check > 0) check.emplace(graph, MakeBackend(config), config, clock);
  std::optional<Guard> guard;
  if (config.mode == RobotConfig::Mode::kCache && config.guard.is_on) {
    guard.emplace(graph, MakeBackend(config), config, clock);
  }
  std::optional<Recorder> recorder;
  if (!config.record.folder.empty()) recorder.emplace(config);
  Publisher publisher(config.output, robot, source);
  Intake intake(robot);

  Summary summary;
  summary.mode = config.ModeName();
  summary.deadline_ms = config.deadline_ms;
  summary.memory = robot.executor().memory();
  const auto start = clock.Now();
  const auto elapsed = [&] {
    const auto checking = check ? check->time_spent() : std::chrono::nanoseconds(0);
    return clock.Now() - start - checking;
  };
  {
    Progress progress(clock, config.frames, isatty(STDERR_FILENO) != 0);
    while (!stop && (config.frames == 0 || summary.frames < config.frames)) {
      const std::optional<Frame> frame = source.Next();
      if (!frame) break;
      const GuardState state = guard ? guard->state() : GuardState();
      if (recorder) recorder->Before(*frame, state.level, robot);
      std::optional<Answer> answer = ProcessAndKeepFailure(*frame, intake, recorder);
      if (!answer) continue;
      if (guard) answer->guard = state;
      summary.Add(*answer);
      Score(*frame, *answer, robot, source.truth_class_count(), summary);
      publisher.Publish(*frame, *answer);
      if (check) check->CheckIfDue(*frame, *answer, robot);
      if (recorder) recorder->Keep(*frame, *answer, robot);
      if (guard) {
        guard->Watch(*answer, robot);
        if (recorder && !guard->alarm().empty()) recorder->Record("guard", guard->alarm());
      }
      if (const auto refresh = robot.Refresh(*frame)) summary.Add(*refresh);
      progress.Update(summary.frames, elapsed(), summary.latency, summary.work);
    }
  }
  summary.elapsed = elapsed();
  if (check) summary.agreement = check->agreement();
  if (guard) summary.guard = guard->report();
  if (summary.frames == 0 && intake.skipped() > 0 && !stop) {
    throw InputError(intake.first_reason());
  }
  publisher.Finish();
  summary.skipped = source.skipped() + intake.skipped();
  summary.dropped = source.dropped();
  summary.interrupted = stop;
  if (!config.output.summary.empty()) {
    LineFile(config.output.summary).Write(ToJsonText(summary, config, robot.reader()));
  }
  return summary;
}

}  // namespace cacheinf
