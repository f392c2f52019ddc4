#include "common/base/picture_view.h"

namespace cacheinf {

void ToFloats(const uint8_t* pixels, const TensorView& input) {
  const ImageView image = AsImage(input);
  const int row_length = image.width * image.channels;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* in = pixels + int64_t{y} * row_length;
    if (image.pixel_stride == image.channels) {
      float* out = image.Pixel(0, y, 0);
      for (int i = 0; i < row_length; ++i) out[i] = static_cast<float>(in[i]);
      continue;
    }
    for (int x = 0; x < image.width; ++x) {
      float* out = image.Pixel(0, y, x);
      for (int c = 0; c < image.channels; ++c) out[c] = static_cast<float>(*in++);
    }
  }
}

}  // namespace cacheinf
