#ifndef CACHEINF_COMMON_EXEC_FRAME_ROWS_H_
#define CACHEINF_COMMON_EXEC_FRAME_ROWS_H_

#include <vector>

#include "sparse_ops/views.h"

namespace cacheinf {

// One side's part of a frame.
struct FrameRows {
  // One per operator: the rows of a stage's root that this side computes; all or none if it is not
  // local.
  std::vector<Range> computed;
  // One per operator: whether its rows may differ in other frames.
  std::vector<bool> may_move;
  // Whether this side holds the frame. If not, the rows of graph inputs that it needs arrive as
  // slices.
  bool holds_inputs = true;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_ROWS_H_
