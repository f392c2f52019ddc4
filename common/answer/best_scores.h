#ifndef CACHEINF_COMMON_ANSWER_BEST_SCORES_H_
#define CACHEINF_COMMON_ANSWER_BEST_SCORES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/answer/answers.h"
#include "common/config/robot_config.h"

// A classification names a few classes of many: no more scores need to cross to a robot.

namespace cacheinf {

// So many classes at most, best first: the larger score, and of the same the lower index. What is
// not a number is less than any.
std::vector<ScoredClass> BestClasses(std::span<const float> scores, int most);

// How many scores of the first output the robot reads, the best ones; 0: it may read any number of
// any output.
int ScoresRead(const Graph& graph, const RobotConfig& config);

// Of a slice of one score a class the best ones stay; the others become NaN, all the same one, so
// that BestClasses finds what it found before and zstd has little to keep. REQUIRES: what
// AppendSlice wrote of all pixels of an output.
void KeepBestScores(int most, std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_ANSWER_BEST_SCORES_H_
