#ifndef CACHEINF_COMMON_CODEC_GST_ENCODER_H_
#define CACHEINF_COMMON_CODEC_GST_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/codec/picture_codec.h"

namespace cacheinf {

// Encodes as VideoEncoder does, and for the same VideoDecoder, but through a GStreamer pipeline
// that makes H.264 of raw I420. For encoders that libavcodec lacks, such as a Jetson's.
class GstEncoder {
 public:
  // `pipeline` is as for gst-launch-1.0, without source and sink. Throws InputError if it does not
  // start, or this build has no GStreamer.
  GstEncoder(const PictureFormat& format, const std::string& pipeline);
  ~GstEncoder();

  // `alone`: needs no earlier packet. Waits up to two seconds for the packet. Throws
  // std::runtime_error if the pipeline fails, InputError if it does so with its first picture; the
  // next picture must then stand alone.
  void Append(const uint8_t* pixels, bool alone, std::vector<uint8_t>* bytes);

 private:
  class Pipeline;

  void Open();

  PictureFormat format_;
  std::string text_;
  std::unique_ptr<Pipeline> pipeline_;  // null: it failed
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_GST_ENCODER_H_
