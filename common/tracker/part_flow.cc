#include "common/tracker/part_flow.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "common/tracker/features.h"
#include "common/tracker/grey_picture.h"

namespace cacheinf {
namespace {

constexpr int kLongestSide = 640;  // pictures are shrunk until no side is longer
constexpr int kMostShrunk = 64;    // times
constexpr int kTooSmall = 16;      // pixels of a side

// Points.
constexpr int kMostPoints = 500;
constexpr int kPicturePointsASide = 8;  // of the whole picture
constexpr int kMostPointsASide = 6;     // of a part
constexpr size_t kMostParts = 100;
constexpr int kSmallestCell = 3;   // that gives a point
constexpr int kSamplesASide = 12;  // of a cell, which gives its best one
constexpr int kTexture = 3;        // window for how good a point is

// What is believed.
constexpr float kReturn = 1;             // pixels that a point may be off after its way and back
constexpr size_t kFewest = 3;            // points of a part
constexpr double kLeastShare = 1.0 / 3;  // of its points
constexpr float kShortest = 4;           // pixels between two points that tell a scale
constexpr size_t kFewestPairs = 10;      // of such points
constexpr double kMostGrown = 1.5;       // times

double Median(std::vector<float>& numbers) {
  const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return (*std::max_element(numbers.begin(), middle) + double{*middle}) / 2;
}

int FactorOf(const PictureView& picture) {
  const int side = std::max(picture.width, picture.height);
  return std::clamp((side + kLongestSide - 1) / kLongestSide, 1,
                    std::min({picture.width, picture.height, kMostShrunk}));
}

// In the shrunk picture, which ends at `limit`.
Range Shrunk(const Range& range, int factor, int limit) {
  const int begin = std::clamp(range.begin / factor, 0, limit);
  return {begin, std::clamp((range.end + factor - 1) / factor, begin, limit)};
}

}  // namespace

class PartFlow::Impl {
 public:
  Impl() { KeepOpenCvInThisThread(); }

  void SetReference(const PictureView& reference) {
    shape_ = reference;
    shape_.pixels = nullptr;
    factor_ = FactorOf(reference);
    reference_.Assign(reference, factor_);
    parts_.clear();
  }

  std::vector<PartMotion> Find(std::span<const Rectangle> parts, const PictureView& picture) {
    const bool is_too_small = std::min(reference_.width(), reference_.height()) < kTooSmall;
    if (is_too_small || !HaveSameShape(picture, shape_)) {
      return std::vector<PartMotion>(parts.size());
    }
    if (parts_.empty()) FindPoints(parts);
    frame_.Assign(picture, factor_);
    FollowThereAndBack();
    PartMotion& whole = parts_.front().motion;
    whole = MotionOf(parts_.front(), {});
    std::vector<PartMotion> motions;
    for (Part& part : std::span(parts_).subspan(1)) {
      part.motion = MotionOf(part, whole);
      motions.push_back(Enlarged(part.motion));
    }
    PartMotion other = Enlarged(whole);
    other.is_known = false;
    motions.resize(parts.size(), other);
    return motions;
  }

 private:
  // Some of `points_`.
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    PartMotion motion;  // in the shrunk pictures, counted from the centre of the first pixel
  };

  // The first part is the whole picture.
  void FindPoints(std::span<const Rectangle> parts) {
    points_.clear();
    BuildPyramid(reference_, /*with_derivatives=*/true, reference_pyramid_);
    cv::cornerMinEigenVal(reference_pyramid_.front(), quality_, kTexture);
    const Range rows = {0, reference_.height()};
    const Range columns = {0, reference_.width()};
    AddPart(rows, columns, kPicturePointsASide);
    const size_t count = std::min(parts.size(), kMostParts);
    if (count == 0) return;
    const auto points_left = static_cast<double>(kMostPoints) - static_cast<double>(points_.size());
    const int points_a_side = std::min(
        static_cast<int>(std::sqrt(points_left / static_cast<double>(count))), kMostPointsASide);
    for (const Rectangle& part : parts.first(count)) {
      AddPart(Shrunk(part.rows, factor_, rows.end), Shrunk(part.columns, factor_, columns.end),
              points_a_side);
    }
  }

  // Adds the best point of each of at most `points_a_side`² cells.
  void AddPart(const Range& rows, const Range& columns, int points_a_side) {
    const size_t begin = points_.size();
    const int down = std::min(points_a_side, rows.size() / kSmallestCell);
    const int across = std::min(points_a_side, columns.size() / kSmallestCell);
    for (int i = 0; i < down; ++i) {
      for (int j = 0; j < across; ++j) {
        AddBestOf({rows.begin + i * rows.size() / down, rows.begin + (i + 1) * rows.size() / down},
                  {columns.begin + j * columns.size() / across,
                   columns.begin + (j + 1) * columns.size() / across});
      }
    }
    parts_.push_back({begin, points_.size(), {}});
  }

