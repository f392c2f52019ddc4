#ifndef CACHEINF_COMMON_CODEC_STILL_PICTURE_H_
#define CACHEINF_COMMON_CODEC_STILL_PICTURE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/codec/picture_codec.h"

// One picture in a file format. Reading trusts no byte: it returns null, or one sentence on what is
// wrong, after which `pixels` may hold anything. It refuses another size than the format's before
// it allocates memory of that size.

namespace cacheinf {

// How colours are filled in; JPEG keeps them only for every second pixel.
enum class JpegColours : uint8_t {
  kSmooth,
  kApart,  // each pixel takes the colour of its 2 × 2 pixels, so none depends on another block of
           // 16 × 16
};

// REQUIRES: quality from 1 to 100. Throws std::runtime_error if the library fails.
void AppendJpeg(const uint8_t* pixels, const PictureFormat& format, int quality,
                std::vector<uint8_t>* bytes);
const char* ReadJpeg(std::span<const uint8_t> bytes, const PictureFormat& format,
                     JpegColours colours, uint8_t* pixels);

// What the head of a JPEG or PNG says; nothing if the bytes are neither. Sizes may be anything.
struct StillFormat {
  bool is_jpeg = false;
  bool is_deep = false;   // 16 bits a channel
  PictureFormat picture;  // blue first; channels may be 4, with the opacity
};
std::optional<StillFormat> FormatOfStill(std::span<const uint8_t> bytes);

// Takes colours for blue, green, red. Throws std::runtime_error if the library fails.
void AppendPng(const uint8_t* pixels, const PictureFormat& format, std::vector<uint8_t>* bytes);
// If `format.channels` is 4, the last one is the opacity.
const char* ReadPng(std::span<const uint8_t> bytes, const PictureFormat& format, uint8_t* pixels);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_STILL_PICTURE_H_
