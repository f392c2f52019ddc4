#include "client/tracker/features.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>
#include <utility>

namespace cacheinf {
namespace {

// Of Lucas-Kanade.
const cv::Size kWindow = {13, 13};
constexpr int kPyramidLevels = 3;  // above the picture itself
constexpr int kMostIterations = 12;
constexpr double kSmallStep = 0.02;          // pixels, after which it ends
constexpr double kLeastGradient = 1e-3;      // of a window, as OpenCV counts
constexpr float kLargestDifference = 40.0f;  // mean of a window, in levels

// Of corners.
constexpr double kLeastQuality = 0.01;  // of the best corner's
constexpr double kLeastDistance = 8.0;
constexpr int kCornerWindow = 5;

constexpr float kAkazeThreshold = 0.001f;

// OpenCV takes no pointers to const, and does not write.
cv::Mat View(const GreyPicture& picture) {
  return {picture.height(), picture.width(), CV_8UC1, const_cast<uint8_t*>(picture.pixels())};
}

cv::Point2f Project(const Homography& homography, cv::Point2f point) {
  const auto& m = homography.m;
  const double w = m[2][0] * point.x + m[2][1] * point.y + m[2][2];
  return {static_cast<float>((m[0][0] * point.x + m[0][1] * point.y + m[0][2]) / w),
          static_cast<float>((m[1][0] * point.x + m[1][1] * point.y + m[1][2]) / w)};
}

}  // namespace

// ------------------------------------------------------------------------------------------------

void CornerFlow::SetReference(const GreyPicture& reference) {
  SetFrame(reference);
  SetReferenceToFrame();
}

void CornerFlow::SetFrame(const GreyPicture& frame) {
  cv::buildOpticalFlowPyramid(View(frame), frame_pyramid_, kWindow, kPyramidLevels,
                              /*withDerivatives=*/true);
}

void CornerFlow::SetReferenceToFrame() {
  std::swap(reference_pyramid_, frame_pyramid_);
  FindCorners(reference_pyramid_.front());
}

void CornerFlow::FindCorners(const cv::Mat& picture) {
  cv::goodFeaturesToTrack(picture, corners_, most_features_, kLeastQuality, kLeastDistance,
                          cv::noArray(), kCornerWindow);
}

void CornerFlow::Match(const Homography& reference_from_frame_guess, PointPairs* pairs) {
  pairs->Clear();
  if (corners_.empty()) return;
  const Homography frame_from_reference = Inverse(reference_from_frame_guess);
  found_.resize(corners_.size());
  std::transform(corners_.begin(), corners_.end(), found_.begin(),
                 [&](cv::Point2f corner) { return Project(frame_from_reference, corner); });
  cv::calcOpticalFlowPyrLK(reference_pyramid_, frame_pyramid_, corners_, found_, is_found_, errors_,
                           kWindow, kPyramidLevels,
                           cv::TermCriteria(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                            kMostIterations, kSmallStep),
                           cv::OPTFLOW_USE_INITIAL_FLOW, kLeastGradient);
  for (size_t i = 0; i < corners_.size(); ++i) {
    if (is_found_[i] == 0 || errors_[i] > kLargestDifference) continue;
    pairs->reference.push_back(corners_[i]);
    pairs->frame.push_back(found_[i]);
  }
}

// ------------------------------------------------------------------------------------------------

KeypointMatching::KeypointMatching(HomographyConfig::Features kind, int most_features)
    : matcher_(cv::NORM_HAMMING, /*crossCheck=*/true),
      most_features_(static_cast<size_t>(most_features)) {
  if (kind == HomographyConfig::Features::kOrb) {
    detector_ = cv::ORB::create(most_features);
  } else {
    detector_ = cv::AKAZE::create(cv::AKAZE::DESCRIPTOR_MLDB, 0, 3, kAkazeThreshold);
  }
}

void KeypointMatching::SetReference(const GreyPicture& reference) {
  Describe(reference, &reference_);
}

void KeypointMatching::SetFrame(const GreyPicture& frame) { Describe(frame, &frame_); }

void KeypointMatching::SetReferenceToFrame() { std::swap(reference_, frame_); }

void KeypointMatching::Describe(const GreyPicture& picture, Keypoints* keypoints) {
  keypoints->points.clear();
  detector_->detect(View(picture), keypoints->points);
  cv::KeyPointsFilter::retainBest(keypoints->points, static_cast<int>(most_features_));
  detector_->compute(View(picture), keypoints->points, keypoints->descriptors);
}

void KeypointMatching::Match(const Homography&, PointPairs* pairs) {
  pairs->Clear();
  if (reference_.points.empty() || frame_.points.empty()) return;
  matches_.clear();
  matcher_.match(frame_.descriptors, reference_.descriptors, matches_);
  for (const cv::DMatch& match : matches_) {
    pairs->frame.push_back(frame_.points[static_cast<size_t>(match.queryIdx)].pt);
    pairs->reference.push_back(reference_.points[static_cast<size_t>(match.trainIdx)].pt);
  }
}

}  // namespace cacheinf
