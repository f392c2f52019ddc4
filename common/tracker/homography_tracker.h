#ifndef CACHEINF_COMMON_TRACKER_HOMOGRAPHY_TRACKER_H_
#define CACHEINF_COMMON_TRACKER_HOMOGRAPHY_TRACKER_H_

#include <memory>

#include "common/tracker/tracker.h"

namespace cacheinf {

// Finds the homography that most features agree with.
//
// Pictures are made grey and shrunk by a whole factor. Pyramidal Lucas-Kanade finds the reference's
// corners in the frame, first around where the last motion puts them, then in place. If nearly all
// that agree with the best homography moved by less than half a pixel, the camera is still: slow
// pans show as long as the reference stays, and vanish if it follows every frame. Light is fitted
// on what both pictures show, equally blurred, without the pixels that fit worst; less than a level
// is no change. Optical flow mistakes brightness for motion, so it sees the frame in the
// reference's light: that of the last motion or, if that fails, one estimated from the distribution
// of brightness. If the light turns out to be different, flow runs once more.
//
// Where there are too few features, as on a blank wall, the camera counts as still if the pictures
// are alike in place once the light is allowed for. A picture that repeats the reference is the
// identity at no cost.
//
// OpenCV computes in the caller's thread; the first tracker sets this for the whole process.
class HomographyTracker final : public Tracker {
 public:
  HomographyTracker();
  ~HomographyTracker() override;

  void SetReference(const PictureView& reference) override;
  void SetReferenceToLastFrame() override;
  Motion Track(const PictureView& frame) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_HOMOGRAPHY_TRACKER_H_
