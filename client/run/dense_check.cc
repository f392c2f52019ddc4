#include "client/run/dense_check.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "client/robot_setup.h"
#include "common/answer/outputs.h"

namespace cacheinf {
namespace {

constexpr size_t kMostOlder = 8;

bool HasPlaces(const AnswerContent& content) {
  return std::holds_alternative<Detections>(content) ||
         std::holds_alternative<Keypoints>(content) || std::holds_alternative<ClassMap>(content);
}

std::shared_ptr<const CompiledModel> ModelToCheckBy(
    const std::shared_ptr<const CompiledModel>& first, const RobotConfig& config,
    bool has_tensors) {
  if (config.against.empty()) return first;
  return Compile(LoadInPlaceOf(first->graph(), config.against, config, has_tensors), config);
}

}  // namespace

DenseCheck::DenseCheck(const std::shared_ptr<const CompiledModel>& model, const RobotConfig& config,
                       bool has_tensors, const Clock& clock)
    : dense_(ModelToCheckBy(model, config, has_tensors), config.InDenseMode(), clock),
      clock_(clock),
      period_(config.check) {}

void DenseCheck::CheckIfDue(const Frame& frame, const Answer& answer, const Robot& robot) {
  if (++answers_ % period_ == 0) {
    last_begin_ = clock_.Now();
    Check(frame, answer, robot);
    last_end_ = clock_.Now();
    time_spent_ += last_end_ - last_begin_;
  }
  if (!HasPlaces(answer.content)) return;
  older_.push_front(answer.content);
  if (older_.size() > kMostOlder) older_.pop_back();
}

std::chrono::nanoseconds DenseCheck::TimeSpentSince(std::chrono::nanoseconds moment) const {
  return std::max(std::chrono::nanoseconds(0), last_end_ - std::max(moment, last_begin_));
}

void DenseCheck::Check(const Frame& frame, const Answer& answer, const Robot& robot) {
  const Answer dense = dense_.Process(frame);
  ReadOutputs(robot.outputs(), numbers_);
  ReadOutputs(dense_.outputs(), dense_numbers_);
  agreement_.Add(answer.content, numbers_, dense.content, dense_numbers_, !robot.sees_moved());
  of_older_.resize(std::max(of_older_.size(), older_.size()));
  const OutputNumbers none;
  for (size_t i = 0; i < older_.size(); ++i) {
    of_older_[i].Add(older_[i], none, dense.content, none);
  }
}

}  // namespace cacheinf
