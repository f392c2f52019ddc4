#include "common/canvas/inset_tracker.h"

namespace cacheinf {

void InsetTracker::SetReference(const PictureView& reference) {
  tracker_->SetReference(Crop(reference));
}

Motion InsetTracker::Track(const PictureView& frame) {
  Motion motion = tracker_->Track(Crop(frame));
  if (!inset_ || inset_->is_whole()) return motion;
  motion.reference_from_frame = inset_->OfPicture(motion.reference_from_frame);
  return motion;
}

PictureView InsetTracker::Crop(const PictureView& picture) {
  return inset_ ? inset_->Crop(picture) : picture;
}

}  // namespace cacheinf
