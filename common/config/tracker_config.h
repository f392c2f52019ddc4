#ifndef CACHEINF_COMMON_CONFIG_TRACKER_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_TRACKER_CONFIG_H_

#include <cstdint>

#include "common/base/words.h"

// How a new frame is aligned with the one whose results are kept, and which of its pixels count as
// changed. A robot's configuration names only `kind` and `change.threshold`; the rest is for
// benchmarks and tests.

namespace cacheinf {

// Block matching as in DeepCache (common/tracker/block_tracker.h).
struct BlockMatchingConfig {
  enum class Translation : uint8_t { kBest, kMean };

  Translation translation = Translation::kBest;
  int block = 10;
  double psnr = 20.0;  // decibels that matching blocks exceed
  int range = 16;      // pixels
  int skip = 2;        // every skip-th row and column of blocks is searched
};

// Which pixels of a frame count as changed (common/reuse/change_finder.h).
struct ChangeConfig {
  enum class Rule : uint8_t { kDifference, kBlocks };

  Rule rule = Rule::kDifference;
  double threshold = 0.1;  // of full scale; 0: any byte that differs
  double psnr = 20.0;      // kBlocks: decibels that unchanged cells exceed
  int cell = 4;            // pixels, the side of what is averaged
  int block = 8;           // pixels, the side of what becomes active as a whole
};

struct TrackerConfig {
  enum class Kind : uint8_t { kHomography, kBlock };

  Kind kind = Kind::kHomography;
  BlockMatchingConfig blocks;
  ChangeConfig change;
};

constexpr Words<2> WordsOf(TrackerConfig::Kind) { return {"homography", "block"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_TRACKER_CONFIG_H_
