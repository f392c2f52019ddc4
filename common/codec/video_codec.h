#ifndef CACHEINF_COMMON_CODEC_VIDEO_CODEC_H_
#define CACHEINF_COMMON_CODEC_VIDEO_CODEC_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/codec/picture_codec.h"

// Video without delay: a packet of libavcodec for every picture, after one byte for the standard
// (VideoStandards in video_codec.cc). Colours go to and from 4:2:0 (yuv420.h). A picture of odd
// size is as much larger as makes it even; its last pixels are repeated.

struct AVCodecContext;
struct AVFrame;
struct AVPacket;

namespace cacheinf {

struct LibavDeleter {
  void operator()(AVCodecContext* context) const;
  void operator()(AVFrame* frame) const;
  void operator()(AVPacket* packet) const;
};
template <typename T>
using LibavOwned = std::unique_ptr<T, LibavDeleter>;

class VideoEncoder {
 public:
  // Throws InputError where there is no such encoder, or it refuses its options.
  VideoEncoder(const PictureFormat& format, const PictureCodec& codec);

  // `alone`: nothing before is needed. Throws std::runtime_error where the encoder fails.
  void Append(const uint8_t* pixels, bool alone, std::vector<uint8_t>* bytes);

 private:
  void Open();

  PictureFormat format_;
  PictureCodec codec_;
  uint8_t standard_ = 0;
  int64_t pictures_ = 0;  // since it was opened
  LibavOwned<AVCodecContext> context_;
  LibavOwned<AVFrame> frame_;
  LibavOwned<AVPacket> packet_;
};

class VideoDecoder {
 public:
  explicit VideoDecoder(const PictureFormat& format);

  // REQUIRES: every packet since one that stood alone. Trusts no byte: null, or one sentence on
  // what is wrong.
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
