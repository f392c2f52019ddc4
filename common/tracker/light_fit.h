#ifndef CACHEINF_COMMON_TRACKER_LIGHT_FIT_H_
#define CACHEINF_COMMON_TRACKER_LIGHT_FIT_H_

#include <span>
#include <vector>

#include "common/base/light.h"
#include "common/tracker/grey_picture.h"
#include "sparse_ops/homography.h"

// What pixels say about the light.

namespace cacheinf {

struct FittedLight {
  Light light;
  double agreeing_share = 0;  // of the pixels that the reference shows
};

// How different the light may be.
struct LightLimits {
  double largest_gain = 2;    // its inverse is the smallest
  double largest_shift = 96;  // in levels, of the reference's middle brightness
};

// Fits the frame's brightness to the reference's.
class LightFit {
 public:
  explicit LightFit(const LightLimits& limits = {}) : limits_(limits) {}

  // Compares squares of side × side pixels: `frame` has one pixel for each of the frame's squares,
  // and the reference's are averaged wherever they lie, so that neither is more blurred. The
  // homography is between pictures of the resolution of `reference`. The gain is 1 and the offset 0
  // if the light is the same, or beyond the limits.
  FittedLight Fit(const GreyPicture& frame, const SquareMeans& reference, int side,
                  const Homography& reference_from_frame);

  // Fits the levels of two pictures in the same places. REQUIRES: as many of both.
  Light Fit(std::span<const double> frame, std::span<const double> reference);

 private:
  struct Sample {
    int reference = 0;  // brightness, in parts of a level
    int frame = 0;
  };
  FittedLight FitSamples();
  void TakeSamples(const GreyPicture& frame, const SquareMeans& reference, int side,
                   const Homography& reference_from_frame);
  void Refine(Light* light);
  double MedianError(const Light& light);

  LightLimits limits_;
  std::vector<Sample> samples_;
  std::vector<double> errors_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_LIGHT_FIT_H_
