#ifndef CACHEINF_COMMON_EXEC_FRAME_ROWS_H_
#define CACHEINF_COMMON_EXEC_FRAME_ROWS_H_

#include <vector>

#include "sparse_ops/views.h"

namespace cacheinf {

// One side's part of a frame.
struct FrameRows {
  // One per operator: the rows of a stage's root that this side computes. Of what is not local,
  // all rows or none.
  std::vector<Range> computed;
  // One per operator: whether other frames may have other rows.
  std::vector<bool> may_move;
  // Whether this side holds the frame; else the rows of graph inputs that it needs arrive as
  // slices.
  bool holds_inputs = true;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_FRAME_ROWS_H_
