#include "common/codec/video_codec.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "common/base/error.h"
#include "common/base/silenced_stderr.h"
#include "common/codec/yuv420.h"

namespace cacheinf {
namespace {

// Indexed by a packet's first byte. Each standard fixes what a decoder makes of a stream.
constexpr std::array kVideoStandards = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8,
                                        AV_CODEC_ID_VP9};
static_assert(kVideoStandards[kH264] == AV_CODEC_ID_H264);

template <typename T>
LibavOwned<T> Own(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return LibavOwned<T>(made);
}

int Even(int size) { return size + size % 2; }

LibavOwned<AVCodecContext> MakeContext(const AVCodec* codec, const PictureFormat& format) {
  LibavOwned<AVCodecContext> context = Own(avcodec_alloc_context3(codec));
  context->width = Even(format.width);
  context->height = Even(format.height);
  context->pix_fmt = AV_PIX_FMT_YUV420P;
  context->thread_count = 1;  // more would hold pictures back
  context->flags |= AV_CODEC_FLAG_LOW_DELAY;
  context->log_level_offset = AV_LOG_MAX_OFFSET;  // silent: a peer's bytes are not worth a line
  return context;
}

template <typename Byte>
Yuv420<Byte> PlanesOf(const AVFrame& frame) {
  return {{frame.data[0], frame.data[1], frame.data[2]},
          {frame.linesize[0], frame.linesize[1], frame.linesize[2]}};
}

}  // namespace

void LibavDeleter::operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
void LibavDeleter::operator()(AVFrame* frame) const { av_frame_free(&frame); }
void LibavDeleter::operator()(AVPacket* packet) const { av_packet_free(&packet); }

std::string NameOfH264Encoder() {
  const AVCodec* const codec = avcodec_find_encoder(AV_CODEC_ID_H264);
  if (codec == nullptr) return "";
  const auto context = MakeContext(codec, {.width = 320, .height = 240});
  context->time_base = {1, 30};
  return avcodec_open2(context.get(), codec, nullptr) < 0 ? "" : codec->name;
}

VideoEncoder::VideoEncoder(const PictureFormat& format, const PictureCodec& codec)
    : format_(format),
      codec_(codec),
      frame_(Own(av_frame_alloc())),
      packet_(Own(av_packet_alloc())) {
  {
    const SilencedStderr silence;  // where libraries complain of options
    Open();
  }
  frame_->format = context_->pix_fmt;
  frame_->width = context_->width;
  frame_->height = context_->height;
  if (av_frame_get_buffer(frame_.get(), 0) < 0) throw std::bad_alloc();
}

// Not every encoder can make a picture stand alone on request, but a new one's first always does.
void VideoEncoder::Open() {
  const std::string name = "video encoder " + codec_.video_encoder;
  const AVCodec* codec = avcodec_find_encoder_by_name(codec_.video_encoder.c_str());
  if (codec == nullptr) throw InputError(name, " is not in this machine's libavcodec");
  const auto* const standard = std::ranges::find(kVideoStandards, codec->id);
  if (standard == kVideoStandards.end()) {
    throw InputError(name, " makes neither H.264 nor HEVC, VP8 or VP9");
  }
  standard_ = static_cast<uint8_t>(standard - kVideoStandards.begin());
  constexpr int kNever = 1 << 20;
  context_ = MakeContext(codec, format_);
  context_->gop_size = kNever;
  context_->max_b_frames = 0;
  context_->time_base = {1, 30};
  AVDictionary* options = nullptr;
  for (const auto& [option, value] : codec_.video_options) {
    av_dict_set(&options, option.c_str(), value.c_str(), 0);
  }
  const int result = avcodec_open2(context_.get(), codec, &options);
  const AVDictionaryEntry* const rest = av_dict_get(options, "", nullptr, AV_DICT_IGNORE_SUFFIX);
  const std::string unknown = rest == nullptr ? "" : rest->key;
  av_dict_free(&options);
  if (result < 0) throw InputError(name, " does not start with these options");
  if (!unknown.empty()) throw InputError(name, " has no option \"", unknown, "\"");
  pictures_ = 0;
}

void VideoEncoder::Append(const uint8_t* pixels, bool alone, std::vector<uint8_t>* bytes) {
  if (alone && pictures_ > 0) Open();
  if (av_frame_make_writable(frame_.get()) < 0) throw std::bad_alloc();
  ToYuv420(pixels, format_, PlanesOf<uint8_t>(*frame_));
  frame_->pts = pictures_++;
  int result = avcodec_send_frame(context_.get(), frame_.get());
  if (result == 0) result = avcodec_receive_packet(context_.get(), packet_.get());
  if (result == AVERROR(EAGAIN)) {
    throw InputError("video encoder ", codec_.video_encoder,
                     " keeps pictures back unless its options say otherwise");
  }
  if (result < 0) throw std::runtime_error("video encoder " + codec_.video_encoder + " failed");
  bytes->push_back(standard_);
  bytes->insert(bytes->end(), packet_->data, packet_->data + packet_->size);
  av_packet_unref(packet_.get());
}

VideoDecoder::VideoDecoder(const PictureFormat& format)
    : format_(format), frame_(Own(av_frame_alloc())), packet_(Own(av_packet_alloc())) {}

const char* VideoDecoder::Open(uint8_t standard) {
  const AVCodec* codec = avcodec_find_decoder(kVideoStandards.at(standard));
  if (codec == nullptr) return "libavcodec has no decoder for this video";
  context_ = MakeContext(codec, format_);
  // Do not believe a packet's size. Blocks have up to 64 × 64 pixels.
  constexpr int64_t kBlock = 64;
  context_->max_pixels = (format_.width + kBlock) * (format_.height + kBlock);
  context_->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
  return avcodec_open2(context_.get(), codec, nullptr) < 0 ? "a video's decoder does not start"
                                                           : nullptr;
}

const char* VideoDecoder::Decode(std::span<const uint8_t> bytes, bool alone, uint8_t* pixels) {
  if (bytes.size() < 2 || bytes.size() > INT_MAX / 2) return "a video packet has no such size";
  if (bytes[0] >= kVideoStandards.size()) return "a video packet is of an unknown standard";
  if (alone) {
    if (const char* error = Open(bytes[0])) return error;
  }
  if (context_->codec_id != kVideoStandards.at(bytes[0])) {
    return "a video packet is of another standard than the one before";
  }
  const auto size = static_cast<int>(bytes.size() - 1);
  if (av_new_packet(packet_.get(), size) < 0) throw std::bad_alloc();
  std::memcpy(packet_->data, &bytes[1], bytes.size() - 1);
  const int sent = avcodec_send_packet(context_.get(), packet_.get());
  av_packet_unref(packet_.get());
  if (sent < 0 || avcodec_receive_frame(context_.get(), frame_.get()) < 0) {
    return "a video packet gives no picture";
  }
  const char* error = Read(pixels);
  av_frame_unref(frame_.get());
  return error;
}

const char* VideoDecoder::Read(uint8_t* pixels) const {
  if (frame_->width != Even(format_.width) || frame_->height != Even(format_.height) ||
      frame_->format != AV_PIX_FMT_YUV420P) {
    return "a video's picture has another size or format";
  }
  if ((frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0) {
    return "a video's picture is damaged";
  }
  FromYuv420(PlanesOf<const uint8_t>(*frame_), format_, pixels);
  return nullptr;
}

}  // namespace cacheinf
