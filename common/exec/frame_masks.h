#ifndef CACHEINF_COMMON_EXEC_FRAME_MASKS_H_
#define CACHEINF_COMMON_EXEC_FRAME_MASKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/backend/backend.h"
#include "common/exec/change_policy.h"
#include "common/exec/frame_rows.h"
#include "common/exec/layout.h"
#include "common/exec/peer_rows.h"
#include "common/exec/scroll.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// Finds which pixels of every value are active in a frame, operator by operator as the state goes
// through the graph. The constructor makes everything; a frame allocates nothing.
//
// Below, v is a kept value (or a graph input), u one that is not kept, and `mine` the rows that
// this side computes in the frame: without a peer, all. Each equation is in the function beside it.
//
// A frame begins:
//
//   changed(input) = as the caller says                                        Begin
//   computed(u)    = nothing                                                   ForgetComputed
//   forced(v)      = pixels over a forced one of the picture; all of a value   SetForced
//                    that shows no picture (a gate, say), if the first pixel
//                    is forced
//
// It is the turn of an operator whose output is kept:
//
//   stale(v)  += rows of `mine` that this side did not hold in the last frame  AddEntered
//   reached(v) = pixels that read a changed pixel of an input                  AddReached
//   active(v)  = (reached(v) ∪ forced(v) ∪ stale(v)) ∩ mine                    FindActive
//   run(v)     = active(v); `mine`, if any pixel is active, where the operator FindRun
//                prepares an input and tests nothing: later frames read its
//                other pixels as they are now
//   changed(v) = active(v) less those that are not stale and that a test finds FindTest
//                unchanged
//
// or whose output is not kept:
//
//   changed(u) = reached(u)                                                    Follow
//
// Before a root runs, for the inner operators of its stage, from the last to the first:
//
//   needed(u)   = pixels that needed or active ones of the stage read, less    FindNeeded
//                 computed(u)
//   computed(u) += needed(u)                                                   FindNeeded
//
// After an operator has run, and for an input at the frame's beginning:
//
//   stale(v)  -= mine                                                          Store
//   unsent(v) += (changed(v) ∪ small changes that forced(v) stored) ∩ mine     Store
//
// Before the first frame all is stale. A forced pixel is stored even if the policy calls its change
// none; that change goes no further. A value that is no map, or that no local operator computes, is
// active as a whole or not at all. Under kFixed all maps over the picture that have one size,
// except those of the stem, share
//
//   fixed(size) = grown(changed pixels of the inputs, or of what the stem      FindFixed
//                 brings) ∪ forced
//
// which takes the place of reached(v) ∪ forced(v), and no pixel of them is tested.
//
// If a frame is abandoned, for each operator in turn:
//
//   stale(v)  += active(v) in all rows, if it did not run                      AddMissed
//   changed(v) = nothing, if it did not run: its readers see the change when   AddMissed
//                the next frame computes it (with a peer, see below)
//
// Until it is known what the stem brings, changes are followed exactly, which are more.
//
// If the stored maps are shifted, from the first operator to the last:
//
//   lost(v)  = what the shifted map no longer holds ∪ what reads lost pixels   FindLost
//              of inner values
//   stale(v) = shifted(stale(v)) ∪ lost(v)                                     Shift
//
// With a peer, a side does not know which pixels of the peer's rows are stale here. Say that a
// pixel changes on the peer, and three frames later comes back to the value that is stored here: no
// test finds a change, so it is not sent, but what read it here was computed from something else.
// So a side relies only on rows that it has held in every frame since they were last computed
// whole:
//
// - A row that this side did not hold in the last frame is computed whole (AddEntered). It held
//   those that it computed, and those that it received. Under kChange received ones do not count:
//   they are what the peer's inputs gave, which is within the threshold of what this side's give.
// - When a frame is abandoned, changed(v) is active(v) of what did not run, and all of the rows
//   that had not arrived (AddUnknownRows). So what reads these becomes stale, too.
//
// When rows arrive in which the peer has computed all that was active:
//
//   changed(v) += (stale(v) ∪ what this side changed in its parts) ∩ rows      TakeRows
//   stale(v)   -= rows                                                         TakeRows
//   changed(v) += the pixels that arrived; of an input, less small changes     TakePixels
//                 that are forced
//   stale(part of v) += the pixels that arrived, under kChange: what reads     TakePixels
//                 the part may have run
//
// Nothing else in these rows has changed for readers here, since this side has held them all along.
class FrameMasks {
 public:
  // `trades`: whether there is a peer. All else must outlive this.
  FrameMasks(const Graph& graph, const Layout& layout, PixelSets& sets, bool trades);
  FrameMasks(const FrameMasks&) = delete;
  FrameMasks& operator=(const FrameMasks&) = delete;

