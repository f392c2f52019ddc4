#ifndef CACHEINF_PROFILER_FRAME_TIMER_H_
#define CACHEINF_PROFILER_FRAME_TIMER_H_

#include <memory>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "common/base/picture_view.h"
#include "common/config/tracker_config.h"
#include "common/exec/compiled_model.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/exec/timed_backend.h"
#include "common/reuse/frame_cache.h"
#include "common/reuse/settings.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// What a frame took. The times of all operators are that of the frame: to take the picture in
// counts for the first that runs, what follows the last for that.
struct TimedFrame {
  FrameDecision::Kind kind = FrameDecision::Kind::kWhole;
  ChangedWork done;            // of all but kWhole
  double decide_ms = 0;        // following the camera, finding what changed
  double picture_news = 1;     // share of its pixels that the decision says changed
  double total_ms = 0;         // of the operators
  std::vector<double> ms;      // by operator
  std::vector<double> active;  // by operator: the share of its pixels that was computed …
  std::vector<double> news;  // … and of its first output's that then differed. Of changed frames

  // Share of a dense run's multiply-adds.
  double work() const { return kind == FrameDecision::Kind::kWhole ? 1.0 : done.share(); }
};

// Executes frames as a robot does, and notes what they take.
class FrameTimer {
 public:
  // The clock outlives this. Throws InputError if the settings do not fit the model.
  FrameTimer(std::shared_ptr<const Graph> network, std::unique_ptr<Backend> backend,
             const ReuseSettings& settings, const TrackerConfig& tracker, const Clock& clock);

  // Nothing kept.
  TimedFrame Dense(const PictureView& picture);

  // The next frame is the first of a clip, and whole.
  void BeginClip(const Rectangle& place_of_frames);

  // The next frame. With `more`, a mask of the picture, these pixels count as changed as well, and
  // every operator computes and stores those over them.
  TimedFrame Next(const PictureView& picture, const Mask* more = nullptr);

  // The last frame once more, of which only `more` counts as changed: every operator computes and
  // stores what lies over it. REQUIRES: its picture lives.
  TimedFrame Repeat(const Mask& more);

  // What is due after the frame; nothing if nothing is.
  std::optional<TimedFrame> Refresh(const PictureView& picture);

  // Some rows of the picture, whatever is due.
  TimedFrame Refresh(Range rows);

  // With what the last frame left.
  ModelState& state() { return kept_; }
  ConstMaskView changed() const { return cache_.reuse().decision().changed; }
  // How many of the first operators follow every byte.
  size_t stem_size() const { return stem_size_; }
  const Graph& graph() const { return model_->graph(); }
  Backend& backend() const { return model_->backend(); }

 private:
  TimedFrame Execute(const FrameDecision& decision, const PictureView& seen,
                     const ChangePolicy& policy);
  void Note(TimedFrame* frame) const;

  const Clock& clock_;
  const std::shared_ptr<OperatorTimes> times_;
  const std::shared_ptr<const CompiledModel> model_;
  ModelState dense_;
  ModelState kept_;
  FrameCache cache_;
  size_t stem_size_ = 0;
};

}  // namespace cacheinf

#endif  // CACHEINF_PROFILER_FRAME_TIMER_H_
