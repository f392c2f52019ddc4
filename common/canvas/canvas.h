#ifndef CACHEINF_COMMON_CANVAS_CANVAS_H_
#define CACHEINF_COMMON_CANVAS_CANVAS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/exec/scroll.h"
#include "common/reuse/inset.h"
#include "common/tracker/tracker.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// What a camera would see if it stood as still as it can. Every frame is drawn where its content
// lies in the anchor, the frame that began the canvas, so results computed from the canvas stay in
// place. The canvas is as large as a frame. When the view leaves its middle, the canvas moves by
// whole strides, as stored maps can (scroll.h). Pixels that a frame does not show stay as last
// drawn; pixels that were never drawn repeat the frame's edge. Bars beside frames (inset.h) stay
// where the anchor has them.
class Canvas {
 public:
  // `step` is the graph's ShiftStep; 0: the canvas cannot move.
  Canvas(int width, int height, int channels, int step);

  // From now on frames show something only in this part; at first the part is the whole frame.
  // REQUIRES: an inset of pictures of the canvas's size; Anchor is called next.
  void SetInset(const Inset& inset);

  // Starts over: the canvas is the frame, byte for byte.
  void Anchor(const PictureView& frame);

  // Draws the frame, whose pixel p lies at anchor_from_frame(p) in the anchor. Returns how far the
  // canvas moved. Returns nothing, and leaves the canvas unchanged, if the frame would be turned,
  // scaled or shifted too much to be drawn well; then a new anchor is due.
  std::optional<Shift> Draw(const PictureView& frame, const Homography& anchor_from_frame);

  // Whether a frame like the last one would strain the canvas too far, so that a new anchor is due
  // before it comes. Never right after an anchor: if canvases last only a few frames, an anchor
  // after every few answers costs more than it saves.
  bool IsNearItsEnd() const { return is_near_its_end_; }

  PictureView picture() const {
    if (inset_.is_whole()) return part();
    return {picture_.data(), picture_width_, picture_height_, channels_};
  }

  // Where a pixel of the canvas lies in the frame that was drawn last.
  const Homography& frame_from_canvas() const { return frame_from_canvas_; }

 private:
  void Foresee(double strain);

  // The canvas without bars. The pixels, masks and homographies below have no bars either, unless
  // they say otherwise.
  PictureView part() const { return {pixels_.data(), width_, height_, channels_}; }
  double Strain(const Homography& canvas_from_part) const;
  Shift ShiftToMiddle(const Homography& canvas_from_part) const;
  void ScrollBy(const Shift& shift);

  int picture_width_;
  int picture_height_;
  int channels_;
  int step_;
  Inset inset_;
  int width_;
  int height_;
  Shift origin_;                  // of the canvas, in the anchor
  Homography frame_from_canvas_;  // of whole pictures
  int frames_ = 0;                // drawn since the anchor
  double strain_ = 0.0;           // of the last of them
  bool is_near_its_end_ = false;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> drawn_;
  Mask drawn_before_;  // what the canvas shows of some frame
  Mask out_of_view_;
  std::vector<uint8_t> picture_;  // with the bars, if there are any
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CANVAS_CANVAS_H_
