#ifndef CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_
#define CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_

#include <string>

#include "common/config/model_config.h"
#include "common/model/graph/graph.h"
#include "common/model/heads/heads.h"

namespace cacheinf {

// Both throw InputError when the configuration does not fit the graph. REQUIRE: a checked
// configuration.

// The configuration with nothing left to choose: where it is silent, the model's file decides, or
// what is usual for networks of its kind.
struct PreprocessChoice {
  PreprocessConfig config;
  std::string chosen;  // "fit and resize are usual for …"; empty: the configuration says all
};
PreprocessChoice ChoosePreprocess(const Graph& graph, const ModelConfig& config);

// Says that levels are scaled twice, by the configuration and by the network itself; empty: they
// are not.
std::string DoubtOfDivisor(const Graph& graph, const PreprocessConfig& config);

// Puts a picture's normalisation in front. A graph that brings its own picture keeps it. Returns a
// line for people that says how frames become pictures, and what was chosen for that.
std::string AddPicture(Graph& graph, const ModelConfig& config);

// What the configuration and the model's file say about the outputs. Throws InputError if class
// names cannot be read.
HeadSpec HeadSpecOf(const DecoderConfig& config, const ModelNotes& notes);

// Appends the operators that decode the answer, and sets `graph.head`. A graph that has a head
// keeps it.
void AddDecoder(Graph& graph, const DecoderConfig& config);

inline void AddPictureAndDecoder(Graph& graph, const ModelConfig& config) {
  AddPicture(graph, config);
  AddDecoder(graph, config.decoder);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_MODEL_SETUP_H_
