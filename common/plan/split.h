#ifndef CACHEINF_COMMON_PLAN_SPLIT_H_
#define CACHEINF_COMMON_PLAN_SPLIT_H_

#include <cstddef>
#include <vector>

#include "common/base/side.h"
#include "common/exec/frame_rows.h"
#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "common/plan/plan.h"
#include "sparse_ops/views.h"

// Which side computes which rows of a frame, and what crosses the link. Robot and server compile
// the same from the same graph, layout, cuts and base mask of the frame.

namespace cacheinf {

// Who owns the rows of every operator's output, and which values may cross.
struct Ownership {
  // Per operator: the robot owns the rows above this one, the server the rest. An output that is
  // not local belongs as a whole to whoever would own the larger part.
  std::vector<int> robot_rows;
  // Per operator: whether both sides own a share, so that the boundary moves with the frame.
  std::vector<bool> is_divided;
  // Per value: whether its rows are computed by their owner and sent to who needs them. All others
  // each side computes as needed, halo included.
  std::vector<bool> is_exchanged;
};

// Rows that cross after a stage has run on both sides.
struct Transfer {
  size_t after_stages = 0;  // how many have run; 0: graph inputs
  ValueId value = kNone;
  Range rows;
  Side from = Side::kRobot;

  bool operator==(const Transfer&) const = default;
};

struct SplitRows : BySide<FrameRows> {
  std::vector<Transfer> transfers;  // in the order in which both sides make them
};

// Throws InputError unless the cuts ascend, each behind the picture or a value that is kept, and
// their shares are from 0 to 1.
void CheckCuts(const std::vector<Cut>& cuts, const Graph& graph, const Layout& layout);

// Returns, per cut, the picture row above which the robot owns what follows: its share of the
// active pixels lies above it, or of all pixels if none is active. `base` is the picture's active
// mask.
std::vector<int> RobotRowsOf(const std::vector<Cut>& cuts, ConstMaskView base);

// Returns who owns what, given each cut's row of the picture. A kept value crosses if it is read
// behind another cut than it is computed behind. Throws InputError if a cut's row is outside the
// picture. REQUIRES: cuts that pass CheckCuts.
Ownership OwnershipOf(const Graph& graph, const Layout& layout, const std::vector<Cut>& cuts,
                      const std::vector<int>& robot_rows, int picture_rows);

// Compiles the rows. The frame starts on the robot, which holds the graph inputs, and its answer
// ends there. A view crosses as the value it shows. REQUIRES: exchanged values are kept.
SplitRows CompileRows(const Graph& graph, const Layout& layout, const Ownership& ownership);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_SPLIT_H_
