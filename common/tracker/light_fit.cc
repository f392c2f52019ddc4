#include "common/tracker/light_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace cacheinf {
namespace {

constexpr int kPart = 256;  // parts of a level that are told apart
constexpr int kDarkest = 4 * kPart;
constexpr int kBrightest = 251 * kPart;
constexpr size_t kLeastSamples = 64;
constexpr double kLeastSpread = 8;   // in levels; with less, a gain says nothing
constexpr double kSameLight = 0.75;  // levels
constexpr double kLeastTolerance = 4;
constexpr double kLargestTolerance = 20;
constexpr int kRefinements = 4;

}  // namespace

FittedLight LightFit::Fit(const GreyPicture& frame, const SquareMeans& reference, int side,
                          const Homography& reference_from_frame) {
  TakeSamples(frame, reference, side, reference_from_frame);
  return FitSamples();
}

Light LightFit::Fit(std::span<const double> frame, std::span<const double> reference) {
  const auto parts = [](double level) { return static_cast<int>(std::floor(level * kPart + 0.5)); };
  samples_.clear();
  for (size_t i = 0; i < frame.size(); ++i) {
    samples_.push_back({parts(reference[i]), parts(frame[i])});
  }
  return FitSamples().light;
}

FittedLight LightFit::FitSamples() {
  Light best;
  if (samples_.empty()) return {};

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

  if (samples_.size() >= kLeastSamples) {
    double least_error = MedianError(best);
    const auto consider = [&](Light light) {
      if (spread >= kLeastSpread) Refine(&light);
      const bool is_sound =
          light.gain <= limits_.largest_gain && light.gain * limits_.largest_gain >= 1 &&
          std::abs(light.gain * from[1] + light.offset - from[1]) < limits_.largest_shift;
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
  return {best, static_cast<double>(agreeing) / static_cast<double>(samples_.size())};
}

void LightFit::TakeSamples(const GreyPicture& frame, const SquareMeans& reference, int side,
                           const Homography& reference_from_frame) {
  const auto& m = reference_from_frame.m;
  samples_.clear();
  samples_.reserve(static_cast<size_t>(frame.width()) * static_cast<size_t>(frame.height()));
  for (int y = 0; y < frame.height(); ++y) {
    for (int x = 0; x < frame.width(); ++x) {
      const double centre_x = (x + 0.5) * side - 0.5;
      const double centre_y = (y + 0.5) * side - 0.5;
      const double w = m[2][0] * centre_x + m[2][1] * centre_y + m[2][2];
      const double left =
          (m[0][0] * centre_x + m[0][1] * centre_y + m[0][2]) / w + 0.5 - 0.5 * side;
      const double top = (m[1][0] * centre_x + m[1][1] * centre_y + m[1][2]) / w + 0.5 - 0.5 * side;
      if (!(w > 0 && left >= 0 && left + side <= reference.width() && top >= 0 &&
            top + side <= reference.height())) {
        continue;
      }
      const double level = reference.Mean(left, top, side);
      samples_.push_back(
          {static_cast<int>(std::floor(level * kPart + 0.5)), frame.Row(y)[x] * kPart});
    }
  }
}

// Least squares, repeated a few times on what fits best.
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

// In parts of a level.
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
