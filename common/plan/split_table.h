#ifndef CACHEINF_COMMON_PLAN_SPLIT_TABLE_H_
#define CACHEINF_COMMON_PLAN_SPLIT_TABLE_H_

#include <memory>
#include <vector>

#include "common/base/side.h"
#include "common/plan/plan.h"
#include "common/plan/profile.h"
#include "sparse_ops/views.h"
#include "sparse_ops/window.h"

// Which rows of a network each side computes and what crosses, from one table: the cost model makes
// it from a profile, robot and server from their graph (DescribeOperators of profiled_graph.h).

namespace cacheinf {

// AxisWindow::Needed in two look-ups.
class NeededRows {
 public:
  explicit NeededRows(const AxisWindow& window);

  // REQUIRES: not empty, and within the window's output.
  Range Of(Range rows) const {
    if (is_identity_) return rows;
    if (!is_rising_) return window_.Needed(rows);
    const Range needed = {begin_[rows.begin], end_[rows.end - 1]};
    return needed.empty() ? Range{} : needed;
  }

 private:
  AxisWindow window_;
  bool is_identity_ = true;
  bool is_rising_ = true;
  std::vector<int> begin_;  // of this row and all after it
  std::vector<int> end_;    // of this row and all before it
};

// How the rows of an operator's output are shared.
struct SharedRows {
  // Which side owns them.
  int run = 0;                // cuts before it
  int boundary = 0;           // the robot owns the rows above, the server the rest; an output that
                              // is not local belongs as a whole to whoever owns the larger part
  bool is_divided = false;    // both own a share, so that the boundary moves with the frame
  bool is_exchanged = false;  // its owner computes a row and sends it to the side that needs it;
                              // otherwise each side computes what it needs, halo included
  // What follows from that.
  BySide<Range> needed = {};
  BySide<Range> computed = {};
  BySide<Range> missing = {};  // what a side gets from the other
};

struct SharedFrame {
  std::vector<SharedRows> operators;
  BySide<Range> picture;  // the rows that each side reads
};

// A network's operators in order of execution, and the rows that they read.
struct SplitTable {
  static constexpr int kPicture = -1;

  explicit SplitTable(const std::vector<ProfiledOperator>& operators);

  int count() const { return static_cast<int>(nodes.size()); }

  // Finds the owners of the first `count` operators' rows, given each cut's row of the picture. A
  // kept value crosses if it is read in a run other than its own, or behind the last of these
  // operators. The answer ends on the robot. REQUIRES: the cuts ascend.
  void FindOwners(const std::vector<Cut>& cuts, const std::vector<int>& robot_rows, int count,
                  SharedFrame* frame) const;
  // Finds the rows, given their owners. The frame starts on the robot. A view crosses as the value
  // it shows. REQUIRES: owners, and nothing else; exchanged values are kept.
  void FindRows(int count, SharedFrame* frame) const;

  struct Input {
    int from = kPicture;
    const NeededRows* rows = nullptr;
  };
  struct Node {
    int rows = 1;
    int first_input = 0;
    int inputs_end = 0;
    bool is_local = true;
    bool is_kept = true;
    bool is_output = false;
  };
  int picture_rows = 1;
  std::vector<Node> nodes;
  std::vector<Input> inputs;
  std::vector<int> last_reader;  // count() for an output

 private:
  void FindReaders();
  void FindWanted();
  void SetComputed(Side side, int id, Range rows, SharedFrame* frame) const;

  std::vector<int> views_;     // last first, so that views of views end at what holds the numbers
  std::vector<Range> wanted_;  // rows that any output needs
  std::vector<std::shared_ptr<const NeededRows>> windows_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_SPLIT_TABLE_H_
