#ifndef CACHEINF_COMMON_CODEC_GST_START_H_
#define CACHEINF_COMMON_CODEC_GST_START_H_

#include <gst/gst.h>

#include <string>

#include "common/base/log.h"

namespace cacheinf {

// Returns whether GStreamer has started. From then on GLib's prints go to the log, because
// GStreamer's own messages tell users all that they must know.
inline bool StartGStreamer() {
  static const bool is_started = [] {
    if (gst_init_check(nullptr, nullptr, nullptr) == FALSE) return false;
    g_log_set_default_handler(
        [](const char* domain, GLogLevelFlags /*level*/, const char* text, void* /*data*/) {
          LogDebug(std::string(domain == nullptr ? "GLib" : domain) + ": " + text);
        },
        nullptr);
    return true;
  }();
  return is_started;
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CODEC_GST_START_H_
