#ifndef CACHEINF_COMMON_CODEC_PICTURE_CODEC_H_
#define CACHEINF_COMMON_CODEC_PICTURE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/picture_view.h"
#include "common/base/words.h"

// A model's pictures as bytes, from one PictureEncoder to one PictureDecoder.
//
//   bytes 0..1    'P', version 1
//   byte 2        the kind of codec
//   byte 3        1 where the picture stands alone, 0 where it needs the one before it
//   bytes 4..5    width, bytes 6..7 height, byte 8 channels
//   bytes 9..12   its number among the encoder's pictures: 0, 1, 2, …
//   then          what the codec makes of it
//
// All little-endian. Equal pictures in equal order are decoded to the same bytes on every machine:
// JPEG by libjpeg-turbo's accurate DCT, colours of video in integers of our own. (Bits of video are
// the decoder's matter: of H.264, HEVC, VP8 and VP9 they are given by the standard.)

namespace cacheinf {

enum class PictureCodecKind : uint8_t {
  kRaw,
  kPng,
  kJpeg,    // libjpeg-turbo, 4:2:0
  kBlocks,  // those 16 × 16 pixels of which a byte is not what it was in the picture before
  kVideo,   // an encoder of libavcodec without delay, 4:2:0
};
constexpr Words<5> WordsOf(PictureCodecKind) { return {"raw", "png", "jpeg", "blocks", "video"}; }

struct PictureCodec {
  PictureCodecKind kind = PictureCodecKind::kRaw;
  int jpeg_quality = 0;       // of kJpeg and kBlocks, 1 to 100; 0: blocks as they are
  std::string video_encoder;  // as libavcodec calls it
  std::vector<std::pair<std::string, std::string>> video_options;  // likewise

  // What is decoded has the bytes of what was encoded.
  bool is_lossless() const;
};

// Reads one of
//
//   raw, png
//   jpeg[:QUALITY]        1 to 100, else 85
//   blocks[:QUALITY|:raw] as JPEG of this quality, else 90, or as they are
//   video[:ENCODER][:OPTION=VALUE]...   libx264, unless named, which begins with preset=ultrafast,
//                         tune=zerolatency, crf=23, subq=1; an option given later replaces its
//                         value, another preset brings its own subq
//
// Throws InputError.
PictureCodec ParsePictureCodec(const std::string& text);

// What both ends know of a stream's pictures.
struct PictureFormat {
  static constexpr int kLongestSide = 65535;

  int width = 0;
  int height = 0;
  int channels = 0;            // 1 or 3
  bool is_blue_first = false;  // else red; of 3 channels. Only quality depends on it

  size_t byte_count() const {
    return static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  }
};

// A robot that needs the picture as its server sees it (to compute the same from it) decodes its
// own bytes with a PictureDecoder, unless the codec is lossless.
class PictureEncoder {
 public:
  // Throws InputError where this machine has no such video encoder, or that refuses its options.
  PictureEncoder(const PictureCodec& codec, const PictureFormat& format);
  ~PictureEncoder();
  PictureEncoder(PictureEncoder&&) noexcept;
  PictureEncoder& operator=(PictureEncoder&&) noexcept;

  // Adds the next picture to `bytes`. Throws std::runtime_error where a library fails.
  // REQUIRES: a picture of the format.
  void Append(const PictureView& picture, std::vector<uint8_t>* bytes);

  // Something may have been lost on its way: the next picture stands alone.
  void Reset();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class PictureDecoder {
 public:
  explicit PictureDecoder(const PictureFormat& format);
  ~PictureDecoder();

  // Reads one picture of any codec, trusting no byte. Null, or one sentence on why there is none.
  const char* Decode(std::span<const uint8_t> bytes);

  // What the last Decode gave, until the next; REQUIRES that it returned null.
  PictureView picture() const;

  // At the beginning, and after a picture that could not be decoded: until a picture comes that
  // stands alone (PictureEncoder::Reset), Decode refuses what depends on others.
  bool waits_for_whole() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_PICTURE_CODEC_H_
