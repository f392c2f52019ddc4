#include "client/tracker/motion_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "client/tracker/consensus.h"

namespace cacheinf {
namespace {

constexpr size_t kLeastPairs = 12;
constexpr double kStillShare = 0.85;  // of those that agree with the best homography
constexpr double kLargestScale = 2.0;
constexpr int kOverlapGrid = 16;

constexpr int kPart = 16;  // brightness is counted in sixteenths of a level
constexpr int kDarkest = 4 * kPart;
constexpr int kBrightest = 251 * kPart;
constexpr size_t kLeastSamples = 64;
constexpr double kLeastSpread = 8;  // levels; of less a gain says nothing
constexpr double kLargestGain = 2;
constexpr double kLargestShift = 96;  // levels, of the middle of the reference's brightness
constexpr double kSameLight = 0.75;   // levels
constexpr double kLeastTolerance = 4;
constexpr double kLargestTolerance = 20;
constexpr int kRefinements = 4;

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
  if (!(determinant > 0)) return false;  // NaN neither
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

Loss Judge(const Homography& reference_from_frame, int width, int height, double least_overlap) {
  for (const double x : {-0.5, width - 0.5}) {
    for (const double y : {-0.5, height - 0.5}) {
      if (!(Project(reference_from_frame, x, y).w > 0)) return Loss::kDegenerate;
      if (!IsScaleSound(JacobianAt(reference_from_frame, x, y))) return Loss::kDegenerate;
    }
  }
  if (Overlap(reference_from_frame, width, height) < least_overlap) return Loss::kLittleOverlap;
  return Loss::kNone;
}

Fit FitHomography(const PointPairs& pairs, const FitLimits& limits) {
  Fit fit;
  if (pairs.size() < kLeastPairs) {
    fit.loss = Loss::kFewInliers;
    return fit;
  }
  const auto all = static_cast<double>(pairs.size());
  const double required = std::max(limits.least_inliers * all, static_cast<double>(kLeastPairs));
  const auto still = static_cast<double>(CountStill(pairs, limits.snap_pixels));
  if (still >= kStillShare * all) {
    fit.inlier_share = still / all;
    return fit;
  }

  const Consensus consensus = FindConsensus(pairs, limits.inlier_pixels);
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
    fit.loss = Judge(homography, limits.width, limits.height, limits.least_overlap);
    if (fit.loss == Loss::kNone) fit.reference_from_frame = homography;
  }
  return fit;
}

// ------------------------------------------------------------------------------------------------

Light LightFit::Fit(const GreyPicture& frame, const SquareMeans& reference, int side,
                    const Homography& reference_from_frame, bool is_free) {
  TakeSamples(frame, reference, side, reference_from_frame);
  Light best;
  if (samples_.empty()) return best;

  // The reference's brightness: its 5th, 50th and 95th percentile, and the frame's.
  const auto quantiles = [this](int Sample::*picture) {
    std::array<double, 3> levels;
    const std::array shares = {0.05, 0.5, 0.95};
    for (size_t i = 0; i < shares.size(); ++i) {
      const auto nth = samples_.begin() + static_cast<std::ptrdiff_t>(
                                              shares[i] * static_cast<double>(samples_.size() - 1));
      std::nth_element(
          samples_.begin(), nth, samples_.end(),
          [picture](const Sample& a, const Sample& b) { return a.*picture < b.*picture; });
      levels[i] = static_cast<double>((*nth).*picture) / kPart;
    }
    return levels;
  };
  const auto from = quantiles(&Sample::reference);
  const auto to = quantiles(&Sample::frame);
  const double spread = from[2] - from[0];

  if (is_free && samples_.size() >= kLeastSamples) {
    double least_error = MedianError(best);
    const auto consider = [&](Light light) {
      if (spread >= kLeastSpread) Refine(&light);
      const bool is_sound = light.gain <= kLargestGain && light.gain * kLargestGain >= 1 &&
                            std::abs(light.gain * from[1] + light.offset - from[1]) < kLargestShift;
      const double error = MedianError(light);
      if (!is_sound || error >= least_error) return;
      least_error = error;
      best = light;
    };
    consider({1, to[1] - from[1]});
    if (spread >= kLeastSpread) {
      const double gain = (to[2] - to[0]) / spread;
      consider({gain, to[1] - gain * from[1]});
    }
    const auto change = [&](double level) {
      return std::abs(best.gain * level + best.offset - level);
    };
    if (change(from[0]) < kSameLight && change(from[2]) < kSameLight) best = {};
  }

  const double tolerance = std::clamp(spread / 4, kLeastTolerance, kLargestTolerance) * kPart;
  const auto agreeing = std::count_if(samples_.begin(), samples_.end(), [&](const Sample& sample) {
    return std::abs(best.gain * sample.reference + best.offset * kPart - sample.frame) <= tolerance;
  });
  best.agreeing_share = static_cast<double>(agreeing) / static_cast<double>(samples_.size());
  return best;
}

void LightFit::TakeSamples(const GreyPicture& frame, const SquareMeans& reference, int side,
                           const Homography& reference_from_frame) {
  samples_.clear();
  samples_.reserve(static_cast<size_t>(frame.width()) * static_cast<size_t>(frame.height()));
  for (int y = 0; y < frame.height(); ++y) {
    for (int x = 0; x < frame.width(); ++x) {
      const Projected centre =
          Project(reference_from_frame, (x + 0.5) * side - 0.5, (y + 0.5) * side - 0.5);
      const double left = centre.x + 0.5 - 0.5 * side;
      const double top = centre.y + 0.5 - 0.5 * side;
      if (!(centre.w > 0 && left >= 0 && left + side <= reference.width() && top >= 0 &&
            top + side <= reference.height())) {
        continue;
      }
      const double level = reference.Mean(left, top, side);
      samples_.push_back(
          {static_cast<int>(std::floor(level * kPart + 0.5)), frame.Row(y)[x] * kPart});
    }
  }
}

// Least squares on what fits best, a few times over.
void LightFit::Refine(Light* light) {
  for (int round = 0; round < kRefinements; ++round) {
    const double tolerance = std::max(4 * MedianError(*light), double{kPart});
    double count = 0;
    double sum_x = 0;
    double sum_y = 0;
    double sum_xx = 0;
    double sum_xy = 0;
    for (const Sample& sample : samples_) {
      const bool is_clipped = std::min(sample.reference, sample.frame) < kDarkest ||
                              std::max(sample.reference, sample.frame) > kBrightest;
      const double error = light->gain * sample.reference + light->offset * kPart - sample.frame;
      if (is_clipped || std::abs(error) > tolerance) continue;
      const double x = static_cast<double>(sample.reference) / kPart;
      const double y = static_cast<double>(sample.frame) / kPart;
      count += 1;
      sum_x += x;
      sum_y += y;
      sum_xx += x * x;
      sum_xy += x * y;
    }
    const double variance = sum_xx * count - sum_x * sum_x;
    if (count < static_cast<double>(kLeastSamples) || !(variance > count * count)) return;
    light->gain = (sum_xy * count - sum_x * sum_y) / variance;
    light->offset = (sum_y - light->gain * sum_x) / count;
  }
}

// In sixteenths of a level.
double LightFit::MedianError(const Light& light) {
  errors_.clear();
  for (const Sample& sample : samples_) {
    errors_.push_back(
        std::abs(light.gain * sample.reference + light.offset * kPart - sample.frame));
  }
  const auto middle = errors_.begin() + static_cast<std::ptrdiff_t>(errors_.size() / 2);
  std::nth_element(errors_.begin(), middle, errors_.end());
  return *middle;
}

}  // namespace cacheinf
