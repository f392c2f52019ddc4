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

// Which pixels of every value are active in one frame, found operator by operator as the state goes
// through the graph. Everything is made in the constructor; a frame allocates nothing.
//
// A value that is not a map is active as a whole or not at all. Of a value that is not kept the
// mask has what may have changed, untested: whether it did shows in what is kept after it.
//
// Stale pixels of kept values are those that do not hold what the inputs of the last frame give:
// all of them before the first frame. They are active in the next one and stored whatever they come
// out as.
//
// With a peer a side knows only what becomes of the rows that it computes or receives. To infer
// which pixels of other rows are stale would not do: a pixel may change on the peer and come back
// to the value that is stored here, so that a test finds no change and the peer never hears of it.
// So these are computed as a whole: a row that this side did not hold in the frame before; what
// reads rows that an abandoned frame still waited for; and under kChange a row that had arrived,
// since it is what the peer's inputs give. Rows that stay cost what changed in them.
//
// Unsent pixels are those that were written since the peer took them. Of a row that arrives they
// are all the news: what reads it here was computed while the row was held, or arrived itself, or
// is computed as a whole.
class FrameMasks {
 public:
  // `trades`: whether there is a peer. What is given outlives this.
  FrameMasks(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades);
  ~FrameMasks();
  FrameMasks(const FrameMasks&) = delete;
  FrameMasks& operator=(const FrameMasks&) = delete;

  // A new frame. `changed` has one mask a graph input, of its size; those of inputs that are not
  // maps are of one pixel; no masks: nothing has changed. `forced` shows pixels of the picture, at
  // any resolution, that every map over it computes and stores, however little they change; it may
  // have no words. A change that the policy calls none does not travel on from there, either. With
  // its first pixel, all that shows no picture (gates, say) is computed and stored as well. `rows`,
  // null for all, outlives the frame. REQUIRES: a policy with spreads where it needs them.
  void Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
             ConstMaskView forced, const FrameRows* rows);

  // Finds from its inputs' masks which pixels of the operator's output are to be computed here, and
  // what becomes of them. REQUIRES: its output is kept.
  PixelRunArgs Activate(OpId op);

  // Of an operator that is not kept: which pixels may have changed.
  void Follow(OpId op);

  // Finds what the inner operators of a stage must compute so that its root can compute some
  // pixels: what those read, halo included, less what earlier stages have computed since the frame
  // began, or since ForgetComputed. REQUIRES: a root that is local, or a stage without inner
  // operators.
  void FindNeeded(const Stage& stage, PixelSet root_pixels);
  PixelSet needed(OpId inner) const;  // of the last FindNeeded
  void ForgetComputed();

  // The operator that was activated has run.
  void Finish(OpId op);

  // All operators have run.
  void Commit();

  // The frame ends before this operator has run, or while it runs: what it and later ones should
  // have computed is stale.
  void Abandon(OpId op);

  // The stored maps were shifted (scroll.h): stale and unsent pixels move along, and what the maps
  // do not hold any more is stale.
  void Shift(std::span<const ShiftedMap> maps);

  // Nothing is stale, as after a dense run, or everything is.
  void MarkAll(bool stale);

  // These pixels of a kept value are stale as well, or all of them. REQUIRES: an operator computes
  // it.
  void AddStale(ValueId value, PixelSet pixels);
  void AddAllStale(ValueId value);

  // Whether anything may be.
  bool has_stale() const;

  // The pixels that the frame changed, or may have changed where they are not kept.
  // REQUIRES: the value's producer has been activated or followed, or it is a graph input.
  PixelSet changed(ValueId value) const;

  // REQUIRES: a kept value that an operator computes, or with a peer a graph input.
  PixelSet stale(ValueId value) const;

  // ------------------------------------------------------------------------------------------
  // Trading; only with a peer.

  // Whether any of these pixels of a stage's root reads a stale one. Waits for the device.
  bool ReadsStale(const Stage& stage, PixelSet root_pixels);

  // Whether this side computed the row in the last frame; computed or received it.
  bool was_computed(ValueId value, int row) const;
  bool holds(ValueId value, int row) const;

  // The pixels of a value, parts of a concatenation included, that the peer lacks, in memory that
  // the next call overwrites.
  PixelSet Unsent(ValueId value);
  // These rows are on their way to the peer.
  void Send(ValueId value, Range rows);
  // The peer has committed the frame: what was sent in it is not unsent any more. Or it has not.
  void ConfirmSent();
  void ForgetSent();
  // These pixels, of a mask of `rows` alone, have arrived; in all others of the rows the peer holds
  // what is stored here. REQUIRES: rows that this side does not compute in this frame.
  void Receive(ValueId value, Range rows, ConstMaskView pixels);
  // Of a concatenation, values that operators may have read before it was received.
  bool has_parts(ValueId value) const;
  // The peer holds nothing now.
  void LosePeer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_MASKS_H_
