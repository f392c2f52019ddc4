#include "common/tracker/block_tracker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace cacheinf {
namespace {

constexpr double kFullScale = 255;
constexpr uint32_t kNoSum = std::numeric_limits<uint32_t>::max();

int DivideUp(int a, int b) { return (a + b - 1) / b; }

// The nearest whole number, halves away from zero.
int RoundedQuotient(int64_t a, int64_t b) {
  return static_cast<int>(a >= 0 ? (2 * a + b) / (2 * b) : -((-2 * a + b) / (2 * b)));
}

// kWidth 0: any.
template <int kWidth>
uint32_t SumOfSquares(const uint8_t* a, const uint8_t* b, int64_t stride, int any_width, int height,
                      uint32_t enough) {
  const int width = kWidth == 0 ? any_width : kWidth;
  uint32_t sum = 0;
  for (int y = 0; y < height && sum < enough; ++y, a += stride, b += stride) {
    for (int x = 0; x < width; ++x) {
      const int difference = int{a[x]} - int{b[x]};
      sum += static_cast<uint32_t>(difference * difference);
    }
  }
  return sum;
}

// Stops where the sum reaches `enough`.
uint32_t SumOfSquares(const uint8_t* a, const uint8_t* b, int64_t stride, int width, int height,
                      uint32_t enough) {
  switch (width) {
    case 8:
      return SumOfSquares<8>(a, b, stride, width, height, enough);
    case 10:
      return SumOfSquares<10>(a, b, stride, width, height, enough);
    case 16:
      return SumOfSquares<16>(a, b, stride, width, height, enough);
    default:
      return SumOfSquares<0>(a, b, stride, width, height, enough);
  }
}

}  // namespace

BlockTracker::BlockTracker(const BlockMatchingConfig& config)
    : config_(config),
      largest_mean_square_(kFullScale * kFullScale * std::pow(10.0, -config.psnr / 10)),
      tried_(static_cast<size_t>((2 * config.range + 1) * (2 * config.range + 1))) {}

void BlockTracker::SetReference(const PictureView& reference) {
  reference_.Assign(reference, 1);
  reference_shape_ = reference;
  reference_shape_.pixels = nullptr;
}

void BlockTracker::SetReferenceToLastFrame() {
  if (frame_shape_.width == 0) return;
  std::swap(reference_, frame_);
  std::swap(reference_shape_, frame_shape_);
  frame_shape_ = {};
}

Motion BlockTracker::Track(const PictureView& frame) {
  frame_.Assign(frame, 1);
  frame_shape_ = frame;
  frame_shape_.pixels = nullptr;
  Motion motion;
  motion.match_ratio = 0;
  if (!HaveSameShape(frame_shape_, reference_shape_)) {
    motion.loss = Loss::kNoReference;
    return motion;
  }
  Prepare();
  SearchBlocks();
  const Shift shift = ChooseTranslation();
  const int matches = CountMatches(shift);
  if (matches == 0) {
    motion.loss = Loss::kTooDifferent;
    return motion;
  }
  motion.match_ratio = static_cast<double>(matches) / (rows_ * columns_);
  motion.reference_from_frame.m[0][2] = shift.x;
  motion.reference_from_frame.m[1][2] = shift.y;
  return motion;
}

void BlockTracker::Prepare() {
  rows_ = DivideUp(frame_.height(), config_.block);
  columns_ = DivideUp(frame_.width(), config_.block);
  const auto blocks = static_cast<size_t>(rows_) * static_cast<size_t>(columns_);
  searched_.resize(blocks);
  matches_.clear();
  matches_.reserve(blocks);
  sorted_.reserve(blocks);
}

BlockTracker::Block BlockTracker::BlockAt(int row, int column) const {
  const int x = column * config_.block;
  const int y = row * config_.block;
  return {x, y, std::min(config_.block, frame_.width() - x),
          std::min(config_.block, frame_.height() - y), row * columns_ + column};
}

bool BlockTracker::IsSearched(int row, int column) const {
  return row % config_.skip == 0 && column % config_.skip == 0;
}

bool BlockTracker::IsWithinReach(const Block& block, Shift shift) const {
  const int x = block.x + shift.x;
  const int y = block.y + shift.y;
  return x >= 0 && x + block.width <= frame_.width() && y >= 0 &&
         y + block.height <= frame_.height();
}

bool BlockTracker::IsMatch(const Block& block, uint32_t sum) const {
  return sum < largest_mean_square_ * block.pixels();
}

// ------------------------------------------------------------------------------------------------
// Step 2.

void BlockTracker::SearchBlocks() {
  for (int row = 0; row < rows_; row += config_.skip) {
    for (int column = 0; column < columns_; column += config_.skip) {
      const Block block = BlockAt(row, column);
      const Searched searched = Search(block);
      searched_[static_cast<size_t>(block.index)] = searched;
      if (IsMatch(block, searched.best_sum)) matches_.push_back(searched.best);
    }
  }
}