  // Begins a frame. `changed` has one mask per graph input, of its size, or of one pixel if it is
  // not a map; no masks: nothing has changed. `forced` (no words: none) has the size of the first
  // map among the inputs. Its pixels are computed and stored by all maps over them, however little
  // they change; a change that the policy calls none still does not travel on. `rows`, null for
  // all, must outlive the frame. REQUIRES: a policy with spreads if it needs them.
  void Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
             ConstMaskView forced, const FrameRows* rows);

  // Finds which pixels the operator computes, and how they are tested. REQUIRES: its output is
  // kept.
  PixelRunArgs Activate(OpId op);

  // For an operator whose output is not kept: finds which pixels may have changed.
  void Follow(OpId op);

  // Finds what the inner operators of a stage must compute before its root can compute these
  // pixels. What earlier stages computed counts from the frame's beginning, or ForgetComputed.
  // REQUIRES: a root that is local, or a stage without inner operators.
  void FindNeeded(const Stage& stage, PixelSet root_pixels);
  PixelSet needed(OpId inner) const { return OutputOf(inner).needed; }  // by the last FindNeeded
  void ForgetComputed();

  // The activated operator has run.
  void Finish(OpId op);

  // All operators have run.
  void Commit();

  // The frame ends before this operator has run, or while it runs: what it and later ones should
  // have computed becomes stale.
  void Abandon(OpId op);

  // The stored maps were shifted (scroll.h): stale and unsent pixels move along, and what the maps
  // no longer hold becomes stale. Whoever begins the next frame marks what came in as changed.
  void Shift(std::span<const ShiftedMap> maps);

  // Makes everything stale, or nothing, as after a dense run.
  void MarkAll(bool stale);

  // Makes these pixels of a kept value stale too.
  void AddStale(ValueId value, PixelSet pixels);

  // Whether anything may be stale.
  bool has_stale() const;

  // REQUIRES: the value's producer has been activated or followed, or it is a graph input.
  PixelSet changed(ValueId value) const { return values_[value].changed; }

  PixelSet all(ValueId value) const { return AllOf(values_[value]); }
  PixelSet stale(ValueId value) const { return values_[value].stale; }  // REQUIRES: a kept value

  // Whether any of these pixels of a stage's root reads a stale one. Waits for the device.
  bool ReadsStale(const Stage& stage, PixelSet root_pixels);

  // What is known of the peer; null without one.
  PeerRows* peer() { return peer_ ? &*peer_ : nullptr; }
  const PeerRows* peer() const { return peer_ ? &*peer_ : nullptr; }

  // The pixels of a value, parts of a concatenation included, that the peer lacks; valid until the
  // next call. REQUIRES: a peer.
  PixelSet Unsent(ValueId value);

  // These pixels have arrived, in a mask of `rows` alone; in the other pixels of these rows the
  // peer holds what is stored here. REQUIRES: a peer, and rows that this side does not compute in
  // this frame.
  void Receive(ValueId value, Range rows, ConstMaskView pixels);

 private:
  // What values of one size share.
  struct Size {
    PixelSet scratch;
    PixelSet all;
    // For values that show the picture.
    PixelSet fixed;
    PixelSet forced;
  };

  struct OfValue {
    PixelSet own;
    PixelSet changed;  // `own`, or the `fixed` that it shares; before its operator runs: active
    size_t size = 0;
    bool shows_picture = false;  // it lies over the first map among the inputs
    // If it is kept.
    PixelSet stale;
    bool may_be_stale = false;
    // If it is not.
    PixelSet needed;
    PixelSet computed;
  };

  // An input of an operator that is not constant.
  struct Read {
    ValueId value;
    PixelWay way;  // if the operator is local
  };

  struct OfOperator {
    std::vector<Read> reads;
    bool is_local = false;
    bool prepares_input = false;
    bool can_be_tested = false;  // whether some pixels may come out as they were
    bool ends_stem = false;      // whether it decides there what a change is
  };

  void MakeValue(ValueId id, bool shows_picture);
  void MakeOperator(const Operator& op);
  bool BringsChanges(const Operator& op) const;
  size_t SizeOf(const Value& value);

  const OfValue& OutputOf(OpId op) const { return values_[graph_.operators[op].outputs[0]]; }
  OfValue& OutputOf(OpId op) { return values_[graph_.operators[op].outputs[0]]; }
  bool IsKept(OpId op) const { return OutputOf(op).stale.exists(); }
  PixelSet ScratchOf(const OfValue& value) const { return sizes_[value.size].scratch; }
  PixelSet AllOf(const OfValue& value) const { return sizes_[value.size].all; }

  Range RowsOf(ValueId id) const;
  bool IsMine(OpId op) const;
  void KeepRows(Range rows, PixelSet set);

  bool IsForced(const OfValue& value) const {
    return value.shows_picture ? has_forced_ : forces_others_;
  }
  PixelSet ForcedOf(const OfValue& value) const {
    return value.shows_picture ? sizes_[value.size].forced : AllOf(value);
  }
  bool StoresSmallChanges(const OfValue& value) const {
    return policy_.kind != ChangePolicy::Kind::kExact && IsForced(value);
  }
  void SetForced(ConstMaskView forced);

  void FindStem(int depth);
  bool IsInStem(OpId op) const { return static_cast<size_t>(op) < stem_size_; }
  bool IsFixed(OpId op) const;
  PixelSet FixedOf(const OfValue& value);
  void FindFixed();

  void AddEntered(OpId op);
  void AddReached(OpId op, PixelSet output);
  void FindActive(OpId op);
  void FindActiveInAllRows(OpId op);
  void FindTest(OpId op, PixelRunArgs* args) const;
  PixelSet FindRun(OpId op, bool has_test);
  void AddNeeded(OpId reader, PixelSet pixels);
  bool ReadsStale(OpId op, PixelSet pixels);
  void Store(ValueId id);
  void AddMissed(OpId op);
  void AddUnknownRows(OpId op);
  PixelSet FindLost(OpId op, ValueId id, const ShiftedMap& map);
  void ShiftStored(ValueId id, const ShiftedMap& map);
  void TakeRows(ValueId value, Range rows);
  void TakePixels(ValueId value, PixelSet arrived);

  const Graph& graph_;
  const Layout& layout_;
  PixelSets& sets_;
  std::optional<PeerRows> peer_;
  std::vector<OfValue> values_;
  std::vector<OfOperator> operators_;
  std::vector<Size> sizes_;
  PixelSet picture_;  // the forced pixels of the first map among the inputs
  std::vector<uint8_t> some_rows_;

  // In this frame.
  ChangePolicy policy_;
  const FrameRows* rows_ = nullptr;
  size_t stem_size_ = 0;  // in operators
  bool is_fixed_known_ = false;
  bool has_forced_ = false;
  bool forces_others_ = false;  // values that show no picture
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_MASKS_H_
