#include "common/answer/mask_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace cacheinf {
namespace {

// The number `share` of the way from one to the next.
double Between(double before, double after, double share) {
  return before * (1 - share) + after * share;
}

}  // namespace

MaskReader::MaskReader(const Shape& shape, std::vector<float> prototypes, double model_width,
                       double model_height)
    : count_(static_cast<int>(shape[1])),
      height_(static_cast<int>(shape[2])),
      width_(static_cast<int>(shape[3])),
      prototypes_(std::move(prototypes)),
      scale_x_(width_ / model_width),
      scale_y_(height_ / model_height),
      sums_(static_cast<size_t>(height_) * static_cast<size_t>(width_)) {}

MaskReader::Tap MaskReader::TapAt(double position, int size) {
  const double from_first = std::clamp(position - 0.5, 0.0, static_cast<double>(size - 1));
  const int before = static_cast<int>(from_first);
  return {before, std::min(before + 1, size - 1), from_first - before};
}

MaskReader::Tap MaskReader::RowTap(double x, double y, const SeenPicture& seen) const {
  return TapAt(seen.InNetworkPicture(x, y).y * scale_y_, height_);
}

MaskReader::Tap MaskReader::ColumnTap(double x, double y, const SeenPicture& seen) const {
  return TapAt(seen.InNetworkPicture(x, y).x * scale_x_, width_);
}

void MaskReader::Sum(const float* coefficients, const Range& rows, const Range& columns) {
  for (int row = rows.begin; row < rows.end; ++row) {
    const ptrdiff_t begin = ptrdiff_t{row} * width_ + columns.begin;
    float* const sums = sums_.data() + begin;
    std::fill_n(sums, columns.size(), 0.0f);
    const float* prototype = prototypes_.data() + begin;
    for (int i = 0; i < count_; ++i, prototype += sums_.size()) {
      for (int k = 0; k < columns.size(); ++k) sums[k] += coefficients[i] * prototype[k];
    }
  }
}

double MaskReader::SumAt(int row, const Tap& column) const {
  const float* const sums = sums_.data() + ptrdiff_t{row} * width_;
  return Between(double{sums[column.before]}, double{sums[column.after]}, column.share);
}

PixelRuns MaskReader::Read(const float* coefficients, const Detection& box,
                           const SeenPicture& seen) {
  PixelRuns runs;
  runs.width = seen.fit == nullptr ? static_cast<int>(std::lround(width_ / scale_x_))
                                   : seen.fit->columns().frame_size;
  runs.height = seen.fit == nullptr ? static_cast<int>(std::lround(height_ / scale_y_))
                                    : seen.fit->rows().frame_size;
  const auto within = [](double begin, double end, int size) {
    return Range{std::clamp(static_cast<int>(std::lround(begin)), 0, size),
                 std::clamp(static_cast<int>(std::lround(end)), 0, size)};
  };
  const Range columns = within(box.left, box.right, runs.width);
  const Range rows = within(box.top, box.bottom, runs.height);
  bool is_inside = false;
  int64_t length = 0;
  const auto add = [&](bool inside, int64_t pixels) {
    if (inside != is_inside) {
      runs.lengths.push_back(length);
      is_inside = inside;
      length = 0;
    }
    length += pixels;
  };
  // Unless what was seen is moved, all pixels of a row or column have the same tap.
  const bool is_moved = !seen.model_from_seen.IsIdentity();
  std::vector<Band> bands;
  for (int y = rows.begin; y < rows.end && !is_moved; ++y) {
    const Tap tap = RowTap(0.5, y + 0.5, seen);
    if (bands.empty() || bands.back().before != tap.before) {
      bands.push_back({tap.before, tap.after, {}});
    }
    bands.back().shares.push_back(tap.share);
  }
  Range summed_rows = {0, height_};
  Range summed_columns = {0, width_};
  if (!bands.empty()) {
    summed_rows = {bands.front().before, bands.back().after + 1};
    summed_columns = {ColumnTap(columns.begin + 0.5, 0.5, seen).before,
                      ColumnTap(columns.end - 0.5, 0.5, seen).after + 1};
  }
  Sum(coefficients, summed_rows, summed_columns);
  add(false, int64_t{columns.begin} * runs.height);
  for (int x = columns.begin; x < columns.end; ++x) {
    add(false, rows.begin);
    const Tap column = ColumnTap(x + 0.5, 0.5, seen);
    for (const Band& band : bands) {
      const double before = SumAt(band.before, column);
      const double after = SumAt(band.after, column);
      if ((before > 0) == (after > 0)) {
        add(before > 0, static_cast<int64_t>(band.shares.size()));
        continue;
      }
      for (const double share : band.shares) add(Between(before, after, share) > 0, 1);
    }
    for (int y = rows.begin; y < rows.end && is_moved; ++y) {
      const Tap row = RowTap(x + 0.5, y + 0.5, seen);
      const Tap own = ColumnTap(x + 0.5, y + 0.5, seen);
      add(Between(SumAt(row.before, own), SumAt(row.after, own), row.share) > 0, 1);
    }
    add(false, runs.height - rows.end);
  }
  add(false, int64_t{runs.width - columns.end} * runs.height);
  runs.lengths.push_back(length);
  return runs;
}

}  // namespace cacheinf
