#include "common/reuse/inset.h"

#include <cstddef>
#include <cstring>

namespace cacheinf {
namespace {

// The offset of row y of the part.
size_t OffsetInPicture(const Rectangle& place, int y, int picture_width, int channels) {
  const int64_t pixel = int64_t{place.rows.begin + y} * picture_width + place.columns.begin;
  return static_cast<size_t>(pixel * channels);
}

Homography Moved(const Homography& h, const Rectangle& place, int sign) {
  return OfMap(h, {1, static_cast<double>(sign * place.rows.begin)},
               {1, static_cast<double>(sign * place.columns.begin)});
}

}  // namespace

Inset::Inset(const Rectangle& place, int width, int height)
    : place_(place),
      picture_width_(width),
      is_whole_(place.rows == Range{0, height} && place.columns == Range{0, width}) {}

PictureView Inset::Crop(const PictureView& picture) {
  if (is_whole_) return picture;
  PictureView part = {nullptr, place_.columns.size(), place_.rows.size(), picture.channels};
  pixels_.resize(part.byte_count());
  part.pixels = pixels_.data();
  const auto row_bytes = static_cast<size_t>(part.row_bytes());
  for (int y = 0; y < part.height; ++y) {
    std::memcpy(pixels_.data() + static_cast<size_t>(y) * row_bytes,
                picture.pixels + OffsetInPicture(place_, y, picture_width_, part.channels),
                row_bytes);
  }
  return part;
}

void Inset::Paste(const PictureView& part, uint8_t* picture) const {
  for (int y = 0; y < part.height; ++y) {
    std::memcpy(picture + OffsetInPicture(place_, y, picture_width_, part.channels), part.Row(y),
                static_cast<size_t>(part.row_bytes()));
  }
}

Homography Inset::OfPart(const Homography& of_picture) const {
  return Moved(of_picture, place_, 1);
}

Homography Inset::OfPicture(const Homography& of_part) const { return Moved(of_part, place_, -1); }

}  // namespace cacheinf
