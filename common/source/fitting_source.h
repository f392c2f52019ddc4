#ifndef CACHEINF_COMMON_SOURCE_FITTING_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_FITTING_SOURCE_H_

#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/model/graph/graph.h"
#include "common/source/frame_source.h"

namespace cacheinf {

// Fits every picture of a source to a model right after it is read (Frame::fitted). Inside a
// FrameQueue that happens on the queue's thread, while the frame before is computed.
class FittingSource final : public FrameSource {
 public:
  // The clock outlives this. REQUIRES: a spec with sizes.
  FittingSource(std::unique_ptr<FrameSource> source, const PictureSpec& spec, const Clock& clock);

  // Frames that cannot be fitted are given as they are.
  std::optional<Frame> Next() override;

  int64_t skipped() const override { return source_->skipped(); }
  bool is_live() const override { return source_->is_live(); }
  bool has_tensors() const override { return source_->has_tensors(); }
  double frame_rate() const override { return source_->frame_rate(); }
  int truth_class_count() const override { return source_->truth_class_count(); }

 private:
  std::shared_ptr<const FittedPicture> Fit(const Picture& picture);
  void MakeFitFor(const Picture& picture);

  std::unique_ptr<FrameSource> source_;
  PictureSpec spec_;
  const Clock& clock_;
  std::shared_ptr<const PictureFit> fit_;  // for frames of the last one's size
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_FITTING_SOURCE_H_
