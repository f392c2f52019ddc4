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

#include "client/answer/agreement.h"
#include "client/answer/answers.h"
#include "client/robot.h"
#include "common/base/clock.h"
#include "common/config/robot_config.h"
#include "common/model/graph/graph.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// How far answers agree with dense ones in one number, 1 being the same, by what says most about
// their kind: F1 of boxes, mIoU of maps, PCK of keypoints, top-1 of classes; else 1 minus the mean
// relative error, not below 0.
struct AgreementMeasure {
  std::string name;
  double value = 0;
};
AgreementMeasure MeasureOf(const Agreement& agreement);

// What a way to answer came to over some frames.
struct ClipScore {
  int frames = 0;
  double work = 0;       // mean share of a dense run's multiply-adds, refreshing included
  double agreement = 0;  // AgreementMeasure
  // Both as a share of the dense median.
  double latency = 0;  // of an answer, median
  double time = 0;     // of a frame, its answer and refresh: the mean, as not every frame has one
};

// Successive frames with what the network answers to them densely, on which settings are tried.
// They are chosen by the first two thirds of the frames, and the last third says whether that
// holds. The first frame, which is dense in any case, is not scored.
//
// Keeps all frames and dense outputs in memory.
class CalibrationClip {
 public:
  static constexpr size_t kLeastFrames = 6;

  // Answers the frames densely. Those that do not fit the graph are left out with a warning. The
  // configuration says how the graph is run; the clock outlives this. Throws InputError if the
  // network takes no such frames, or fewer than kLeastFrames of them are left. If `stop` ended it,
  // there is nothing to ask of it.
  CalibrationClip(std::shared_ptr<const Graph> graph, const RobotConfig& config,
                  std::vector<Frame> frames, const Clock& clock, const std::atomic<bool>& stop);

  size_t frames() const { return frames_.size(); }
  size_t frames_to_choose_by() const { return chosen_by_; }

  // AgreementMeasure's.
  const std::string& measure() const { return measure_; }

  // What times are compared with: those of the first dense run, as long ago as it may be, or of
  // dense runs that take turns with this one, which costs time but cancels what the machine does
  // otherwise.
  enum class Beside : uint8_t { kNothing, kSomeFrames, kEveryFrame };

  // The frames to choose by, or nothing if that was given up. `go_on` is asked before each frame,
  // `is_hopeless` now and then with what the score would be at best: no work from here on, and full
  // agreement.
  std::optional<ClipScore> Try(const RobotConfig& config, Beside beside,
                               const std::function<bool()>& go_on,
                               const std::function<bool(const ClipScore&)>& is_hopeless);

  struct Parts {
    ClipScore chosen_by;
    ClipScore held_out;
  };

  // All frames, one after the other.
  Parts Score(const RobotConfig& config, Beside beside);

  // Had every k-th frame been computed densely, and its answer repeated for those between.
  Parts ScoreEveryKth(int k) const;

 private:
  struct Answered {
    Frame frame;
    AnswerContent content;
    OutputNumbers numbers;
  };
  class Scorer;

  bool IsDenseTurn(size_t frame, Beside beside) const;
  double DenseMs(const Frame& frame);
  void AddDense(size_t begin, size_t end, Agreement& agreement) const;

  std::shared_ptr<const Graph> graph_;
  const Clock& clock_;
  Robot dense_robot_;
  std::vector<Answered> frames_;
  size_t chosen_by_ = 0;
  double dense_ms_ = 0;  // median
  std::string measure_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_CALIBRATE_CALIBRATION_CLIP_H_
