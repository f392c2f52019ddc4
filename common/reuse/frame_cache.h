#ifndef CACHEINF_COMMON_REUSE_FRAME_CACHE_H_
#define CACHEINF_COMMON_REUSE_FRAME_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/exec/model_state.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/reuse.h"

namespace cacheinf {

// Of a state for frames that reuse what is stored. Throws InputError if the graph's activations
// need more memory than the settings allow.
StateOptions OptionsFor(const ReuseSettings& settings, const Graph& graph);

// Computes of each frame what changed since the last one: decides (reuse.h), and has a state apply
// the decision.
class FrameCache {
 public:
  // The state has the options of these settings and outlives this; so does the clock. Otherwise as
  // for Reuse.
  FrameCache(const ReuseSettings& settings, std::unique_ptr<Geometry> geometry, const Clock& clock,
             ModelState& state);

  void SetPlaceOfFrames(const Rectangle& place) { reuse_.SetPlaceOfFrames(place); }

  // How a decision is executed where not by Apply of the state, which brings about the same. With
  // `needs_all` the state must hold all of it afterwards; else it says whether it does.
  struct Executed {
    ChangedWork work;
    bool holds_all = true;
  };
  using Execution = std::function<Executed(const FrameDecision& decision, const PictureView& seen,
                                           const ChangePolicy& policy, bool needs_all)>;

  // Brings the stored values to what the frame gives, as far as the policy goes. After an exception
  // the next call makes up for what this one missed.
  FrameWork Run(const PictureView& frame, const Verdict& verdict = {}, int64_t index = 0,
                const Execution& execution = {});

  // Call it once the answer is read. Returns what it took except the time; nothing if there was
  // nothing to do. REQUIRES: the frame of the last Run, which has returned.
  std::optional<RefreshWork> Refresh(const PictureView& frame, const Verdict& verdict = {},
                                     const Execution& execution = {});

  // Of the last decision.
  const Reuse& reuse() const { return reuse_; }

 private:
  ChangedWork Execute(const FrameDecision& decision, const Execution& execution);

  const Clock& clock_;
  ModelState& state_;
  Reuse reuse_;
  bool needs_all_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_FRAME_CACHE_H_
