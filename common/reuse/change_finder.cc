#include "common/reuse/change_finder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "sparse_ops/mask/bits.h"

namespace cacheinf {
namespace {

constexpr int kFullScale = 255;

int CellCount(int pixels, int cell) { return (pixels + cell - 1) / cell; }

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

// One bit per pixel, for at most a word of them: whether any of its bytes differs.
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

// Finds pixels with any byte that differs.
void FindDifferentBytes(const PictureView& frame, const PictureView& reference, MaskView active) {
  for (int y = 0; y < frame.height; ++y) {
    for (int word = 0; word < active.words_per_row; ++word) {
      const int first = word * bits::kWordBits;
      const auto count = static_cast<size_t>(std::min(bits::kWordBits, frame.width - first));
      const uint8_t* const a = frame.Row(y) + int64_t{first} * frame.channels;
      const uint8_t* const b = reference.Row(y) + int64_t{first} * frame.channels;
      uint64_t& pixels = active.Row(y)[word];
      pixels = 0;
      // Most pictures have mostly not changed.
      if (std::memcmp(a, b, count * static_cast<size_t>(frame.channels)) == 0) continue;
      pixels =
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
      sums_(static_cast<size_t>(width) * static_cast<size_t>(channels)),
      squares_(config.rule == ChangeConfig::Rule::kBlocks ? sums_.size() : 0),
      least_mean_square_(kFullScale * kFullScale * std::pow(10.0, -config.psnr / 10)),
      cells_(CellCount(height, config.cell), CellCount(width, config.cell)),
      blocks_(CellCount(height, config.block), CellCount(width, config.block)) {}

void ChangeFinder::Find(const PictureView& picture, const PictureView& reference,
                        ConstMaskView out_of_view, MaskView active) {
  if (config_.rule == ChangeConfig::Rule::kDifference && config_.threshold == 0) {
    FindDifferentBytes(picture, reference, active);
  } else {
    FindDifferentCells(picture, reference);
    Upsample(cells_, config_.cell, config_.cell, active);
  }
  if (out_of_view.words != nullptr) Unite(active, out_of_view, active);
  RoundOut(active);
}

void ChangeFinder::FindDifferentCells(const PictureView& picture, const PictureView& reference) {
  ClearAll(cells_);
  for (int row = 0; row * config_.cell < height_; ++row) {
    const int first = row * config_.cell;
    const int end = std::min(first + config_.cell, height_);
    if (config_.rule == ChangeConfig::Rule::kBlocks) {
      std::fill(squares_.begin(), squares_.end(), 0u);
      for (int y = first; y < end; ++y) {
        AddSquares(picture.Row(y), reference.Row(y), picture.row_bytes(), squares_.data());
      }
      JudgeCellsBySquares(row, end - first);
    } else {
      std::fill(sums_.begin(), sums_.end(), uint16_t{0});
      for (int y = first; y < end; ++y) {
        AddDifferences(picture.Row(y), reference.Row(y), picture.row_bytes(), sums_.data());
      }
      JudgeCellsByDifferences(row, end - first);
    }
  }
}

// Takes the sums over the columns of a row of cells.
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
