#include "common/canvas/warp_geometry.h"

#include <utility>

#include "common/reuse/picture_warp.h"

namespace cacheinf {

WarpGeometry::WarpGeometry(int width, int height, std::unique_ptr<Tracker> tracker)
    : tracker_(std::move(tracker)), out_of_view_(height, width) {}

void WarpGeometry::Begin(const PictureView& frame, bool is_followed) {
  if (is_followed) tracker_.SetReference(frame);
  reference_light_ = {};
}

Placement WarpGeometry::Place(const PictureView& frame, bool compares_bytes, bool /*relights*/,
                              Reference& reference) {
  Placement placement;
  const Motion motion = tracker_.Track(frame);
  placement.loss = motion.loss;
  if (motion.is_lost()) return placement;
  placement.seen = frame;
  placement.stored_from_frame = motion.reference_from_frame;
  // All bytes of a picture that moved may differ.
  if (!compares_bytes) Align(motion, reference);
  if (motion.reference_from_frame.IsIdentity()) return placement;
  placement.out_of_view = std::as_const(out_of_view_);
  // A still camera keeps the tracker's reference, so that a slow pan adds up until it is seen.
  tracker_.SetReferenceToLastFrame();
  reference_light_ = {};
  return placement;
}

void WarpGeometry::Align(const Motion& motion, Reference& reference) {
  std::vector<uint8_t>& pixels = reference.pixels();
  if (!motion.reference_from_frame.IsIdentity()) {
    warped_.resize(pixels.size());
    WarpPicture(reference.view(), motion.reference_from_frame, warped_.data(), out_of_view_);
    std::swap(pixels, warped_);
  }
  const Light light = Relative(motion.light, reference_light_);
  if (light.IsIdentity() || !(light.gain > 0.0)) return;
  Apply(LevelsIn(light), pixels.data(), pixels.size(), pixels.data());
  reference_light_ = motion.light;
}

}  // namespace cacheinf
