#include "common/pair/shared_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "common/answer/answers.h"
#include "common/base/error.h"
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

FieldTable SharedSettings::Fields() {
  FieldTable fields = FieldsOf(tracker);
  fields.insert(fields.begin(), Field{"cache", cache.Fields(), ""});
  fields.push_back(
      Field{"most_scores", &most_scores, ""}.Between(0, std::numeric_limits<int>::max()));
  fields.push_back(Field{"slice_codec", MakeChoice(slice_codec), ""});
  return fields;
}

SharedSettings SharedSettingsOf(const RobotConfig& config, const Graph& graph) {
  return {config.cache, config.tracker, config.server.slice_codec, ScoresRead(graph, config)};
}

void CheckCarriesRows(SliceCodec codec, const Graph& graph) {
  if (IsLossless(codec) || !HasEightBitMaps(graph)) return;
  throw InputError(fmt::format(
      "the slice codec {} rounds floats, and rows of 8-bit maps are none: set slice_codec to zstd "
      "or raw",
      NameOf(codec)));
}

void KeepBestScores(int most, std::vector<uint8_t>* slice) {
  uint8_t* const numbers = slice->data() + NumbersBegin(*slice);
  std::vector<float> scores((slice->size() - NumbersBegin(*slice)) / sizeof(float));
  std::memcpy(scores.data(), numbers, scores.size() * sizeof(float));
  const std::vector<ScoredClass> best = BestClasses(scores, most);
  std::fill(scores.begin(), scores.end(), std::numeric_limits<float>::quiet_NaN());
  for (const ScoredClass& kept : best) scores[static_cast<size_t>(kept.index)] = kept.score;
  std::memcpy(numbers, scores.data(), scores.size() * sizeof(float));
}

}  // namespace cacheinf
