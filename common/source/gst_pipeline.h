#ifndef CACHEINF_COMMON_SOURCE_GST_PIPELINE_H_
#define CACHEINF_COMMON_SOURCE_GST_PIPELINE_H_

#include <string>

namespace cacheinf {

// Throws InputError that names what GStreamer does not know in a pipeline: an element, a property,
// a connection that cannot be made. Starts nothing. Finds nothing if this build has no GStreamer.
void CheckPipeline(const std::string& pipeline);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_GST_PIPELINE_H_
