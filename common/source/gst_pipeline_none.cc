#include "common/source/gst_pipeline.h"

namespace cacheinf {

void CheckPipeline(const std::string& /*pipeline*/) {}

}  // namespace cacheinf
