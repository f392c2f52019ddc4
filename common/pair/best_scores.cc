#include "common/pair/best_scores.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "common/answer/answers.h"
#include "common/codec/slice_codec.h"

namespace cacheinf {

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
