#include "common/tracker/homography_tracker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "common/tracker/features.h"
#include "common/tracker/grey_picture.h"
#include "common/tracker/light_fit.h"
#include "common/tracker/motion_fit.h"

namespace cacheinf {
namespace {

constexpr int kWorkingSide = 320;   // pictures are shrunk until no side is longer
constexpr int kSmallestSide = 32;   // of what features are looked for in
constexpr int kBlurredSide = 48;    // of what light is fitted on
constexpr int kLargestFactor = 64;  // by which a picture is shrunk at once
constexpr int kLeastContrast = 8;   // levels, between the darkest and the brightest blurred pixel
constexpr double kLeastAgreeing = 0.4;  // of the pixels, under motion and light
constexpr double kAlike = 0.9;          // of the pixels, where nothing can be tracked
constexpr int kAlikeLevels = 4;
constexpr double kLargestGain = 2;
constexpr double kOtherLight = 4;  // levels, by which flow is led astray

// A picture as it is tracked.
struct WorkingPicture {
  PictureView shape;  // of the model's picture; has no pixels
  int factor = 1;     // by which it is shrunk
  GreyPicture grey;
  GreyPicture blurred;  // shrunk once more
  int blur = 1;

  void Assign(const PictureView& picture) {
    shape = picture;
    shape.pixels = nullptr;
    const int side = std::max(picture.width, picture.height);
    factor = std::min(
        {(side + kWorkingSide - 1) / kWorkingSide, picture.width, picture.height, kLargestFactor});
    grey.Assign(picture, factor);
    blur = std::max(1, std::min({std::max(grey.width(), grey.height()) / kBlurredSide, grey.width(),
                                 grey.height(), kLargestFactor}));
    blurred.Assign({grey.pixels(), grey.width(), grey.height(), 1}, blur);
  }
  bool IsTooSmall() const { return std::min(grey.width(), grey.height()) < kSmallestSide; }
  // Without contrast there is only noise.
  bool HasContrast() const {
    const auto [darkest, brightest] =
        std::minmax_element(blurred.pixels(), blurred.pixels() + blurred.pixel_count());
    return *brightest - *darkest >= kLeastContrast;
  }
};

// The homography between two pictures, from that between the same pictures `factor` times smaller.
Homography Enlarged(const Homography& small, double factor) {
  const AxisPlacement axis = {1 / factor, 0.5 / factor - 0.5};
  return OfMap(small, axis, axis);
}

bool AreFarApart(const Light& a, const Light& b) {
  const double dark = a.offset - b.offset;
  const double bright = dark + 255 * (a.gain - b.gain);
  return std::max(std::abs(dark), std::abs(bright)) > kOtherLight;
}

}  // namespace

class HomographyTracker::Impl {
 public:
  Impl() { KeepOpenCvInThisThread(); }

  void SetReference(const PictureView& picture) {
    reference_.Assign(picture);
    BeginWithReference();
  }

  void SetReferenceToLastFrame() {
    if (!has_frame_) return;
    std::swap(reference_, frame_);
    BeginWithReference();
  }

  Motion Track(const PictureView& picture) {
    frame_.Assign(picture);
    has_frame_ = true;
    Motion motion;
    if (!HaveSameShape(frame_.shape, reference_.shape)) {
      motion.loss = Loss::kNoReference;
      motion.match_ratio = 0;
      return motion;
    }
    if (frame_.grey == reference_.grey) return motion;
    const Finding finding = FindMotion();
    motion.loss = finding.fit.loss;
    motion.match_ratio = finding.fit.inlier_share;
    guess_ = {};
    if (motion.is_lost()) return motion;
    if (finding.agreeing_share < kLeastAgreeing) {
      motion.loss = Loss::kTooDifferent;
      return motion;
    }
    guess_ = {finding.fit.reference_from_frame, finding.light};
    motion.reference_from_frame = Enlarged(finding.fit.reference_from_frame, frame_.factor);
    motion.light = finding.light;
    return motion;
  }

 private:
  // A guess of how the frame lies and how it is lit.
  struct Guess {
    Homography reference_from_frame;  // in pixels of the working pictures
    Light light;
  };
  struct Finding {
    Fit fit;
    Light light;
    double agreeing_share = 0;  // of the pixels, under motion and light
  };

  void BeginWithReference() {
    reference_means_.Assign(reference_.grey);
    if (!reference_.IsTooSmall()) corners_.SetReference(reference_.grey);
    has_frame_ = false;
    guess_ = {};
  }

