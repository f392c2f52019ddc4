#include "tests/rivals/rival_trackers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <opencv2/features2d.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/tracker/grey_picture.h"
#include "common/tracker/motion_fit.h"

namespace cacheinf {
namespace {

constexpr int kBlock = 10;
constexpr int kRange = 7;
constexpr double kMostMeanSquare = 255 * 255 / 100.0;  // 20 decibels

struct Step {
  int x = 0;
  int y = 0;
};

Step operator+(Step a, Step b) { return {a.x + b.x, a.y + b.y}; }

class BlockMatcher final : public Tracker {
 public:
  explicit BlockMatcher(Matcher matcher) : matcher_(matcher) {}

  void SetReference(const PictureView& reference) override { reference_.Assign(reference, 1); }
  void SetReferenceToLastFrame() override { std::swap(reference_, frame_); }

  // REQUIRES: a reference of the frame's shape.
  Motion Track(const PictureView& frame) override {
    frame_.Assign(frame, 1);
    const Step shift = matcher_ == Matcher::kDeepMon ? Step() : MeanShift();
    int blocks = 0;
    int matches = 0;
    ForEachBlock([&](const Block& block) {
      ++blocks;
      matches += matcher_ == Matcher::kDeepMon ? HistogramsMatch(block) : Matches(block, shift);
    });
    Motion motion;
    if (matches == 0) motion.loss = Loss::kTooDifferent;
    motion.match_ratio = static_cast<double>(matches) / blocks;
    motion.reference_from_frame.m[0][2] = shift.x;
    motion.reference_from_frame.m[1][2] = shift.y;
    return motion;
  }

 private:
  static constexpr uint32_t kNoSum = std::numeric_limits<uint32_t>::max();

  struct Block {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
  };
  struct Best {
    Step shift;
    uint32_t sum = kNoSum;
  };

  template <typename Visit>
  void ForEachBlock(Visit visit) const {
    for (int y = 0; y < frame_.height(); y += kBlock) {
      for (int x = 0; x < frame_.width(); x += kBlock) {
        visit(Block{x, y, std::min(kBlock, frame_.width() - x),
                    std::min(kBlock, frame_.height() - y)});
      }
    }
  }

  // Sum of squared differences; stops at `enough`. kNoSum beyond the picture.
  uint32_t Sum(const Block& block, Step shift, uint32_t enough = kNoSum) const {
    const int x = block.x + shift.x;
    const int y = block.y + shift.y;
    if (x < 0 || y < 0 || x + block.width > frame_.width() || y + block.height > frame_.height()) {
      return kNoSum;
    }
    const auto sum = [&](auto width) {
      uint32_t squares = 0;
      for (int row = 0; row < block.height && squares < enough; ++row) {
        const uint8_t* const a = frame_.Row(block.y + row) + block.x;
        const uint8_t* const b = reference_.Row(y + row) + x;
        for (int i = 0; i < width; ++i) {
          const int difference = int{a[i]} - int{b[i]};
          squares += static_cast<uint32_t>(difference * difference);
        }
      }
      return squares;
    };
    return block.width == kBlock ? sum(std::integral_constant<int, kBlock>()) : sum(block.width);
  }

  bool IsMatch(const Block& block, uint32_t sum) const {
    return sum < kMostMeanSquare * block.width * block.height;
  }
  bool Matches(const Block& block, Step shift) const { return IsMatch(block, Sum(block, shift)); }

  bool HistogramsMatch(const Block& block) const {
    constexpr int kLevels = 16;
    std::array<int, kLevels> frame = {};
    std::array<int, kLevels> reference = {};
    for (int y = block.y; y < block.y + block.height; ++y) {
      for (int x = block.x; x < block.x + block.width; ++x) {
        ++frame[frame_.Row(y)[x] * kLevels / 256];
        ++reference[reference_.Row(y)[x] * kLevels / 256];
      }
    }
    double distance = 0;
    for (size_t i = 0; i < frame.size(); ++i) {
      const int both = frame[i] + reference[i];
      const int difference = frame[i] - reference[i];
      if (both > 0) distance += static_cast<double>(difference * difference) / both;
    }
    return distance <= 0.1 * 2 * block.width * block.height;
  }

  void Improve(const Block& block, Step shift, Best* best) const {
    if (std::abs(shift.x) > kRange || std::abs(shift.y) > kRange) return;
    const uint32_t sum = Sum(block, shift, best->sum);
    if (sum < best->sum) *best = {shift, sum};
  }

  // All steps of a square except its centre.
  void ImproveAround(const Block& block, int reach, int step, Best* best) const {
    const Step centre = best->shift;
    for (int y = -reach; y <= reach; y += step) {
      for (int x = -reach; x <= reach; x += step) {
        if (x != 0 || y != 0) Improve(block, centre + Step{x, y}, best);
      }
    }
  }

