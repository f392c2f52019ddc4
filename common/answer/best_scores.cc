#include "common/answer/best_scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/codec/slice_codec.h"

namespace cacheinf {
namespace {

bool IsBetter(const ScoredClass& a, const ScoredClass& b) {
  if (std::isnan(a.score) != std::isnan(b.score)) return std::isnan(b.score);
  return a.score > b.score || (!(a.score < b.score) && a.index < b.index);
}

}  // namespace

std::vector<ScoredClass> BestClasses(std::span<const float> scores, int most) {
  std::vector<ScoredClass> best;
  best.reserve(scores.size());
  for (const float score : scores) best.push_back({static_cast<int>(best.size()), score});
  const size_t count = std::min(best.size(), static_cast<size_t>(most));
  std::partial_sort(best.begin(), best.begin() + static_cast<ptrdiff_t>(count), best.end(),
                    IsBetter);
  best.resize(count);
  return best;
}

int ScoresRead(const Graph& graph, const RobotConfig& config) {
  if (config.ReadsWholeOutputs()) return 0;
  const DecoderConfig& decoder = config.model_config.decoder;
  const bool is_classification =
      KindOfAnswers(graph, decoder.kind) == DecoderConfig::Kind::kClassification;
  return is_classification ? decoder.most_classes() : 0;
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
