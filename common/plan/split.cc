#include "common/plan/split.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "common/base/error.h"
#include "common/model/graph/geometry.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

class RowsCompiler {
 public:
  RowsCompiler(const Graph& graph, const Layout& layout, const Ownership& ownership)
      : graph_(graph), layout_(layout), ownership_(ownership) {
    for (const Side side : kSides) {
      needed_[side].resize(graph.values.size());
      inner_[side].resize(graph.values.size());
      rows_[side].computed.resize(graph.operators.size());
      rows_[side].may_move = ownership.is_divided;
    }
    rows_.server.holds_inputs = false;
    is_exchanged_ = ownership.is_exchanged;
    // The last view first, so that views of views end at the value that holds the numbers.
    for (size_t id = graph.operators.size(); id-- > 0;) {
      const Operator& op = graph.operators[id];
      const bool is_view = layout.is_done_by_placement[id] && op.As<op::Concat>() == nullptr;
      if (!is_view || !is_exchanged_[op.outputs[0]]) continue;
      is_exchanged_[op.outputs[0]] = false;
      is_exchanged_[op.inputs[0]] = true;
    }
  }

  SplitRows Compile() {
    for (const ValueId output : graph_.outputs) {
      if (graph_.value(output).is_constant()) continue;
      needed_.robot[output] = AllRowsOf(output);
    }
    for (size_t stage = layout_.stages.size(); stage-- > 0;) CompileStage(stage);
    for (const ValueId input : graph_.inputs)
      AddTransfer(0, input, needed_.server[input], Side::kRobot);
    // They were found from the last stage to the first.
    std::stable_sort(
        transfers_.begin(), transfers_.end(),
        [](const Transfer& a, const Transfer& b) { return a.after_stages < b.after_stages; });
    return {rows_, transfers_};
  }

 private:
  Range AllRowsOf(ValueId value) const { return {0, HeightOf(graph_.value(value))}; }

  void AddTransfer(size_t after_stages, ValueId value, Range rows, Side from) {
    if (!rows.empty()) transfers_.push_back({after_stages, value, rows, from});
  }

  void CompileStage(size_t index) {
    const Stage& stage = layout_.stages[index];
    const Operator& root = graph_.operators[stage.root];
    BySide<Range> needed;
    for (const Side side : kSides) {
      for (const ValueId output : root.outputs) {
        needed[side] = Hull(needed[side], needed_[side][output]);
      }
    }
    const bool is_local = IsLocal(graph_, root);
    const Range all = AllRowsOf(root.outputs[0]);
    if (is_local && !is_exchanged_[root.outputs[0]]) {
      for (const Side side : kSides) Compute(side, stage, needed[side]);
      return;
    }
    int boundary = std::clamp(ownership_.robot_rows[stage.root], 0, all.end);
    if (!is_local) boundary = 2 * boundary >= all.end ? all.end : 0;
    const Range wanted = Hull(needed.robot, needed.server);
    const BySide<Range> owned = {{0, boundary}, {boundary, all.end}};
    for (const Side side : kSides) {
      const Range mine = Intersect(owned[side], wanted);
      Compute(side, stage, is_local || mine.empty() ? mine : all);
      for (const ValueId output : root.outputs) {
        const Range missing = is_local ? Intersect(needed_[side][output], owned[PeerOf(side)])
                              : owned[side].empty() ? needed_[side][output]
                                                    : Range{};
        AddTransfer(index + 1, output, missing, PeerOf(side));
      }
    }
  }

  // Notes that this side computes these rows of the stage's root, and what that needs.
  void Compute(Side side, const Stage& stage, Range rows) {
    rows_[side].computed[stage.root] = rows;
    if (rows.empty()) return;
    for (const OpId op : stage.inner) inner_[side][graph_.operators[op].outputs[0]] = {};
    AddNeeds(side, stage.root, rows);
    for (size_t i = stage.inner.size(); i-- > 0;) {
      const OpId op = stage.inner[i];
      AddNeeds(side, op, inner_[side][graph_.operators[op].outputs[0]]);
    }
  }

  void AddNeeds(Side side, OpId id, Range rows) {
    if (rows.empty()) return;
    const Operator& op = graph_.operators[id];
    const bool is_local = IsLocal(graph_, op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId input = op.inputs[i];
      if (graph_.value(input).is_constant()) continue;
      const Range read = is_local ? InputWindow(graph_, op, static_cast<int>(i)).rows.Needed(rows)
                                  : AllRowsOf(input);
      Range& needed = layout_.is_kept[input] ? needed_[side][input] : inner_[side][input];
      needed = Hull(needed, read);
    }
  }

