#include "tests/bench/input_streams.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "tests/bench/timing.h"

namespace cacheinf {
namespace {

cv::Mat AsMat(const Picture& picture) {
  return {picture.height, picture.width, CV_8UC(picture.channels),
          const_cast<uint8_t*>(picture.pixels.get()), static_cast<size_t>(picture.row_stride)};
}

void Check(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + " failed");
}

struct Deleter {
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

Owned<AVCodecContext> Open(const AVCodec* codec, int width, int height) {
  if (codec == nullptr) throw InputError("libavcodec lacks libx264 or a decoder for it");
  av_log_set_level(AV_LOG_ERROR);
  Owned<AVCodecContext> context(avcodec_alloc_context3(codec));
  context->width = width;
  context->height = height;
  context->pix_fmt = AV_PIX_FMT_YUV420P;
  context->time_base = {1, 30};
  context->thread_count = 1;
  constexpr int kNeverIntra = 1 << 20;
  context->gop_size = kNeverIntra;
  AVDictionary* options = nullptr;
  for (const auto& [key, value] :
       {std::pair{"preset", "ultrafast"}, {"tune", "zerolatency"}, {"crf", "23"}}) {
    if (av_codec_is_encoder(codec)) av_dict_set(&options, key, value, 0);
  }
  const int result = avcodec_open2(context.get(), codec, &options);
  av_dict_free(&options);
  Check(result, "opening a codec");
  return context;
}

// Codes for 4:2:0 want even sizes.
int Even(int size) { return size + size % 2; }

}  // namespace

SentPicture SendJpeg(const Picture& picture, int quality) {
  SentPicture sent;
  std::vector<uint8_t> bytes;
  const std::vector<int> how = {cv::IMWRITE_JPEG_QUALITY, quality};
  sent.encode_ms = TimeOnce([&] { cv::imencode(".jpg", AsMat(picture), bytes, how); });
  sent.decode_ms = TimeOnce([&] { cv::imdecode(bytes, cv::IMREAD_UNCHANGED); });
  sent.bytes = static_cast<int64_t>(bytes.size());
  return sent;
}

struct VideoStream::State {
  State(int width, int height)
      : encoder(Open(avcodec_find_encoder_by_name("libx264"), Even(width), Even(height))),
        decoder(Open(avcodec_find_decoder(AV_CODEC_ID_H264), Even(width), Even(height))),
        frame(av_frame_alloc()),
        decoded(av_frame_alloc()),
        packet(av_packet_alloc()) {
    frame->format = AV_PIX_FMT_YUV420P;
    frame->width = encoder->width;
    frame->height = encoder->height;
    Check(av_frame_get_buffer(frame.get(), 0), "a frame's memory");
  }

  void MakeScalers(AVPixelFormat format) {
    const int width = encoder->width;
    const int height = encoder->height;
    to_yuv.reset(sws_getContext(width, height, format, width, height, AV_PIX_FMT_YUV420P,
                                SWS_BILINEAR, nullptr, nullptr, nullptr));
    from_yuv.reset(sws_getContext(width, height, AV_PIX_FMT_YUV420P, width, height, format,
                                  SWS_BILINEAR, nullptr, nullptr, nullptr));
  }

  void Encode(const cv::Mat& picture) {
    const int stride = static_cast<int>(picture.step);
    Check(av_frame_make_writable(frame.get()), "a frame's memory");
    sws_scale(to_yuv.get(), &picture.data, &stride, 0, picture.rows, frame->data, frame->linesize);
    frame->pts = count++;
    Check(avcodec_send_frame(encoder.get(), frame.get()), "encoding");
    av_packet_unref(packet.get());
    Check(avcodec_receive_packet(encoder.get(), packet.get()), "encoding without delay");
  }

  void Decode(cv::Mat& picture) {
    const int stride = static_cast<int>(picture.step);
    Check(avcodec_send_packet(decoder.get(), packet.get()), "decoding");
    Check(avcodec_receive_frame(decoder.get(), decoded.get()), "decoding without delay");
    sws_scale(from_yuv.get(), decoded->data, decoded->linesize, 0, decoded->height, &picture.data,
              &stride);
  }

  Owned<AVCodecContext> encoder;
  Owned<AVCodecContext> decoder;
  Owned<AVFrame> frame;
  Owned<AVFrame> decoded;
  Owned<AVPacket> packet;
  Owned<SwsContext> to_yuv;
  Owned<SwsContext> from_yuv;
  int64_t count = 0;
};

VideoStream::VideoStream(int width, int height) : state_(std::make_unique<State>(width, height)) {}

VideoStream::~VideoStream() = default;

SentPicture VideoStream::Send(const Picture& picture) {
  State& state = *state_;
  if (!state.to_yuv) {
    state.MakeScalers(picture.channels == 1 ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_BGR24);
  }
  cv::Mat padded;
  cv::copyMakeBorder(AsMat(picture), padded, 0, picture.height % 2, 0, picture.width % 2,
                     cv::BORDER_REPLICATE);
  cv::Mat back(padded.size(), padded.type());
  SentPicture sent;
  sent.encode_ms = TimeOnce([&] { state.Encode(padded); });
  sent.bytes = state.packet->size;
  sent.decode_ms = TimeOnce([&] { state.Decode(back); });
  return sent;
}

}  // namespace cacheinf
