#ifndef CACHEINF_PROFILER_FRAME_TIMER_H_
#define CACHEINF_PROFILER_FRAME_TIMER_H_

#include <memory>
#include <optional>
#include <vector>

#include "common/backend/timed_backend.h"
#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/config/tracker_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// What a frame took. Operators' times add up to the frame's: the first that runs includes taking in
// the picture, and the last includes all that follows it.
struct TimedFrame {
  FrameDecision::Kind kind = FrameDecision::Kind::kWhole;
  ChangedWork done;            // not for kWhole
  double decide_ms = 0;        // following the camera and finding what changed
  double picture_news = 1;     // share of the picture's pixels that changed, by the decision
  double total_ms = 0;         // of all operators
  std::vector<double> ms;      // by operator
  std::vector<double> active;  // by operator: the share of its pixels that was computed …
  std::vector<double> news;    // … and of its first output's that differed; changed frames only

  // Share of a dense run's multiply-adds.
  double work() const { return kind == FrameDecision::Kind::kWhole ? 1.0 : done.share(); }
};

// Executes frames as a robot does, and measures what they take.
class FrameTimer {
 public:
  // Throws InputError if the settings do not fit the model. The clock must outlive this.
  FrameTimer(std::shared_ptr<const Graph> network, std::unique_ptr<Backend> backend,
             const ReuseSettings& settings, const TrackerConfig& tracker, const Clock& clock);

  // Computes all, keeping nothing.
  TimedFrame Dense(const PictureView& picture);

  // Makes the next frame the first of a clip, computed whole.
  void BeginClip(const Rectangle& place_of_frames);

  // Executes the next frame. The pixels of `more`, a mask of the picture, count as changed, too:
  // every operator computes and stores the pixels over them.
  TimedFrame Next(const PictureView& picture, const Mask* more = nullptr);

  // Executes the last frame again, with only `more` counting as changed: every operator computes
  // and stores the pixels over it. REQUIRES: its picture still exists.
  TimedFrame Repeat(const Mask& more);

  // Does the refresh due after the frame; nothing if none is due.
  std::optional<TimedFrame> Refresh(const PictureView& picture);

  // Refreshes these rows of the picture, whether due or not.
  TimedFrame Refresh(Range rows);

  // As the last frame left it.
  ModelState& state() { return kept_; }
  ConstMaskView changed() const { return reuse_.decision().changed; }
  // How many of the first operators follow every byte.
  size_t stem_size() const { return stem_size_; }
  const Graph& graph() const { return model_->graph(); }
  Backend& backend() const { return model_->backend(); }

 private:
  TimedFrame Execute(const FrameDecision& decision, const PictureView& seen);
  void Note(TimedFrame* frame) const;

  const Clock& clock_;
  const std::shared_ptr<OperatorTimes> times_;
  const std::shared_ptr<const CompiledModel> model_;
  ModelState dense_;
  ModelState kept_;
  Reuse reuse_;
  size_t stem_size_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_FRAME_TIMER_H_
