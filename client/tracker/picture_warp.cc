#include "client/tracker/picture_warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cacheinf {
namespace {

constexpr int kSegment = 16;
constexpr int kParts = 32;            // places are rounded to so many parts of a pixel
constexpr double kFarPixels = 32768;  // no picture is that large
constexpr double kFineParts = 65536;  // in which places between two exact ones are computed
constexpr int kToParts = 11;          // 65536 / 32 = 2^11

struct Point {
  double x = 0;
  double y = 0;
  bool is_near = false;  // else there is no such point, or no picture reaches it
};

Point Project(const Homography& homography, double x, double y) {
  const auto& m = homography.m;
  const double w = m[2][0] * x + (m[2][1] * y + m[2][2]);
  const Point point = {(m[0][0] * x + (m[0][1] * y + m[0][2])) / w,
                       (m[1][0] * x + (m[1][1] * y + m[1][2])) / w, false};
  const bool is_near = w > 0 && std::abs(point.x) < kFarPixels && std::abs(point.y) < kFarPixels;
  return {point.x, point.y, is_near};
}

int64_t ToFine(double pixels) {
  return static_cast<int64_t>(std::floor(pixels * kFineParts + 0.5));
}

int ToParts(int64_t fine) {
  return static_cast<int>((fine + (int64_t{1} << (kToParts - 1))) >> kToParts);
}

bool IsWhole(double number) {
  return std::abs(number) < kFarPixels && number == std::floor(number);
}

bool IsWholeShift(const Homography& h) {
  return h.m[0][0] == 1 && h.m[0][1] == 0 && h.m[1][0] == 0 && h.m[1][1] == 1 && h.m[2][0] == 0 &&
         h.m[2][1] == 0 && h.m[2][2] == 1 && IsWhole(h.m[0][2]) && IsWhole(h.m[1][2]);
}

// One pixel between four. `right` and `below` are how far the neighbours are, in bytes.
template <int kChannels>
inline void Blend(const uint8_t* pixel, int64_t right, int64_t below, int part_x, int part_y,
                  uint8_t* to) {
  const int w11 = part_x * part_y;
  const int w10 = kParts * part_y - w11;
  const int w01 = kParts * part_x - w11;
  const int w00 = kParts * kParts - kParts * part_x - w10;
  for (int c = 0; c < kChannels; ++c) {
    const int sum = w00 * pixel[c] + w01 * pixel[c + right] + w10 * pixel[c + below] +
                    w11 * pixel[c + below + right];
    to[c] = static_cast<uint8_t>((sum + kParts * kParts / 2) / (kParts * kParts));
  }
}

}  // namespace

// The places of neighbouring pixels of a row, in parts of a pixel.
struct PictureWarp::Segment {
  int columns[kSegment];
  int rows[kSegment];
  bool exists[kSegment];

  // Whether all four neighbours of the first `count` lie within the picture.
  bool IsInside(int count, int width, int height) const {
    const auto [left, right] = std::minmax_element(columns, columns + count);
    const auto [top, bottom] = std::minmax_element(rows, rows + count);
    return *left >= 0 && *right < kParts * (width - 1) && *top >= 0 &&
           *bottom < kParts * (height - 1) &&
           std::all_of(exists, exists + count, [](bool b) { return b; });
  }
};

namespace {

template <int kChannels, typename Segment>
void WarpInside(const PictureView& from, const Segment& segment, int count, uint8_t* to) {
  const int64_t below = from.row_bytes();
  for (int i = 0; i < count; ++i) {
    const int column = segment.columns[i];
    const int row = segment.rows[i];
    const uint8_t* const pixel = from.Row(row / kParts) + int64_t{column / kParts} * kChannels;
    Blend<kChannels>(pixel, kChannels, below, column % kParts, row % kParts, to + i * kChannels);
  }
}

// Sets the pixels that are out of view.
template <int kChannels, typename Segment>
void WarpAtEdges(const PictureView& from, const Segment& segment, int count, int y, int first,
                 uint8_t* to, MaskView out_of_view) {
  const int last_column = kParts * (from.width - 1);
  const int last_row = kParts * (from.height - 1);
  for (int i = 0; i < count; ++i) {
    const int place_x = segment.exists[i] ? segment.columns[i] : 0;
    const int place_y = segment.exists[i] ? segment.rows[i] : 0;
    const bool is_in_view = segment.exists[i] && place_x >= -kParts / 2 &&
                            place_x < last_column + kParts / 2 && place_y >= -kParts / 2 &&
                            place_y < last_row + kParts / 2;
    if (!is_in_view) out_of_view.Set(y, first + i);
    const int column = std::clamp(place_x, 0, last_column);
    const int row = std::clamp(place_y, 0, last_row);
    const uint8_t* const pixel = from.Row(row / kParts) + int64_t{column / kParts} * kChannels;
    Blend<kChannels>(pixel, column < last_column ? kChannels : 0,
                     row < last_row ? from.row_bytes() : 0, column % kParts, row % kParts,
                     to + i * kChannels);
  }
}

}  // namespace

