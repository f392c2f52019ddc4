#include "profiler/frame_timer.h"

#include <utility>

#include "common/canvas/make_geometry.h"
#include "common/exec/stem.h"
#include "common/model/graph/geometry.h"
#include "common/tracker/tracker.h"

namespace cacheinf {
namespace {

std::unique_ptr<Geometry> GeometryOf(const ReuseSettings& settings, const TrackerConfig& tracker,
                                     const Graph& graph) {
  return MakeGeometry(settings, graph, settings.follows_camera() ? MakeTracker(tracker) : nullptr);
}

double ShareOf(ConstMaskView mask) {
  return static_cast<double>(CountActive(mask)) / static_cast<double>(mask.pixel_count());
}

}  // namespace

FrameTimer::FrameTimer(std::shared_ptr<const Graph> network, std::unique_ptr<Backend> backend,
                       const ReuseSettings& settings, const TrackerConfig& tracker,
                       const Clock& clock)
    : clock_(clock),
      times_(std::make_shared<OperatorTimes>()),
      model_(std::make_shared<const CompiledModel>(
          std::move(network), std::make_unique<TimedBackend>(std::move(backend), times_, clock))),
      dense_(model_),
      kept_(model_, OptionsFor(settings, model_->graph())),
      reuse_(settings, model_->graph(), GeometryOf(settings, tracker, model_->graph())) {
  times_->counts_pixels = true;
  stem_size_ = StemSize(graph(), settings.change_policy().stem_depth);
}

TimedFrame FrameTimer::Dense(const PictureView& picture) {
  TimedFrame frame;
  times_->Begin(clock_.Now());
  dense_.SetPicture(picture);
  dense_.Run();
  Note(&frame);
  return frame;
}

void FrameTimer::BeginClip(const Rectangle& place_of_frames) {
  reuse_.SetPlaceOfFrames(place_of_frames);
}

TimedFrame FrameTimer::Next(const PictureView& picture, const Mask* more) {
  reuse_.MeasureSpreadsIfDue(kept_);
  const auto begin = clock_.Now();
  const FrameDecision& decided = reuse_.Decide(0, picture, {});
  const double decide_ms = Milliseconds(clock_.Now() - begin);
  FrameDecision decision = decided;
  if (more != nullptr && decision.kind == FrameDecision::Kind::kChanged) {
    Unite(std::as_const(decision.changed), *more, decision.changed);
    Copy(*more, decision.forced);
  }
  TimedFrame frame = Execute(decision, reuse_.seen());
  frame.decide_ms = decide_ms;
  reuse_.Commit(frame.done);
  return frame;
}

TimedFrame FrameTimer::Repeat(const Mask& more) {
  FrameDecision decision = reuse_.decision();
  decision.kind = FrameDecision::Kind::kChanged;
  Copy(more, decision.changed);
  Copy(more, decision.forced);
  decision.scroll = {};
  decision.stored_from_frame = {};
  return Execute(decision, reuse_.seen());
}

std::optional<TimedFrame> FrameTimer::Refresh(const PictureView& picture) {
  reuse_.MeasureSpreadsIfDue(kept_);
  const FrameDecision* const decision = reuse_.DecideRefresh(picture, {});
  if (decision == nullptr) return std::nullopt;
  TimedFrame frame = Execute(*decision, reuse_.seen());
  reuse_.Commit(frame.done);
  return frame;
}

TimedFrame FrameTimer::Refresh(Range rows) {
  FrameDecision decision = reuse_.decision();
  decision.kind = FrameDecision::Kind::kRefresh;
  ClearAll(decision.changed);
  ClearAll(decision.forced);
  const ConstMaskView forced = decision.forced;
  SetRectangle(rows, {0, forced.width}, decision.forced);
  return Execute(decision, {});
}

TimedFrame FrameTimer::Execute(const FrameDecision& decision, const PictureView& seen) {
  TimedFrame frame;
  frame.kind = decision.kind;
  times_->Begin(clock_.Now());
  frame.done = kept_.Apply(decision, seen, reuse_.policy());
  Note(&frame);
  if (decision.kind != FrameDecision::Kind::kChanged) return frame;
  for (size_t id = 0; id < frame.ms.size(); ++id) {
    const ValueId output = graph().operators[id].outputs[0];
    frame.news.push_back(kept_.is_kept(output) ? ShareOf(kept_.changed(output)) : 0.0);
    // A view computes what changed in it.
    if (kept_.layout().is_done_by_placement[id]) frame.active[id] = frame.news[id];
  }
  frame.picture_news = ShareOf(decision.changed);
  return frame;
}

void FrameTimer::Note(TimedFrame* frame) const {
  const double after_ms = Milliseconds(clock_.Now() - times_->lap_begin);
  frame->ms = times_->lap_ms;
  frame->ms[times_->first] += times_->before_ms;
  frame->ms[times_->last] += after_ms;
  for (const double ms : frame->ms) frame->total_ms += ms;
  for (size_t id = 0; id < frame->ms.size(); ++id) {
    const Value& output = graph().value(graph().operators[id].outputs[0]);
    const double all = static_cast<double>(HeightOf(output)) * WidthOf(output);
    frame->active.push_back(static_cast<double>(times_->pixels[id]) / all);
  }
}

}  // namespace cacheinf
