#ifndef CACHEINF_COMMON_PLAN_SPLIT_H_
#define CACHEINF_COMMON_PLAN_SPLIT_H_

#include <cstddef>
#include <vector>

#include "common/exec/frame_rows.h"
#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

// Which side computes which rows of a frame, and what crosses the link between them. Robot and
// server compile the same from the same graph, layout and cuts, and the frame's base mask.

namespace cacheinf {

// Of what is computed behind a value until the next cut, in the order of execution, the robot owns
// this share of the active rows. Before the first cut it owns all.
struct Cut {
  ValueId value = kNone;
  int robot_thousandths = 0;  // in [0, 1000]
};

// Who owns the rows of every operator's output, and which values may cross.
struct Ownership {
  // One per operator: the robot owns the rows above this one, the server the others. What is not
  // local is owned as a whole, by whoever would own the larger part.
  std::vector<int> robot_rows;
  // One per operator: whether a share of it is each side's, so that those rows move with the frame.
  std::vector<bool> is_divided;
  // One per value. Rows of these are computed by their owner and sent to who needs them; of all
  // others each side computes what it needs, halo included.
  std::vector<bool> is_exchanged;
};

// Rows on their way, after a stage of both sides has run.
struct Transfer {
  size_t after_stages = 0;  // how many have run; 0: graph inputs
  ValueId value = kNone;
  Range rows;
  bool robot_to_server = false;

  bool operator==(const Transfer&) const = default;
};

struct SplitRows {
  FrameRows robot;
  FrameRows server;
  std::vector<Transfer> transfers;  // in the order in which both sides make them
};

// The picture's rows above which the robot owns what follows each cut: so many that its share of
// the active pixels lies in them, or of all pixels if none is active. `base` is the picture's
// active mask.
std::vector<int> RobotRowsOf(const std::vector<Cut>& cuts, ConstMaskView base);

// Who owns what if these are the picture's rows of each cut. What is kept and read behind another
// cut than it is computed behind crosses. Of two cuts behind one operator the last one counts.
// Throws InputError if a cut's value is none that is kept, its share is none, or its rows are not
// the picture's.
Ownership OwnershipOf(const Graph& graph, const Layout& layout, const std::vector<Cut>& cuts,
                      const std::vector<int>& robot_rows, int picture_rows);

// The frame starts on the robot, which holds the graph inputs, and its answer ends there.
// What a view shows crosses as what it is a view of. REQUIRES: exchanged values that are kept.
SplitRows CompileRows(const Graph& graph, const Layout& layout, const Ownership& ownership);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_SPLIT_H_
