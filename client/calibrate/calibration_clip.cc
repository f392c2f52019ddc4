#include "client/calibrate/calibration_clip.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/answer/moved_answer.h"
#include "common/answer/outputs.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/median.h"
#include "common/base/picture_view.h"
#include "common/base/status_line.h"
#include "common/model/picture.h"

namespace cacheinf {
namespace {

// How often a trial is asked whether it is hopeless.
constexpr size_t kCheckpoints = 4;

constexpr auto kFramesADenseOne = static_cast<size_t>(1 / CalibrationClip::kDenseShare);

}  // namespace

// Adds up the frames' costs and agreement.
class CalibrationClip::Scorer {
 public:
  struct Cost {
    double work = 0;
    double answer_ms = 0;
    double frame_ms = 0;
  };
  void Add(const AnswerContent& content, const OutputNumbers& numbers, const Answered& dense,
           const Cost& cost) {
    agreement_.Add(content, numbers, dense.content, dense.numbers);
    work_ += cost.work;
    answers_ms_.push_back(cost.answer_ms);
    frames_ms_ += cost.frame_ms;
  }

  // Has the robot answer a frame and prepare for the next.
  void Run(Robot& robot, const Answered& dense, bool counts) {
    const Answer answer = robot.Process(dense.frame);
    ReadOutputs(robot.outputs(), numbers_);
    const std::optional<Robot::Refreshed> refresh = robot.Refresh(dense.frame);
    if (!counts) return;
    Cost cost = {answer.work->share, Milliseconds(answer.latency()) + dense.fit_ms, 0};
    cost.frame_ms = cost.answer_ms;
    if (refresh) {
      cost.work += refresh->work.share;
      cost.frame_ms += Milliseconds(refresh->took);
    }
    Add(answer.content, numbers_, dense, cost);
  }

  const Agreement& agreement() const { return agreement_; }
  double work() const { return work_; }

  ClipScore Score(double dense_ms) const {
    ClipScore score;
    score.frames = static_cast<int>(answers_ms_.size());
    if (score.frames == 0) return score;
    score.work = work_ / score.frames;
    score.agreement = agreement_.measure().value;
    if (dense_ms > 0) {
      score.latency = MedianOf(answers_ms_) / dense_ms;
      score.time = frames_ms_ / score.frames / dense_ms;
    }
    return score;
  }

