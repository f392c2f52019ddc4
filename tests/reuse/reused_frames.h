#ifndef CACHEINF_TESTS_REUSE_REUSED_FRAMES_H_
#define CACHEINF_TESTS_REUSE_REUSED_FRAMES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/picture_view.h"
#include "common/exec/model_state.h"
#include "common/reuse/geometry.h"
#include "common/reuse/reuse.h"
#include "common/reuse/settings.h"

namespace cacheinf {

// Takes frames through a state as a robot does that is alone. The state must outlive this.
class ReusedFrames {
 public:
  ReusedFrames(const ReuseSettings& settings, std::unique_ptr<Geometry> geometry, ModelState& state)
      : state_(state), reuse_(settings, state.graph(), std::move(geometry)) {}

  FrameWork Run(const PictureView& frame, const Verdict& verdict = {}, int64_t index = 0) {
    reuse_.MeasureSpreadsIfDue(state_);
    return Execute(reuse_.Decide(index, frame, verdict));
  }

  std::optional<FrameWork> Refresh(const PictureView& frame, const Verdict& verdict = {}) {
    reuse_.MeasureSpreadsIfDue(state_);
    const FrameDecision* const decision = reuse_.DecideRefresh(frame, verdict);
    if (decision == nullptr) return std::nullopt;
    return Execute(*decision);
  }

  // Whether the state will be said to hold all of the next frames.
  void SetHoldsAll(bool holds_all) { holds_all_ = holds_all; }

  const Reuse& reuse() const { return reuse_; }
  int64_t done() const { return done_.done; }  // multiply-adds of the last decision

 private:
  FrameWork Execute(const FrameDecision& decision) {
    done_ = state_.Apply(decision, reuse_.seen(), reuse_.policy());
    return reuse_.Commit(done_, holds_all_);
  }

  ModelState& state_;
  Reuse reuse_;
  ChangedWork done_;
  bool holds_all_ = true;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_REUSE_REUSED_FRAMES_H_
