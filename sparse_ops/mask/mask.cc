#include "sparse_ops/mask/mask.h"

#include <algorithm>

#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

Range Clip(Range range, int size) {
  const Range clipped{std::max(range.begin, 0), std::min(range.end, size)};
  return clipped.empty() ? Range{} : clipped;
}

// The bits of a row's last word that stand for columns.
uint64_t LastWord(int width) { return bits::LowBits((width - 1) % bits::kWordBits + 1); }

void ForEachWord(ConstMaskView a, ConstMaskView b, MaskView out, const auto& combine) {
  const size_t count = out.word_count();
  for (size_t i = 0; i < count; ++i) out.words[i] = combine(a.words[i], b.words[i]);
}

// Unites row y with row y + step, for every row. Begins with the first row if step > 0, else with
// the last, so that it reads only old rows.
void OrRows(MaskView mask, int step) {
  const int64_t distance = int64_t{step} * mask.words_per_row;
  const auto count = static_cast<int64_t>(mask.word_count());
  if (step > 0) {
    for (int64_t i = 0; i + distance < count; ++i) mask.words[i] |= mask.words[i + distance];
  } else {
    for (int64_t i = count - 1; i + distance >= 0; --i) mask.words[i] |= mask.words[i + distance];
  }
}

// Spreads every active row over the next `reach` ones, upwards (direction 1) or downwards (-1).
void GrowRows(MaskView mask, int reach, int direction) {
  reach = std::min(reach, mask.height);
  for (int reached = 0; reached < reach;) {
    const int step = std::min(reached + 1, reach - reached);
    OrRows(mask, direction * step);
    reached += step;
  }
}

// The cells of an axis cut into `to_size` that lie over `range` of the same axis cut into
// `from_size`.
Range Overlapping(Range range, int from_size, int to_size) {
  const int64_t begin = int64_t{range.begin} * to_size / from_size;
  const int64_t end = (int64_t{range.end} * to_size + from_size - 1) / from_size;
  return {static_cast<int>(begin), static_cast<int>(end)};
}

// Calls visit(begin, end) for every run of every row.
void ForEachRunOfRows(ConstMaskView mask, Range rows, const auto& visit) {
  for (int y = rows.begin; y < rows.end; ++y) {
    bits::ForEachRun(mask.Row(y), mask.words_per_row, visit);
  }
}

}  // namespace

void SetAll(MaskView mask) {
  if (mask.width == 0) return;
  const uint64_t last = LastWord(mask.width);
  std::fill_n(mask.words, mask.word_count(), ~uint64_t{0});
  for (int y = 0; y < mask.height; ++y) mask.Row(y)[mask.words_per_row - 1] = last;
}

void ClearAll(MaskView mask) { std::fill_n(mask.words, mask.word_count(), 0); }

void Copy(ConstMaskView from, MaskView to) {
  if (from.words != to.words) std::copy_n(from.words, from.word_count(), to.words);
}

void SetRectangle(Range rows, Range columns, MaskView mask) {
  rows = Clip(rows, mask.height);
  columns = Clip(columns, mask.width);
  for (int y = rows.begin; y < rows.end; ++y) {
    bits::SetRange(mask.Row(y), columns.begin, columns.end);
  }
}

void ClearRectangle(Range rows, Range columns, MaskView mask) {
  rows = Clip(rows, mask.height);
  columns = Clip(columns, mask.width);
  for (int y = rows.begin; y < rows.end; ++y) {
    bits::ClearRange(mask.Row(y), columns.begin, columns.end);
  }
}

void KeepRectangle(Range rows, Range columns, MaskView mask) {
  rows = Clip(rows, mask.height);
  columns = Clip(columns, mask.width);
  ClearAll(CutRows(mask, {0, rows.begin}));
  ClearAll(CutRows(mask, {rows.end, mask.height}));
  ClearRectangle(rows, {0, columns.begin}, mask);
  ClearRectangle(rows, {columns.end, mask.width}, mask);
}

void Unite(ConstMaskView a, ConstMaskView b, MaskView out) {
  ForEachWord(a, b, out, [](uint64_t x, uint64_t y) { return x | y; });
}

void Intersect(ConstMaskView a, ConstMaskView b, MaskView out) {
  ForEachWord(a, b, out, [](uint64_t x, uint64_t y) { return x & y; });
}

