#ifndef CACHEINF_COMMON_CANVAS_WARP_GEOMETRY_H_
#define CACHEINF_COMMON_CANVAS_WARP_GEOMETRY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/canvas/inset_tracker.h"
#include "common/reuse/geometry.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// The network sees the frames, and what is stored moves with the camera by interpolation (Eq. 6 of
// the paper): stored maps and the reference, which follows the light too.
class WarpGeometry final : public Geometry {
 public:
  WarpGeometry(int width, int height, std::unique_ptr<Tracker> tracker);

  void SetInset(const Inset& inset) override { tracker_.SetInset(inset); }
  void Begin(const PictureView& frame, bool is_followed) override;
  Placement Place(const PictureView& frame, bool compares_bytes, bool relights,
                  Reference& reference) override;

 private:
  void Align(const Motion& motion, Reference& reference);

  InsetTracker tracker_;
  Light reference_light_;  // of the reference, moved or not, against the tracker's
  Mask out_of_view_;
  std::vector<uint8_t> warped_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CANVAS_WARP_GEOMETRY_H_