  void SearchDiamond(const Block& block, Best* best) const {
    constexpr Step kLarge[] = {{0, -2}, {-1, -1}, {1, -1}, {-2, 0},
                               {2, 0},  {-1, 1},  {1, 1},  {0, 2}};
    constexpr Step kSmall[] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};
    for (uint32_t before = kNoSum; best->sum < before && best->sum > 0;) {
      before = best->sum;
      const Step centre = best->shift;
      for (const Step& step : kLarge) Improve(block, centre + step, best);
    }
    const Step centre = best->shift;
    for (const Step& step : kSmall) Improve(block, centre + step, best);
  }

  Best Search(const Block& block) const {
    Best best;
    Improve(block, {}, &best);
    if (matcher_ == Matcher::kExhaustive) ImproveAround(block, kRange, 1, &best);
    if (matcher_ == Matcher::kDiamond) SearchDiamond(block, &best);
    if (matcher_ == Matcher::kThreeStep) {
      for (const int step : {4, 2, 1}) ImproveAround(block, step, step, &best);
    }
    return best;
  }

  Step MeanShift() const {
    Step sum;
    int count = 0;
    ForEachBlock([&](const Block& block) {
      const Best best = Search(block);
      if (!IsMatch(block, best.sum)) return;
      sum = sum + best.shift;
      ++count;
    });
    if (count == 0) return {};
    return {static_cast<int>(std::lround(static_cast<double>(sum.x) / count)),
            static_cast<int>(std::lround(static_cast<double>(sum.y) / count))};
  }

  Matcher matcher_;
  GreyPicture reference_;
  GreyPicture frame_;
};

class KeypointTracker final : public Tracker {
 public:
  explicit KeypointTracker(Keypoints keypoints) {
    cv::setNumThreads(1);
    if (keypoints == Keypoints::kOrb) {
      detector_ = cv::ORB::create(kMost, 1.2f, 4, 16, 0, 2, cv::ORB::HARRIS_SCORE, 31, 7);
    } else {
      detector_ = cv::AKAZE::create(cv::AKAZE::DESCRIPTOR_MLDB, 0, 3, 2e-4f);
    }
  }

  void SetReference(const PictureView& reference) override { Describe(reference, &reference_); }
  void SetReferenceToLastFrame() override { std::swap(reference_, frame_); }

  Motion Track(const PictureView& frame) override {
    Describe(frame, &frame_);
    const Fit fit = FitHomography(Match(), frame.width / factor_, frame.height / factor_, factor_);
    const AxisPlacement axis = {1.0 / factor_, 0.5 / factor_ - 0.5};
    Motion motion;
    motion.loss = fit.loss;
    motion.match_ratio = fit.inlier_share;
    if (!motion.is_lost())
      motion.reference_from_frame = OfMap(fit.reference_from_frame, axis, axis);
    return motion;
  }

 private:
  static constexpr int kMost = 160;
  static constexpr int kWorkingSide = 320;
  static constexpr float kLargestDistance = 0.2f;  // of the descriptors' bits

  struct Described {
    std::vector<cv::Point2f> points;
    cv::Mat descriptors;
  };

  void Describe(const PictureView& picture, Described* described) {
    factor_ = (std::max(picture.width, picture.height) + kWorkingSide - 1) / kWorkingSide;
    grey_.Assign(picture, factor_);
    std::vector<cv::KeyPoint> found;
    cv::Mat descriptors;
    detector_->detectAndCompute(cv::Mat(grey_.height(), grey_.width(), CV_8UC1, grey_.pixels()),
                                cv::noArray(), found, descriptors);
    std::vector<size_t> order(found.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&found](size_t a, size_t b) {
      return found[a].response > found[b].response;
    });
    order.resize(std::min<size_t>(order.size(), kMost));
    described->points.clear();
    described->descriptors = cv::Mat();
    for (const size_t i : order) {
      described->points.push_back(found[i].pt);
      described->descriptors.push_back(descriptors.row(static_cast<int>(i)));
    }
  }

  PointPairs Match() const {
    PointPairs pairs;
    if (reference_.points.empty() || frame_.points.empty()) return pairs;
    std::vector<cv::DMatch> matches;
    matcher_.match(frame_.descriptors, reference_.descriptors, matches);
    const auto bits = static_cast<float>(8 * frame_.descriptors.cols);
    for (const cv::DMatch& match : matches) {
      if (match.distance > kLargestDistance * bits) continue;
      pairs.frame.push_back(frame_.points[static_cast<size_t>(match.queryIdx)]);
      pairs.reference.push_back(reference_.points[static_cast<size_t>(match.trainIdx)]);
    }
    return pairs;
  }

  cv::Ptr<cv::Feature2D> detector_;
  cv::BFMatcher matcher_ = cv::BFMatcher(cv::NORM_HAMMING, /*crossCheck=*/true);
  int factor_ = 1;
  GreyPicture grey_;
  Described reference_;
  Described frame_;
};

}  // namespace

std::unique_ptr<Tracker> MakeMatcher(Matcher matcher) {
  return std::make_unique<BlockMatcher>(matcher);
}

std::unique_ptr<Tracker> MakeKeypointTracker(Keypoints keypoints) {
  return std::make_unique<KeypointTracker>(keypoints);
}

}  // namespace cacheinf
