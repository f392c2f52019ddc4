#ifndef CACHEINF_COMMON_TRACKER_GREY_PICTURE_H_
#define CACHEINF_COMMON_TRACKER_GREY_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/picture_view.h"

namespace cacheinf {

// What trackers see: a picture's brightness, at full size or smaller.
class GreyPicture {
 public:
  // Averages squares of factor × factor pixels, with channels weighted 1 : 2 : 1 in any order, and
  // drops the remainder at the right and the bottom. Allocates only if the size changes. REQUIRES:
  // a factor from 1 to 64.
  void Assign(const PictureView& picture, int factor);

  int width() const { return width_; }
  int height() const { return height_; }
  size_t pixel_count() const { return pixels_.size(); }
  const uint8_t* pixels() const { return pixels_.data(); }
  uint8_t* pixels() { return pixels_.data(); }
  const uint8_t* Row(int y) const { return pixels() + int64_t{y} * width_; }

  friend bool operator==(const GreyPicture& a, const GreyPicture& b) {
    return a.width_ == b.width_ && a.height_ == b.height_ && a.pixels_ == b.pixels_;
  }

 private:
  int width_ = 0;
  int height_ = 0;
  std::vector<uint8_t> pixels_;
  std::vector<uint16_t> sums_;  // over `factor` rows
};

// A picture's brightness, averaged over any square.
class SquareMeans {
 public:
  // REQUIRES: a picture of at most 2^24 pixels.
  void Assign(const GreyPicture& picture);

  int width() const { return width_; }
  int height() const { return height_; }
  // The mean of the square whose upper left corner lies `left` and `top` pixels from the picture's;
  // pixels partly inside count in part. REQUIRES: a square within the picture.
  double Mean(double left, double top, int side) const;

 private:
  const uint32_t* Row(int y) const { return sums_.data() + int64_t{y} * (width_ + 1); }
  double SumBefore(double x, double y) const;

  int width_ = 0;
  int height_ = 0;
  std::vector<uint32_t>
      sums_;  // of all pixels above and to the left; one more row and column than the picture
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_GREY_PICTURE_H_
