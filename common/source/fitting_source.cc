#include "common/source/fitting_source.h"

#include <utility>

#include "common/base/error.h"

namespace cacheinf {

FittingSource::FittingSource(std::unique_ptr<FrameSource> source, const PictureSpec& spec,
                             const Clock& clock)
    : source_(std::move(source)), spec_(spec), clock_(clock) {}

std::optional<Frame> FittingSource::Next() {
  std::optional<Frame> frame = source_->Next();
  if (!frame || frame->picture.empty()) return frame;
  try {
    frame->fitted = Fit(frame->picture);
  } catch (const InputError&) {
    // Whoever takes the frame finds the same, and says so.
  }
  return frame;
}

std::shared_ptr<const FittedPicture> FittingSource::Fit(const Picture& picture) {
  const auto begin = clock_.Now();
  MakeFitFor(picture);
  auto fitted = std::make_shared<FittedPicture>();
  fitted->fit = fit_;
  fitted->pixels.resize(static_cast<size_t>(spec_.width) * static_cast<size_t>(spec_.height) *
                        static_cast<size_t>(fit_->channels()));
  fit_->Resize(picture, {0, spec_.height}, fitted->pixels.data());
  fitted->time = clock_.Now() - begin;
  return fitted;
}

void FittingSource::MakeFitFor(const Picture& picture) {
  const bool is_of_same_size = fit_ && fit_->columns().frame_size == picture.width &&
                               fit_->rows().frame_size == picture.height;
  if (!is_of_same_size) {
    fit_ = std::make_shared<const PictureFit>(spec_, picture.width, picture.height);
  }
}

}  // namespace cacheinf
