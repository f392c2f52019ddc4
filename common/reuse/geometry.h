#ifndef CACHEINF_COMMON_REUSE_GEOMETRY_H_
#define CACHEINF_COMMON_REUSE_GEOMETRY_H_

#include "common/base/light.h"
#include "common/base/picture_view.h"
#include "common/exec/scroll.h"
#include "common/reuse/inset.h"
#include "common/reuse/reference.h"
#include "common/tracker/loss.h"
#include "sparse_ops/homography.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// The largest stride by which maps are scrolled. No map of a usual network is coarser.
inline constexpr int kLargestStep = 64;

// Where a frame lies against what is stored.
struct Placement {
  Loss loss = Loss::kNone;  // if any, nothing has changed, and the rest means nothing
  PictureView seen;         // by the network; valid as long as the frame, until the next call
  // As in FrameDecision.
  Shift scroll;
  Homography stored_from_frame;
  Light light;
  // Where a pixel that the network sees lies in the frame.
  Homography frame_from_seen;
  // Pixels that the reference does not show. No words: none.
  ConstMaskView out_of_view;
};

// What a moving camera and changing light mean for what is stored: in place (in_place.h), or one of
// the ways to follow a camera.
class Geometry {
 public:
  virtual ~Geometry() = default;

  // Frames show something in this part only. Call Begin next.
  virtual void SetInset(const Inset& inset) = 0;

  // This frame is computed whole and as it is. `is_followed`: later frames are placed against it.
  virtual void Begin(const PictureView& frame, bool is_followed) = 0;

  // Finds the frame's place and brings the reference there. `compares_bytes`: any byte that differs
  // from the reference counts. `relights`: the frame may be shown in the light of what is stored.
  virtual Placement Place(const PictureView& frame, bool compares_bytes, bool relights,
                          Reference& reference) = 0;

  // Whether coming frames may find no place, so that it is time to begin again.
  virtual bool IsNearItsEnd() const { return false; }
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_GEOMETRY_H_
