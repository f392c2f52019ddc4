#ifndef CACHEINF_TESTS_BENCH_REPLAY_H_
#define CACHEINF_TESTS_BENCH_REPLAY_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/answer/agreement.h"
#include "common/answer/answers.h"
#include "common/link/delay_line.h"

// A robot that always takes the camera's newest frame, with or without a server: replays what it
// answers when, from what its frames cost, and says how good that is.

namespace cacheinf {

using SharedContent = std::shared_ptr<const AnswerContent>;

// What a frame took, and its answer.
struct FrameCost {
  double robot_ms = 0;    // of the robot's own work
  double server_ms = 0;   // of the server's
  double link_ms = 0;     // on the link
  double refresh_ms = 0;  // of the robot, after the answer
  double bytes_to_server = 0;
  double bytes_to_robot = 0;
  double robot_work = 0;  // shares of a dense run's multiply-adds
  double server_work = 0;
  bool has_server = false;
  // Share of a dense run's multiply-adds, of both sides, if only what changed was computed.
  std::optional<double> share = {};
  bool is_moved = false;                    // an earlier answer, by a plan that tracks
  std::string plan = {};                    // in mode cacheinf
  std::optional<double> predicted_ms = {};  // by the robot, for this plan
  // What the robot expected of the plan's answers, where it is to be in time.
  struct Promise {
    double agreement = 0;
    double in_time = 0;  // a share of them
  };
  std::optional<Promise> promise = {};
  SharedContent content = {};
};

// What a clip's frames took, as the median of the rounds; everything else is from the first round.
// REQUIRES: a round, and as many frames in each.
std::vector<FrameCost> MedianCosts(const std::vector<std::vector<FrameCost>>& rounds);

struct CameraAnswer {
  int64_t captured = 0;  // counts the camera's frames from 0
  double captured_ms = 0;
  double answered_ms = 0;
  FrameCost cost;

  double latency_ms() const { return answered_ms - captured_ms; }
};

constexpr double kFramesPerSecond = 30;
inline double CapturedMs(int64_t frame) {
  return static_cast<double>(frame) * 1000 / kFramesPerSecond;
}

// The newest frame at that time after the one taken last, or the next one, which must be waited
// for.
int64_t NewestFrame(double now_ms, int64_t last);

// A camera shows a short clip forwards, backwards, forwards and so on. REQUIRES: at least two
// frames.
size_t FrameOfClip(int64_t captured, size_t clip_frames);

// The time of a message on an idle link, in chunks as a channel sends it.
double LinkMs(double bytes, const LinkShape& link);

// When an answer should be in hand, counted from a frame's capture.
inline constexpr std::array kDeadlinesMs = {33.0, 66.0, 100.0, 200.0};

// Frames of the camera, all but `end`.
struct CameraFrames {
  int64_t begin = 0;
  int64_t end = 0;
};
// Those by which cells are compared: as many as a live clip has until it begins anew. The first of
// them have an answer in hand.
constexpr CameraFrames kScored = {12, 70};
inline double ScoredMs(const CameraFrames& frames) {
  return CapturedMs(frames.end - 1) + kDeadlinesMs.back();
}

// A cell ends after this many answers, or after this time if there are at least 5.
constexpr size_t kMostAnswersOfACell = 100;
struct CellLength {
  size_t answers = kMostAnswersOfACell;
  double ms = ScoredMs(kScored);
};
inline bool IsCellOver(size_t answers, double now_ms, const CellLength& length = {}) {
  return answers >= length.answers || (answers >= 5 && now_ms >= length.ms);
}

struct ReplayOptions {
  std::optional<LinkShape> link = {};    // none: there is no server
  double slowdown = 1;                   // of the robot
  int64_t first = 0;                     // how many frames of the clip the camera is ahead
  double begin_ms = 0;                   // when the robot is free first
  int every = 1;                         // only every k-th answer is computed; the others repeat it
  size_t answers = kMostAnswersOfACell;  // at most
  // Hears of each answer, as the last of them.
  std::function<void(const std::vector<CameraAnswer>& answers)> on_answer = {};
};

// The cost of one of the camera's frames, without a link.
using CostOfFrame = std::function<FrameCost(int64_t captured)>;
std::vector<CameraAnswer> Replay(const CostOfFrame& cost_of, const ReplayOptions& options);

// `costs` are those of the clip's frames, without a link. (Each was measured right after its
// predecessor in the clip. That more changes after skipped frames is not replayed.) Ends when a
// cell is over.
std::vector<CameraAnswer> Replay(const std::vector<FrameCost>& costs, const ReplayOptions& options);

// How far answers agree with dense ones to the same frames: F1 of boxes, mIoU of maps (in pixels of
// the dense map), or the same best class; nothing if no frame had any of these to compare.
class ContentAgreement {
 public:
  void Add(const AnswerContent& answer, const AnswerContent& dense);
  std::optional<double> value() const;

 private:
  DetectionAgreement boxes_;
  MapAgreement maps_;
  int frames_ = 0;
  int same_class_ = 0;
  AnswerContent kind_;
};

// How much a frame's agreement counts: as AgreementMeasure says.
double WeightOf(const AnswerContent& answer, const AnswerContent& dense);

// An answer to one of the camera's frames as it must look in a later one.
using Mover = std::function<SharedContent(const SharedContent& answer, int64_t from, int64_t to)>;

// What is in hand for each of the frames `deadline_ms` after its capture: among the answers that
// are there, the last one to the newest frame that is not after it. With a mover it is the last
// computed one, moved to the frame as a robot moves it. If nothing is there yet, the first answer
// counts. REQUIRES: an answer; in the order in which they came.
std::vector<SharedContent> InHand(const std::vector<CameraAnswer>& answers,
                                  const CameraFrames& frames, double deadline_ms,
                                  const Mover& move = {});

// How far that agrees with the dense answers to the frames, in the mean, as robots expect of plans:
// each frame counts as AgreementMeasure says. (In the sum of all pixels a rare class would count
// once, not in every frame that has it.) `dense` has the answers to the clip's.
std::optional<double> OnTime(const std::vector<SharedContent>& in_hand, const CameraFrames& frames,
                             const std::vector<SharedContent>& dense);

// The share of answers that came later than that.
double Late(const std::vector<CameraAnswer>& answers, double deadline_ms);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_REPLAY_H_
