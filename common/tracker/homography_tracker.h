#ifndef CACHEINF_COMMON_TRACKER_HOMOGRAPHY_TRACKER_H_
#define CACHEINF_COMMON_TRACKER_HOMOGRAPHY_TRACKER_H_

#include <memory>

#include "common/tracker/tracker.h"

namespace cacheinf {

// The homography that most features agree with.
//
// Pictures are made grey and shrunk by a whole factor. Corners of the reference are found in the
// frame by pyramidal Lucas-Kanade, first around where the last motion has them, then in place. If
// nearly all that agree with the best homography have not moved by half a pixel, the camera is
// still: slow pans show as long as the reference stays, and vanish if it follows every frame. Light
// is fitted on what both pictures show, equally blurred, without the pixels that fit worst; less
// than a level is no change. Optical flow takes brightness for motion, so it sees the frame in the
// reference's light as far as that is known: from the last motion, from how brightness is
// distributed where that fails, and once more where the light turns out otherwise.
//
// Where there are too few features, but the pictures are alike in place, as of a blank wall, once
// the light is allowed for, the camera counts as still. A picture that repeats the reference is the
// identity at no cost.
//
// OpenCV computes in the caller's thread: the first tracker tells it so, for the whole process.
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
