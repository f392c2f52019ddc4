#include "sparse_ops/mask/propagation.h"

#include <algorithm>

#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

bool IsRowEmpty(const uint64_t* row, int words) {
  uint64_t any = 0;
  for (int i = 0; i < words; ++i) any |= row[i];
  return any == 0;
}

// Unites the rows that a group depends on. REQUIRES: at least one.
void UniteSources(ConstMaskView from, const AxisMap::Group& group, uint64_t* to) {
  const int words = from.words_per_row;
  std::copy_n(from.Row(group.sources[0].begin), words, to);
  for (int s = 0; s < group.source_count; ++s) {
    const Range rows = group.sources[s];
    for (int y = s == 0 ? rows.begin + 1 : rows.begin; y < rows.end; ++y) {
      const uint64_t* row = from.Row(y);
      for (int i = 0; i < words; ++i) to[i] |= row[i];
    }
  }
}

// Gives all rows the content of the first.
void RepeatFirst(MaskView rows) {
  for (int y = 1; y < rows.height; ++y) {
    std::copy_n(rows.words, rows.words_per_row, rows.Row(y));
  }
}

bool IsOneRow(const AxisMap::Group& group) {
  return group.source_count == 1 && group.sources[0].size() == 1;
}

int GroupsWithSources(const AxisMap& map) {
  int count = 0;
  for (int i = 0; i < map.group_count(); ++i) count += map.group(i).source_count > 0 ? 1 : 0;
  return count;
}

}  // namespace

MaskPropagation::Way::Way(const AxisWindow& row_window, const AxisWindow& column_window,
                          AxisMap::Direction direction)
    : rows(row_window, direction),
      columns(column_window, direction),
      columns_first(!columns.is_identity() && GroupsWithSources(rows) > rows.from_size()) {}

size_t MaskPropagation::Way::scratch_words() const {
  return static_cast<size_t>(columns.scratch_words()) +
         (columns_first ? MaskWords(rows.from_size(), columns.size())
                        : MaskWords(1, columns.from_size()));
}

MaskPropagation::MaskPropagation(const AxisWindow& rows, const AxisWindow& columns)
    : forward_(rows, columns, AxisMap::Direction::kForward),
      backward_(rows, columns, AxisMap::Direction::kBackward),
      scratch_(std::max(forward_.scratch_words(), backward_.scratch_words())) {}

void MaskPropagation::Propagate(const Way& way, ConstMaskView from, MaskView to) {
  if (way.rows.is_identity() && way.columns.is_identity()) {
    Copy(from, to);
  } else if (way.columns_first) {
    MapRowsThenUnite(way, from, to);
  } else {
    UniteRowsThenMap(way, from, to);
  }
}

void MaskPropagation::UniteRowsThenMap(const Way& way, ConstMaskView from, MaskView to) {
  uint64_t* united = scratch_.data();
  uint64_t* map_scratch = united + from.words_per_row;
  for (int g = 0; g < way.rows.group_count(); ++g) {
    const AxisMap::Group group = way.rows.group(g);
    const MaskView rows = CutRows(to, group.indices);
    if (group.source_count == 0) {
      ClearAll(rows);
      continue;
    }
    const uint64_t* row = united;
    if (IsOneRow(group)) {
      row = from.Row(group.sources[0].begin);
    } else {
      UniteSources(from, group, united);
    }
    if (IsRowEmpty(row, from.words_per_row)) {
      ClearAll(rows);
      continue;
    }
    way.columns.Apply(row, rows.words, map_scratch);
    RepeatFirst(rows);
  }
}

void MaskPropagation::MapRowsThenUnite(const Way& way, ConstMaskView from, MaskView to) {
  const MaskView mapped(scratch_.data(), from.height, to.width);
  uint64_t* map_scratch = scratch_.data() + mapped.word_count();
  for (int y = 0; y < from.height; ++y) {
    if (IsRowEmpty(from.Row(y), from.words_per_row)) {
      ClearAll(CutRows(mapped, {y, y + 1}));
    } else {
      way.columns.Apply(from.Row(y), mapped.Row(y), map_scratch);
    }
  }
  for (int g = 0; g < way.rows.group_count(); ++g) {
    const AxisMap::Group group = way.rows.group(g);
    const MaskView rows = CutRows(to, group.indices);
    if (group.source_count == 0) {
      ClearAll(rows);
      continue;
    }
    UniteSources(mapped, group, rows.words);
    RepeatFirst(rows);
  }
}

}  // namespace cacheinf
