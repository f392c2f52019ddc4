#include "client/tracker/change_finder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "client/tracker/picture_warp.h"
#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

constexpr int kLevels = 256;
constexpr int kFullScale = 255;

int CellCount(int pixels, int cell) { return (pixels + cell - 1) / cell; }

// What the reference's levels look like in the light of the frame.
std::array<uint8_t, kLevels> LevelsInLight(double gain, double offset) {
  std::array<uint8_t, kLevels> levels;
  for (int level = 0; level < kLevels; ++level) {
    levels[static_cast<size_t>(level)] = static_cast<uint8_t>(
        std::clamp(std::floor(gain * level + offset + 0.5), 0.0, double{kFullScale}));
  }
  return levels;
}

void AddDifferences(const uint8_t* a, const uint8_t* b, int64_t count, uint16_t* sums) {
  for (int64_t i = 0; i < count; ++i) {
    sums[i] = static_cast<uint16_t>(sums[i] + std::abs(int{a[i]} - int{b[i]}));
  }
}

void AddSquares(const uint8_t* a, const uint8_t* b, int64_t count, uint32_t* sums) {
  for (int64_t i = 0; i < count; ++i) {
    const int difference = int{a[i]} - int{b[i]};
    sums[i] += static_cast<uint32_t>(difference * difference);
  }
}

// A bit for each of so many pixels, at most a word's: whether any of its bytes differs.
template <size_t kChannels>
uint64_t DifferentPixels(const uint8_t* a, const uint8_t* b, size_t count) {
  std::array<uint8_t, bits::kWordBits* kChannels> bytes = {};
  for (size_t i = 0; i < count * kChannels; ++i) bytes[i] = a[i] != b[i] ? 1 : 0;
  std::array<uint8_t, bits::kWordBits> pixels;
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = 0;
    for (size_t c = 0; c < kChannels; ++c) pixels[i] |= bytes[i * kChannels + c];
  }
  uint64_t word = 0;
  for (size_t i = 0; i < pixels.size(); i += 8) word |= bits::PackBytes(&pixels[i]) << i;
  return word;
}

// Pixels of which any byte differs.
void FindDifferentBytes(const PictureView& frame, const PictureView& reference, MaskView active) {
  for (int y = 0; y < frame.height; ++y) {
    for (int word = 0; word < active.words_per_row; ++word) {
      const int first = word * bits::kWordBits;
      const auto count = static_cast<size_t>(std::min(bits::kWordBits, frame.width - first));
      const uint8_t* const a = frame.Row(y) + int64_t{first} * frame.channels;
      const uint8_t* const b = reference.Row(y) + int64_t{first} * frame.channels;
      active.Row(y)[word] =
          frame.channels == 1 ? DifferentPixels<1>(a, b, count) : DifferentPixels<3>(a, b, count);
    }
  }
}

}  // namespace

ChangeFinder::ChangeFinder(const ChangeConfig& config, int width, int height, int channels)
    : config_(config),
      width_(width),
      height_(height),
      channels_(channels),
      aligned_row_(static_cast<size_t>(width) * static_cast<size_t>(channels)),
      sums_(aligned_row_.size()),
      squares_(config.rule == ChangeConfig::Rule::kBlocks ? aligned_row_.size() : 0),
      least_mean_square_(kFullScale * kFullScale * std::pow(10.0, -config.psnr / 10)),
      out_of_view_(height, width),
      cells_(CellCount(height, config.cell), CellCount(width, config.cell)),
      blocks_(CellCount(height, config.block), CellCount(width, config.block)) {}

void ChangeFinder::Find(const PictureView& frame, const PictureView& reference,
                        const Motion& motion, ConstMaskView more, MaskView active) {
  if (motion.is_lost()) return SetAll(active);
  FindChanged(frame, reference, motion, active);
  if (config_.margin > 0) Grow(active, Reach::Of(config_.margin), active);
  if (more.words != nullptr) Unite(active, more, active);
  RoundOut(active);
}

