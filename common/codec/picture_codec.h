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
//   byte 3        1 if the picture stands alone, 0 if it needs the one before it
//   bytes 4..5    width, bytes 6..7 height, byte 8 channels
//   bytes 9..12   its number among the encoder's pictures: 0, 1, 2, …
//   then          the codec's bytes
//
// All little-endian. Equal pictures in equal order decode to the same bytes on every machine: JPEG
// by libjpeg-turbo's accurate DCT, colours of video in our own integers. (The bits of video are up
// to the decoder: the standard fixes them for H.264, HEVC, VP8 and VP9.)

namespace cacheinf {

enum class PictureCodecKind : uint8_t {
  kRaw,
  kPng,
  kJpeg,    // libjpeg-turbo, 4:2:0
  kBlocks,  // only 16 × 16 blocks in which a byte differs from the previous picture
  kVideo,   // an encoder of libavcodec or GStreamer without delay, 4:2:0
};
constexpr Words<5> WordsOf(PictureCodecKind) { return {"raw", "png", "jpeg", "blocks", "video"}; }

struct PictureCodec {
  PictureCodecKind kind = PictureCodecKind::kRaw;
  int jpeg_quality = 0;            // of kJpeg and kBlocks, 1 to 100; 0: plain blocks
  std::string video_encoder = {};  // libavcodec's name
  std::vector<std::pair<std::string, std::string>> video_options = {};  // as libavcodec names them
  std::string gst_pipeline = {};  // encodes video instead, unless empty

  // Whether decoding gives back the encoded bytes.
  bool is_lossless() const;
  // Whether no picture needs the one before it.
  bool stands_alone() const;

  bool operator==(const PictureCodec&) const = default;
};

// Parses one of
//
//   raw, png
//   jpeg[:QUALITY]        1 to 100; default 85
//   blocks[:QUALITY|:raw] as JPEG of this quality, default 90, or plain
//   video[:ENCODER][:OPTION=VALUE]...   default libx264, which begins with preset=ultrafast,
//                         tune=zerolatency, crf=23, sc_threshold=0, subq=1; an option given later
//                         replaces its value, another preset brings its own subq
//   video:gst:PIPELINE    all the rest is GStreamer elements, as for gst-launch-1.0, that turn raw
//                         I420 into H.264; they can do anything, so trust whoever wrote them
//
// Throws InputError.
PictureCodec ParsePictureCodec(const std::string& text);

// What both ends know about a stream's pictures.
struct PictureFormat {
  static constexpr int kLongestSide = 65535;

  int width = 0;
  int height = 0;
  int channels = 0;            // 1 or 3
  bool is_blue_first = false;  // else red, of 3 channels; affects only quality

  size_t byte_count() const {
    return static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  }
};

// A robot that must compute from the picture as its server sees it decodes its own bytes with a
// PictureDecoder, unless the codec is lossless.
class PictureEncoder {
 public:
  // Throws InputError if this machine lacks the video encoder, or that refuses its options.
  PictureEncoder(const PictureCodec& codec, const PictureFormat& format);
  ~PictureEncoder();
  PictureEncoder(PictureEncoder&&) noexcept;
  PictureEncoder& operator=(PictureEncoder&&) noexcept;

  // Adds the next picture to `bytes`. Throws std::runtime_error if a library fails. REQUIRES: a
  // picture of the format.
  void Append(const PictureView& picture, std::vector<uint8_t>* bytes);

  // Makes the next picture stand alone. Call when something may have been lost on its way.
  void Reset();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class PictureDecoder {
 public:
  explicit PictureDecoder(const PictureFormat& format);
  ~PictureDecoder();

  // Decodes a picture of any codec. Trusts no byte. Returns null, or why there is none. Refuses
  // pictures that depend on others at the beginning, and after a picture that could not be decoded,
  // until one stands alone (PictureEncoder::Reset).
  const char* Decode(std::span<const uint8_t> bytes);

  // The last decoded picture, valid until the next Decode. REQUIRES: Decode returned null.
  PictureView picture() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_PICTURE_CODEC_H_
