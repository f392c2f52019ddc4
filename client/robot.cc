#include "client/robot.h"

#include <fmt/core.h>

#include <utility>

#include "client/answer/recomputed.h"
#include "common/canvas/make_geometry.h"

namespace cacheinf {
namespace {

ReuseSettings SettingsOf(const RobotConfig& config) {
  return Resolve(config.cache, config.tracker.change);
}

StateOptions OptionsFor(const RobotConfig& config, const Graph& graph) {
  if (graph.inputs.size() != 1) {
    throw InputError(fmt::format("model '{}' has {} inputs, but a frame can feed only one",
                                 graph.name, graph.inputs.size()));
  }
  if (config.mode != RobotConfig::Mode::kCache) return {};
  return OptionsFor(SettingsOf(config), graph);
}

const Shape& InputShape(const ModelState& state) {
  const Graph& graph = state.graph();
  return graph.value(graph.inputs.front()).shape;
}

}  // namespace

Robot::Robot(std::shared_ptr<const CompiledModel> model, const RobotConfig& config,
             const Clock& clock)
    : mode_(config.mode),
      every_(config.every),
      state_(model, OptionsFor(config, model->graph())),
      reader_(state_.graph(), config.model_config.decoder),
      clock_(clock) {
  if (config.mode == RobotConfig::Mode::kCache) MakeCache(config);
}

void Robot::MakeCache(const RobotConfig& config) {
  if (state_.graph().picture.width == 0) {
    throw InputError("mode cache needs pictures, but the model takes tensors");
  }
  const ReuseSettings settings = SettingsOf(config);
  auto tracker = settings.follows_camera() ? MakeTracker(config.tracker) : nullptr;
  cache_ = std::make_unique<FrameCache>(
      settings, MakeGeometry(settings, state_.graph(), std::move(tracker)), clock_, state_);
}

Answer Robot::Process(const Frame& frame, const Verdict& verdict) {
  const auto begin = clock_.Now();
  Fit(frame);
  if (verdict.forget) kept_.reset();
  return CanRepeat() ? Repeat(frame, begin) : Compute(frame, verdict, begin);
}

std::optional<RefreshWork> Robot::Refresh(const Frame& frame, const Verdict& verdict) {
  const auto begin = clock_.Now();
  std::optional<RefreshWork> work;
  if (cache_) work = cache_->Refresh(model_picture(), verdict);
  if (mode_ == RobotConfig::Mode::kStale && kept_->computed_from != frame.index) {
    Compute(frame, verdict, begin);
    work = RefreshWork{.share = 1.0};
  }
  if (work) work->time = clock_.Now() - begin;
  return work;
}

bool Robot::CanRepeat() const {
  if (!kept_) return false;
  switch (mode_) {
    case RobotConfig::Mode::kDense:
    case RobotConfig::Mode::kCache:
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

Answer Robot::Compute(const Frame& frame, const Verdict& verdict, std::chrono::nanoseconds begin) {
  Answer answer;
  SetInput(frame);
  const auto prepared = clock_.Now();
  if (cache_) {
    answer.work = cache_->Run(model_picture(), verdict, frame.index);
  } else {
    state_.Run();
    ++decision_.number;
    decision_.frame = frame.index;
    decision_.base = -1;
  }
  const auto computed = clock_.Now();
  answer.frame = frame.index;
  answer.stamp = frame.stamp;
  answer.computed_from = frame.index;
  answer.content = reader_.Read(state_, Seen());
  Keep(answer);
  answer.preprocess = prepared - begin;
  answer.compute = computed - prepared;
  answer.decode = clock_.Now() - computed;
  return answer;
}

void Robot::Keep(const Answer& answer) {
  if (mode_ == RobotConfig::Mode::kDense || mode_ == RobotConfig::Mode::kCache) return;
  kept_ = answer;
  repeats_ = 0;
}

// Throws before anything has changed if the frame does not fit.
void Robot::Fit(const Frame& frame) {
  if (!frame.picture.empty()) {
    FitPicture(frame);
    return;
  }
  if (cache_) throw InputError("mode cache needs pictures, but the source gives tensors");
  if (frame.tensor.shape() != InputShape(state_)) {
    throw UnfitFrame(fmt::format("{}: shape {} does not fit the model's input, {}", frame.name,
                                 ToString(frame.tensor.shape()), ToString(InputShape(state_))));
  }
  fit_.reset();
}

void Robot::FitPicture(const Frame& frame) {
  const PictureSpec& spec = state_.graph().picture;
  const Picture& picture = frame.picture;
  if (spec.width == 0) throw InputError("the model takes tensors, but the source gives pictures");
  const bool has_new_size = !fit_ || fit_->columns().frame_size != picture.width ||
                            fit_->rows().frame_size != picture.height;
  if (!has_new_size) return;
  try {
    fit_ = std::make_shared<const PictureFit>(spec, picture.width, picture.height);
  } catch (const InputError& error) {
    throw UnfitFrame(fmt::format("{}: {}", frame.name, error.what()));
  }
  // What is kept is of another picture.
  kept_.reset();
  if (cache_) cache_->SetPlaceOfFrames(fit_->place());
}

std::optional<ClassMap> Robot::recomputed() const {
  if (!cache_) return std::nullopt;
  if (decision()->kind == FrameDecision::Kind::kWhole) return AllRecomputed(state_);
  const PictureSpec& spec = state_.graph().picture;
  return Seen().InModel(Recomputed(state_), spec.width, spec.height);
}

SeenPicture Robot::Seen() const {
  SeenPicture seen = {fit(), {}};
  if (cache_) seen.model_from_seen = cache_->reuse().placement().frame_from_seen;
  return seen;
}

void Robot::SetInput(const Frame& frame) {
  if (frame.picture.empty()) {
    state_.SetInput(0, frame.tensor.view());
    return;
  }
  pixels_.resize(model_picture().byte_count());
  fit_->Resize(frame.picture, {0, state_.graph().picture.height}, pixels_.data());
  // A cache decides itself what the network sees.
  if (!cache_) state_.SetPicture(model_picture());
}

PictureView Robot::model_picture() const {
  const PictureSpec& spec = state_.graph().picture;
  return {pixels_.data(), spec.width, spec.height, fit_->channels()};
}

PictureView Robot::seen_picture() const {
  return cache_ ? cache_->reuse().seen() : model_picture();
}

bool Robot::sees_moved() const {
  return cache_ && !cache_->reuse().placement().frame_from_seen.IsIdentity();
}

const FrameDecision* Robot::decision() const {
  if (cache_) return &cache_->reuse().decision();
  return repeats_ > 0 ? nullptr : &decision_;
}

}  // namespace cacheinf