BlockTracker::Searched BlockTracker::Search(const Block& block) {
  if (++search_ == 0) {  // the numbers start over: old ones must not pass for new ones
    std::fill(tried_.begin(), tried_.end(), 0u);
    search_ = 1;
  }
  Searched searched;
  searched.best_sum = kNoSum;
  Improve(block, {0, 0}, &searched);
  searched.sum_in_place = searched.best_sum;
  static constexpr Shift kLarge[] = {{0, -2}, {-1, -1}, {1, -1}, {-2, 0},
                                     {2, 0},  {-1, 1},  {1, 1},  {0, 2}};
  static constexpr Shift kSmall[] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};
  const auto improve_around = [&](Shift centre, std::span<const Shift> diamond) {
    bool is_better = false;
    for (const Shift& step : diamond) {
      is_better |= Improve(block, {centre.x + step.x, centre.y + step.y}, &searched);
    }
    return is_better;
  };
  while (searched.best_sum > 0 && improve_around(searched.best, kLarge)) {
  }
  improve_around(searched.best, kSmall);
  return searched;
}

// Whether the shift is better than what was found so far.
bool BlockTracker::Improve(const Block& block, Shift shift, Searched* searched) {
  const int range = config_.range;
  if (std::abs(shift.x) > range || std::abs(shift.y) > range) return false;
  if (!IsWithinReach(block, shift)) return false;
  uint32_t& tried =
      tried_[static_cast<size_t>((shift.y + range) * (2 * range + 1) + shift.x + range)];
  if (tried == search_) return false;
  tried = search_;
  const uint32_t sum = cacheinf::SumOfSquares(
      frame_.Row(block.y) + block.x, reference_.Row(block.y + shift.y) + block.x + shift.x,
      frame_.width(), block.width, block.height, searched->best_sum);
  if (sum >= searched->best_sum) return false;
  searched->best = shift;
  searched->best_sum = sum;
  return true;
}

// ------------------------------------------------------------------------------------------------
// Step 3.

BlockTracker::Shift BlockTracker::ChooseTranslation() {
  if (matches_.empty()) return {};
  const Shift mean = MeanShift();
  if (config_.translation == BlockMatchingConfig::Translation::kMean) return mean;
  Shift best;
  double least = Misfit(best);
  for (const Shift& shift : {mean, MedianShift()}) {
    const double misfit = Misfit(shift);
    if (misfit >= least) continue;
    least = misfit;
    best = shift;
  }
  return best;
}

BlockTracker::Shift BlockTracker::MeanShift() const {
  int64_t x = 0;
  int64_t y = 0;
  for (const Shift& shift : matches_) {
    x += shift.x;
    y += shift.y;
  }
  const auto count = static_cast<int64_t>(matches_.size());
  return {RoundedQuotient(x, count), RoundedQuotient(y, count)};
}

BlockTracker::Shift BlockTracker::MedianShift() {
  const auto median = [this](int Shift::*coordinate) {
    sorted_.clear();
    for (const Shift& shift : matches_) sorted_.push_back(shift.*coordinate);
    const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(sorted_.size() / 2);
    std::nth_element(sorted_.begin(), middle, sorted_.end());
    return *middle;
  };
  return {median(&Shift::x), median(&Shift::y)};
}

// Averages fourth roots of mean squares, so that half of the blocks exactly in place weigh more
// than all of them nearly in place.
double BlockTracker::Misfit(Shift shift) const {
  double misfit = 0;
  int count = 0;
  for (int row = 0; row < rows_; row += config_.skip) {
    for (int column = 0; column < columns_; column += config_.skip) {
      const Block block = BlockAt(row, column);
      if (!IsWithinReach(block, shift)) continue;
      const double mean_square = static_cast<double>(SumOfSquares(block, shift)) / block.pixels();
      misfit += std::sqrt(std::sqrt(std::min(largest_mean_square_, mean_square)));
      ++count;
    }
  }
  return count == 0 ? std::numeric_limits<double>::infinity() : misfit / count;
}

// ------------------------------------------------------------------------------------------------
// Step 4.

uint32_t BlockTracker::SumOfSquares(const Block& block, Shift shift) const {
  const Searched& searched = searched_[static_cast<size_t>(block.index)];
  if (IsSearched(block.y / config_.block, block.x / config_.block)) {
    if (shift == searched.best) return searched.best_sum;
    if (shift == Shift()) return searched.sum_in_place;
  }
  return cacheinf::SumOfSquares(frame_.Row(block.y) + block.x,
                                reference_.Row(block.y + shift.y) + block.x + shift.x,
                                frame_.width(), block.width, block.height, kNoSum);
}

bool BlockTracker::Matches(const Block& block, Shift shift) const {
  return IsWithinReach(block, shift) && IsMatch(block, SumOfSquares(block, shift));
}

int BlockTracker::CountMatches(Shift shift) const {
  int count = 0;
  for (int row = 0; row < rows_; ++row) {
    for (int column = 0; column < columns_; ++column) {
      count += Matches(BlockAt(row, column), shift) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace cacheinf
