#ifndef CACHEINF_CLIENT_RUN_DENSE_CHECK_H_
#define CACHEINF_CLIENT_RUN_DENSE_CHECK_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "client/robot.h"
#include "common/answer/agreement.h"

namespace cacheinf {

// Computes every K-th answered frame densely too (K is the configuration's `check`), with another
// robot, and scores the answer against the result.
class DenseCheck {
 public:
  // Takes the arguments of the robot to check, whose frames are tensors or pictures; computes the
  // model that the configuration checks against. Throws InputError if that cannot be loaded or does
  // not fit. REQUIRES: config.check is not 0.
  DenseCheck(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
             bool has_tensors, const Clock& clock);

  // Call for every answer, before the robot's Refresh.
  void CheckIfDue(const Frame& frame, const Answer& answer, const Robot& robot);

  const Agreement& agreement() const { return agreement_; }

  // How far older answers agree with the checked frame's dense answer: the answer before its own,
  // the one before that, and so on. Boxes, keypoints and maps only.
  const std::vector<Agreement>& of_older() const { return of_older_; }

  // Time of all checks, which is not part of the run's time.
  std::chrono::nanoseconds time_spent() const { return time_spent_; }

  // The part of the last check after `moment`. A frame that arrived during a check waited for it.
  std::chrono::nanoseconds TimeSpentSince(std::chrono::nanoseconds moment) const;

 private:
  void Check(const Frame& frame, const Answer& answer, const Robot& robot);

  Robot dense_;
  const Clock& clock_;
  int64_t period_;
  int64_t answers_ = 0;
  std::chrono::nanoseconds time_spent_{0};
  std::chrono::nanoseconds last_begin_{0};
  std::chrono::nanoseconds last_end_{0};
  Agreement agreement_;
  std::deque<AnswerContent> older_;  // the last answers, the newest first
  std::vector<Agreement> of_older_;
  OutputNumbers numbers_;
  OutputNumbers dense_numbers_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_DENSE_CHECK_H_
