#ifndef CACHEINF_COMMON_CODEC_VIDEO_CODEC_H_
#define CACHEINF_COMMON_CODEC_VIDEO_CODEC_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/codec/picture_codec.h"

// Video without delay: one libavcodec packet per picture, after a byte for the standard
// (kVideoStandards in video_codec.cc). Colours go to and from 4:2:0 (yuv420.h). A picture of odd
// size is extended to an even one by repeating its last pixels.

struct AVCodecContext;
struct AVFrame;
struct AVPacket;

namespace cacheinf {

constexpr uint8_t kH264 = 0;  // in kVideoStandards

struct LibavDeleter {
  void operator()(AVCodecContext* context) const;
  void operator()(AVFrame* frame) const;
  void operator()(AVPacket* packet) const;
};
template <typename T>
using LibavOwned = std::unique_ptr<T, LibavDeleter>;

// The encoder that libavcodec takes for H.264 if none is named; empty: it has none that opens.
std::string NameOfH264Encoder();

class VideoEncoder {
 public:
  // Throws InputError if there is no such encoder, or it refuses its options.
  VideoEncoder(const PictureFormat& format, const PictureCodec& codec);

  // `alone`: needs no earlier packet. Throws std::runtime_error if the encoder fails.
  void Append(const uint8_t* pixels, bool alone, std::vector<uint8_t>* bytes);

 private:
  void Open();

  PictureFormat format_;
  PictureCodec codec_;
  uint8_t standard_ = 0;
  int64_t pictures_ = 0;  // since the encoder was opened
  LibavOwned<AVCodecContext> context_;
  LibavOwned<AVFrame> frame_;
  LibavOwned<AVPacket> packet_;
};

class VideoDecoder {
 public:
  explicit VideoDecoder(const PictureFormat& format);

  // Trusts no byte. Returns null, or one sentence on what is wrong. REQUIRES: every packet since
  // one that stood alone.
  const char* Decode(std::span<const uint8_t> bytes, bool alone, uint8_t* pixels);

 private:
  const char* Open(uint8_t standard);
  const char* Read(uint8_t* pixels) const;

  PictureFormat format_;
  LibavOwned<AVCodecContext> context_;
  LibavOwned<AVFrame> frame_;
  LibavOwned<AVPacket> packet_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_VIDEO_CODEC_H_