  const Graph& graph_;
  const Layout& layout_;
  const Ownership& ownership_;
  std::vector<bool> is_exchanged_;
  BySide<std::vector<Range>> needed_;  // of kept values, by all later stages
  BySide<std::vector<Range>> inner_;   // of others, by the current stage
  BySide<FrameRows> rows_;
  std::vector<Transfer> transfers_;
};

// The first row that has its share of the active pixels above it.
int BoundaryOf(const std::vector<int>& active_by_row, int thousandths) {
  const auto rows = static_cast<int>(active_by_row.size());
  const int64_t all = std::accumulate(active_by_row.begin(), active_by_row.end(), int64_t{0});
  if (thousandths == Cut::kAll) return rows;
  int64_t above = 0;
  int row = 0;
  while (row < rows && above * Cut::kAll < all * thousandths) {
    above += active_by_row[static_cast<size_t>(row)];
    ++row;
  }
  return row;
}

}  // namespace

void CheckCuts(const std::vector<Cut>& cuts, const Graph& graph, const Layout& layout) {
  int last = kNone - 1;
  for (const Cut& cut : cuts) {
    if (cut.after <= last) throw InputError("cuts must be in the order of execution");
    last = cut.after;
    const bool is_kept =
        cut.after == kNone || (cut.after < std::ssize(graph.operators) &&
                               layout.is_kept[graph.operators[cut.after].outputs[0]]);
    if (!is_kept) throw InputError("a cut must be at a value that is kept");
    if (cut.robot_thousandths < 0 || cut.robot_thousandths > Cut::kAll) {
      throw InputError("a cut's share must be between 0 and 1");
    }
  }
}

std::vector<int> RobotRowsOf(const std::vector<Cut>& cuts, ConstMaskView base) {
  std::vector<int> active_by_row(static_cast<size_t>(base.height));
  CountActiveByRow(base, active_by_row.data());
  if (std::all_of(active_by_row.begin(), active_by_row.end(), [](int n) { return n == 0; })) {
    std::fill(active_by_row.begin(), active_by_row.end(), 1);
  }
  std::vector<int> robot_rows;
  for (const Cut& cut : cuts) {
    robot_rows.push_back(BoundaryOf(active_by_row, cut.robot_thousandths));
  }
  return robot_rows;
}

Ownership OwnershipOf(const Graph& graph, const Layout& layout, const std::vector<Cut>& cuts,
                      const std::vector<int>& robot_rows, int picture_rows) {
  if (robot_rows.size() != cuts.size()) throw InputError("every cut must have its rows");
  // Which cut is behind each operator; the first entry: behind the graph inputs.
  std::vector<int> cut_behind(graph.operators.size() + 1, kNone);
  for (size_t i = 0; i < cuts.size(); ++i) {
    if (robot_rows[i] < 0 || robot_rows[i] > picture_rows) {
      throw InputError("a cut's rows must be the picture's");
    }
    cut_behind[cuts[i].after + 1] = static_cast<int>(i);
  }

  int cut = kNone;
  std::vector<int> last_cut;  // before each operator
  Ownership ownership;
  ownership.is_exchanged.assign(graph.values.size(), false);
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const Operator& op = graph.operators[id];
    if (cut_behind[id] != kNone) cut = cut_behind[id];
    last_cut.push_back(cut);
    const int rows = cut == kNone ? picture_rows : robot_rows[cut];
    const int share = cut == kNone ? Cut::kAll : cuts[cut].robot_thousandths;
    ownership.is_divided.push_back(share > 0 && share < Cut::kAll);
    ownership.robot_rows.push_back(MapRowsOf(rows, picture_rows, RowCount(graph, op)));
    for (const ValueId input : op.inputs) {
      const OpId producer = graph.value(input).producer;
      if (producer == kNone || !layout.is_kept[input]) continue;
      if (last_cut[producer] != cut) ownership.is_exchanged[input] = true;
    }
  }
  // The answer ends on the robot.
  for (const ValueId output : graph.outputs) {
    if (graph.value(output).producer != kNone) ownership.is_exchanged[output] = true;
  }
  return ownership;
}

SplitRows CompileRows(const Graph& graph, const Layout& layout, const Ownership& ownership) {
  return RowsCompiler(graph, layout, ownership).Compile();
}

}  // namespace cacheinf
