#ifndef CACHEINF_COMMON_CODEC_STILL_PICTURE_H_
#define CACHEINF_COMMON_CODEC_STILL_PICTURE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/codec/picture_codec.h"

// One picture in a file format. Reading trusts no byte: null, or one sentence on what is wrong, in
// which case anything may stand in `pixels`. What is not of the format's size is refused before
// memory of its size is taken.

namespace cacheinf {

// What becomes of the colours, which JPEG keeps of every second pixel only, between these.
enum class JpegColours : uint8_t {
  kSmooth,
  kApart,  // each is that of its 2 × 2 pixels, so that no pixel depends on another block of 16 × 16
};

// REQUIRES: quality from 1 to 100. Throws std::runtime_error where the library fails.
void AppendJpeg(const uint8_t* pixels, const PictureFormat& format, int quality,
                std::vector<uint8_t>* bytes);
const char* ReadJpeg(std::span<const uint8_t> bytes, const PictureFormat& format,
                     JpegColours colours, uint8_t* pixels);

void AppendPng(const uint8_t* pixels, const PictureFormat& format, std::vector<uint8_t>* bytes);
const char* ReadPng(std::span<const uint8_t> bytes, const PictureFormat& format, uint8_t* pixels);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_STILL_PICTURE_H_
