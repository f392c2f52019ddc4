#ifndef CACHEINF_COMMON_BASE_PICTURE_VIEW_H_
#define CACHEINF_COMMON_BASE_PICTURE_VIEW_H_

#include <cstddef>
#include <cstdint>

#include "sparse_ops/views.h"

namespace cacheinf {

// A model's 8-bit picture (PictureFit) in somebody else's memory: 1 or 3 channels
// interleaved, rows without gaps. The order of the channels does not matter.
struct PictureView {
  const uint8_t* pixels = nullptr;
  int width = 0;
  int height = 0;
  int channels = 0;

  int64_t row_bytes() const { return int64_t{width} * channels; }
  size_t byte_count() const {
    return static_cast<size_t>(height) * static_cast<size_t>(row_bytes());
  }
  const uint8_t* Row(int y) const { return pixels + y * row_bytes(); }

  friend bool HaveSameShape(const PictureView& a, const PictureView& b) {
    return a.width == b.width && a.height == b.height && a.channels == b.channels;
  }
};

// Writes pixels into a graph's input as numbers 0…255. REQUIRES: `input` is 1 × channels × height ×
// width, and `pixels` hold height × width × channels bytes.
void ToFloats(const uint8_t* pixels, const TensorView& input);

// Pixels of a picture.
struct Rectangle {
  Range rows;
  Range columns;

  bool operator==(const Rectangle&) const = default;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_PICTURE_VIEW_H_
