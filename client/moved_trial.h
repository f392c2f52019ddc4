#ifndef CACHEINF_CLIENT_MOVED_TRIAL_H_
#define CACHEINF_CLIENT_MOVED_TRIAL_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "common/answer/answers.h"
#include "common/answer/moved_answer.h"
#include "common/base/clock.h"
#include "common/model/picture.h"

namespace cacheinf {

// Shows how well answers that are moved with the scene would agree, and how long moving takes: now
// and then moves an answer over the frames after it, up to the next computed one, and compares it
// with that frame's answer. Pauses for one computed frame between two trials until these weigh
// enough, then for 2, 4, … up to 128; from then on an answer is moved on until it is 16 frames old,
// and compared with each computed one. An answer that cannot move is compared as it is. A robot
// whose late answers are moved anyway needs no trials.
class MovedTrial {
 public:
  // The clock must outlive this.
  explicit MovedTrial(const Clock& clock) : clock_(clock) {}

  struct Result {
    double agreement = 0;
    double weight = 0;
    int frames = 1;  // of the camera, by which the answer was moved
    // Time of moving it by one frame, if it moves.
    std::optional<std::chrono::nanoseconds> took = {};
  };
  // Call after every answer, to the camera's `frame`, whose `content` is null if the frame was not
  // computed.
  std::optional<Result> Offer(int64_t frame, const AnswerContent* content, const Picture& picture);

  // Call when the robot has itself compared a moved answer with the frame's own, with this weight:
  // the next trial waits as long as after a trial.
  void NoteCompared(double weight);

  // Call when frames have another size.
  void Forget() { moved_.Forget(); }

 private:
  std::optional<Result> Compare(const AnswerContent& moved, const AnswerContent& content,
                                int frames);

  const Clock& clock_;
  MovedAnswer moved_;
  int64_t frame_ = 0;  // of its answer
  std::chrono::nanoseconds took_{};
  double weight_ = 0;  // of all results
  int next_pause_ = 1;
  int pause_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_MOVED_TRIAL_H_
