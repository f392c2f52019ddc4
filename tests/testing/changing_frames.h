#ifndef CACHEINF_TESTS_TESTING_CHANGING_FRAMES_H_
#define CACHEINF_TESTS_TESTING_CHANGING_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "common/base/picture_view.h"
#include "common/exec/frame_decision.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

struct DecidedFrame {
  std::vector<uint8_t> pixels;
  int height;
  int width;
  FrameDecision decision;

  PictureView picture() const { return {pixels.data(), width, height, 3}; }
};

// Frames of random pixels with their decisions: whole ones, and ones in which a square changes.
class ChangingFrames {
 public:
  ChangingFrames(int height, int width, int square, unsigned seed)
      : square_(square), random_(seed), frame_{{}, height, width, {}} {
    frame_.pixels.resize(size_t{3} * static_cast<size_t>(height) * static_cast<size_t>(width));
    frame_.decision.changed = frame_.decision.forced = Mask(height, width);
  }

  const DecidedFrame& Whole() {
    frame_.decision.kind = FrameDecision::Kind::kWhole;
    SetAll(frame_.decision.changed);
    for (uint8_t& level : frame_.pixels) level = static_cast<uint8_t>(random_());
    return frame_;
  }

  const DecidedFrame& Next() {
    frame_.decision.kind = FrameDecision::Kind::kChanged;
    frame_.decision.base = 0;
    const int top = static_cast<int>(random_() % static_cast<unsigned>(frame_.height - square_));
    const int left = static_cast<int>(random_() % static_cast<unsigned>(frame_.width - square_));
    ClearAll(frame_.decision.changed);
    SetRectangle({top, top + square_}, {left, left + square_}, frame_.decision.changed);
    for (int y = top; y < top + square_; ++y) {
      for (int i = left * 3; i < (left + square_) * 3; ++i) {
        frame_.pixels[static_cast<size_t>(y * frame_.width * 3 + i)] =
            static_cast<uint8_t>(random_());
      }
    }
    return frame_;
  }

  // Forces these rows of the coming frames.
  void Force(Range rows) { SetRectangle(rows, {0, frame_.width}, frame_.decision.forced); }

  const DecidedFrame& frame() const { return frame_; }

 private:
  int square_;
  std::mt19937 random_;
  DecidedFrame frame_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_CHANGING_FRAMES_H_
