#include "common/pair/shared_settings.h"

#include "common/answer/answers.h"
#include "common/config/robot_config.h"

namespace cacheinf {
namespace {

// How many of the first output's scores, best first, the robot reads; 0 if it may read any number
// of any output.
int ScoresRead(const Graph& graph, const RobotConfig& config) {
  if (config.ReadsWholeOutputs()) return 0;
  const DecoderConfig& decoder = config.model_config.decoder;
  const bool is_classification =
      KindOfAnswers(graph, decoder.kind) == DecoderConfig::Kind::kClassification;
  return is_classification ? decoder.most_classes() : 0;
}

}  // namespace

SharedSettings SharedSettingsOf(const RobotConfig& config, const Graph& graph) {
  return {config.cache, config.tracker, config.server.slice_codec, ScoresRead(graph, config)};
}

}  // namespace cacheinf
