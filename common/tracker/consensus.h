#ifndef CACHEINF_COMMON_TRACKER_CONSENSUS_H_
#define CACHEINF_COMMON_TRACKER_CONSENSUS_H_

#include <cstddef>

#include "common/tracker/features.h"
#include "sparse_ops/homography.h"

namespace cacheinf {

// The homography that most pairs agree with, and how many. Part of the homography tracker.
struct Consensus {
  Homography reference_from_frame;
  size_t count = 0;  // 0: there is no homography
};

// Draws four pairs at a time (RANSAC), always the same ones. Takes the homography that most pairs
// agree with to within `inlier_pixels` in the reference, and fits it to all of these by least
// squares as long as more come to agree. Runs in this thread with the same bits everywhere. OpenCV
// does not promise that: it multiplies matrices with the BLAS that a program is linked with.
Consensus FindConsensus(const PointPairs& pairs, double inlier_pixels);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_CONSENSUS_H_
