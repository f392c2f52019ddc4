#include "common/codec/gst_encoder.h"

#include <fmt/core.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

#include "common/base/error.h"
#include "common/codec/gst_start.h"
#include "common/codec/video_codec.h"
#include "common/codec/yuv420.h"

namespace cacheinf {
namespace {

constexpr GstClockTime kPatience = 2 * GST_SECOND;
constexpr int kPicturesPerSecond = 30;  // for rate control, as with libavcodec

struct GstDeleter {
  void operator()(GstObject* object) const { gst_object_unref(object); }
  void operator()(GstElement* element) const { gst_object_unref(element); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GError* error) const { g_error_free(error); }
  void operator()(char* text) const { g_free(text); }
};
template <typename T>
using GstOwned = std::unique_ptr<T, GstDeleter>;

struct PipelineDeleter {
  void operator()(GstElement* pipeline) const {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
};

std::string WithoutStop(std::string sentence) {
  while (sentence.ends_with('.') || sentence.ends_with('\n')) sentence.pop_back();
  std::ranges::replace(sentence, '\n', ' ');
  return sentence;
}

// Whether a decoder can begin here: with parameters, and a picture that refers to no other.
bool StandsAlone(std::span<const uint8_t> stream) {
  constexpr int kTypes = 0x1f;
  constexpr int kWholePicture = 5;
  constexpr int kSequence = 7;
  bool has_sequence = false;
  for (size_t i = 0; i + 3 < stream.size(); ++i) {
    if (stream[i] != 0 || stream[i + 1] != 0 || stream[i + 2] != 1) continue;
    const int type = stream[i + 3] & kTypes;
    if (type == kSequence) has_sequence = true;
    if (type == kWholePicture) return has_sequence;
  }
  return false;
}

}  // namespace

class GstEncoder::Pipeline {
 public:
  Pipeline(const PictureFormat& format, const std::string& text)
      : format_(format), name_(fmt::format("GStreamer pipeline \"{}\"", text)) {
    if (!StartGStreamer()) throw InputError("GStreamer does not start on this machine");
    constexpr const char* kSource = "cacheinf_source";
    constexpr const char* kSink = "cacheinf_sink";
    const std::string whole =
        fmt::format("appsrc name={} ! {} ! appsink name={}", kSource, text, kSink);
    GError* raw = nullptr;
    pipeline_.reset(
        gst_parse_launch_full(whole.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &raw));
    const GstOwned<GError> error(raw);
    if (pipeline_) gst_object_ref_sink(pipeline_.get());
    if (error) throw InputError(fmt::format("{}: {}", name_, WithoutStop(error->message)));
    source_.reset(gst_bin_get_by_name(GST_BIN(pipeline_.get()), kSource));
    sink_.reset(gst_bin_get_by_name(GST_BIN(pipeline_.get()), kSink));

    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_I420, format.width + format.width % 2,
                              format.height + format.height % 2);
    GST_VIDEO_INFO_FPS_N(&info_) = kPicturesPerSecond;
    const GstOwned<GstCaps> pictures(gst_video_info_to_caps(&info_));
    g_object_set(source_.get(), "caps", pictures.get(), "format", GST_FORMAT_TIME, nullptr);
    const GstOwned<GstCaps> packets(
        gst_caps_from_string("video/x-h264, stream-format=byte-stream, alignment=au"));
    // Asynchronous, it would wait for a picture to start.
    g_object_set(sink_.get(), "caps", packets.get(), "sync", FALSE, "async", FALSE, nullptr);
    if (gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
      Fail("does not start");
    }
  }

  bool is_new() const { return pictures_ == 0; }

