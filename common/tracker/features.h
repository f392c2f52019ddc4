#ifndef CACHEINF_COMMON_TRACKER_FEATURES_H_
#define CACHEINF_COMMON_TRACKER_FEATURES_H_

#include <opencv2/core.hpp>
#include <vector>

#include "common/tracker/grey_picture.h"
#include "sparse_ops/homography.h"

// Points that two pictures share. Part of the trackers, and the only header here that shows OpenCV.

namespace cacheinf {

// Makes OpenCV compute in the caller's thread, in the whole process.
void KeepOpenCvInThisThread();

// A picture and smaller ones of it, as Lucas-Kanade reads them.
void BuildPyramid(const GreyPicture& picture, bool with_derivatives, std::vector<cv::Mat>& pyramid);

// Follows points by pyramidal Lucas-Kanade from one picture, preferably with derivatives, to
// another, by windows of at most 13 pixels a side. `found` has guesses. Sets whether each was
// found, and its mean difference in levels.
void FollowPoints(const std::vector<cv::Mat>& from, const std::vector<cv::Mat>& to, int window,
                  const std::vector<cv::Point2f>& points, std::vector<cv::Point2f>& found,
                  std::vector<uint8_t>& is_found, std::vector<float>& errors);

// The same points in both, counted from the centre of the first pixel.
struct PointPairs {
  std::vector<cv::Point2f> reference;
  std::vector<cv::Point2f> frame;

  size_t size() const { return frame.size(); }
  void Clear() {
    reference.clear();
    frame.clear();
  }
};

// Corners of the reference, followed by pyramidal Lucas-Kanade.
class CornerFlow {
 public:
  void SetReference(const GreyPicture& reference);
  void SetFrame(const GreyPicture& frame);
  bool has_features() const { return !corners_.empty(); }
  // The guess says where the frame may lie.
  void Match(const Homography& reference_from_frame_guess, PointPairs* pairs);

 private:
  void FindCorners();

  std::vector<cv::Point2f> corners_;
  std::vector<cv::Mat> reference_pyramid_;
  std::vector<cv::Mat> frame_pyramid_;
  std::vector<cv::Point2f> found_;
  std::vector<uint8_t> is_found_;
  std::vector<float> errors_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_FEATURES_H_
