#include "common/tracker/grey_picture.h"

#include <algorithm>

namespace cacheinf {
namespace {

void AddRow(const uint8_t* row, size_t count, uint16_t* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] = static_cast<uint16_t>(sums[i] + row[i]);
}

// kFactor 0: any. Sums of columns become pixels.
template <int kChannels, int kFactor>
void ShrinkRow(const uint16_t* sums, int any_factor, int width, uint8_t* to) {
  const int factor = kFactor == 0 ? any_factor : kFactor;
  const uint32_t weights = static_cast<uint32_t>(factor * factor * (kChannels == 1 ? 1 : 4));
  for (int x = 0; x < width; ++x) {
    uint32_t sum = weights / 2;
    for (int i = 0; i < factor; ++i, sums += kChannels) {
      if constexpr (kChannels == 1) {
        sum += sums[0];
      } else {
        sum += sums[0] + 2u * sums[1] + sums[2];
      }
    }
    to[x] = static_cast<uint8_t>(sum / weights);
  }
}

using ShrinkFunction = void (*)(const uint16_t* sums, int factor, int width, uint8_t* to);

template <int kChannels>
ShrinkFunction ChooseShrink(int factor) {
  if (factor == 1) return ShrinkRow<kChannels, 1>;
  if (factor == 2) return ShrinkRow<kChannels, 2>;
  return ShrinkRow<kChannels, 0>;
}

}  // namespace

void GreyPicture::Assign(const PictureView& picture, int factor) {
  width_ = picture.width / factor;
  height_ = picture.height / factor;
  pixels_.resize(static_cast<size_t>(width_) * static_cast<size_t>(height_));
  sums_.resize(static_cast<size_t>(picture.row_bytes()));
  const ShrinkFunction shrink =
      picture.channels == 1 ? ChooseShrink<1>(factor) : ChooseShrink<3>(factor);
  for (int y = 0; y < height_; ++y) {
    sums_.assign(sums_.size(), 0);
    for (int i = 0; i < factor; ++i) {
      AddRow(picture.Row(y * factor + i), sums_.size(), sums_.data());
    }
    shrink(sums_.data(), factor, width_, pixels_.data() + int64_t{y} * width_);
  }
}

// ------------------------------------------------------------------------------------------------

void SquareMeans::Assign(const GreyPicture& picture) {
  width_ = picture.width();
  height_ = picture.height();
  const auto row_size = static_cast<size_t>(width_) + 1;
  sums_.resize((static_cast<size_t>(height_) + 1) * row_size);
  std::fill_n(sums_.begin(), row_size, 0u);
  for (int y = 0; y < height_; ++y) {
    const uint8_t* const pixels = picture.Row(y);
    const uint32_t* const above = Row(y);
    uint32_t* const sums = sums_.data() + static_cast<size_t>(y + 1) * row_size;
    uint32_t sum = 0;
    sums[0] = 0;
    for (int x = 0; x < width_; ++x) {
      sum += pixels[x];
      sums[x + 1] = above[x + 1] + sum;
    }
  }
}

double SquareMeans::Mean(double left, double top, int side) const {
  const double right = left + side;
  const double bottom = top + side;
  const double sum = (SumBefore(right, bottom) - SumBefore(left, bottom)) -
                     (SumBefore(right, top) - SumBefore(left, top));
  return sum / (double{1} * side * side);
}

double SquareMeans::SumBefore(double x, double y) const {
  const int column = std::min(static_cast<int>(x), width_ - 1);
  const int row = std::min(static_cast<int>(y), height_ - 1);
  const double part_x = x - column;
  const double part_y = y - row;
  const uint32_t* const above = Row(row) + column;
  const uint32_t* const below = Row(row + 1) + column;
  const double upper = above[0] * (1 - part_x) + above[1] * part_x;
  const double lower = below[0] * (1 - part_x) + below[1] * part_x;
  return upper * (1 - part_y) + lower * part_y;
}

}  // namespace cacheinf
