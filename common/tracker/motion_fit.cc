#include "common/tracker/motion_fit.h"

#include <algorithm>
#include <cmath>

#include "common/tracker/consensus.h"

namespace cacheinf {
namespace {

constexpr size_t kLeastPairs = 12;
constexpr double kInlierPixels = 2.0;  // of the whole picture: how far off an agreeing point may be
constexpr double kLeastInliers = 0.25;  // share of the points that must agree
constexpr double kStillPixels = 0.5;    // less than this is a still camera
constexpr double kLeastOverlap = 0.25;  // share of the frame that the reference must show
constexpr double kStillShare = 0.85;    // of those that agree with the best homography
constexpr double kLargestScale = 2.0;
constexpr int kOverlapGrid = 16;

struct Jacobian {
  double xx = 0;
  double xy = 0;
  double yx = 0;
  double yy = 0;
};

struct Projected {
  double x = 0;
  double y = 0;
  double w = 0;
};

Projected Project(const Homography& homography, double x, double y) {
  const auto& m = homography.m;
  const double w = m[2][0] * x + m[2][1] * y + m[2][2];
  return {(m[0][0] * x + m[0][1] * y + m[0][2]) / w, (m[1][0] * x + m[1][1] * y + m[1][2]) / w, w};
}

// How the picture is stretched about a point.
Jacobian JacobianAt(const Homography& homography, double x, double y) {
  const auto& m = homography.m;
  const Projected at = Project(homography, x, y);
  return {(m[0][0] - at.x * m[2][0]) / at.w, (m[0][1] - at.x * m[2][1]) / at.w,
          (m[1][0] - at.y * m[2][0]) / at.w, (m[1][1] - at.y * m[2][1]) / at.w};
}

bool IsScaleSound(const Jacobian& j) {
  const double determinant = j.xx * j.yy - j.xy * j.yx;
  const double squares = j.xx * j.xx + j.xy * j.xy + j.yx * j.yx + j.yy * j.yy;
  if (!(determinant > 0)) return false;  // also false for NaN
  const double root = std::sqrt(std::max(0.0, squares * squares - 4 * determinant * determinant));
  const double largest = (squares + root) / 2;  // of the singular values' squares
  const double smallest = determinant * determinant / largest;
  return largest <= kLargestScale * kLargestScale && smallest * kLargestScale * kLargestScale >= 1;
}

double Overlap(const Homography& homography, int width, int height) {
  int in_view = 0;
  for (int row = 0; row < kOverlapGrid; ++row) {
    for (int column = 0; column < kOverlapGrid; ++column) {
      const Projected at = Project(homography, (column + 0.5) * width / kOverlapGrid - 0.5,
                                   (row + 0.5) * height / kOverlapGrid - 0.5);
      in_view += at.x >= -0.5 && at.x < width - 0.5 && at.y >= -0.5 && at.y < height - 0.5 ? 1 : 0;
    }
  }
  return static_cast<double>(in_view) / (kOverlapGrid * kOverlapGrid);
}

size_t CountStill(const PointPairs& pairs, double snap_pixels) {
  size_t count = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const cv::Point2f step = pairs.frame[i] - pairs.reference[i];
    if (std::hypot(step.x, step.y) < snap_pixels) ++count;
  }
  return count;
}

}  // namespace

Loss Judge(const Homography& reference_from_frame, int width, int height) {
  for (const double x : {-0.5, width - 0.5}) {
    for (const double y : {-0.5, height - 0.5}) {
      if (!(Project(reference_from_frame, x, y).w > 0)) return Loss::kDegenerate;
      if (!IsScaleSound(JacobianAt(reference_from_frame, x, y))) return Loss::kDegenerate;
    }
  }
  if (Overlap(reference_from_frame, width, height) < kLeastOverlap) return Loss::kLittleOverlap;
  return Loss::kNone;
}

Fit FitHomography(const PointPairs& pairs, int width, int height, int factor) {
  Fit fit;
  if (pairs.size() < kLeastPairs) {
    fit.loss = Loss::kFewInliers;
    return fit;
  }
  const auto all = static_cast<double>(pairs.size());
  const double required = std::max(kLeastInliers * all, static_cast<double>(kLeastPairs));
  const auto still = static_cast<double>(CountStill(pairs, kStillPixels / factor));
  if (still >= kStillShare * all) {
    fit.inlier_share = still / all;
    return fit;
  }

  const Consensus consensus = FindConsensus(pairs, kInlierPixels / factor);
  const auto inliers = static_cast<double>(consensus.count);
  if (still >= required && still >= kStillShare * inliers) {
    fit.inlier_share = still / all;
    return fit;
  }
  fit.inlier_share = inliers / all;
  if (consensus.count == 0) {
    fit.loss = Loss::kDegenerate;
  } else if (inliers < required) {
    fit.loss = Loss::kFewInliers;
  } else {
    const Homography& homography = consensus.reference_from_frame;
    fit.loss = Judge(homography, width, height);
    if (fit.loss == Loss::kNone) fit.reference_from_frame = homography;
  }
  return fit;
}

}  // namespace cacheinf
