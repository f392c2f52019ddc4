#ifndef CACHEINF_COMMON_TRACKER_TRACKER_H_
#define CACHEINF_COMMON_TRACKER_TRACKER_H_

#include <memory>

#include "common/base/light.h"
#include "common/base/picture_view.h"
#include "common/config/tracker_config.h"
#include "common/tracker/loss.h"
#include "sparse_ops/homography.h"

// How the camera moved: a new frame against the reference, the picture whose results are kept.

namespace cacheinf {

struct Motion {
  // Where a pixel of the frame lies in the reference. Exactly the identity while the camera is
  // still, and if the motion is lost.
  Homography reference_from_frame;
  Loss loss = Loss::kNone;
  // The frame's light against the reference's, approximately, in 8-bit levels. Exactly the identity
  // where the light is the same.
  Light light;
  // The share of features, or of blocks, that agree.
  double match_ratio = 1;

  bool is_lost() const { return loss != Loss::kNone; }
};

// Finds motions. The result depends only on the pictures since the last SetReference: not on
// threads, time or chance. After the first frame of a size our own code allocates nothing. One
// thread at a time.
class Tracker {
 public:
  virtual ~Tracker() = default;

  // Makes the picture the reference; its pixels are read during the call only.
  virtual void SetReference(const PictureView& reference) = 0;

  // Makes the frame of the last Track the reference, usually faster than SetReference. Does
  // nothing if there was none.
  virtual void SetReferenceToLastFrame() = 0;

  // Never throws; what cannot be tracked is lost, for a reason. A lost frame leaves the
  // reference unchanged. REQUIRES: a picture of 1 or 3 channels.
  virtual Motion Track(const PictureView& frame) = 0;
};

// The tracker that the configuration names. REQUIRES: a checked configuration.
std::unique_ptr<Tracker> MakeTracker(const TrackerConfig& config);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_TRACKER_TRACKER_H_