  void AddBestOf(const Range& rows, const Range& columns) {
    const int step_y = rows.size() / kSamplesASide + 1;
    const int step_x = columns.size() / kSamplesASide + 1;
    float best = 0;
    cv::Point2f place;
    for (int y = rows.begin + (rows.size() - 1) % step_y / 2; y < rows.end; y += step_y) {
      const float* const row = quality_.ptr<float>(y);
      for (int x = columns.begin + (columns.size() - 1) % step_x / 2; x < columns.end;
           x += step_x) {
        if (row[x] <= best) continue;
        best = row[x];
        place = {static_cast<float>(x), static_cast<float>(y)};
      }
    }
    if (best > 0) points_.push_back(place);
  }

  // Sets `found_` and `returns_`.
  void FollowThereAndBack() {
    returns_.assign(points_.size(), 0);
    if (points_.empty()) return;
    BuildPyramid(frame_, /*with_derivatives=*/true, frame_pyramid_);
    found_.resize(points_.size());
    for (const Part& part : parts_) {
      std::transform(points_.begin() + static_cast<ptrdiff_t>(part.begin),
                     points_.begin() + static_cast<ptrdiff_t>(part.end),
                     found_.begin() + static_cast<ptrdiff_t>(part.begin), [&](cv::Point2f point) {
                       return cv::Point2f(static_cast<float>(part.motion.x.Of(point.x)),
                                          static_cast<float>(part.motion.y.Of(point.y)));
                     });
    }
    FollowPoints(reference_pyramid_, frame_pyramid_, points_, found_, is_found_, errors_);
    back_ = points_;
    FollowPoints(frame_pyramid_, reference_pyramid_, found_, back_, is_back_, errors_);
    for (size_t i = 0; i < points_.size(); ++i) {
      const cv::Point2f off = back_[i] - points_[i];
      returns_[i] = is_found_[i] != 0 && is_back_[i] != 0 && std::hypot(off.x, off.y) <= kReturn;
    }
  }

  PartMotion MotionOf(const Part& part, PartMotion otherwise) {
    good_.clear();
    for (size_t i = part.begin; i < part.end; ++i) {
      if (returns_[i] != 0) good_.push_back(i);
    }
    const auto all = static_cast<double>(part.end - part.begin);
    if (good_.size() < kFewest || static_cast<double>(good_.size()) < kLeastShare * all) {
      otherwise.is_known = false;
      return otherwise;
    }
    const double scale = ScaleOfGood();
    const auto axis = [&](float cv::Point2f::*side) {
      const double from = MedianOfGood([&](size_t i) { return points_[i].*side; });
      const double way = MedianOfGood([&](size_t i) { return found_[i].*side - points_[i].*side; });
      return AxisMotion{scale, from + way - scale * from};
    };
    return {axis(&cv::Point2f::x), axis(&cv::Point2f::y), true};
  }

  double MedianOfGood(const auto& number_of) {
    numbers_.clear();
    for (const size_t i : good_) numbers_.push_back(number_of(i));
    return Median(numbers_);
  }

  double ScaleOfGood() {
    numbers_.clear();
    for (size_t a = 0; a < good_.size(); ++a) {
      for (size_t b = a + 1; b < good_.size(); ++b) {
        const cv::Point2f before = points_[good_[a]] - points_[good_[b]];
        const cv::Point2f after = found_[good_[a]] - found_[good_[b]];
        const float distance = std::hypot(before.x, before.y);
        if (distance < kShortest) continue;
        numbers_.push_back(std::hypot(after.x, after.y) / distance);
      }
    }
    if (numbers_.size() < kFewestPairs) return 1;
    return std::clamp(Median(numbers_), 1 / kMostGrown, kMostGrown);
  }

  // In pixels of the picture, from its edge.
  PartMotion Enlarged(const PartMotion& small) const {
    const auto enlarged = [this](const AxisMotion& axis) {
      return AxisMotion{axis.scale, factor_ * (axis.shift + 0.5 - 0.5 * axis.scale)};
    };
    return {enlarged(small.x), enlarged(small.y), small.is_known};
  }

  PictureView shape_;  // of the reference; without pixels
  int factor_ = 1;
  GreyPicture reference_;
  GreyPicture frame_;
  std::vector<cv::Mat> reference_pyramid_;
  std::vector<cv::Mat> frame_pyramid_;
  cv::Mat quality_;
  std::vector<Part> parts_;  // none before the first Find
  std::vector<cv::Point2f> points_;
  std::vector<cv::Point2f> found_;
  std::vector<cv::Point2f> back_;
  std::vector<uint8_t> is_found_;
  std::vector<uint8_t> is_back_;
  std::vector<float> errors_;
  std::vector<uint8_t> returns_;
  std::vector<size_t> good_;
  std::vector<float> numbers_;
};

PartFlow::PartFlow() : impl_(std::make_unique<Impl>()) {}
PartFlow::~PartFlow() = default;

void PartFlow::SetReference(const PictureView& reference) { impl_->SetReference(reference); }

std::vector<PartMotion> PartFlow::Find(std::span<const Rectangle> parts,
                                       const PictureView& picture) {
  return impl_->Find(parts, picture);
}

}  // namespace cacheinf
