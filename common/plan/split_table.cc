#include "common/plan/split_table.h"

#include <algorithm>
#include <climits>
#include <map>
#include <tuple>

#include "common/model/graph/geometry.h"

namespace cacheinf {

NeededRows::NeededRows(const AxisWindow& window) : window_(window) {
  const auto rows = static_cast<size_t>(window.out_size);
  begin_.resize(rows);
  end_.resize(rows);
  is_identity_ = window.in_size == window.out_size;
  Range last;
  bool is_behind_gap = false;  // of rows that read nothing
  for (int row = 0; row < window.out_size; ++row) {
    const Range needed = window.Needed({row, row + 1});
    is_identity_ &= needed == Range{row, row + 1};
    begin_[row] = needed.empty() ? INT_MAX : needed.begin;
    end_[row] = needed.empty() ? 0 : needed.end;
    if (needed.empty()) {
      is_behind_gap = true;
      continue;
    }
    is_rising_ &= needed.begin >= last.begin && needed.end >= last.end &&
                  !(is_behind_gap && needed.begin < last.end);
    is_behind_gap = false;
    last = needed;
  }
  for (size_t row = rows; row-- > 1;) begin_[row - 1] = std::min(begin_[row - 1], begin_[row]);
  for (size_t row = 1; row < rows; ++row) end_[row] = std::max(end_[row - 1], end_[row]);
}

SplitTable::SplitTable(const std::vector<ProfiledOperator>& operators) {
  std::map<std::tuple<int, int, int, int, int, int, int, int>, const NeededRows*> known;
  for (const ProfiledOperator& op : operators) {
    Node node = {op.rows,     static_cast<int>(inputs.size()), 0, op.is_local, op.is_kept,
                 op.is_output};
    for (const ProfiledOperator::Input& input : op.inputs) {
      const AxisWindow& axis = input.rows;
      const WindowAxis& window = axis.window;
      const NeededRows*& rows =
          known[{static_cast<int>(axis.kind), axis.in_size, axis.out_size, window.kernel,
                 window.stride, window.pad_begin, window.dilation, axis.tile}];
      if (rows == nullptr || axis.kind == AxisWindow::Kind::kResize) {
        rows = windows_.emplace_back(std::make_shared<const NeededRows>(axis)).get();
      }
      inputs.push_back({input.from, rows});
      if (input.from == kPicture) picture_rows = axis.in_size;
    }
    node.inputs_end = static_cast<int>(inputs.size());
    if (op.is_view) views_.insert(views_.begin(), count());
    nodes.push_back(node);
  }
  FindReaders();
  FindWanted();
}

void SplitTable::FindReaders() {
  last_reader.assign(nodes.size(), 0);
  for (int id = 0; id < count(); ++id) {
    const Node& node = nodes[id];
    if (node.is_output) last_reader[id] = count();
    for (int i = node.first_input; i < node.inputs_end; ++i) {
      const int from = inputs[i].from;
      if (from == kPicture) continue;
      int& last = last_reader[from];
      last = std::max(last, id);
    }
  }
}

void SplitTable::FindWanted() {
  wanted_.resize(nodes.size());
  for (int id = count(); id-- > 0;) {
    const Node& node = nodes[id];
    const Range all = {0, node.rows};
    if (node.is_output) wanted_[id] = all;
    if (wanted_[id].empty()) continue;
    for (int i = node.first_input; i < node.inputs_end; ++i) {
      const Input& input = inputs[i];
      if (input.from == kPicture) continue;
      Range& of_input = wanted_[input.from];
      of_input = Hull(of_input, input.rows->Of(node.is_local ? wanted_[id] : all));
    }
  }
}

void SplitTable::FindOwners(const std::vector<Cut>& cuts, const std::vector<int>& robot_rows,
                            int count, SharedFrame* frame) const {
  frame->operators.resize(nodes.size());
  frame->picture = {};
  SharedRows* const operators = frame->operators.data();
  int id = 0;
  const auto own = [&](int end, int run, int rows, int share) {
    for (; id < end; ++id) {
      operators[id] = {.run = run,
                       .boundary = MapRowsOf(rows, picture_rows, nodes[id].rows),
                       .is_divided = share > 0 && share < Cut::kAll,
                       .is_exchanged = nodes[id].is_output};
    }
  };
  int run = 0;
  int rows = picture_rows;
  int share = Cut::kAll;
  for (const Cut& cut : cuts) {
    own(std::min(count, cut.after + 1), run, rows, share);
    rows = robot_rows[run++];
    share = cut.robot_thousandths;
  }
  own(count, run, rows, share);
  for (id = 0; id < count; ++id) {
    const Node& node = nodes[id];
    for (int i = node.first_input; i < node.inputs_end; ++i) {
      const int from = inputs[i].from;
      if (from == kPicture || !nodes[from].is_kept) continue;
      SharedRows& read = operators[from];
      if (read.run != operators[id].run) read.is_exchanged = true;
    }
    if (last_reader[id] >= count) operators[id].is_exchanged = node.is_kept;
  }
}

void SplitTable::FindRows(int count, SharedFrame* frame) const {
  SharedRows* const operators = frame->operators.data();
  for (const int view : views_) {
    if (view >= count || !operators[view].is_exchanged) continue;
    operators[view].is_exchanged = false;
    const int from = inputs[nodes[view].first_input].from;
    if (from != kPicture) operators[from].is_exchanged = true;
  }
  for (int id = count; id-- > 0;) {
    const Node& node = nodes[id];
    SharedRows& shared = operators[id];
    const Range all = {0, node.rows};
    if (node.is_output) shared.needed.robot = all;
    if (node.is_local && !shared.is_exchanged) {
      for (const Side side : kSides) SetComputed(side, id, shared.needed[side], frame);
      continue;
    }
    int boundary = std::clamp(shared.boundary, 0, node.rows);
    if (!node.is_local) boundary = 2 * boundary >= node.rows ? node.rows : 0;
    Range wanted = Hull(shared.needed.robot, shared.needed.server);
    if (last_reader[id] >= count) wanted = Hull(wanted, wanted_[id]);
    const BySide<Range> owned = {{0, boundary}, {boundary, node.rows}};
    for (const Side side : kSides) {
      const Range mine = Intersect(owned[side], wanted);
      SetComputed(side, id, node.is_local || mine.empty() ? mine : all, frame);
      shared.missing[side] = node.is_local ? Intersect(shared.needed[side], owned[PeerOf(side)])
                             : owned[side].empty() ? shared.needed[side]
                                                   : Range{};
    }
  }
}

void SplitTable::SetComputed(Side side, int id, Range rows, SharedFrame* frame) const {
  frame->operators[id].computed[side] = rows;
  if (rows.empty()) return;
  const Node& node = nodes[id];
  for (int i = node.first_input; i < node.inputs_end; ++i) {
    const Input& input = inputs[i];
    Range& needed =
        input.from == kPicture ? frame->picture[side] : frame->operators[input.from].needed[side];
    needed = Hull(needed, input.rows->Of(rows));
  }
}

}  // namespace cacheinf
