#include "common/source/gst_pipeline.h"

#include <fmt/core.h>

#include "common/base/error.h"
#include "common/codec/gst_start.h"

namespace cacheinf {

void CheckPipeline(const std::string& pipeline) {
  if (!StartGStreamer()) return;
  GError* error = nullptr;
  GstElement* const built =
      gst_parse_launch_full(pipeline.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (built != nullptr) gst_object_unref(gst_object_ref_sink(built));
  if (error == nullptr) return;
  const std::string sentence = fmt::format(
      "pipeline \"{}\": {}; gst-inspect-1.0 lists what this machine has", pipeline, error->message);
  g_error_free(error);
  throw InputError(sentence);
}

}  // namespace cacheinf
