#include "common/answer/mask_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace cacheinf {

MaskReader::MaskReader(const Shape& shape, std::vector<float> prototypes, double model_width,
                       double model_height)
    : count_(static_cast<int>(shape[1])),
      height_(static_cast<int>(shape[2])),
      width_(static_cast<int>(shape[3])),
      prototypes_(std::move(prototypes)),
      scale_x_(width_ / model_width),
      scale_y_(height_ / model_height),
      sums_(static_cast<size_t>(height_) * static_cast<size_t>(width_)) {}

double MaskReader::At(double x, double y) const {
  const auto clamped = [](double position, int size) {
    return std::clamp(position - 0.5, 0.0, static_cast<double>(size - 1));
  };
  const double column = clamped(x, width_);
  const double row = clamped(y, height_);
  const int left = static_cast<int>(column);
  const int top = static_cast<int>(row);
  const int right = std::min(left + 1, width_ - 1);
  const int bottom = std::min(top + 1, height_ - 1);
  const auto sum = [&](int r, int c) {
    return double{
        sums_[static_cast<size_t>(r) * static_cast<size_t>(width_) + static_cast<size_t>(c)]};
  };
  const double in_x = column - left;
  const double in_y = row - top;
  return (sum(top, left) * (1 - in_x) + sum(top, right) * in_x) * (1 - in_y) +
         (sum(bottom, left) * (1 - in_x) + sum(bottom, right) * in_x) * in_y;
}

PixelRuns MaskReader::Read(const float* coefficients, const Detection& box,
                           const SeenPicture& seen) {
  std::fill(sums_.begin(), sums_.end(), 0.0f);
  const float* prototype = prototypes_.data();
  for (int i = 0; i < count_; ++i, prototype += sums_.size()) {
    for (size_t k = 0; k < sums_.size(); ++k) sums_[k] += coefficients[i] * prototype[k];
  }
  PixelRuns runs;
  runs.width = seen.fit == nullptr ? static_cast<int>(std::lround(width_ / scale_x_))
                                   : seen.fit->columns().frame_size;
  runs.height = seen.fit == nullptr ? static_cast<int>(std::lround(height_ / scale_y_))
                                    : seen.fit->rows().frame_size;
  const auto within = [](double position, int size) {
    return std::clamp(static_cast<int>(std::lround(position)), 0, size);
  };
  const int left = within(box.left, runs.width);
  const int right = within(box.right, runs.width);
  const int top = within(box.top, runs.height);
  const int bottom = within(box.bottom, runs.height);
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
  add(false, int64_t{left} * runs.height);
  for (int x = left; x < right; ++x) {
    add(false, top);
    for (int y = top; y < bottom; ++y) {
      const Keypoint in_picture = seen.InNetworkPicture(x + 0.5, y + 0.5);
      add(At(in_picture.x * scale_x_, in_picture.y * scale_y_) > 0, 1);
    }
    add(false, runs.height - bottom);
  }
  add(false, int64_t{runs.width - right} * runs.height);
  runs.lengths.push_back(length);
  return runs;
}

}  // namespace cacheinf
