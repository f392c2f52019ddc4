#ifndef CACHEINF_COMMON_CANVAS_INSET_TRACKER_H_
#define CACHEINF_COMMON_CANVAS_INSET_TRACKER_H_

#include <memory>
#include <optional>
#include <utility>

#include "common/reuse/inset.h"
#include "common/tracker/tracker.h"

namespace cacheinf {

// Shows a tracker one part of every picture, and reports its results for the whole picture.
class InsetTracker final : public Tracker {
 public:
  // At first the part is the whole picture. REQUIRES: a tracker.
  explicit InsetTracker(std::unique_ptr<Tracker> tracker) : tracker_(std::move(tracker)) {}

  // From the next call of SetReference on, pictures have the inset's shape.
  void SetInset(const Inset& inset) { inset_ = inset; }

  void SetReference(const PictureView& reference) override;
  void SetReferenceToLastFrame() override { tracker_->SetReferenceToLastFrame(); }
  Motion Track(const PictureView& frame) override;

 private:
  PictureView Crop(const PictureView& picture);

  std::unique_ptr<Tracker> tracker_;
  std::optional<Inset> inset_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_CANVAS_INSET_TRACKER_H_
