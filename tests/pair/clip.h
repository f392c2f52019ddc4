#ifndef CACHEINF_TESTS_PAIR_CLIP_H_
#define CACHEINF_TESTS_PAIR_CLIP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "common/base/picture_view.h"
#include "common/exec/frame_decision.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

constexpr int kHeight = 64;
constexpr int kWidth = 32;
constexpr const char* kBuild = "these bits";

// Frames as a robot decides them: parts of a random picture change, or nothing does, or the camera
// moves by whole strides, or a strip is refreshed.
class Clip {
 public:
  // `step`: ShiftStep's; 0: the camera stands still.
  Clip(int height, int width, int step, uint32_t seed)
      : height_(height), width_(width), step_(step), random_(seed) {
    decision_.number = -1;
    pixels_.resize(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
    for (uint8_t& pixel : pixels_) pixel = static_cast<uint8_t>(random_());
  }

  // The first frame is a whole one.
  const FrameDecision& Next() {
    Begin();
    const uint32_t chance = random_() % 16;
    if (decision_.number == 0 || chance == 0) {
      decision_.kind = FrameDecision::Kind::kWhole;
      SetAll(decision_.changed);
    } else if (chance == 1) {
      decision_.kind = FrameDecision::Kind::kRefresh;
      Force();
    } else if (chance <= 4 && step_ > 0) {
      Scroll();
    } else if (chance <= 12) {
      Change();
      if (chance == 12) Force();
    }
    return decision_;
  }

  // Changes this many rows and columns at the upper left corner.
  const FrameDecision& Change(int rows, int columns) {
    before_ = pixels_;
    Begin();
    SetRectangle({0, rows}, {0, columns}, decision_.changed);
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) SetPixel(y, x);
    }
    return decision_;
  }

  // Undoes the last change. REQUIRES: Change made it.
  const FrameDecision& Undo() {
    Mask changed = decision_.changed;
    Begin();
    decision_.changed = std::move(changed);
    pixels_ = before_;
    return decision_;
  }

  // Changes every pixel by too little to count as a change.
  const FrameDecision& Drift() {
    Begin();
    for (uint8_t& pixel : pixels_) pixel ^= 1;
    return decision_;
  }

  const FrameDecision& RefreshAll() {
    Begin();
    decision_.kind = FrameDecision::Kind::kRefresh;
    SetAll(decision_.forced);
    return decision_;
  }

  PictureView picture() const { return {pixels_.data(), width_, height_, 3}; }
  const FrameDecision& decision() const { return decision_; }

 private:
  void Begin() {
    ++decision_.number;
    decision_.base = decision_.number - 1;
    decision_.frame = decision_.number;
    decision_.kind = FrameDecision::Kind::kChanged;
    decision_.changed = Mask(height_, width_);
    decision_.forced = Mask(height_, width_);
    decision_.scroll = {};
  }

  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  uint8_t* Pixel(int y, int x) {
    return pixels_.data() +
           3 * (static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x));
  }

  void Change() {
    const Range rows = {Below(height_), height_};
    const Range columns = {Below(width_), width_};
    const int bottom = std::min(rows.end, rows.begin + 1 + Below(12));
    const int right = std::min(columns.end, columns.begin + 1 + Below(12));
    SetRectangle({rows.begin, bottom}, {columns.begin, right}, decision_.changed);
    for (int y = rows.begin; y < bottom; ++y) {
      for (int x = columns.begin; x < right; ++x) SetPixel(y, x);
    }
  }

  void SetPixel(int y, int x) {
    for (int c = 0; c < 3; ++c) Pixel(y, x)[c] = static_cast<uint8_t>(random_());
  }

  void Force() {
    const int top = Below(height_);
    SetRectangle({top, std::min(height_, top + 8)}, {0, width_}, decision_.forced);
  }

  void Scroll() {
    const int by = Below(2) == 0 ? step_ : -step_;
    decision_.scroll = Below(2) == 0 ? Shift{by, 0} : Shift{0, by};
    std::vector<uint8_t> before = pixels_;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const int from_y = y + decision_.scroll.rows;
        const int from_x = x + decision_.scroll.columns;
        if (from_y < 0 || from_y >= height_ || from_x < 0 || from_x >= width_) {
          decision_.changed.view().Set(y, x);
          SetPixel(y, x);
        } else {
          std::copy_n(before.data() + 3 * (from_y * width_ + from_x), 3, Pixel(y, x));
        }
      }
    }
  }

  int height_;
  int width_;
  int step_;
  std::mt19937 random_;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> before_;
  FrameDecision decision_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_PAIR_CLIP_H_