PictureWarp::PictureWarp(const PictureView& from, const Homography& from_of_to)
    : from_(from), from_of_to_(from_of_to), is_copy_(IsWholeShift(from_of_to)) {
  if (!is_copy_) return;
  shift_columns_ = static_cast<int>(from_of_to.m[0][2]);
  shift_rows_ = static_cast<int>(from_of_to.m[1][2]);
}

void PictureWarp::CopyRow(int y, uint8_t* to, MaskView out_of_view) const {
  const int from_y = std::clamp(y + shift_rows_, 0, from_.height - 1);
  const int begin = std::clamp(-shift_columns_, 0, from_.width);
  const int end = std::clamp(from_.width - shift_columns_, begin, from_.width);
  const int channels = from_.channels;
  const uint8_t* const row = from_.Row(from_y);
  if (end > begin) {
    std::memcpy(to + int64_t{begin} * channels, row + int64_t{begin + shift_columns_} * channels,
                static_cast<size_t>(end - begin) * static_cast<size_t>(channels));
  }
  const uint8_t* const last = row + int64_t{from_.width - 1} * channels;
  // All of a row beyond the left edge, or beyond the right one, repeats that edge.
  const int left_end = shift_columns_ < 0 ? begin : 0;
  for (int x = 0; x < left_end; ++x) std::copy_n(row, channels, to + int64_t{x} * channels);
  for (int x = std::max(end, left_end); x < from_.width; ++x) {
    std::copy_n(last, channels, to + int64_t{x} * channels);
  }
  if (from_y != y + shift_rows_) {
    SetRectangle({y, y + 1}, {0, from_.width}, out_of_view);
  } else {
    SetRectangle({y, y + 1}, {0, begin}, out_of_view);
    SetRectangle({y, y + 1}, {end, from_.width}, out_of_view);
  }
}

PictureWarp::Segment PictureWarp::Place(int y, int first) const {
  Segment segment;
  const Point begin = Project(from_of_to_, first, y);
  const Point end = Project(from_of_to_, first + kSegment, y);
  if (begin.is_near && end.is_near) {
    const int64_t x = ToFine(begin.x);
    const int64_t step_x = ToFine(end.x) - x;
    const int64_t row = ToFine(begin.y);
    const int64_t step_y = ToFine(end.y) - row;
    for (int i = 0; i < kSegment; ++i) {
      segment.columns[i] = ToParts(x + step_x * i / kSegment);
      segment.rows[i] = ToParts(row + step_y * i / kSegment);
      segment.exists[i] = true;
    }
    return segment;
  }
  for (int i = 0; i < kSegment; ++i) {
    const Point point = Project(from_of_to_, first + i, y);
    segment.exists[i] = point.is_near;
    segment.columns[i] = point.is_near ? ToParts(ToFine(point.x)) : 0;
    segment.rows[i] = point.is_near ? ToParts(ToFine(point.y)) : 0;
  }
  return segment;
}

void PictureWarp::WarpRow(int y, uint8_t* to, MaskView out_of_view) const {
  if (is_copy_) return CopyRow(y, to, out_of_view);
  for (int first = 0; first < from_.width; first += kSegment) {
    const Segment segment = Place(y, first);
    const int count = std::min(kSegment, from_.width - first);
    uint8_t* const out = to + int64_t{first} * from_.channels;
    if (segment.IsInside(count, from_.width, from_.height)) {
      if (from_.channels == 1) {
        WarpInside<1>(from_, segment, count, out);
      } else {
        WarpInside<3>(from_, segment, count, out);
      }
    } else if (from_.channels == 1) {
      WarpAtEdges<1>(from_, segment, count, y, first, out, out_of_view);
    } else {
      WarpAtEdges<3>(from_, segment, count, y, first, out, out_of_view);
    }
  }
}

void WarpPicture(const PictureView& from, const Homography& from_of_to, uint8_t* to,
                 MaskView out_of_view) {
  const PictureWarp warp(from, from_of_to);
  ClearAll(out_of_view);
  for (int y = 0; y < from.height; ++y) {
    warp.WarpRow(y, to + y * from.row_bytes(), out_of_view);
  }
}

}  // namespace cacheinf