  Finding FindMotion() {
    const bool has_features = !frame_.IsTooSmall() && frame_.HasContrast() &&
                              reference_.HasContrast() && corners_.has_features();
    if (!has_features) return FindInPlace(Loss::kFewFeatures);
    Guess guess = guess_;
    Finding finding = FindByFeatures(guess);
    if (finding.fit.loss != Loss::kNone) {
      guess = {{}, EstimateLight()};
      finding = FindByFeatures(guess);
    }
    if (finding.fit.loss == Loss::kNone && AreFarApart(finding.light, guess.light)) {
      const Finding again = FindByFeatures({finding.fit.reference_from_frame, finding.light});
      if (again.fit.loss == Loss::kNone) finding = again;
    }
    return finding.fit.loss == Loss::kFewInliers ? FindInPlace(Loss::kFewInliers) : finding;
  }

  Finding FindByFeatures(const Guess& guess) {
    SetFrame(guess.light);
    corners_.Match(guess.reference_from_frame, &pairs_);
    Finding finding = {
        FitHomography(pairs_, frame_.grey.width(), frame_.grey.height(), frame_.factor), {}, 0};
    if (finding.fit.loss == Loss::kNone) {
      const FittedLight fitted = light_fit_.Fit(frame_.blurred, reference_means_, frame_.blur,
                                                finding.fit.reference_from_frame);
      finding.light = fitted.light;
      finding.agreeing_share = fitted.agreeing_share;
    }
    return finding;
  }

  // Optical flow follows brightness, so it sees the frame in the reference's light.
  void SetFrame(const Light& light) {
    if (light.IsIdentity()) return corners_.SetFrame(frame_.grey);
    relit_ = frame_.grey;
    Apply(LevelsIn(Inverse(light)), relit_.pixels(), relit_.pixel_count(), relit_.pixels());
    corners_.SetFrame(relit_);
  }

  // From the distribution of brightness alone, wherever the camera looks.
  Light EstimateLight() {
    const auto [dark, middle, bright] = Levels(reference_.blurred);
    const auto [frame_dark, frame_middle, frame_bright] = Levels(frame_.blurred);
    Light light;
    if (bright > dark && frame_bright > frame_dark) {
      light.gain =
          std::clamp((frame_bright - frame_dark) / (bright - dark), 1 / kLargestGain, kLargestGain);
    }
    light.offset = frame_middle - light.gain * middle;
    return light;
  }

  // The 10th, 50th and 90th percentile.
  std::array<double, 3> Levels(const GreyPicture& picture) {
    sorted_.assign(picture.pixels(), picture.pixels() + picture.pixel_count());
    std::sort(sorted_.begin(), sorted_.end());
    const size_t last = sorted_.size() - 1;
    const auto at = [this](size_t place) { return static_cast<double>(sorted_[place]); };
    return {at(last / 10), at(last / 2), at(last - last / 10)};
  }

  // For when features say nothing: still if the pictures are alike, in one light or another; else
  // lost.
  Finding FindInPlace(Loss loss) {
    Finding finding;
    finding.agreeing_share = ShareAlike(Light());
    if (finding.agreeing_share >= kAlike) return finding;
    const Light light =
        light_fit_.Fit(frame_.blurred, reference_means_, frame_.blur, Homography()).light;
    const double share = ShareAlike(light);
    if (share < kAlike) {
      finding.fit.loss = loss;
      return finding;
    }
    finding.light = light;
    finding.agreeing_share = share;
    return finding;
  }

  // The share of the blurred pixels that match the reference's in place, in that light.
  double ShareAlike(const Light& light) const {
    size_t alike = 0;
    const size_t count = frame_.blurred.pixel_count();
    for (size_t i = 0; i < count; ++i) {
      const double expected = light.gain * reference_.blurred.pixels()[i] + light.offset;
      if (std::abs(frame_.blurred.pixels()[i] - expected) <= kAlikeLevels) ++alike;
    }
    return static_cast<double>(alike) / static_cast<double>(count);
  }

  CornerFlow corners_;
  WorkingPicture reference_;
  SquareMeans reference_means_;
  WorkingPicture frame_;
  GreyPicture relit_;  // the frame, in the reference's light
  bool has_frame_ = false;
  Guess guess_;
  PointPairs pairs_;
  LightFit light_fit_;
  std::vector<uint8_t> sorted_;
};

HomographyTracker::HomographyTracker() : impl_(std::make_unique<Impl>()) {}
HomographyTracker::~HomographyTracker() = default;

void HomographyTracker::SetReference(const PictureView& reference) {
  impl_->SetReference(reference);
}
void HomographyTracker::SetReferenceToLastFrame() { impl_->SetReferenceToLastFrame(); }
Motion HomographyTracker::Track(const PictureView& frame) { return impl_->Track(frame); }

}  // namespace cacheinf
