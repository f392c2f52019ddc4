#ifndef CACHEINF_COMMON_TRACKER_MOTION_FIT_H_
#define CACHEINF_COMMON_TRACKER_MOTION_FIT_H_

#include "common/tracker/features.h"
#include "common/tracker/tracker.h"

// From points to a motion. Part of the homography tracker.

namespace cacheinf {

struct Fit {
  Homography reference_from_frame;
  Loss loss = Loss::kNone;
  double inlier_share = 0;
};

// The homography that most pairs agree with; the identity if nearly as many agree that nothing
// moved by half a pixel. The points lie in pictures of this size, which are `factor` times smaller
// than the originals.
Fit FitHomography(const PointPairs& pairs, int width, int height, int factor);

// Returns kNone, or why no camera can have moved like this between two pictures of that size:
// folded or flipped somewhere, scaled by more than 2, or too little in view.
Loss Judge(const Homography& reference_from_frame, int width, int height);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_MOTION_FIT_H_
