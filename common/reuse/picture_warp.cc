#include "common/reuse/picture_warp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace {

constexpr int kSegment = 16;
constexpr int kParts = 16;  // of a pixel, to which places are rounded
constexpr int kAllParts = kParts * kParts;
constexpr double kFarPixels = 16384;  // no picture is larger
constexpr double kFineParts = 65536;  // of a pixel, for places between two exact ones
constexpr int kToParts = 12;          // 65536 / 16 = 2^12

// Where a pixel lies.
struct Place {
  double x = 0;
  double y = 0;
  bool is_near = false;  // else there is no such place, or no picture reaches it
};

Place Project(const Homography& homography, double x, double y) {
  const auto& m = homography.m;
  const double w = m[2][0] * x + (m[2][1] * y + m[2][2]);
  const double inverse = 1 / w;
  const Place place = {(m[0][0] * x + (m[0][1] * y + m[0][2])) * inverse,
                       (m[1][0] * x + (m[1][1] * y + m[1][2])) * inverse, false};
  const bool is_near = w > 0 && std::abs(place.x) < kFarPixels && std::abs(place.y) < kFarPixels;
  return {place.x, place.y, is_near};
}

// Rounds to nearest; makes it positive first, because a cast truncates towards zero. REQUIRES:
// near.
int ToFine(double pixels) {
  constexpr double kShift = int64_t{1} << 32;
  return static_cast<int>(static_cast<int64_t>(pixels * kFineParts + 0.5 + kShift) -
                          static_cast<int64_t>(kShift));
}

int ToParts(int fine) { return (fine + (1 << (kToParts - 1))) >> kToParts; }

bool IsWhole(double number) {
  return std::abs(number) < kFarPixels && number == std::floor(number);
}

bool IsWholeShift(const Homography& h) {
  return h.m[0][0] == 1 && h.m[0][1] == 0 && h.m[1][0] == 0 && h.m[1][1] == 1 && h.m[2][0] == 0 &&
         h.m[2][1] == 0 && h.m[2][2] == 1 && IsWhole(h.m[0][2]) && IsWhole(h.m[1][2]);
}

// Vectors that g++ and clang support on every machine.
using Bytes = uint8_t __attribute__((vector_size(16)));
using Longs = uint64_t __attribute__((vector_size(16)));
using Shorts = uint16_t __attribute__((vector_size(16)));

// Shares of a pixel's four neighbours, in 1/256: those of the two above and of the two below, each
// three times, as the bytes of two adjacent pixels of three channels lie, then two that do not
// count.
struct Weights {
  Shorts above;
  Shorts below;
};

std::array<Weights, kAllParts> MakeWeights() {
  std::array<Weights, kAllParts> table = {};
  for (int y = 0; y < kParts; ++y) {
    for (int x = 0; x < kParts; ++x) {
      Weights& weights = table[static_cast<size_t>(y * kParts + x)];
      for (int i = 0; i < 6; ++i) {
        const int column = i < 3 ? kParts - x : x;
        weights.above[i] = static_cast<uint16_t>(column * (kParts - y));
        weights.below[i] = static_cast<uint16_t>(column * y);
      }
    }
  }
  return table;
}

const std::array<Weights, kAllParts> kWeights = MakeWeights();

// REQUIRES: places in the picture.
const Weights& WeightsAt(uint32_t column, uint32_t row) {
  return kWeights[row % kParts * kParts + column % kParts];
}

// Blends one pixel from four. `right` and `below` are the distances of the neighbours in bytes.
template <int kChannels>
inline void Blend(const uint8_t* pixel, int64_t right, int64_t below, const Weights& weights,
                  uint8_t* to) {
  for (int c = 0; c < kChannels; ++c) {
    const int sum = weights.above[0] * pixel[c] + weights.above[3] * pixel[c + right] +
                    weights.below[0] * pixel[c + below] +
                    weights.below[3] * pixel[c + below + right];
    to[c] = static_cast<uint8_t>((sum + kAllParts / 2) / kAllParts);
  }
}

Shorts LoadEight(const uint8_t* from) {
  Longs eight = {};
  std::memcpy(&eight, from, 8);
  const Bytes zeros = {};
  return reinterpret_cast<Shorts>(__builtin_shufflevector(reinterpret_cast<Bytes>(eight), zeros, 0,
                                                          16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                                          22, 7, 23));
}

