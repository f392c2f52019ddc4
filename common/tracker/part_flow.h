#ifndef CACHEINF_COMMON_TRACKER_PART_FLOW_H_
#define CACHEINF_COMMON_TRACKER_PART_FLOW_H_

#include <memory>
#include <span>
#include <vector>

#include "common/base/picture_view.h"

// How parts of a picture move, each by itself.

namespace cacheinf {

// Where a point of an axis goes, counted from the picture's edge.
struct AxisMotion {
  double scale = 1;
  double shift = 0;

  double Of(double position) const { return scale * position + shift; }
  AxisMotion Then(const AxisMotion& next) const { return {scale * next.scale, next.Of(shift)}; }
};

struct PartMotion {
  AxisMotion x;
  AxisMotion y;
  // Whether the part itself shows it. If it has too few points that can be followed, it moves as
  // the whole picture does or, if that shows nothing either, stays in place.
  bool is_known = false;
};

// Follows points of a reference by pyramidal Lucas-Kanade into a picture and back again. Points
// that come back to where they began move their part by the median of their ways, and scale it by
// the median of how far they moved apart.
//
// The result depends only on the calls since a reference of another shape. It follows 464 points at
// most, however many parts there are, in three steps at most. One thread at a time.
class PartFlow {
 public:
  PartFlow();
  ~PartFlow();

  // Copies the picture in grey; all other work waits for the next Find. If this is one of the last
  // eight pictures that Find saw, those after it help to find the way from it to the next.
  // REQUIRES: 1 or 3 channels.
  void SetReference(const PictureView& reference);

  // How the reference's parts lie in this picture, one by one; then this picture is the reference.
  // Nothing is known for a picture of another shape, or for parts after the 100th. Parts may lie
  // beyond the picture. REQUIRES: a reference.
  std::vector<PartMotion> Find(std::span<const Rectangle> parts, const PictureView& picture);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_PART_FLOW_H_