void Subtract(ConstMaskView a, ConstMaskView b, MaskView out) {
  ForEachWord(a, b, out, [](uint64_t x, uint64_t y) { return x & ~y; });
}

bool AreEqual(ConstMaskView a, ConstMaskView b) {
  return a.height == b.height && a.width == b.width &&
         std::equal(a.words, a.words + a.word_count(), b.words);
}

bool IsEmpty(ConstMaskView mask) {
  return std::all_of(mask.words, mask.words + mask.word_count(),
                     [](uint64_t word) { return word == 0; });
}

int64_t CountActive(ConstMaskView mask) {
  const size_t count = mask.word_count();
  uint64_t active = 0;
  for (size_t i = 0; i < count; ++i) active += bits::CountBits(mask.words[i]);
  return static_cast<int64_t>(active);
}

void CountActiveByRow(ConstMaskView mask, int* counts) {
  for (int y = 0; y < mask.height; ++y) {
    counts[y] = static_cast<int>(CountActive(CutRows(mask, {y, y + 1})));
  }
}

void Grow(ConstMaskView in, const Reach& reach, MaskView out) {
  Copy(in, out);
  if (out.width == 0) return;
  const uint64_t last = LastWord(out.width);
  const int left = std::min(reach.left, out.width);
  const int right = std::min(reach.right, out.width);
  for (int y = 0; y < out.height; ++y) {
    uint64_t* row = out.Row(y);
    if (IsEmpty(CutRows(out, {y, y + 1}))) continue;
    bits::OrManyFromAbove(row, out.words_per_row, left + 1, 1);
    bits::OrManyFromBelow(row, out.words_per_row, right + 1, 1);
    row[out.words_per_row - 1] &= last;
  }
  GrowRows(out, reach.top, 1);
  GrowRows(out, reach.bottom, -1);
}

void Subsample(ConstMaskView in, int step_rows, int step_columns, MaskView out) {
  ClearAll(out);
  for (int y = 0; y < out.height; ++y) {
    const int first = y * step_rows;
    const Range rows{first, std::min(in.height - first, step_rows) + first};
    uint64_t* row = out.Row(y);
    if (!bits::DividesWord(step_columns)) {
      ForEachRunOfRows(in, rows, [&](int begin, int end) {
        bits::SetRange(row, begin / step_columns, (end - 1) / step_columns + 1);
      });
      continue;
    }
    const int cells_per_word = bits::kWordBits / step_columns;
    for (int i = 0; i < in.words_per_row; ++i) {
      uint64_t word = bits::UniteWords(in.Row(first) + i, in.words_per_row, rows.size());
      for (int reach = 1; reach < step_columns; reach *= 2) word |= word >> reach;
      row[i / step_columns] |= bits::PickFromWord(word, step_columns)
                               << (i % step_columns * cells_per_word);
    }
  }
}

void Upsample(ConstMaskView in, int times_rows, int times_columns, MaskView out) {
  if (out.width == 0) return;
  const uint64_t last = LastWord(out.width);
  for (int y = 0; y < out.height; ++y) {
    uint64_t* row = out.Row(y);
    if (y % times_rows != 0) {
      std::copy_n(out.Row(y - 1), out.words_per_row, row);
      continue;
    }
    bits::Repeat(in.Row(y / times_rows), in.words_per_row, times_columns, row, out.words_per_row);
    row[out.words_per_row - 1] &= last;
  }
}

void Rescale(ConstMaskView in, MaskView out) {
  if (in.pixel_count() == 0 || out.pixel_count() == 0) {
    ClearAll(out);
  } else if (in.height % out.height == 0 && in.width % out.width == 0) {
    Subsample(in, in.height / out.height, in.width / out.width, out);
  } else if (out.height % in.height == 0 && out.width % in.width == 0) {
    Upsample(in, out.height / in.height, out.width / in.width, out);
  } else {
    ClearAll(out);
    for (int y = 0; y < out.height; ++y) {
      const Range rows = Overlapping({y, y + 1}, out.height, in.height);
      ForEachRunOfRows(in, rows, [&](int begin, int end) {
        const Range columns = Overlapping({begin, end}, in.width, out.width);
        bits::SetRange(out.Row(y), columns.begin, columns.end);
      });
    }
  }
}

}  // namespace cacheinf