// The same for three channels if all neighbours exist, eight bytes of a row at a time: 256 times
// 255 plus half of 256 fits into 16 bits. The fourth byte of the result is zero.
uint32_t BlendInside(const uint8_t* above, const uint8_t* below, const Weights& weights) {
  const Shorts sums = LoadEight(above) * weights.above + LoadEight(below) * weights.below;
  const auto halves = reinterpret_cast<Longs>(sums);
  // Three sums of the left neighbours, and in the same bits those of the right ones; what lies
  // above does not count.
  const uint64_t left = halves[0];
  const uint64_t right = halves[0] >> 48 | halves[1] << 16;
  constexpr uint64_t kHalf = 0x0000'0080'0080'0080;
  const uint64_t values = (left + right + kHalf) >> 8;
  return static_cast<uint32_t>((values & 0xff) | (values >> 8 & 0xff00) |
                               (values >> 16 & 0xff0000));
}

// The places of adjacent pixels of a row, in parts of a pixel.
struct Segment {
  int columns[kSegment];
  int rows[kSegment];
  bool exists[kSegment];
  bool is_line = false;  // all exist

  // Whether all that is read for the first `count` lies within the picture, including one pixel to
  // the right of the neighbours. Places on a line lie between those at its ends.
  bool IsInside(int count, int width, int height) const {
    if (!is_line) return false;
    const int last = count - 1;
    return std::min(columns[0], columns[last]) >= 0 && std::min(rows[0], rows[last]) >= 0 &&
           std::max(columns[0], columns[last]) < kParts * (width - 2) &&
           std::max(rows[0], rows[last]) < kParts * (height - 1);
  }
};

Segment PlaceSegment(const Homography& from_of_to, int y, int first, const Place& begin,
                     const Place& end) {
  Segment segment;
  if (begin.is_near && end.is_near) {
    const int column = ToFine(begin.x);
    const int column_step = (ToFine(end.x) - column) / kSegment;
    const int row = ToFine(begin.y);
    const int row_step = (ToFine(end.y) - row) / kSegment;
    for (int i = 0; i < kSegment; ++i) {
      segment.columns[i] = ToParts(column + column_step * i);
      segment.rows[i] = ToParts(row + row_step * i);
      segment.exists[i] = true;
    }
    segment.is_line = true;
    return segment;
  }
  for (int i = 0; i < kSegment; ++i) {
    const Place point = Project(from_of_to, first + i, y);
    segment.exists[i] = point.is_near;
    segment.columns[i] = point.is_near ? ToParts(ToFine(point.x)) : 0;
    segment.rows[i] = point.is_near ? ToParts(ToFine(point.y)) : 0;
  }
  return segment;
}

template <int kChannels>
void WarpInside(const PictureView& from, const Segment& segment, int count, uint8_t* to) {
  const auto row_bytes = static_cast<size_t>(from.row_bytes());
  for (int i = 0; i < count; ++i) {
    const auto column = static_cast<uint32_t>(segment.columns[i]);
    const auto row = static_cast<uint32_t>(segment.rows[i]);
    const uint8_t* const pixel =
        from.pixels + size_t{row / kParts} * row_bytes + size_t{column / kParts} * kChannels;
    const Weights& weights = WeightsAt(column, row);
    if constexpr (kChannels == 3) {
      // Writing a fourth byte, which the next pixel overwrites, is cheaper than writing three.
      const uint32_t blended = BlendInside(pixel, pixel + row_bytes, weights);
      std::memcpy(to + i * kChannels, &blended, i + 1 < count ? 4 : 3);
    } else {
      Blend<kChannels>(pixel, kChannels, from.row_bytes(), weights, to + i * kChannels);
    }
  }
}

// Sets the pixels that are out of view.
template <int kChannels>
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
    Blend<kChannels>(
        pixel, column < last_column ? kChannels : 0, row < last_row ? from.row_bytes() : 0,
        WeightsAt(static_cast<uint32_t>(column), static_cast<uint32_t>(row)), to + i * kChannels);
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
  // Whatever lies beyond the left or the right edge repeats that edge.
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

void PictureWarp::WarpRow(int y, uint8_t* to, MaskView out_of_view) const {
  if (is_copy_) return CopyRow(y, to, out_of_view);
  Place end = Project(from_of_to_, 0, y);
  for (int first = 0; first < from_.width; first += kSegment) {
    const Place begin = end;
    end = Project(from_of_to_, first + kSegment, y);
    const Segment segment = PlaceSegment(from_of_to_, y, first, begin, end);
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