  void AskForWholePicture() {
    gst_element_send_event(
        sink_.get(), gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
  }

  std::vector<uint8_t> Encode(const uint8_t* pixels) {
    if (Pull(0)) Fail("gives more than one packet for a picture");
    if (gst_app_src_push_buffer(GST_APP_SRC(source_.get()), MakeBuffer(pixels).release()) !=
        GST_FLOW_OK) {
      Fail("takes no more pictures");
    }
    const GstOwned<GstSample> sample = Pull(kPatience);
    if (!sample) {
      Fail(gst_app_sink_is_eos(GST_APP_SINK(sink_.get())) != FALSE
               ? "ends by itself"
               : "keeps pictures back, or takes more than 2 s for one");
    }
    GstBuffer* const buffer = gst_sample_get_buffer(sample.get());
    std::vector<uint8_t> packet(gst_buffer_get_size(buffer));
    gst_buffer_extract(buffer, 0, packet.data(), packet.size());
    ++pictures_;
    return packet;
  }

  [[noreturn]] void Fail(const std::string& what) {
    const std::string reason = Reason();
    const std::string sentence = fmt::format("{} {}", name_, reason.empty() ? what : reason);
    if (is_new()) throw InputError(sentence);
    throw std::runtime_error(sentence);
  }

 private:
  GstOwned<GstSample> Pull(GstClockTime patience) {
    return GstOwned<GstSample>(gst_app_sink_try_pull_sample(GST_APP_SINK(sink_.get()), patience));
  }

  GstOwned<GstBuffer> MakeBuffer(const uint8_t* pixels) const {
    GstOwned<GstBuffer> buffer(
        gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info_), nullptr));
    GstMapInfo map;
    if (!buffer || gst_buffer_map(buffer.get(), &map, GST_MAP_WRITE) == FALSE) {
      throw std::bad_alloc();
    }
    Yuv420<uint8_t> yuv;
    for (size_t i = 0; i < yuv.planes.size(); ++i) {
      yuv.planes[i] = map.data + GST_VIDEO_INFO_PLANE_OFFSET(&info_, i);
      yuv.row_bytes[i] = GST_VIDEO_INFO_PLANE_STRIDE(&info_, i);
    }
    ToYuv420(pixels, format_, yuv);
    gst_buffer_unmap(buffer.get(), &map);
    GST_BUFFER_PTS(buffer.get()) = pictures_ * GST_SECOND / kPicturesPerSecond;
    GST_BUFFER_DURATION(buffer.get()) = GST_SECOND / kPicturesPerSecond;
    return buffer;
  }

  // What an element says went wrong, or "".
  std::string Reason() const {
    const GstOwned<GstObject> bus(GST_OBJECT(gst_element_get_bus(pipeline_.get())));
    const GstOwned<GstMessage> message(gst_bus_pop_filtered(GST_BUS(bus.get()), GST_MESSAGE_ERROR));
    if (!message) return "";
    GError* raw = nullptr;
    char* raw_details = nullptr;
    gst_message_parse_error(message.get(), &raw, &raw_details);
    const GstOwned<GError> error(raw);
    const GstOwned<char> owned_details(raw_details);
    // Where in the source, then what happened.
    const std::string details = raw_details == nullptr ? "" : raw_details;
    const size_t line = details.find('\n');
    const std::string more = line == std::string::npos
                                 ? ""
                                 : fmt::format(" ({})", WithoutStop(details.substr(line + 1)));
    return fmt::format("fails: {}{}", WithoutStop(error->message), more);
  }

  PictureFormat format_;
  std::string name_;
  GstVideoInfo info_ = {};
  GstOwned<GstElement> source_;
  GstOwned<GstElement> sink_;
  std::unique_ptr<GstElement, PipelineDeleter> pipeline_;
  GstClockTime pictures_ = 0;
};

GstEncoder::GstEncoder(const PictureFormat& format, const std::string& pipeline)
    : format_(format), text_(pipeline) {
  Open();
}
GstEncoder::~GstEncoder() = default;

void GstEncoder::Open() {
  pipeline_.reset();  // some encoders allow only one
  pipeline_ = std::make_unique<Pipeline>(format_, text_);
}

void GstEncoder::Append(const uint8_t* pixels, bool alone, std::vector<uint8_t>* bytes) {
  if (!pipeline_) Open();
  std::unique_ptr<Pipeline> failing = std::move(pipeline_);  // unless this picture succeeds
  const bool was_new = failing->is_new();
  if (alone && !was_new) failing->AskForWholePicture();
  std::vector<uint8_t> packet = failing->Encode(pixels);
  if (alone && !StandsAlone(packet)) {
    if (was_new) failing->Fail("does not begin with a picture that stands alone");
    // Not every encoder does as it is asked, but a new one does.
    failing.reset();
    return Append(pixels, alone, bytes);
  }
  pipeline_ = std::move(failing);
  bytes->push_back(kH264);
  bytes->insert(bytes->end(), packet.begin(), packet.end());
}

}  // namespace cacheinf
