#include "client/run/dense_check.h"

#include <algorithm>
#include <utility>

#include "common/answer/outputs.h"

namespace cacheinf {
DenseCheck::DenseCheck(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
                       const Clock& clock)
    : dense_(std::move(model), config.InDenseMode(), clock), clock_(clock), period_(config.check) {}

void DenseCheck::CheckIfDue(const Frame& frame, const Answer& answer, const Robot& robot) {
  if (++answers_ % period_ != 0) return;
  last_begin_ = clock_.Now();
  Check(frame, answer, robot);
  last_end_ = clock_.Now();
  time_spent_ += last_end_ - last_begin_;
}

std::chrono::nanoseconds DenseCheck::TimeSpentSince(std::chrono::nanoseconds moment) const {
  return std::max(std::chrono::nanoseconds(0), last_end_ - std::max(moment, last_begin_));
}

void DenseCheck::Check(const Frame& frame, const Answer& answer, const Robot& robot) {
  const Answer dense = dense_.Process(frame);
  ReadOutputs(robot.outputs(), numbers_);
  ReadOutputs(dense_.outputs(), dense_numbers_);
  agreement_.Add(answer.content, numbers_, dense.content, dense_numbers_, !robot.sees_moved());
}

}  // namespace cacheinf
