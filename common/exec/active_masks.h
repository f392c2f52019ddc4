#ifndef CACHEINF_COMMON_EXEC_ACTIVE_MASKS_H_
#define CACHEINF_COMMON_EXEC_ACTIVE_MASKS_H_

#include <memory>
#include <span>

#include "common/exec/change_policy.h"
#include "common/model/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// Which pixels of every value are active in one frame, found operator by operator as the executor
// goes through the graph. Everything is made in the constructor; a frame allocates nothing.
//
// A value that is not a map is active as a whole or not at all.
class ActiveMasks {
 public:
  explicit ActiveMasks(const Graph& graph);  // outlives this
  ~ActiveMasks();
  ActiveMasks(const ActiveMasks&) = delete;
  ActiveMasks& operator=(const ActiveMasks&) = delete;

  // A new frame. `changed` has one mask a graph input, of its size; those of inputs that are not
  // maps are of one pixel. REQUIRES: a policy with spreads where it needs them.
  void Begin(const ChangePolicy& policy, std::span<const ConstMaskView> changed);

  // Whether anything that the operator reads is active.
  bool ReadsActive(OpId op) const;

  // Finds from its inputs' masks which pixels of the operator's output are active, and returns
  // them, valid until the next call. REQUIRES: the operator is local.
  const ActivePixels& Activate(OpId op);

  // All of the operator's outputs are active, or none.
  void ActivateAll(OpId op);
  void Deactivate(OpId op);

  // What Run of a backend is to be given for the operator that Activate was just called for, or
  // null: its output is not tested.
  const ChangeTest* Test(OpId op);

  // After a run with that test: what it found unchanged is not active.
  void DropUnchanged(OpId op);

  // REQUIRES: a map, whose producer has been activated in this frame or which is a graph input.
  ConstMaskView mask(ValueId map) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_ACTIVE_MASKS_H_
