#ifndef CACHEINF_COMMON_EXEC_FRAME_MASKS_H_
#define CACHEINF_COMMON_EXEC_FRAME_MASKS_H_

#include <memory>
#include <span>

#include "common/exec/backend.h"
#include "common/exec/change_policy.h"
#include "common/exec/frame_rows.h"
#include "common/exec/layout.h"
#include "common/exec/scroll.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// Finds which pixels of every value are active in a frame, operator by operator as the state goes
// through the graph. The constructor makes everything; a frame allocates nothing.
//
// A value that is not a map is active as a whole or not at all. The mask of a value that is not
// kept has what may have changed, untested: whether it did shows in what is kept after it.
//
// Stale pixels of kept values do not hold what the last frame's inputs give; before the first frame
// all are stale. They are active in the next frame and stored whatever they come out as.
//
// With a peer, a side knows only what becomes of the rows that it computes or receives. It cannot
// infer which pixels of other rows are stale: a pixel may change on the peer and come back to the
// value stored here, so that a test finds no change and the peer never hears of it. So these are
// computed whole: a row that this side did not hold in the frame before; what reads rows that an
// abandoned frame still waited for; and, under kChange, a row that had arrived, since it is what
// the peer's inputs give. Rows that stay cost only what changed in them.
//
// Unsent pixels were written since the peer took them. They are all the news in a row that arrives:
// what reads it here was computed while the row was held, or arrived itself, or is computed whole.
class FrameMasks {
 public:
  // `trades`: whether there is a peer. All else must outlive this.
  FrameMasks(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades);
  ~FrameMasks();
  FrameMasks(const FrameMasks&) = delete;
  FrameMasks& operator=(const FrameMasks&) = delete;

  // Begins a frame. `changed` has one mask per graph input, of its size, or of one pixel if it is
  // not a map; no masks: nothing has changed. `forced` (no words: none) marks pixels of the
  // picture, at any resolution, that every map over it computes and stores, however little they
  // change; a change that the policy calls none does not travel on from there either. If its first
  // pixel is set, all that shows no picture (gates, say) is computed and stored too. `rows`, null
  // for all, must outlive the frame. REQUIRES: a policy with spreads if it needs them.
  void Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
             ConstMaskView forced, const FrameRows* rows);

  // Finds from the masks of the operator's inputs which pixels of its output to compute here, and
  // what becomes of them. REQUIRES: its output is kept.
  PixelRunArgs Activate(OpId op);

  // For an operator whose output is not kept: finds which pixels may have changed.
  void Follow(OpId op);

  // Finds what the inner operators of a stage must compute before its root can compute these
  // pixels: what they read, halo included, less what earlier stages computed since the frame began
  // or since ForgetComputed. REQUIRES: a root that is local, or a stage without inner operators.
  void FindNeeded(const Stage& stage, PixelSet root_pixels);
  PixelSet needed(OpId inner) const;  // by the last FindNeeded
  void ForgetComputed();

  // The activated operator has run.
  void Finish(OpId op);

  // All operators have run.
  void Commit();

  // The frame ends before this operator has run, or while it runs: what it and later ones should
  // have computed becomes stale.
  void Abandon(OpId op);

  // The stored maps were shifted (scroll.h): stale and unsent pixels move along, and what the maps
  // no longer hold becomes stale.
  void Shift(std::span<const ShiftedMap> maps);

  // Makes everything stale, or nothing, as after a dense run.
  void MarkAll(bool stale);

  // Makes these pixels of a kept value stale too, or all of them. REQUIRES: an operator computes
  // it.
  void AddStale(ValueId value, PixelSet pixels);
  void AddAllStale(ValueId value);

  // Whether anything may be stale.
  bool has_stale() const;

  // The pixels that the frame changed or, if the value is not kept, may have changed. REQUIRES: the
  // value's producer has been activated or followed, or it is a graph input.
  PixelSet changed(ValueId value) const;

  // REQUIRES: a kept value that an operator computes or, with a peer, a graph input.
  PixelSet stale(ValueId value) const;

  // Whether any of these pixels of a stage's root reads a stale one. Waits for the device.
  bool ReadsStale(const Stage& stage, PixelSet root_pixels);

  // Whether this side computed the row in the last frame; whether it computed or received it.
  bool was_computed(ValueId value, int row) const;
  bool holds(ValueId value, int row) const;

  // ------------------------------------------------------------------------------------------
  // Trading; only with a peer.

  // The pixels of a value, parts of a concatenation included, that the peer lacks; valid until the
  // next call.
  PixelSet Unsent(ValueId value);
  // These rows are on their way to the peer.
  void Send(ValueId value, Range rows);
  // The peer has committed the frame: what was sent in it is no longer unsent. Or it has not.
  void ConfirmSent();
  void ForgetSent();
  // These pixels have arrived, in a mask of `rows` alone; in the other pixels of these rows the
  // peer holds what is stored here. REQUIRES: rows that this side does not compute in this frame.
  void Receive(ValueId value, Range rows, ConstMaskView pixels);
  // Whether it is a concatenation whose parts operators may have read before it was received.
  bool has_parts(ValueId value) const;
  // The peer holds nothing now.
  void LosePeer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_MASKS_H_
