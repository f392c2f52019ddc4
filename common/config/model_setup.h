#ifndef CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_
#define CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_

#include "common/config/model_config.h"
#include "common/model/graph.h"

namespace cacheinf {

// Adds to a graph what the configuration says about its ends: the picture's normalisation in front,
// the decoding of the answer behind. A graph that brings its own picture keeps it, and with
// decoder.kind "auto" or "raw" the outputs stay.
// Throws InputError when the configuration does not fit the graph. REQUIRES: a checked
// configuration.
void AddPictureAndDecoder(Graph& graph, const ModelConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_
