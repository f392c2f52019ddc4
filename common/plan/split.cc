#include "common/plan/split.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/base/error.h"
#include "common/model/graph/geometry.h"
#include "common/plan/profiled_graph.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

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
  if (std::ranges::all_of(active_by_row, [](int n) { return n == 0; })) {
    std::ranges::fill(active_by_row, 1);
  }
  std::vector<int> robot_rows;
  for (const Cut& cut : cuts) {
    robot_rows.push_back(BoundaryOf(active_by_row, cut.robot_thousandths));
  }
  return robot_rows;
}

RowCompiler::RowCompiler(const Graph& graph, const Layout& layout)
    : graph_(graph), layout_(layout), table_(DescribeOperators(graph, layout)) {}

SplitRows RowCompiler::Compile(const std::vector<Cut>& cuts,
                               const std::vector<int>& robot_rows) const {
  const auto is_row = [&](int row) { return row >= 0 && row <= table_.picture_rows; };
  if (robot_rows.size() != cuts.size() || !std::ranges::all_of(robot_rows, is_row)) {
    throw InputError("every cut must have a row of the picture");
  }
  SharedFrame frame;
  table_.FindOwners(cuts, robot_rows, table_.count(), &frame);
  return Compile(std::move(frame));
}

SplitRows RowCompiler::Compile(SharedFrame frame) const {
  table_.FindRows(table_.count(), &frame);
  SplitRows rows;
  rows.server.holds_inputs = false;
  for (const Side side : kSides) {
    rows[side].computed.resize(frame.operators.size());
    for (const SharedRows& op : frame.operators) rows[side].may_move.push_back(op.is_divided);
  }
  const auto cross = [&](size_t after_stages, ValueId value, Range range, Side from) {
    if (!range.empty()) rows.transfers.push_back({after_stages, value, range, from});
  };
  cross(0, graph_.inputs.front(), frame.picture.server, Side::kRobot);
  for (size_t stage = 0; stage < layout_.stages.size(); ++stage) {
    const OpId root = layout_.stages[stage].root;
    const SharedRows& shared = frame.operators[root];
    const std::vector<ValueId>& outputs = graph_.operators[root].outputs;
    for (const Side side : kSides) {
      rows[side].computed[root] = shared.computed[side];
      if (shared.missing[side].empty()) continue;
      for (const ValueId output : outputs) {
        cross(stage + 1, output,
              outputs.size() == 1 ? shared.missing[side] : NeededOf(output, side, frame),
              PeerOf(side));
      }
    }
  }
  return rows;
}

bool RowCompiler::ShareRows(const std::vector<Cut>& cuts) const {
  std::vector<int> robot_rows;
  for (const Cut& cut : cuts) {
    robot_rows.push_back(PictureRowsOf(cut.robot_thousandths, table_.picture_rows));
  }
  SharedFrame frame;
  table_.FindOwners(cuts, robot_rows, table_.count(), &frame);
  table_.FindRows(table_.count(), &frame);
  for (size_t id = 0; id < table_.nodes.size(); ++id) {
    const auto is_part = [&](Range rows) {
      return !rows.empty() && rows.size() < table_.nodes[id].rows;
    };
    const BySide<Range>& computed = frame.operators[id].computed;
    if (is_part(computed[Side::kRobot]) && is_part(computed[Side::kServer])) return true;
  }
  return false;
}

std::string RowCompiler::WhyNoRowsAreShared(const std::vector<Cut>& cuts) const {
  const auto divides = [](const Cut& cut) {
    return cut.robot_thousandths > 0 && cut.robot_thousandths < Cut::kAll;
  };
  if (std::ranges::none_of(cuts, divides) || ShareRows(cuts)) return "";
  std::string why = "the cuts share no rows: one side computes all of them";
  const auto whole = std::find_if(table_.nodes.begin() + cuts.back().after + 1, table_.nodes.end(),
                                  [](const SplitTable::Node& node) { return !node.is_local; });
  if (whole == table_.nodes.end()) return why;
  const auto id = static_cast<int>(whole - table_.nodes.begin());
  why += ", because " + graph_.operators[id].name + " needs every row";
  for (int last = id - 1; last > cuts.back().after; --last) {
    if (!layout_.is_kept[graph_.operators[last].outputs[0]]) continue;
    std::vector<Cut> more = cuts;
    more.push_back({last, Cut::kAll});
    if (!ShareRows(more)) continue;
    return why + "; add --cut " + graph_.operators[last].name + ":1";
  }
  return why;
}

// What a side reads of one of several outputs.
Range RowCompiler::NeededOf(ValueId value, Side side, const SharedFrame& frame) const {
  Range needed;
  if (side == Side::kRobot && std::ranges::find(graph_.outputs, value) != graph_.outputs.end()) {
    needed = {0, HeightOf(graph_.value(value))};
  }
  for (size_t id = 0; id < graph_.operators.size(); ++id) {
    const Range computed = frame.operators[id].computed[side];
    if (computed.empty()) continue;
    int i = table_.nodes[id].first_input;
    for (const ValueId input : graph_.operators[id].inputs) {
      if (graph_.value(input).is_constant()) continue;
      if (input == value) needed = Hull(needed, table_.inputs[i].rows->Of(computed));
      ++i;
    }
  }
  return needed;
}

}  // namespace cacheinf
