#ifndef CACHEINF_COMMON_CONFIG_TRACKER_CONFIG_H_
#define CACHEINF_COMMON_CONFIG_TRACKER_CONFIG_H_

#include <cstdint>

#include "common/base/words.h"

// How a new frame is aligned with the one whose results are kept, and which of its pixels count as
// changed. A robot's configuration names `kind` and `change.threshold` alone; the rest is for
// benchmarks and tests.

namespace cacheinf {

// A homography from features (common/tracker/homography_tracker.h).
struct HomographyConfig {
  enum class Features : uint8_t { kLucasKanade, kOrb, kAkaze };

  Features features = Features::kLucasKanade;
  int most_features = 160;
  int working_side = 320;       // pictures are shrunk until their longer side has no more pixels
  double inlier_pixels = 2.0;   // of the picture: how far off an agreeing feature may be
  double least_inliers = 0.25;  // share of the features that must agree
  double snap_pixels = 0.5;     // less than this is a still camera
  double least_overlap = 0.25;  // share of the frame that the reference must show
  bool photometric = true;      // look for a gain and an offset of the light
};

// Block matching as in DeepCache (common/tracker/block_tracker.h).
struct BlockMatchingConfig {
  enum class Search : uint8_t { kDiamond, kThreeStep, kExhaustive, kHistogram };
  enum class Translation : uint8_t { kBest, kMean };

  Search search = Search::kDiamond;
  Translation translation = Translation::kBest;
  int block = 10;
  double psnr = 20.0;  // decibels that matching blocks exceed
  int range = 16;      // pixels
  int skip = 2;        // every skip-th row and column of blocks is searched
  bool reuse = true;   // of the search's sums in the final comparison
};

// Which pixels of a frame count as changed (common/reuse/change_finder.h).
struct ChangeConfig {
  enum class Rule : uint8_t { kDifference, kBlocks };

  Rule rule = Rule::kDifference;
  double threshold = 0.1;  // of full scale; 0: any byte that differs
  double psnr = 20.0;      // kBlocks: decibels that unchanged cells exceed
  int cell = 4;            // pixels, the side of what is averaged
  int margin = 0;          // pixels
  int block = 8;           // pixels, the side of what becomes active as a whole
};

struct TrackerConfig {
  enum class Kind : uint8_t { kHomography, kBlock };

  Kind kind = Kind::kHomography;
  HomographyConfig homography;
  BlockMatchingConfig blocks;
  ChangeConfig change;
};

constexpr Words<2> WordsOf(TrackerConfig::Kind) { return {"homography", "block"}; }

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CONFIG_TRACKER_CONFIG_H_
