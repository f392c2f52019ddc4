#include "common/exec/peer_rows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/model/graph/geometry.h"

namespace cacheinf {

PeerRows::PeerRows(const Graph& graph, const Layout& layout, PixelSets& sets)
    : graph_(graph), sets_(sets), of_values_(graph.values.size()) {
  for (size_t id = 0; id < of_values_.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.is_constant() || !layout.is_kept[id]) continue;
    OfValue& made = of_values_[id];
    made.unsent = sets.Make(HeightOf(value), WidthOf(value));
    made.sent = sets.Make(HeightOf(value), WidthOf(value));
    made.rows.resize(static_cast<size_t>(HeightOf(value)));
    made.last_rows = made.rows;
    AddWriters(static_cast<ValueId>(id), layout, made);
  }
}

// What already lies in place is written by earlier operators.
void PeerRows::AddWriters(ValueId value, const Layout& layout, OfValue& made) const {
  const OpId producer = graph_.value(value).producer;
  if (producer == kNone || !layout.is_done_by_placement[producer]) made.writers.push_back(value);
  if (producer == kNone) return;
  const Operator& op = graph_.operators[producer];
  const bool is_view = layout.is_done_by_placement[producer] && op.As<op::Concat>() == nullptr;
  for (const ValueId input : op.inputs) {
    if (graph_.value(input).is_constant()) continue;
    const bool lies_here = op.As<op::Concat>() != nullptr && layout.places[input].viewed == value;
    if (!is_view && !lies_here) continue;
    made.parts.push_back(input);
    AddWriters(input, layout, made);
  }
}

void PeerRows::BeginFrame() {
  for (OfValue& value : of_values_) std::ranges::fill(value.rows, kUnknown);
}

void PeerRows::SetRows(ValueId value, Range rows, Row what) {
  const auto begin = of_values_[value].rows.begin();
  std::fill(begin + rows.begin, begin + rows.end, what);
}

PeerRows::Row PeerRows::last_row(ValueId value, int y) const {
  const std::vector<uint8_t>& rows = of_values_[value].last_rows;
  return rows.empty() ? kComputed : RowAt(rows, y);
}

void PeerRows::KeepLastRows(ValueId value, Range rows) {
  OfValue& of_value = of_values_[value];
  const auto last = of_value.last_rows.begin();
  std::copy(last + rows.begin, last + rows.end, of_value.rows.begin() + rows.begin);
}

void PeerRows::Commit() {
  for (OfValue& value : of_values_) value.last_rows = value.rows;
}

void PeerRows::MarkAll(Row what) {
  for (OfValue& value : of_values_) std::ranges::fill(value.last_rows, what);
  lacks_all_ = true;
}

// From here on `unsent` says what the peer lacks.
void PeerRows::BeginTrading() {
  if (!std::exchange(lacks_all_, false)) return;
  for (const OfValue& value : of_values_) {
    if (!value.unsent.exists()) continue;
    sets_.Fill(value.unsent);
    sets_.Clear(value.sent);
  }
}

void PeerRows::Write(ValueId value, PixelSet written, Range rows) {
  if (lacks_all_) return;
  sets_.AddRows(written, rows, of_values_[value].unsent);
  // Rows beyond are not written.
  sets_.Remove(written, of_values_[value].sent);
}

void PeerRows::AddUnsent(ValueId value, PixelSet unsent) {
  BeginTrading();
  for (const ValueId writer : writers(value)) sets_.Add(of_values_[writer].unsent, unsent);
}

void PeerRows::Send(ValueId value, Range rows) {
  BeginTrading();
  for (const ValueId writer : writers(value)) {
    sets_.AddRows(of_values_[writer].unsent, rows, of_values_[writer].sent);
  }
}

void PeerRows::ConfirmSent() {
  if (lacks_all_) return;
  for (const OfValue& value : of_values_) {
    if (!value.unsent.exists()) continue;
    sets_.Remove(value.sent, value.unsent);
    sets_.Clear(value.sent);
  }
}

void PeerRows::ForgetSent() {
  if (lacks_all_) return;
  for (const OfValue& value : of_values_) {
    if (value.sent.exists()) sets_.Clear(value.sent);
  }
}

void PeerRows::Arrive(ValueId value, PixelSet arrived) {
  BeginTrading();
  for (const ValueId writer : writers(value)) {
    sets_.Remove(arrived, of_values_[writer].unsent);
    sets_.Remove(arrived, of_values_[writer].sent);
  }
}

void PeerRows::Shift(ValueId value, const ShiftedMap& map, PixelSet scratch) {
  OfValue& shifted = of_values_[value];
  if (!lacks_all_) {
    if (map.is_known) sets_.Shift(shifted.unsent, map.shift.rows, map.shift.columns);
    sets_.Fill(scratch);
    if (map.is_known) sets_.ClearRectangle(scratch, map.kept_rows, map.kept_columns);
    sets_.Add(scratch, shifted.unsent);
    sets_.Clear(shifted.sent);
  }
  const std::vector<uint8_t> before =
      std::exchange(shifted.last_rows, std::vector<uint8_t>(shifted.last_rows.size(), kUnknown));
  const auto height = static_cast<int>(before.size());
  for (int y = 0; y < height && map.is_known; ++y) {
    const int from = y + map.shift.rows;
    if (from < 0 || from >= height) continue;
    shifted.last_rows[static_cast<size_t>(y)] = before[static_cast<size_t>(from)];
  }
}

}  // namespace cacheinf
