#ifndef CACHEINF_COMMON_EXEC_NEEDED_PIXELS_H_
#define CACHEINF_COMMON_EXEC_NEEDED_PIXELS_H_

#include <memory>
#include <vector>

#include "common/exec/stages.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// Which pixels the inner operators of a stage must compute so that its root can compute some: what
// those read, halo included, less what earlier stages of the frame have computed already.
// Everything is made in the constructor; a frame allocates nothing.
class NeededPixels {
 public:
  // `is_kept` as FindStages takes it. The graph outlives this.
  NeededPixels(const Graph& graph, const std::vector<bool>& is_kept);
  ~NeededPixels();
  NeededPixels(const NeededPixels&) = delete;
  NeededPixels& operator=(const NeededPixels&) = delete;

  // A new frame: nothing that is not kept has been computed.
  void Begin();

  // What the stage needs for these pixels of its root's output is found, and taken for computed.
  // REQUIRES: a root that is local, or a stage without inner operators.
  void Find(const Stage& stage, ConstMaskView root_pixels);

  // What an inner operator of the last Find computes, as a list, valid until the next call, and as
  // a mask.
  ActivePixels Of(OpId inner);
  ConstMaskView mask(OpId inner) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_NEEDED_PIXELS_H_
