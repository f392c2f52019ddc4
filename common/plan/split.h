#ifndef CACHEINF_COMMON_PLAN_SPLIT_H_
#define CACHEINF_COMMON_PLAN_SPLIT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/side.h"
#include "common/exec/frame_rows.h"
#include "common/exec/layout.h"
#include "common/model/graph/graph.h"
#include "common/plan/plan.h"
#include "common/plan/split_table.h"
#include "sparse_ops/views.h"

// Which side computes which rows of a frame, and what crosses the link. Robot and server derive
// this from the same graph, layout, cuts and base mask of the frame; the cost model derives the
// same from a profile (split_table.h).

namespace cacheinf {

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

class RowCompiler {
 public:
  // REQUIRES: the graph has one input. Graph and layout outlive this.
  RowCompiler(const Graph& graph, const Layout& layout);

  // Returns the rows of a frame, given each cut's row of the picture. Throws InputError if these
  // are outside the picture. REQUIRES: cuts that pass CheckCuts.
  SplitRows Compile(const std::vector<Cut>& cuts, const std::vector<int>& robot_rows) const;
  // The same from the owners of all rows.
  SplitRows Compile(SharedFrame frame) const;

  // Cuts may give each side a share of rows, and still leave one side all rows to compute. If they
  // do, returns why, and which cut would help, in one sentence. REQUIRES: cuts that pass CheckCuts.
  std::string WhyNoRowsAreShared(const std::vector<Cut>& cuts) const;

 private:
  Range NeededOf(ValueId value, Side side, const SharedFrame& frame) const;
  bool ShareRows(const std::vector<Cut>& cuts) const;

  const Graph& graph_;
  const Layout& layout_;
  const SplitTable table_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_SPLIT_H_
