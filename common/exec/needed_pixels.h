#ifndef CACHEINF_COMMON_EXEC_NEEDED_PIXELS_H_
#define CACHEINF_COMMON_EXEC_NEEDED_PIXELS_H_

#include <vector>

#include "common/exec/pixel_sets.h"
#include "common/exec/stages.h"
#include "common/model/graph/graph.h"

namespace cacheinf {

// Which pixels the inner operators of a stage must compute so that its root can compute some: what
// those read, halo included, less what earlier stages of the frame have computed.
// Everything is made in the constructor; a frame allocates nothing.
class NeededPixels {
 public:
  // `is_kept` as FindStages takes it. The graph and the sets outlive this.
  NeededPixels(const Graph& graph, const std::vector<bool>& is_kept, PixelSets& sets);

  // A new frame: nothing but kept values has been computed.
  void Begin();

  // Finds what the stage needs for these pixels of its root's output, and counts it as computed.
  // REQUIRES: a root that is local, or a stage without inner operators.
  void Find(const Stage& stage, PixelSet root_pixels);

  // What an inner operator of the last Find computes.
  PixelSet Of(OpId inner) const { return values_[OutputOf(inner)].needed; }

 private:
  // A value that is not kept, as an operator reads it.
  struct Source {
    ValueId map;
    PixelWay way;
  };
  // Of a value that is not kept.
  struct ValuePixels {
    PixelSet needed;
    PixelSet computed;
  };

  ValueId OutputOf(OpId op) const { return graph_.operators[op].outputs[0]; }
  void AddNeeded(OpId reader, PixelSet pixels);

  const Graph& graph_;
  PixelSets& sets_;
  std::vector<std::vector<Source>> sources_;  // one list per operator
  std::vector<ValuePixels> values_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_NEEDED_PIXELS_H_
