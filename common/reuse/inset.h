#ifndef CACHEINF_COMMON_REUSE_INSET_H_
#define CACHEINF_COMMON_REUSE_INSET_H_

#include <cstdint>
#include <vector>

#include "common/base/picture_view.h"
#include "sparse_ops/homography.h"

// A letterbox leaves bars beside the frame, which show neither the camera's motion nor the light,
// and never change.

namespace cacheinf {

// A part of pictures of one shape. Homographies of the part and of the picture map the same pixels,
// counted from the first pixel of each; the identity of one is exactly that of the other.
class Inset {
 public:
  // REQUIRES: a place of at least one pixel, within a picture of that size.
  Inset(const Rectangle& place, int width, int height);

  // The part, valid until the next call and as long as the picture: without bars it is the picture
  // itself.
  PictureView Crop(const PictureView& picture);

  // Puts a part into a picture of the shape that it was cropped from.
  void Paste(const PictureView& part, uint8_t* picture) const;

  Homography OfPart(const Homography& of_picture) const;
  Homography OfPicture(const Homography& of_part) const;

  const Rectangle& place() const { return place_; }
  bool is_whole() const { return is_whole_; }

 private:
  Rectangle place_;
  int picture_width_;
  bool is_whole_;
  std::vector<uint8_t> pixels_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_INSET_H_
