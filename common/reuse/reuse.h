#ifndef CACHEINF_COMMON_REUSE_REUSE_H_
#define CACHEINF_COMMON_REUSE_REUSE_H_

#include <cstdint>
#include <memory>

#include "common/base/picture_view.h"
#include "common/exec/change_policy.h"
#include "common/exec/changed_work.h"
#include "common/exec/frame_decision.h"
#include "common/exec/model_state.h"
#include "common/model/graph/graph.h"
#include "common/reuse/change_finder.h"
#include "common/reuse/frame_work.h"
#include "common/reuse/geometry.h"
#include "common/reuse/inset.h"
#include "common/reuse/reference.h"
#include "common/reuse/settings.h"
#include "common/reuse/verdict.h"
#include "common/tracker/loss.h"

namespace cacheinf {

// The options of a state whose frames reuse what is stored. Throws InputError if the graph's
// activations need more memory than the settings allow.
StateOptions OptionsFor(const ReuseSettings& settings, const Graph& graph);

// Decides for each frame what to compute, from pictures and from what a state reports of the last
// frame; executes nothing. Between two decisions the caller executes the first and calls Commit. If
// execution fails, it does not, and the next decision makes up for it.
//
// Stored values are those of the reference (reference.h). The network sees all of the new frame, so
// everything is computed from that alone; only the change test looks at the reference.
class Reuse {
 public:
  // For pictures of the graph's only input, a map. The graph must outlive this. REQUIRES: the
  // geometry that the settings name, for pictures of that size.
  Reuse(const ReuseSettings& settings, const Graph& graph, std::unique_ptr<Geometry> geometry);

  // Sets the part that shows the frame; at first all of it does. Forgets everything earlier.
  // REQUIRES: a place in a picture of the graph's size, not empty.
  void SetPlaceOfFrames(const Rectangle& place);

  // A decision is valid until the next call.
  const FrameDecision& Decide(int64_t index, const PictureView& frame, const Verdict& verdict);

  // Decides on the work left once the last frame's answer is out: move what the answer did not
  // need, and store the next strip of the picture, so that none gets too old. If the geometry nears
  // its end, compute the whole frame as it is, so that no answer waits for that. Null if there is
  // nothing to do, as before a whole frame.
  const FrameDecision* DecideRefresh(const PictureView& frame, const Verdict& verdict);

  // The last decision was executed, and this was computed here; `holds_all`: the state now holds
  // all of the frame, though a server may have had a part in it. Returns what the frame cost.
  FrameWork Commit(const ChangedWork& done, bool holds_all = true);

  // Spreads are measured on what a committed frame stored: at first, and when the picture's
  // contrast has become much higher or lower. Call this before each decision and, so that no answer
  // waits for it, once an answer is read.
  void MeasureSpreadsIfDue(ModelState& stored);
  // Whether measuring waits for a frame that the state holds completely.
  bool needs_all() const { return needs_all_; }

  // As of the last decision.
  const FrameDecision& decision() const { return decision_; }
  const Placement& placement() const { return placement_; }
  const PictureView& seen() const { return placement_.seen; }
  Rest rest() const { return rest_; }  // why it is whole, if reuse did not pay
  const ChangePolicy& policy() const { return policy_; }

 private:
  void TakeIn(const Verdict& verdict);
  void Use(SafetyLevel level);
  void Forget();
  bool Rests(int64_t frame) const { return frame < next_try_; }
  void BeginRest(Rest why);
  bool IsWholeDue(int64_t frame) const;
  void Begin(FrameDecision::Kind kind);
  const FrameDecision& DecideWhole(const PictureView& frame);
  void FindChanged();
  void ActivateWhatCameIn(const Shift& shift);
  Range StripToRefresh() const;
  void JudgeReuse(const Verdict& verdict);
  bool AreSpreadsOld() const;

  const ReuseSettings configured_;
  ReuseSettings settings_;
  SafetyLevel level_ = SafetyLevel::kNormal;
  const Graph& graph_;
  int width_;
  int height_;
  int step_;  // of ShiftStep; 0: there is none
  Inset inset_;
  std::unique_ptr<Geometry> geometry_;
  ChangeFinder finder_;
  Reference reference_;
  ChangePolicy policy_;
  double contrast_ = 0.0;         // of the picture that the policy's spreads come from
  double last_contrast_ = 0.0;    // of the last committed frame
  bool are_spreads_due_ = false;  // of what the state holds, which is all
  bool needs_all_ = false;

  FrameDecision decision_;
  Placement placement_;
  Rest rest_ = Rest::kNone;
  bool sees_frame_ = true;
  int64_t version_ = 0;     // of settings
  bool is_settled_ = true;  // nothing is left to move
  int64_t committed_ = -1;  // the number of the last committed decision
  int64_t frames_ = 0;      // since the first, or since Forget
  bool last_was_whole_ = false;
  // Frames before next_try_ are whole, since reuse did not pay: as many as rest_frames_, or for the
  // last time.
  int64_t next_try_ = 0;
  int64_t rest_frames_ = 0;
  Rest why_rest_ = Rest::kNone;
  bool is_to_be_timed_ = false;  // the last frame, whose work was little enough
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_REUSE_H_
