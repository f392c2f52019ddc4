#include "client/robot.h"

#include <fmt/format.h>

#include <utility>

namespace cacheinf {
namespace {

std::shared_ptr<const Graph> WithOneInput(std::shared_ptr<const Graph> graph) {
  if (graph->inputs.size() != 1) {
    throw InputError(fmt::format("model '{}' has {} inputs, but a frame can feed only one",
                                 graph->name, graph->inputs.size()));
  }
  return graph;
}

const Shape& InputShape(const Executor& executor) {
  const Graph& graph = executor.graph();
  return graph.value(graph.inputs.front()).shape;
}

}  // namespace

Robot::Robot(std::shared_ptr<const Graph> graph, std::unique_ptr<Backend> backend,
             const RobotConfig& config, const Clock& clock)
    : mode_(config.mode),
      every_(config.every),
      executor_(WithOneInput(std::move(graph)), std::move(backend)),
      reader_(executor_.graph(), config.model_config.decoder),
      clock_(clock) {}

Answer Robot::Process(const Frame& frame) {
  const auto begin = clock_.Now();
  Fit(frame);
  return CanRepeat() ? Repeat(frame, begin) : Compute(frame, begin);
}

std::optional<std::chrono::nanoseconds> Robot::Refresh(const Frame& frame) {
  const bool is_behind = mode_ == RobotConfig::Mode::kStale && kept_->computed_from != frame.index;
  if (!is_behind) return std::nullopt;
  const auto begin = clock_.Now();
  Compute(frame, begin);
  return clock_.Now() - begin;
}

bool Robot::CanRepeat() const {
  if (!kept_) return false;
  switch (mode_) {
    case RobotConfig::Mode::kDense:
      return false;
    case RobotConfig::Mode::kStale:
      return true;
    case RobotConfig::Mode::kEveryK:
      return repeats_ + 1 < every_;
  }
  return false;
}

Answer Robot::Repeat(const Frame& frame, std::chrono::nanoseconds begin) {
  ++repeats_;
  Answer answer;
  answer.frame = frame.index;
  answer.stamp = frame.stamp;
  answer.computed_from = kept_->computed_from;
  answer.content = kept_->content;
  answer.preprocess = clock_.Now() - begin;
  return answer;
}

Answer Robot::Compute(const Frame& frame, std::chrono::nanoseconds begin) {
  SetInput(frame);
  const auto prepared = clock_.Now();
  executor_.Run();
  const auto computed = clock_.Now();
  Answer answer;
  answer.frame = frame.index;
  answer.stamp = frame.stamp;
  answer.computed_from = frame.index;
  answer.content = reader_.Read(executor_, fit());
  Keep(answer);
  answer.preprocess = prepared - begin;
  answer.compute = computed - prepared;
  answer.decode = clock_.Now() - computed;
  return answer;
}

void Robot::Keep(const Answer& answer) {
  if (mode_ == RobotConfig::Mode::kDense) return;
  kept_ = answer;
  repeats_ = 0;
}

// Throws before anything has changed if the frame does not fit.
void Robot::Fit(const Frame& frame) {
  if (!frame.picture.empty()) {
    FitPicture(frame);
    return;
  }
  if (frame.tensor.shape() != InputShape(executor_)) {
    throw UnfitFrame(fmt::format("{}: shape {} does not fit the model's input, {}", frame.name,
                                 ToString(frame.tensor.shape()), ToString(InputShape(executor_))));
  }
  fit_.reset();
}

void Robot::FitPicture(const Frame& frame) {
  const PictureSpec& spec = executor_.graph().picture;
  const Picture& picture = frame.picture;
  if (spec.width == 0) throw InputError("the model takes tensors, but the source gives pictures");
  const bool has_new_size = !fit_ || fit_->columns().frame_size != picture.width ||
                            fit_->rows().frame_size != picture.height;
  if (!has_new_size) return;
  try {
    fit_ = PictureFit(spec, picture.width, picture.height);
  } catch (const InputError& error) {
    throw UnfitFrame(fmt::format("{}: {}", frame.name, error.what()));
  }
  kept_.reset();  // its positions are those of another picture
}

void Robot::SetInput(const Frame& frame) {
  if (frame.picture.empty()) {
    executor_.SetInput(0, frame.tensor.view());
  } else {
    SetPicture(frame.picture);
  }
}

void Robot::SetPicture(const Picture& picture) {
  const PictureSpec& spec = executor_.graph().picture;
  const int channels = fit_->channels();
  const int64_t row_length = int64_t{spec.width} * channels;
  const int64_t count = row_length * spec.height;
  pixels_.resize(static_cast<size_t>(count));
  numbers_.resize(static_cast<size_t>(count));
  fit_->Resize(picture, {0, spec.height}, pixels_.data());
  const TensorView input = {
      numbers_.data(), 4, {1, channels, spec.height, spec.width}, {count, 1, row_length, channels}};
  ToFloats(pixels_.data(), input);
  executor_.SetInput(0, input);
}

}  // namespace cacheinf