 private:
  Agreement agreement_;
  double work_ = 0;
  std::vector<double> answers_ms_;
  double frames_ms_ = 0;
  OutputNumbers numbers_;
};

CalibrationClip::CalibrationClip(std::shared_ptr<const CompiledModel> model,
                                 const RobotConfig& config, const NextFrame& next_frame,
                                 const Clock& clock, const std::atomic<bool>& stop,
                                 const MostFrames& most_frames)
    : model_(std::move(model)), clock_(clock), dense_robot_(model_, config.InDenseMode(), clock) {
  AnswerDensely(config, next_frame, most_frames, stop);
  if (stop) return;
  if (frames_.size() < kLeastFrames) {
    throw InputError(
        fmt::format("{} frames that the model takes are too few to calibrate on, at "
                    "least {} are needed",
                    frames_.size(), kLeastFrames));
  }
  chosen_by_ = (2 * frames_.size() + 2) / 3;
  Agreement chosen_by;
  Agreement held_out;
  AddDense(1, chosen_by_, chosen_by);
  AddDense(chosen_by_, frames_.size(), held_out);
  measure_ = chosen_by.measure().name;
  evidence_ = {chosen_by.frames_with_evidence(), held_out.frames_with_evidence()};
  if (evidence_.chosen_by > 0) return;
  throw InputError(
      fmt::format("the model finds nothing in the {} frames that would choose the settings, so no "
                  "answer can agree with another; calibrate on a clip that shows what it looks for",
                  chosen_by_));
}

void CalibrationClip::AnswerDensely(const RobotConfig& config, const NextFrame& next_frame,
                                    const MostFrames& most_frames, const std::atomic<bool>& stop) {
  StatusLine status(clock_);
  std::vector<double> read_ms;
  std::vector<double> times_ms;
  std::optional<size_t> most;
  while (!stop && (!most || frames_.size() < *most)) {
    const auto begin = clock_.Now();
    std::optional<Frame> next = next_frame();
    if (!next) break;
    read_ms.push_back(Milliseconds(clock_.Now() - begin));
    Frame& frame = *next;
    try {
      const Answer answer = dense_robot_.Process(frame);
      times_ms.push_back(Milliseconds(answer.latency()));
      const PictureView fitted = dense_robot_.model_picture();
      frame.fitted = std::make_shared<const std::vector<uint8_t>>(
          fitted.pixels, fitted.pixels + fitted.byte_count());
      frames_.push_back(
          {std::move(frame), answer.content, {}, Milliseconds(answer.times.preprocess)});
      ReadOutputs(dense_robot_.outputs(), frames_.back().numbers);
    } catch (const UnfitFrame& error) {
      LogWarning(fmt::format("frame {} left out: {}", frame.index, error.what()));
    }
    // The first run also touches memory for the first time.
    if (most_frames && !most && frames_.size() == kLeastFrames) {
      most = most_frames({MedianOf(read_ms), MedianOf({times_ms.begin() + 1, times_ms.end()}),
                          FrameOfTrialMs(config)});
    }
    status.Show([&] {
      return fmt::format("dense answer {}{}", frames_.size(),
                         most ? fmt::format(" of at most {}", *most) : "");
    });
  }
  dense_ms_ = MedianOf(std::move(times_ms));
}

// The mean over the frames so far under the configuration's own settings; 0 if a robot refuses
// them, as it will refuse any that need as much memory.
double CalibrationClip::FrameOfTrialMs(const RobotConfig& config) const {
  RobotConfig cached = config.InDenseMode();
  cached.mode = RobotConfig::Mode::kCache;
  const auto begin = clock_.Now();
  try {
    Robot robot(model_, cached, clock_);
    Scorer scorer;
    for (const Answered& dense : frames_) scorer.Run(robot, dense, /*counts=*/false);
  } catch (const InputError&) {
    return 0;
  }
  return Milliseconds(clock_.Now() - begin) / static_cast<double>(frames_.size());
}

double CalibrationClip::DenseMs(const Answered& dense) {
  return Milliseconds(dense_robot_.Process(dense.frame).latency()) + dense.fit_ms;
}

void CalibrationClip::AddDense(size_t begin, size_t end, Agreement& agreement) const {
  for (size_t i = begin; i < end; ++i) {
    const Answered& dense = frames_[i];
    agreement.Add(dense.content, dense.numbers, dense.content, dense.numbers);
  }
}

bool CalibrationClip::IsDenseTurn(size_t frame, Beside beside) const {
  if (beside == Beside::kNothing) return false;
  return beside == Beside::kEveryFrame || frame % kFramesADenseOne == 0;
}

std::optional<ClipScore> CalibrationClip::Try(
    const RobotConfig& config, Beside beside, const std::function<bool()>& go_on,
    const std::function<bool(const ClipScore&)>& is_hopeless) {
  Robot robot(model_, config.WithoutServer(), clock_);
  Scorer scorer;
  std::vector<double> dense_ms;
  const size_t scored = chosen_by_ - 1;
  for (size_t i = 0; i < chosen_by_; ++i) {
    if (!go_on()) return std::nullopt;
    const Answered& dense = frames_[i];
    if (IsDenseTurn(i, beside)) dense_ms.push_back(DenseMs(dense));
    scorer.Run(robot, dense, /*counts=*/i > 0);
    if (i == 0) continue;
    const bool is_checkpoint = i * kCheckpoints / scored > (i - 1) * kCheckpoints / scored;
    if (!is_checkpoint || i == scored) continue;
    ClipScore at_best;
    at_best.frames = static_cast<int>(scored);
    at_best.work = scorer.work() / static_cast<double>(scored);
    Agreement agreement = scorer.agreement();
    AddDense(i + 1, chosen_by_, agreement);
    at_best.agreement = agreement.measure().value;
    if (is_hopeless(at_best)) return std::nullopt;
  }
  return scorer.Score(dense_ms.empty() ? dense_ms_ : MedianOf(std::move(dense_ms)));
}

CalibrationClip::Parts CalibrationClip::Score(const RobotConfig& config, Beside beside) {
  Robot robot(model_, config.WithoutServer(), clock_);
  Scorer chosen_by;
  Scorer held_out;
  std::vector<double> dense_ms;
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Answered& dense = frames_[i];
    if (IsDenseTurn(i, beside)) dense_ms.push_back(DenseMs(dense));
    (i < chosen_by_ ? chosen_by : held_out).Run(robot, dense, /*counts=*/i > 0);
  }
  const double median_ms = dense_ms.empty() ? dense_ms_ : MedianOf(std::move(dense_ms));
  return PartsOf(chosen_by, held_out, median_ms);
}

CalibrationClip::Parts CalibrationClip::ScoreTracking(int k) const {
  Scorer chosen_by;
  Scorer held_out;
  MovedAnswer moved;
  const Answered* computed = nullptr;
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Answered& dense = frames_[i];
    const Picture& picture = dense.frame.picture;
    const bool is_resized =
        computed != nullptr && (computed->frame.picture.width != picture.width ||
                                computed->frame.picture.height != picture.height);
    if (is_resized) {
      computed = nullptr;
      moved.Forget();
    }
    AnswerContent content = dense.content;
    double ms = dense_ms_;
    if (computed == nullptr || i % static_cast<size_t>(k) == 0) {
      computed = &dense;
      moved.Keep(content, picture);
    } else {
      const auto begin = clock_.Now();
      content = moved.MoveTo(picture);
      ms = Milliseconds(clock_.Now() - begin);
    }
    if (i == 0) continue;
    (i < chosen_by_ ? chosen_by : held_out)
        .Add(content, computed->numbers, dense,
             {1.0 / k, ms, dense_ms_ / k + (computed == &dense ? 0 : ms)});
  }
  return PartsOf(chosen_by, held_out, dense_ms_);
}

CalibrationClip::Parts CalibrationClip::PartsOf(const Scorer& chosen_by, const Scorer& held_out,
                                                double dense_ms) const {
  Parts parts = {chosen_by.Score(dense_ms), held_out.Score(dense_ms)};
  // One answer more than none would make it 0.
  if (evidence_.held_out == 0) parts.held_out.agreement.reset();
  return parts;
}

}  // namespace cacheinf
