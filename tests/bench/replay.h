#ifndef CACHEINF_TESTS_BENCH_REPLAY_H_
#define CACHEINF_TESTS_BENCH_REPLAY_H_

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
  std::string plan = {};                    // in mode cacheinf
  std::optional<double> predicted_ms = {};  // by the robot, for this plan
  SharedContent content = {};
};

// What a clip's frames took, as the median of the rounds; everything else is from the first round.
// REQUIRES: a round, and as many frames in each.
std::vector<FrameCost> MedianCosts(const std::vector<std::vector<FrameCost>>& rounds);

struct AnsweredFrame {
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

// A cell ends after this many answers, or after this time if there are at least 5.
constexpr size_t kAnswersOfACell = 60;
struct CellLength {
  size_t answers = kAnswersOfACell;
  double ms = 8000;
};
inline bool IsCellOver(size_t answers, double now_ms, const CellLength& length = {}) {
  return answers >= length.answers || (answers >= 5 && now_ms >= length.ms);
}

struct ReplayOptions {
  std::optional<LinkShape> link = {};  // none: there is no server
  double slowdown = 1;                 // of the robot
  int64_t first = 0;                   // how many frames of the clip the camera is ahead
  int every = 1;                       // only every k-th answer is computed; the others repeat it
  size_t answers = kAnswersOfACell;    // at most
  // What the frames came to.
  std::function<void(const FrameCost& cost)> on_answer = {};
};

// The cost of a frame of the clip, without a link.
using CostOfFrame = std::function<FrameCost(size_t frame)>;
std::vector<AnsweredFrame> Replay(size_t clip_frames, const CostOfFrame& cost_of,
                                  const ReplayOptions& options);

// `costs` are those of the clip's frames, without a link. (Each was measured right after its
// predecessor in the clip. That more changes after skipped frames is not replayed.) Ends when a
// cell is over.
std::vector<AnsweredFrame> Replay(const std::vector<FrameCost>& costs,
                                  const ReplayOptions& options);

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

// The agreement of each frame's dense answer with the newest answer, to that frame or an earlier
// one, that is there `deadline_ms` after its capture; over all frames from the first to the last
// answer. `dense` has the answers to the clip's frames. REQUIRES: an answer.
std::optional<double> OnTime(const std::vector<AnsweredFrame>& answers,
                             const std::vector<SharedContent>& dense, double deadline_ms);

// The share of answers that came later than that.
double Late(const std::vector<AnsweredFrame>& answers, double deadline_ms);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_REPLAY_H_
