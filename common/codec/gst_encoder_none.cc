#include "common/base/error.h"
#include "common/codec/gst_encoder.h"

namespace cacheinf {

class GstEncoder::Pipeline {};

GstEncoder::GstEncoder(const PictureFormat& /*format*/, const std::string& /*pipeline*/) {
  throw InputError(
      "this build has no GStreamer: scripts/setup installs it, then run cmake and build again");
}
GstEncoder::~GstEncoder() = default;
void GstEncoder::Append(const uint8_t* /*pixels*/, bool /*alone*/,
                        std::vector<uint8_t>* /*bytes*/) {}

}  // namespace cacheinf
