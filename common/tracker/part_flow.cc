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

constexpr int kTooSmall = 32;  // pixels of a side: half of it must be larger than a window

// The way.
constexpr size_t kMostStepsAhead = 3;
constexpr size_t kMostSeenAhead = 8;  // pictures

// Points.
constexpr int kMostPoints = 400;        // of all parts
constexpr int kPicturePointsASide = 8;  // of the whole picture
constexpr int kMostPointsASide = 6;     // of a part
constexpr size_t kMostParts = 100;
constexpr int kSmallestCell = 3;   // that gives a point
constexpr int kSamplesASide = 12;  // of a cell, which gives its best one
constexpr int kCompared = 9;       // pixels a side, around a point
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

// The pixels of a range within a picture of this size.
Range Within(double begin, double end, int size) {
  const double last = size;
  return {static_cast<int>(std::clamp(std::floor(begin), 0.0, last)),
          static_cast<int>(std::clamp(std::ceil(end), 0.0, last))};
}

}  // namespace

class PartFlow::Impl {
 public:
  Impl() { KeepOpenCvInThisThread(); }

  void SetReference(const PictureView& reference) {
    if (!HaveSameShape(reference, shape_)) seen_.clear();
    shape_ = reference;
    shape_.pixels = nullptr;
    reference_.Assign(reference, 1);
    has_pyramid_ = false;
    const auto same = std::find(seen_.begin(), seen_.end(), reference_);
    passed_ = same == seen_.end() ? seen_.size() : static_cast<size_t>(same - seen_.begin()) + 1;
  }

  std::vector<PartMotion> Find(std::span<const Rectangle> parts, const PictureView& picture) {
    std::vector<PartMotion> motions(parts.size());
    if (!HaveSameShape(picture, shape_)) return motions;
    if (std::min(reference_.width(), reference_.height()) < kTooSmall) return motions;
    seen_.emplace_back().Assign(picture, 1);
    for (PartMotion& motion : motions) motion.is_known = true;
    const size_t ahead = seen_.size() - passed_;
    const size_t steps = std::min(ahead, kMostStepsAhead);
    for (size_t i = 1; i <= steps; ++i) {
      StepTo(seen_[passed_ + ahead * i / steps - 1], parts, motions);
    }
    passed_ = seen_.size();
    if (passed_ > kMostSeenAhead) {
      seen_.erase(seen_.begin());
      --passed_;
    }
    return motions;
  }

 private:
  // Which of `points_` lie in a part.
  struct PointRange {
    size_t begin = 0;
    size_t end = 0;
  };

  // Extends the motions by how the parts, at the places given by their motions, move on to this
  // picture. Skips a picture that shows nothing.
  void StepTo(const GreyPicture& picture, std::span<const Rectangle> parts,
              std::vector<PartMotion>& motions) {
    if (parts.empty()) return;
    if (!has_pyramid_) BuildPyramid(reference_, /*with_derivatives=*/true, reference_pyramid_);
    has_pyramid_ = true;
    // A point's place need not be exact. Every second one of the pyramid is a derivative.
    cv::cornerMinEigenVal(reference_pyramid_[2], quality_, kTexture);
    BuildPyramid(picture, /*with_derivatives=*/true, frame_pyramid_);
    FindPoints(parts, motions);
    FollowThereAndBack();
    std::vector<PartMotion> steps;
    for (const PointRange& points : points_of_) steps.push_back(MotionOf(points));
    const auto is_known = [](const PartMotion& step) { return step.is_known; };
    const bool are_all_known =
        steps.size() == motions.size() && std::ranges::all_of(steps, is_known);
    PartMotion whole;  // of the picture, for parts that show nothing
    if (!are_all_known) {
      FindPointsOfPicture();
      FollowThereAndBack();
      whole = MotionOf(points_of_.front());
    }
    const bool is_any_known = whole.is_known || std::ranges::any_of(steps, is_known);
    for (size_t i = 0; i < motions.size(); ++i) {
      const bool is_of_part = i < steps.size() && steps[i].is_known;
      const PartMotion& step = is_of_part ? steps[i] : whole;
      motions[i] = {motions[i].x.Then(step.x), motions[i].y.Then(step.y),
                    motions[i].is_known && is_of_part};
    }
    if (is_any_known) std::swap(reference_pyramid_, frame_pyramid_);
  }

