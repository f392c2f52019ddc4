#ifndef CACHEINF_COMMON_CODEC_YUV420_H_
#define CACHEINF_COMMON_CODEC_YUV420_H_

#include <array>
#include <cstdint>

#include "common/codec/picture_codec.h"

// Colours as defined by sparse_ops/cpu/colour_kernels.h.

namespace cacheinf {

// Planes of luma and both colour differences, of even sizes that hold a picture.
template <typename Byte>
struct Yuv420 {
  std::array<Byte*, 3> planes = {};
  std::array<int, 3> row_bytes = {};
};

// Writes planes of the picture's size, rounded up to even.
void ToYuv420(const uint8_t* pixels, const PictureFormat& format, const Yuv420<uint8_t>& yuv);

void FromYuv420(const Yuv420<const uint8_t>& yuv, const PictureFormat& format, uint8_t* pixels);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_YUV420_H_
