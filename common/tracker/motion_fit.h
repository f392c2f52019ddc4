#ifndef CACHEINF_COMMON_TRACKER_MOTION_FIT_H_
#define CACHEINF_COMMON_TRACKER_MOTION_FIT_H_

#include "common/tracker/features.h"
#include "common/tracker/tracker.h"

// From points to a motion. Part of the homography tracker.

namespace cacheinf {

// What a valid homography looks like. Lengths in pixels of the points' pictures.
struct FitLimits {
  int width = 0;
  int height = 0;
  double inlier_pixels = 1;
  double snap_pixels = 0.25;
  double least_inliers = 0.35;
  double least_overlap = 0.25;
};

struct Fit {
  Homography reference_from_frame;
  Loss loss = Loss::kNone;
  double inlier_share = 0;
};

// The homography that most pairs agree with; the identity if nearly as many agree that nothing
// moved.
Fit FitHomography(const PointPairs& pairs, const FitLimits& limits);

// kNone, or what forbids that this is how a camera moved between two pictures of that size: folded
// or flipped somewhere, scaled by more than 2, or too little in view.
Loss Judge(const Homography& reference_from_frame, int width, int height, double least_overlap);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_MOTION_FIT_H_