void ChangeFinder::FindChanged(const PictureView& frame, const PictureView& reference,
                               const Motion& motion, MaskView active) {
  if (config_.rule == ChangeConfig::Rule::kDifference && config_.threshold == 0) {
    if (!motion.reference_from_frame.IsIdentity()) return SetAll(active);
    return FindDifferentBytes(frame, reference, active);
  }
  FindDifferentCells(frame, reference, motion);
  Upsample(cells_, config_.cell, config_.cell, active);
  if (!motion.reference_from_frame.IsIdentity()) Unite(active, out_of_view_, active);
}

void ChangeFinder::FindDifferentCells(const PictureView& frame, const PictureView& reference,
                                      const Motion& motion) {
  const bool is_still = motion.reference_from_frame.IsIdentity();
  const bool is_same_light = motion.gain == 1 && motion.offset == 0;
  const PictureWarp warp(reference, motion.reference_from_frame);
  const std::array<uint8_t, kLevels> levels = LevelsInLight(motion.gain, motion.offset);
  ClearAll(out_of_view_);
  ClearAll(cells_);
  for (int row = 0; row * config_.cell < height_; ++row) {
    const int first = row * config_.cell;
    const int end = std::min(first + config_.cell, height_);
    std::fill(sums_.begin(), sums_.end(), uint16_t{0});
    std::fill(squares_.begin(), squares_.end(), 0u);
    for (int y = first; y < end; ++y) {
      const uint8_t* aligned = reference.Row(y);
      if (!is_still) {
        warp.WarpRow(y, aligned_row_.data(), out_of_view_);
        aligned = aligned_row_.data();
      }
      if (!is_same_light) {
        for (size_t i = 0; i < aligned_row_.size(); ++i) aligned_row_[i] = levels[aligned[i]];
        aligned = aligned_row_.data();
      }
      if (config_.rule == ChangeConfig::Rule::kBlocks) {
        AddSquares(frame.Row(y), aligned, frame.row_bytes(), squares_.data());
      } else {
        AddDifferences(frame.Row(y), aligned, frame.row_bytes(), sums_.data());
      }
    }
    if (config_.rule == ChangeConfig::Rule::kBlocks) {
      JudgeCellsBySquares(row, end - first);
    } else {
      JudgeCellsByDifferences(row, end - first);
    }
  }
}

// From the sums in the columns of a row of cells.
void ChangeFinder::JudgeCellsBySquares(int row, int pixel_rows) {
  const MaskView cells = cells_;
  for (int column = 0; column < cells.width; ++column) {
    const int first = column * config_.cell * channels_;
    const int end = std::min((column + 1) * config_.cell, width_) * channels_;
    uint64_t sum = 0;
    for (int i = first; i < end; ++i) sum += squares_[static_cast<size_t>(i)];
    if (static_cast<double>(sum) >= least_mean_square_ * ((end - first) * pixel_rows)) {
      cells.Set(row, column);
    }
  }
}

void ChangeFinder::JudgeCellsByDifferences(int row, int pixel_rows) {
  const MaskView cells = cells_;
  for (int column = 0; column < cells.width; ++column) {
    const int first = column * config_.cell;
    const int end = std::min(first + config_.cell, width_);
    uint32_t largest = 0;
    for (int c = 0; c < channels_; ++c) {
      uint32_t sum = 0;
      for (int x = first; x < end; ++x) sum += sums_[static_cast<size_t>(x * channels_ + c)];
      largest = std::max(largest, sum);
    }
    if (largest >= config_.threshold * kFullScale * ((end - first) * pixel_rows)) {
      cells.Set(row, column);
    }
  }
}

void ChangeFinder::RoundOut(MaskView active) {
  if (config_.block == 1) return;
  Subsample(active, config_.block, config_.block, blocks_);
  Upsample(blocks_, config_.block, config_.block, active);
}

}  // namespace cacheinf
