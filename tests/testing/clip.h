#ifndef CACHEINF_TESTS_TESTING_CLIP_H_
#define CACHEINF_TESTS_TESTING_CLIP_H_

#include <algorithm>
#include <array>
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

// Frames as a robot decides them: parts of a random picture change a little or much, or nothing
// does, or the last change is undone, or the camera moves by whole strides, or a strip is
// refreshed.
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
    const uint32_t chance = random_() % 16;
    if (decision_.number < 0 || chance == 0) return Whole();
    if (chance <= 4 && chance > 1 && step_ > 0) return Scroll();
    Begin();
    if (chance == 1) {
      decision_.kind = FrameDecision::Kind::kRefresh;
      Force();
    } else if (chance <= 11) {
      const int most = std::array{255, 60, 20}[random_() % 3];
      ChangeRectangle({Below(height_), 1 + Below(12)}, {Below(width_), 1 + Below(12)}, most);
      if (chance == 11) Force();
    } else if (chance <= 13 && !before_.empty()) {
      TakeBack();
    }
    return decision_;
  }

  // Another scene.
  const FrameDecision& Whole() {
    Begin();
    decision_.kind = FrameDecision::Kind::kWhole;
    SetAll(decision_.changed);
    for (uint8_t& pixel : pixels_) pixel = static_cast<uint8_t>(random_());
    before_.clear();
    return decision_;
  }

  // The camera moves by a step.
  const FrameDecision& Scroll() {
    Begin();
    const int by = Below(2) == 0 ? step_ : -step_;
    decision_.scroll = Below(2) == 0 ? Shift{by, 0} : Shift{0, by};
    const std::vector<uint8_t> before = pixels_;
    before_.clear();
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const int from_y = y + decision_.scroll.rows;
        const int from_x = x + decision_.scroll.columns;
        if (from_y < 0 || from_y >= height_ || from_x < 0 || from_x >= width_) {
          decision_.changed.view().Set(y, x);
          SetPixel(y, x, 255);
        } else {
          std::copy_n(before.data() + 3 * (from_y * width_ + from_x), 3, Pixel(y, x));
        }
      }
    }
    return decision_;
  }

  // Changes a square somewhere, and forces these rows.
  const FrameDecision& ChangeSquare(int size, Range forced = {}) {
    Begin();
    ChangeRectangle({Below(height_ - size), size}, {Below(width_ - size), size}, 255);
    SetRectangle(forced, {0, width_}, decision_.forced);
    return decision_;
  }

  // Changes this many rows and columns at the upper left corner.
  const FrameDecision& Change(int rows, int columns) {
    Begin();
    ChangeRectangle({0, rows}, {0, columns}, 255);
    return decision_;
  }

  // Undoes the last change. REQUIRES: there was one, and no other picture since.
  const FrameDecision& Undo() {
    Begin();
    TakeBack();
    return decision_;
  }

  // Changes every pixel by too little to count as a change.
  const FrameDecision& Drift() {
    Begin();
    for (uint8_t& pixel : pixels_) pixel ^= 1;
    before_.clear();
    return decision_;
  }

  const FrameDecision& RefreshAll() {
    Begin();
    decision_.kind = FrameDecision::Kind::kRefresh;
    SetAll(decision_.forced);
    return decision_;
  }

  // Shows every coming frame, too.
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

  struct Span {
    int begin;
    int size;
  };

  void ChangeRectangle(Span rows, Span columns, int most) {
    before_ = pixels_;
    change_ = Mask(height_, width_);
    const int bottom = std::min(height_, rows.begin + rows.size);
    const int right = std::min(width_, columns.begin + columns.size);
    SetRectangle({rows.begin, bottom}, {columns.begin, right}, change_);
    for (int y = rows.begin; y < bottom; ++y) {
      for (int x = columns.begin; x < right; ++x) SetPixel(y, x, most);
    }
    decision_.changed = change_;
  }

  void TakeBack() {
    std::swap_ranges(pixels_.begin(), pixels_.end(), before_.begin());
    decision_.changed = change_;
  }

  // Changes its levels by at most so much; by 255: to any.
  void SetPixel(int y, int x, int most) {
    for (int c = 0; c < 3; ++c) {
      uint8_t& level = Pixel(y, x)[c];
      const int any = most == 255 ? Below(256) : level + Below(2 * most + 1) - most;
      level = static_cast<uint8_t>(std::clamp(any, 0, 255));
    }
  }

  void Force() {
    const int top = Below(height_);
    SetRectangle({top, std::min(height_, top + 8)}, {0, width_}, decision_.forced);
  }

  int height_;
  int width_;
  int step_;
  std::mt19937 random_;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> before_;  // the last change; empty: it cannot be undone
  Mask change_;
  FrameDecision decision_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_CLIP_H_
