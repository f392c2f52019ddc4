#ifndef CACHEINF_CLIENT_TRACKER_MOTION_FIT_H_
#define CACHEINF_CLIENT_TRACKER_MOTION_FIT_H_

#include <vector>

#include "client/tracker/features.h"
#include "client/tracker/grey_picture.h"
#include "client/tracker/tracker.h"

// What points and pixels say about a motion. Part of the homography tracker.

namespace cacheinf {

// What a homography must be like. Lengths in pixels of the pictures that the points are from.
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

// The homography that most pairs agree with; the identity where nearly as many agree that nothing
// moved.
Fit FitHomography(const PointPairs& pairs, const FitLimits& limits);

// kNone, or what forbids that this is how a camera moved between two pictures of that size: folded
// or flipped somewhere, scaled by more than 2, or too little in view.
Loss Judge(const Homography& reference_from_frame, int width, int height, double least_overlap);

struct Light {
  double gain = 1;
  double offset = 0;
  double agreeing_share = 0;  // of the pixels that the reference shows
};

// How the frame's brightness follows from the reference's.
class LightFit {
 public:
  // Compares squares of side × side pixels: `frame` has one pixel for each of the frame's, the
  // reference's are averaged wherever they lie, so that neither is more blurred than the other.
  // The homography is between the pictures as `reference` has them. Without `is_free` the gain is
  // 1 and the offset 0.
  Light Fit(const GreyPicture& frame, const SquareMeans& reference, int side,
            const Homography& reference_from_frame, bool is_free);

 private:
  struct Sample {
    int reference = 0;  // brightness, in sixteenths of a level
    int frame = 0;
  };
  void TakeSamples(const GreyPicture& frame, const SquareMeans& reference, int side,
                   const Homography& reference_from_frame);
  void Refine(Light* light);
  double MedianError(const Light& light);

  std::vector<Sample> samples_;
  std::vector<double> errors_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_TRACKER_MOTION_FIT_H_
