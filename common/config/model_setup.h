#ifndef CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_
#define CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_

#include <string>

#include "common/config/model_config.h"
#include "common/model/graph/graph.h"
#include "common/model/heads/heads.h"

namespace cacheinf {

// Both throw InputError when the configuration does not fit the graph. REQUIRE: a checked
// configuration.

// The configuration with nothing left to choose: what the model's file says of itself, or what is
// usual for networks of its kind, stands where the configuration is silent.
struct PreprocessChoice {
  PreprocessConfig config;
  std::string chosen;  // "fit and resize are usual for …"; empty: the configuration says all
};
PreprocessChoice ChoosePreprocess(const Graph& graph, const ModelConfig& config);

// That levels are scaled twice, by the configuration and by the network itself; empty: they are
// not.
std::string DoubtOfDivisor(const Graph& graph, const PreprocessConfig& config);

// Puts a picture's normalisation in front. A graph that brings its own picture keeps it. Returns a
// line for people that says what frames become, and what was chosen for them.
std::string AddPicture(Graph& graph, const ModelConfig& config);

// What the configuration and the model's file say of the outputs. Throws InputError if class names
// cannot be read.
HeadSpec HeadSpecOf(const DecoderConfig& config, const ModelNotes& notes);

// Appends what decodes the answer, and sets `graph.head`. A graph that has a head keeps it.
void AddDecoder(Graph& graph, const DecoderConfig& config);

inline void AddPictureAndDecoder(Graph& graph, const ModelConfig& config) {
  AddPicture(graph, config);
  AddDecoder(graph, config.decoder);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_
