#include "client/robot.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/log.h"

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
             const DecoderConfig& decoder, const Clock& clock)
    : executor_(WithOneInput(std::move(graph)), std::move(backend)),
      reader_(executor_.graph(), decoder),
      clock_(clock) {}

Answer Robot::Process(const Frame& frame) {
  Answer answer;
  answer.frame = frame.index;
  answer.stamp = frame.stamp;

  const auto begin = clock_.Now();
  SetInput(frame);
  const auto prepared = clock_.Now();
  executor_.Run();
  const auto computed = clock_.Now();
  answer.content = reader_.Read(executor_, fit());
  answer.preprocess = prepared - begin;
  answer.compute = computed - prepared;
  answer.decode = clock_.Now() - computed;
  return answer;
}

void Robot::SetInput(const Frame& frame) {
  if (!frame.picture.empty()) {
    FitPicture(frame);
    SetPicture(frame.picture);
    return;
  }
  if (frame.tensor.shape() != InputShape(executor_)) {
    throw UnfitFrame(fmt::format("{}: shape {} does not fit the model's input, {}", frame.name,
                                 ToString(frame.tensor.shape()), ToString(InputShape(executor_))));
  }
  fit_.reset();
  executor_.SetInput(0, frame.tensor.view());
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
  LogInfo(fmt::format("frames of {}×{} pixels, model's picture {}×{}", picture.width,
                      picture.height, spec.width, spec.height));
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
