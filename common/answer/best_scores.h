#ifndef CACHEINF_COMMON_ANSWER_BEST_SCORES_H_
#define CACHEINF_COMMON_ANSWER_BEST_SCORES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/answer/answers.h"
#include "common/config/robot_config.h"

// A classification names a few of many classes, so only the best scores cross to a robot.

namespace cacheinf {

// Returns at most `most` classes, best first: by score, then by lower index. NaN is less than any
// number.
std::vector<ScoredClass> BestClasses(std::span<const float> scores, int most);

// Returns how many of the first output's scores, best first, the robot reads; 0 if it may read any
// number of any output.
int ScoresRead(const Graph& graph, const RobotConfig& config);

// Keeps the best scores of a slice with one score per class. The others become one and the same
// NaN, so that BestClasses finds what it found before and zstd has little to keep. REQUIRES: the
// slice is what AppendSlice wrote of all pixels of an output.
void KeepBestScores(int most, std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_BEST_SCORES_H_
