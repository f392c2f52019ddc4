#ifndef CACHEINF_CLIENT_CALIBRATE_CALIBRATION_CLIP_H_
#define CACHEINF_CLIENT_CALIBRATE_CALIBRATION_CLIP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/robot.h"
#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// How one way of answering scores over some frames.
struct ClipScore {
  int frames = 0;
  double work = 0;  // mean share of a dense run's multiply-adds, refreshing included
  std::optional<double> agreement;  // AgreementMeasure
  // Both as a share of the dense median.
  double latency = 0;  // median of an answer
  double time = 0;     // mean of a frame with its refresh, which not every frame has
};

// Successive frames with their dense answers, for trying settings. The first two thirds of the
// frames choose; the last third says whether the choice holds. The first frame is always dense and
// not scored.
//
// Decodes, fits and answers every frame densely once, and keeps all of that in memory.
class CalibrationClip {
 public:
  static constexpr size_t kLeastFrames = 6;

  // Gives one frame after the other; nothing at the end.
  using NextFrame = std::function<std::optional<Frame>()>;

  struct FrameTimes {
    double read_ms = 0;
    double dense_ms = 0;
    double trial_ms = 0;
  };
  // How many frames to use where they take so long.
  using MostFrames = std::function<size_t(const FrameTimes& of_frame)>;

  // Answers frames densely, and asks for no more than `most_frames` of them, if it is given. Leaves
  // out those that do not fit the graph, with a warning. Shows progress on stderr. Throws
  // InputError if the network takes no such frames, fewer than kLeastFrames are left, or none that
  // choose show anything to agree on. If `stop` ended this, call nothing else. The clock must
  // outlive this.
  CalibrationClip(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
                  const NextFrame& next_frame, const Clock& clock, const std::atomic<bool>& stop,
                  const MostFrames& most_frames = {});

  size_t frames() const { return frames_.size(); }
  size_t frames_to_choose_by() const { return chosen_by_; }

  // How many of the scored frames have dense answers that show anything (agreement.h).
  struct Evidence {
    int64_t chosen_by = 0;  // at least one
    int64_t held_out = 0;
  };
  const Evidence& evidence() const { return evidence_; }

  double dense_ms() const { return dense_ms_; }  // median

  // Name of the AgreementMeasure.
  const std::string& measure() const { return measure_; }

  // What to compare times with: the first dense run, however long ago, or dense runs interleaved
  // with this one, which cost time but cancel other load on the machine.
  enum class Beside : uint8_t { kNothing, kSomeFrames, kEveryFrame };
  static constexpr double kDenseShare = 0.25;  // of frames with a dense run, if some have one

  // Scores the frames that choose; returns nothing if given up. Asks `go_on` before each frame, and
  // now and then asks `is_hopeless` with the best possible score: no work from here on, and full
  // agreement.
  std::optional<ClipScore> Try(const RobotConfig& config, Beside beside,
                               const std::function<bool()>& go_on,
                               const std::function<bool(const ClipScore&)>& is_hopeless);

  struct Parts {
    ClipScore chosen_by;
    ClipScore held_out;  // without an agreement if dense answers show nothing in these frames
  };

  // Scores all frames in order.
  Parts Score(const RobotConfig& config, Beside beside);

  // Scores computing every k-th frame densely, and moving its answer to the frames between.
  Parts ScoreTracking(int k) const;

 private:
  struct Answered {
    Frame frame;
    AnswerContent content;
    OutputNumbers numbers;
    double fit_ms = 0;  // what fitting took, which every later run is spared
  };
  class Scorer;

  void AnswerDensely(const RobotConfig& config, const NextFrame& next_frame,
                     const MostFrames& most_frames, const std::atomic<bool>& stop);
  double FrameOfTrialMs(const RobotConfig& config) const;
  bool IsDenseTurn(size_t frame, Beside beside) const;
  double DenseMs(const Answered& dense);
  Parts PartsOf(const Scorer& chosen_by, const Scorer& held_out, double dense_ms) const;
  void AddDense(size_t begin, size_t end, Agreement& agreement) const;

  std::shared_ptr<const CompiledModel> model_;
  const Clock& clock_;
  Robot dense_robot_;
  std::vector<Answered> frames_;
  size_t chosen_by_ = 0;
  Evidence evidence_;
  double dense_ms_ = 0;
  std::string measure_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_CALIBRATION_CLIP_H_
