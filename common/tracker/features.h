#ifndef CACHEINF_COMMON_TRACKER_FEATURES_H_
#define CACHEINF_COMMON_TRACKER_FEATURES_H_

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <utility>
#include <vector>

#include "common/config/tracker_config.h"
#include "common/reuse/grey_picture.h"
#include "sparse_ops/homography.h"

// Points that two pictures share. Part of the homography tracker: the one header here that shows
// OpenCV.

namespace cacheinf {

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
  explicit CornerFlow(int most_features) : most_features_(most_features) {}

  void SetReference(const GreyPicture& reference);
  void SetFrame(const GreyPicture& frame);
  bool has_features() const { return !corners_.empty(); }
  // `guess` is where the frame may lie.
  void Match(const Homography& reference_from_frame_guess, PointPairs* pairs);

 private:
  void FindCorners();

  int most_features_;
  std::vector<cv::Point2f> corners_;
  std::vector<cv::Mat> reference_pyramid_;
  std::vector<cv::Mat> frame_pyramid_;
  std::vector<cv::Point2f> found_;
  std::vector<uint8_t> is_found_;
  std::vector<float> errors_;
};

// Keypoints, described and matched by their descriptors' distance; a match is each other's best.
class KeypointMatching {
 public:
  KeypointMatching(HomographyConfig::Features kind, int most_features);

  void SetReference(const GreyPicture& reference);
  void SetFrame(const GreyPicture& frame);
  // The last frame, with its descriptors.
  void SetReferenceToFrame() { std::swap(reference_, frame_); }
  bool has_features() const { return !reference_.points.empty(); }
  void Match(const Homography& reference_from_frame_guess, PointPairs* pairs);

 private:
  struct Keypoints {
    std::vector<cv::Point2f> points;
    cv::Mat descriptors;
  };
  void Describe(const GreyPicture& picture, Keypoints* keypoints);

  cv::Ptr<cv::Feature2D> detector_;
  cv::BFMatcher matcher_;
  size_t most_features_;
  Keypoints reference_;
  Keypoints frame_;
  std::vector<cv::KeyPoint> found_;
  cv::Mat all_descriptors_;
  std::vector<int> order_;  // of the points found, strongest first
  std::vector<cv::DMatch> matches_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_FEATURES_H_
