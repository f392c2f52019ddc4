#include "common/canvas/canvas_geometry.h"

#include <optional>
#include <utility>

namespace cacheinf {
namespace {

Homography Product(const Homography& a, const Homography& b) {
  Homography product;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      product.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    }
  }
  return product;
}

}  // namespace

CanvasGeometry::CanvasGeometry(int width, int height, int channels, int step,
                               std::unique_ptr<Tracker> tracker)
    : tracker_(std::move(tracker)), canvas_(width, height, channels, step) {}

void CanvasGeometry::SetInset(const Inset& inset) {
  tracker_.SetInset(inset);
  canvas_.SetInset(inset);
}

void CanvasGeometry::Begin(const PictureView& frame, bool is_followed) {
  canvas_.Anchor(frame);
  // Finding corners takes time; only a frame from which others are followed needs them.
  if (is_followed) tracker_.SetReference(frame);
  anchor_from_reference_ = {};
  reference_light_ = {};
}

Placement CanvasGeometry::Place(const PictureView& frame, bool /*compares_bytes*/,
                                bool /*relights*/, Reference& reference) {
  Placement placement;
  const Motion motion = tracker_.Track(frame);
  placement.loss = motion.loss;
  if (motion.is_lost()) return placement;
  const Homography anchor_from_frame = Product(anchor_from_reference_, motion.reference_from_frame);
  placement.light = Compose(motion.light, reference_light_);
  const std::optional<Shift> shift =
      canvas_.Draw(InAnchorsLight(frame, placement.light), anchor_from_frame);
  if (!shift) {
    placement.loss = Loss::kLittleOverlap;
    return placement;
  }
  placement.seen = canvas_.picture();
  placement.frame_from_seen = canvas_.frame_from_canvas();
  placement.scroll = *shift;
  if (shift->is_zero()) return placement;
  reference.Scroll(*shift);
  // What is now in the middle is what later frames will show.
  tracker_.SetReferenceToLastFrame();
  anchor_from_reference_ = anchor_from_frame;
  reference_light_ = placement.light;
  return placement;
}

PictureView CanvasGeometry::InAnchorsLight(const PictureView& frame, const Light& light) {
  if (light.IsIdentity() || !(light.gain > 0.0)) return frame;
  relit_.resize(frame.byte_count());
  Apply(LevelsWithout(light), frame.pixels, relit_.size(), relit_.data());
  return {relit_.data(), frame.width, frame.height, frame.channels};
}

}  // namespace cacheinf
