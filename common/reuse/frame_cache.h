#ifndef CACHEINF_COMMON_REUSE_FRAME_CACHE_H_
#define CACHEINF_COMMON_REUSE_FRAME_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/exec/model_state.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/reuse.h"

namespace cacheinf {

// The options of a state whose frames reuse what is stored. Throws InputError if the graph's
// activations need more memory than the settings allow.
StateOptions OptionsFor(const ReuseSettings& settings, const Graph& graph);

// Computes what changed in each frame since the last one: decides (reuse.h), and has a state apply
// the decision.
class FrameCache {
 public:
  // As for Reuse. State and clock must outlive this. REQUIRES: a state with OptionsFor these
  // settings.
  FrameCache(const ReuseSettings& settings, std::unique_ptr<Geometry> geometry, const Clock& clock,
             ModelState& state);

  void SetPlaceOfFrames(const Rectangle& place) {
    reuse_.SetPlaceOfFrames(place);
    are_spreads_due_ = false;
  }

  // Executes a decision in place of the state's Apply, with the same effect. With `needs_all` the
  // state must hold everything afterwards; otherwise the result says whether it does.
  struct Executed {
    ChangedWork work;
    bool holds_all = true;
  };
  using Execution = std::function<Executed(const FrameDecision& decision, const PictureView& seen,
                                           const ChangePolicy& policy, bool needs_all)>;

  // Brings the stored values to what the frame gives, as far as the policy goes. After an exception
  // the next call makes up for this one.
  FrameWork Run(const PictureView& frame, const Verdict& verdict = {}, int64_t index = 0,
                const Execution& execution = {});

  // Call it once the answer is read. Also measures spreads that are due, so that no answer waits
  // for that; if the next Run comes first, it does. Returns what was computed, without the time, or
  // nothing if nothing had to be. REQUIRES: the frame of the last Run, which has returned.
  std::optional<RefreshWork> Refresh(const PictureView& frame, const Verdict& verdict = {},
                                     const Execution& execution = {});

  // As of the last decision.
  const Reuse& reuse() const { return reuse_; }

 private:
  void MeasureSpreadsIfDue();
  ChangedWork Execute(const FrameDecision& decision, const Execution& execution);

  const Clock& clock_;
  ModelState& state_;
  Reuse reuse_;
  bool are_spreads_due_ = false;  // of what the state holds, which is all
  bool needs_all_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_FRAME_CACHE_H_
