#ifndef CACHEINF_COMMON_CANVAS_CANVAS_GEOMETRY_H_
#define CACHEINF_COMMON_CANVAS_CANVAS_GEOMETRY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/canvas/canvas.h"
#include "common/canvas/inset_tracker.h"
#include "common/reuse/geometry.h"

namespace cacheinf {

// The network sees the canvas (canvas.h), in the light of its anchor, instead of the frame.
class CanvasGeometry final : public Geometry {
 public:
  // `step` is the graph's ShiftStep.
  CanvasGeometry(int width, int height, int channels, int step, std::unique_ptr<Tracker> tracker);

  void SetInset(const Inset& inset) override;
  void Begin(const PictureView& frame, bool is_followed) override;
  Placement Place(const PictureView& frame, bool compares_bytes, bool relights,
                  Reference& reference) override;
  bool IsNearItsEnd() const override { return canvas_.IsNearItsEnd(); }

 private:
  PictureView InAnchorsLight(const PictureView& frame, const Light& light);

  InsetTracker tracker_;
  Canvas canvas_;
  // Where the tracker's reference, the anchor or a later frame, lies in the anchor.
  Homography anchor_from_reference_;
  Light reference_light_;  // against the anchor
  std::vector<uint8_t> relit_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CANVAS_CANVAS_GEOMETRY_H_
