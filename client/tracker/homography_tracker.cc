#include "client/tracker/homography_tracker.h"

#include <algorithm>
#include <mutex>
#include <opencv2/core.hpp>
#include <utility>
#include <variant>

#include "client/tracker/features.h"
#include "client/tracker/grey_picture.h"
#include "client/tracker/motion_fit.h"

namespace cacheinf {
namespace {

constexpr int kSmallestSide = 32;   // of what features are looked for in
constexpr int kBlurredSide = 48;    // of what light is fitted on
constexpr int kLargestFactor = 64;  // by which a picture is shrunk at once
constexpr int kLeastContrast = 8;   // levels, between the darkest and the brightest blurred pixel
constexpr double kLeastAgreeing = 0.4;  // of the pixels, under motion and light
constexpr double kAlike = 0.9;          // of the pixels, where nothing can be tracked

void KeepOpenCvInThisThread() {
  static std::once_flag once;
  std::call_once(once, [] { cv::setNumThreads(1); });
}

int DivideUp(int a, int b) { return (a + b - 1) / b; }

// A picture as it is tracked.
struct WorkingPicture {
  PictureView shape;  // of the model's picture; without pixels
  int factor = 1;     // by which it is shrunk
  GreyPicture grey;
  GreyPicture blurred;  // shrunk once more
  int blur = 1;

  void Assign(const PictureView& picture, int working_side) {
    shape = picture;
    shape.pixels = nullptr;
    factor = std::min({DivideUp(std::max(picture.width, picture.height), working_side),
                       picture.width, picture.height, kLargestFactor});
    grey.Assign(picture, factor);
    blur = std::max(1, std::min({std::max(grey.width(), grey.height()) / kBlurredSide, grey.width(),
                                 grey.height(), kLargestFactor}));
    blurred.Assign({grey.pixels(), grey.width(), grey.height(), 1}, blur);
  }
  bool IsTooSmall() const { return std::min(grey.width(), grey.height()) < kSmallestSide; }
  // Else nothing but noise is to be seen.
  bool HasContrast() const {
    const auto [darkest, brightest] =
        std::minmax_element(blurred.pixels(), blurred.pixels() + blurred.pixel_count());
    return *brightest - *darkest >= kLeastContrast;
  }
};

// The homography between pictures of which the one given is that between the same, `factor` times
// smaller, and the other way round.
Homography Enlarged(const Homography& small, double factor) {
  const AxisPlacement axis = {1 / factor, 0.5 / factor - 0.5};
  return OfMap(small, axis, axis);
}
Homography Shrunk(const Homography& large, double factor) {
  const AxisPlacement axis = {factor, 0.5 * factor - 0.5};
  return OfMap(large, axis, axis);
}

using Features = std::variant<CornerFlow, KeypointMatching>;

Features MakeFeatures(const HomographyConfig& config) {
  if (config.features == HomographyConfig::Features::kLucasKanade) {
    return CornerFlow(config.most_features);
  }
  return KeypointMatching(config.features, config.most_features);
}

}  // namespace

class HomographyTracker::Impl {
 public:
  explicit Impl(const HomographyConfig& config) : config_(config), features_(MakeFeatures(config)) {
    KeepOpenCvInThisThread();
  }

  void SetReference(const PictureView& picture) {
    reference_.Assign(picture, config_.working_side);
    FindFeatures();
    has_frame_ = false;
    guess_ = {};
  }

  void SetReferenceToLastFrame() {
    if (!has_frame_) return;
    std::swap(reference_, frame_);
    auto* const keypoints = std::get_if<KeypointMatching>(&features_);
    if (keypoints != nullptr && has_frame_features_) {
      keypoints->SetReferenceToFrame();
    } else {
      FindFeatures();
    }
    has_frame_ = false;
    guess_ = {};
  }

  Motion Track(const PictureView& picture) {
    frame_.Assign(picture, config_.working_side);
    has_frame_ = true;
    has_frame_features_ = false;
    Motion motion;
    if (!HaveSameShape(frame_.shape, reference_.shape)) {
      motion.loss = Loss::kNoReference;
      motion.match_ratio = 0;
      return motion;
    }
    if (frame_.grey == reference_.grey) return motion;
    const Fit fit = FindMotion();
    guess_ = fit.reference_from_frame;
    motion.loss = fit.loss;
    motion.match_ratio = fit.inlier_share;
    if (motion.is_lost()) return motion;
    motion.reference_from_frame = Enlarged(fit.reference_from_frame, frame_.factor);
    Compare(fit.reference_from_frame, &motion);
    return motion;
  }

 private:
  void FindFeatures() {
    if (reference_.IsTooSmall()) return;
    std::visit([&](auto& features) { features.SetReference(reference_.grey); }, features_);
  }

  // In pixels of the working pictures.
  Fit FindMotion() {
    const bool has_features =
        !frame_.IsTooSmall() && frame_.HasContrast() && reference_.HasContrast() &&
        std::visit([](auto& features) { return features.has_features(); }, features_);
    if (!has_features) return FitInPlace(Loss::kFewFeatures);
    std::visit([&](auto& features) { features.SetFrame(frame_.grey); }, features_);
    has_frame_features_ = true;
    Fit fit = FitFeatures(guess_);
    if (fit.loss != Loss::kNone && !guess_.IsIdentity()) fit = FitFeatures({});
    return fit.loss == Loss::kFewInliers ? FitInPlace(fit.loss) : fit;
  }

  Fit FitFeatures(const Homography& guess) {
    std::visit([&](auto& features) { features.Match(guess, &pairs_); }, features_);
    FitLimits limits;
    limits.width = frame_.grey.width();
    limits.height = frame_.grey.height();
    limits.inlier_pixels = config_.inlier_pixels / frame_.factor;
    limits.snap_pixels = config_.snap_pixels / frame_.factor;
    limits.least_inliers = config_.least_inliers;
    limits.least_overlap = config_.least_overlap;
    return FitHomography(pairs_, limits);
  }

  // Where features say nothing: still if the pictures are alike, else lost.
  Fit FitInPlace(Loss loss) {
    const Light light = light_fit_.Fit(frame_.blurred, reference_.blurred, {}, /*is_free=*/false);
    Fit fit;
    if (light.agreeing_share < kAlike) fit.loss = loss;
    return fit;
  }

  // Light, and whether the pixels bear out what the features say.
  void Compare(const Homography& reference_from_frame, Motion* motion) {
    const Light light =
        light_fit_.Fit(frame_.blurred, reference_.blurred,
                       Shrunk(reference_from_frame, frame_.blur), config_.photometric);
    if (light.agreeing_share < kLeastAgreeing) {
      motion->loss = Loss::kTooDifferent;
      motion->reference_from_frame = guess_ = {};
      return;
    }
    motion->gain = light.gain;
    motion->offset = light.offset;
  }

  HomographyConfig config_;
  Features features_;
  WorkingPicture reference_;
  WorkingPicture frame_;
  bool has_frame_ = false;
  bool has_frame_features_ = false;
  Homography guess_;  // in pixels of the working pictures
  PointPairs pairs_;
  LightFit light_fit_;
};

HomographyTracker::HomographyTracker(const HomographyConfig& config)
    : impl_(std::make_unique<Impl>(config)) {}
HomographyTracker::~HomographyTracker() = default;

void HomographyTracker::SetReference(const PictureView& reference) {
  impl_->SetReference(reference);
}
void HomographyTracker::SetReferenceToLastFrame() { impl_->SetReferenceToLastFrame(); }
Motion HomographyTracker::Track(const PictureView& frame) { return impl_->Track(frame); }

}  // namespace cacheinf
