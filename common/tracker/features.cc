#include "common/tracker/features.h"

#include <algorithm>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

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
constexpr double kLeastDistance = 4.0;  // in the picture of half the size
constexpr int kCornerWindow = 3;

constexpr float kOrbScale = 1.2f;
constexpr int kOrbLevels = 4;
constexpr int kOrbEdge = 16;  // pixels without keypoints
constexpr int kOrbPatch = 31;
constexpr int kOrbThreshold = 7;  // levels
constexpr float kAkazeThreshold = 2e-4f;
constexpr float kLargestDistance = 0.2f;  // of the descriptors' bits

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
  cv::buildOpticalFlowPyramid(View(reference), reference_pyramid_, kWindow, kPyramidLevels,
                              /*withDerivatives=*/true);
  FindCorners();
}

void CornerFlow::SetFrame(const GreyPicture& frame) {
  cv::buildOpticalFlowPyramid(View(frame), frame_pyramid_, kWindow, kPyramidLevels,
                              /*withDerivatives=*/false);
}

// A corner's place need not be exact: it is followed from wherever it is thought to be.
void CornerFlow::FindCorners() {
  const cv::Mat& half = reference_pyramid_[2];  // every second one is a derivative
  cv::goodFeaturesToTrack(half, corners_, most_features_, kLeastQuality, kLeastDistance,
                          cv::noArray(), kCornerWindow);
  for (cv::Point2f& corner : corners_) corner *= 2;
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
    detector_ = cv::ORB::create(most_features, kOrbScale, kOrbLevels, kOrbEdge, 0, 2,
                                cv::ORB::HARRIS_SCORE, kOrbPatch, kOrbThreshold);
  } else {
    detector_ = cv::AKAZE::create(cv::AKAZE::DESCRIPTOR_MLDB, 0, 3, kAkazeThreshold);
  }
}

void KeypointMatching::SetReference(const GreyPicture& reference) {
  Describe(reference, &reference_);
}

void KeypointMatching::SetFrame(const GreyPicture& frame) { Describe(frame, &frame_); }

void KeypointMatching::Describe(const GreyPicture& picture, Keypoints* keypoints) {
  detector_->detectAndCompute(View(picture), cv::noArray(), found_, all_descriptors_);
  order_.resize(found_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [this](int a, int b) {
    return found_[static_cast<size_t>(a)].response > found_[static_cast<size_t>(b)].response;
  });
  order_.resize(std::min(order_.size(), most_features_));
  keypoints->points.clear();
  keypoints->descriptors.create(static_cast<int>(order_.size()), all_descriptors_.cols, CV_8UC1);
  for (size_t i = 0; i < order_.size(); ++i) {
    keypoints->points.push_back(found_[static_cast<size_t>(order_[i])].pt);
    all_descriptors_.row(order_[i]).copyTo(keypoints->descriptors.row(static_cast<int>(i)));
  }
}

void KeypointMatching::Match(const Homography&, PointPairs* pairs) {
  pairs->Clear();
  if (reference_.points.empty() || frame_.points.empty()) return;
  matches_.clear();
  matcher_.match(frame_.descriptors, reference_.descriptors, matches_);
  const auto bits = static_cast<float>(8 * frame_.descriptors.cols);
  for (const cv::DMatch& match : matches_) {
    if (match.distance > kLargestDistance * bits) continue;
    pairs->frame.push_back(frame_.points[static_cast<size_t>(match.queryIdx)]);
    pairs->reference.push_back(reference_.points[static_cast<size_t>(match.trainIdx)]);
  }
}

}  // namespace cacheinf
