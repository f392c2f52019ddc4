#include "common/tracker/features.h"

#include <algorithm>
#include <mutex>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

namespace cacheinf {
namespace {

// Lucas-Kanade.
constexpr int kWindow = 13;
constexpr int kPyramidLevels = 3;  // above the picture itself
constexpr int kMostIterations = 12;
constexpr double kSmallStep = 0.02;          // pixels, after which it ends
constexpr double kLeastGradient = 1e-3;      // of a window, as OpenCV counts
constexpr float kLargestDifference = 40.0f;  // mean of a window, in levels

// Corners.
constexpr int kMostCorners = 160;
constexpr double kLeastQuality = 0.01;  // of the best corner's
constexpr double kLeastDistance = 4.0;  // in the picture of half the size
constexpr int kCornerWindow = 3;

// OpenCV takes no pointers to const, but does not write here.
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

void KeepOpenCvInThisThread() {
  static std::once_flag once;
  std::call_once(once, [] { cv::setNumThreads(1); });
}

void BuildPyramid(const GreyPicture& picture, bool with_derivatives,
                  std::vector<cv::Mat>& pyramid) {
  cv::buildOpticalFlowPyramid(View(picture), pyramid, {kWindow, kWindow}, kPyramidLevels,
                              with_derivatives);
}

void FollowPoints(const std::vector<cv::Mat>& from, const std::vector<cv::Mat>& to, int window,
                  const std::vector<cv::Point2f>& points, std::vector<cv::Point2f>& found,
                  std::vector<uint8_t>& is_found, std::vector<float>& errors) {
  cv::calcOpticalFlowPyrLK(from, to, points, found, is_found, errors, {window, window},
                           kPyramidLevels,
                           cv::TermCriteria(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                            kMostIterations, kSmallStep),
                           cv::OPTFLOW_USE_INITIAL_FLOW, kLeastGradient);
}

void CornerFlow::SetReference(const GreyPicture& reference) {
  BuildPyramid(reference, /*with_derivatives=*/true, reference_pyramid_);
  FindCorners();
}

void CornerFlow::SetFrame(const GreyPicture& frame) {
  BuildPyramid(frame, /*with_derivatives=*/false, frame_pyramid_);
}

// A corner's place need not be exact: it is followed from wherever it is thought to be.
void CornerFlow::FindCorners() {
  const cv::Mat& half = reference_pyramid_[2];  // every second one is a derivative
  cv::goodFeaturesToTrack(half, corners_, kMostCorners, kLeastQuality, kLeastDistance,
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
  FollowPoints(reference_pyramid_, frame_pyramid_, kWindow, corners_, found_, is_found_, errors_);
  for (size_t i = 0; i < corners_.size(); ++i) {
    if (is_found_[i] == 0 || errors_[i] > kLargestDifference) continue;
    pairs->reference.push_back(corners_[i]);
    pairs->frame.push_back(found_[i]);
  }
}

}  // namespace cacheinf
