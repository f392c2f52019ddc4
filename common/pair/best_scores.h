#ifndef CACHEINF_COMMON_PAIR_BEST_SCORES_H_
#define CACHEINF_COMMON_PAIR_BEST_SCORES_H_

#include <cstdint>
#include <vector>

// A classification names a few of many classes, so only the best scores cross to a robot.

namespace cacheinf {

// Keeps the best scores of a slice with one score per class. The others become one and the same
// NaN, so that BestClasses finds what it found before and zstd has little to keep. REQUIRES: the
// slice is what AppendSlice wrote of all pixels of an output.
void KeepBestScores(int most, std::vector<uint8_t>* slice);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PAIR_BEST_SCORES_H_
