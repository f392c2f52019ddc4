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

// A robot that always takes up the camera's newest frame, with or without a server: what it
// answers when, replayed from what its frames cost; and how good that is.

namespace cacheinf {

using SharedContent = std::shared_ptr<const AnswerContent>;

// What a frame took, and its answer.
struct FrameCost {
  double robot_ms = 0;    // of the robot's own work
  double server_ms = 0;   // of the server's
  double link_ms = 0;     // on the link
  double refresh_ms = 0;  // of the robot, once the answer is out
  double bytes_to_server = 0;
  double bytes_to_robot = 0;
  double robot_work = 0;  // shares of a dense run's multiply-adds
  double server_work = 0;
  bool has_server = false;
  // Of a dense run's multiply-adds, both sides', where only what changed was computed.
  std::optional<double> share = {};
  std::string plan = {};                    // in mode cacheinf
  std::optional<double> predicted_ms = {};  // by the robot, for this plan
  SharedContent content = {};
};

// What the frames of a clip took in the median of rounds; all else is that of the first.
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

// The newest frame that is there at that time, after the one that was taken up last, or the next
// one, which then has to be waited for.
int64_t NewestFrame(double now_ms, int64_t last);

// A camera shows the frames of a short clip forwards, backwards, forwards and so on.
// REQUIRES: two frames at least.
size_t FrameOfClip(int64_t captured, size_t clip_frames);

// Of a message on an idle link, in chunks as a channel sends it.
double LinkMs(double bytes, const LinkShape& link);

// A cell ends after so many answers, or after so long with 5 at least.
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
  // What frames came to.
  std::function<void(const FrameCost& cost)> on_answer = {};
};

// Of a frame of the clip, without a link.
using CostOfFrame = std::function<FrameCost(size_t frame)>;
std::vector<AnsweredFrame> Replay(size_t clip_frames, const CostOfFrame& cost_of,
                                  const ReplayOptions& options);

// `costs` are those of the clip's frames, without a link. (Each was measured right after the one
// before it in the clip: that more changes where frames are left out is not replayed.) Ends when a
// cell is over.
std::vector<AnsweredFrame> Replay(const std::vector<FrameCost>& costs,
                                  const ReplayOptions& options);

// How far answers agree with the dense ones to the same frames: F1 of boxes, mIoU of maps (in the
// dense one's pixels), the same best class; 1 for what has neither.
class ContentAgreement {
 public:
  void Add(const AnswerContent& answer, const AnswerContent& dense);
  double value() const;

 private:
  DetectionAgreement boxes_;
  MapAgreement maps_;
  int frames_ = 0;
  int same_class_ = 0;
  AnswerContent kind_;
};

// Of the newest answer, to a frame or one before it, in hand `deadline_ms` after the frame was
// captured, with the dense answer to that frame; over all frames from the first to the last answer.
// `dense` are those of the clip's frames. REQUIRES: an answer.
double OnTime(const std::vector<AnsweredFrame>& answers, const std::vector<SharedContent>& dense,
              double deadline_ms);

// The share of the answers that came later than that.
double Late(const std::vector<AnsweredFrame>& answers, double deadline_ms);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_BENCH_REPLAY_H_
