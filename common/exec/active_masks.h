#ifndef CACHEINF_COMMON_EXEC_ACTIVE_MASKS_H_
#define CACHEINF_COMMON_EXEC_ACTIVE_MASKS_H_

#include <memory>
#include <span>

#include "common/exec/change_policy.h"
#include "common/exec/layout.h"
#include "common/exec/scroll.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// Some of the pixels that an operator computes in a frame.
struct ActivePart {
  ActivePixels pixels = Range{0, 0};
  const ChangeTest* test = nullptr;  // null: they are stored whatever they come out as
};

// Which pixels of every value are active in one frame, found operator by operator as the executor
// goes through the graph. Everything is made in the constructor; a frame allocates nothing.
//
// A value that is not a map is active as a whole or not at all.
//
// Of a value that is not kept the mask has what may have changed, untested: whether it did shows in
// what is kept after it.
//
// Stale pixels of kept values are those that do not hold what the inputs of the last frame give:
// all of them before the first frame. They are active in the next one and stored whatever they come
// out as.
class ActiveMasks {
 public:
  ActiveMasks(const Graph& graph, const Layout& layout);  // the graph outlives this
  ~ActiveMasks();
  ActiveMasks(const ActiveMasks&) = delete;
  ActiveMasks& operator=(const ActiveMasks&) = delete;

  // A new frame. `changed` has one mask a graph input, of its size; those of inputs that are not
  // maps are of one pixel. `refresh` shows pixels of the picture, at any resolution, that every map
  // over them computes and stores, however little they change; it may have no words. A change that
  // the policy calls none does not travel on from there, either. With its first pixel, all that
  // shows no picture (gates, say) is computed and stored as well.
  // REQUIRES: a policy with spreads where it needs them.
  void Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed,
             ConstMaskView refresh);

  // Whether the operator, which is not local, has anything to do.
  bool IsActive(OpId op) const;

  // Finds from its inputs' masks which pixels of the operator's output are active, and returns
  // them in parts that have no pixel in common, valid until the next call.
  // REQUIRES: the operator is local, and its output is kept.
  std::span<const ActivePart> Activate(OpId op);

  // Finds from its inputs' masks which pixels of the operator's output may have changed.
  // REQUIRES: the output is not kept.
  void Follow(OpId op);

  // All of the operator's outputs are active, or none.
  void ActivateAll(OpId op);
  void Deactivate(OpId op);

  // The operator that was activated has run: what its test found unchanged is not active, and
  // nothing of its outputs is stale.
  void Finish(OpId op);

  // All operators have run.
  void Commit();

  // The frame ends before this operator has run, or while it runs: what it and those after it
  // would have had to compute is stale.
  void Abandon(OpId op);

  // The stored maps were shifted (scroll.h): what they do not hold any more is stale.
  void Shift(std::span<const ShiftedMap> maps);

  // Nothing is stale, as after a dense run, or everything is.
  void MarkAll(bool stale);

  // These pixels of a kept value are stale as well, or all of them.
  // REQUIRES: an operator computes it.
  void AddStale(ValueId value, ConstMaskView pixels);
  void AddAllStale(ValueId value);

  // Whether anything may be.
  bool has_stale() const;

  // REQUIRES: a map, whose producer has been activated or followed in this frame or which is a
  // graph input.
  ConstMaskView mask(ValueId map) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_ACTIVE_MASKS_H_