  void FindPointsOfPicture() {
    points_.clear();
    points_of_.clear();
    AddPart({0, reference_.height()}, {0, reference_.width()}, kPicturePointsASide);
  }

  // Finds points of the first parts, one by one.
  void FindPoints(std::span<const Rectangle> parts, const std::vector<PartMotion>& motions) {
    points_.clear();
    points_of_.clear();
    const size_t count = std::min(parts.size(), kMostParts);
    if (count == 0) return;
    const int points_a_side = std::min(
        static_cast<int>(std::sqrt(kMostPoints / static_cast<double>(count))), kMostPointsASide);
    for (size_t i = 0; i < count; ++i) {
      const auto along = [&](const Range& range, const AxisMotion& motion, int size) {
        return Within(motion.Of(range.begin), motion.Of(range.end), size);
      };
      AddPart(along(parts[i].rows, motions[i].y, reference_.height()),
              along(parts[i].columns, motions[i].x, reference_.width()), points_a_side);
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
    points_of_.push_back({begin, points_.size()});
  }

  void AddBestOf(const Range& rows, const Range& columns) {
    const int step_y = rows.size() / kSamplesASide + 1;
    const int step_x = columns.size() / kSamplesASide + 1;
    float best = 0;
    cv::Point2f place;
    for (int y = rows.begin + (rows.size() - 1) % step_y / 2; y < rows.end; y += step_y) {
      const float* const row = quality_.ptr<float>(y / 2);
      for (int x = columns.begin + (columns.size() - 1) % step_x / 2; x < columns.end;
           x += step_x) {
        if (row[x / 2] <= best) continue;
        best = row[x / 2];
        place = {static_cast<float>(x), static_cast<float>(y)};
      }
    }
    if (best > 0) points_.push_back(place);
  }

  // Sets `found_` and `returns_`.
  void FollowThereAndBack() {
    returns_.assign(points_.size(), 0);
    if (points_.empty()) return;
    found_ = points_;
    FollowPoints(reference_pyramid_, frame_pyramid_, kCompared, points_, found_, is_found_,
                 errors_);
    back_ = points_;
    FollowPoints(frame_pyramid_, reference_pyramid_, kCompared, found_, back_, is_back_, errors_);
    for (size_t i = 0; i < points_.size(); ++i) {
      const cv::Point2f off = back_[i] - points_[i];
      returns_[i] = is_found_[i] != 0 && is_back_[i] != 0 && std::hypot(off.x, off.y) <= kReturn;
    }
  }

  // Unknown, and no motion, if too few of the points were found.
  PartMotion MotionOf(const PointRange& part) {
    good_.clear();
    for (size_t i = part.begin; i < part.end; ++i) {
      if (returns_[i] != 0) good_.push_back(i);
    }
    const auto all = static_cast<double>(part.end - part.begin);
    if (good_.size() < kFewest || static_cast<double>(good_.size()) < kLeastShare * all) return {};
    const double scale = ScaleOfGood();
    const auto axis = [&](float cv::Point2f::*side) {
      const double from = MedianOfGood([&](size_t i) { return points_[i].*side; }) + 0.5;
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

  PictureView shape_;              // of the reference; without pixels
  GreyPicture reference_;          // the last given
  std::vector<GreyPicture> seen_;  // the last ones, one after the other
  size_t passed_ = 0;              // of `seen_`: the parts lie as in the last of these
  bool has_pyramid_ = false;
  std::vector<cv::Mat> reference_pyramid_;
  std::vector<cv::Mat> frame_pyramid_;
  cv::Mat quality_;  // of the points of a picture of half the size
  std::vector<PointRange> points_of_;
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
