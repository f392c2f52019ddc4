#include "common/reuse/reference.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cacheinf {

Reference::Reference(int width, int height, int channels)
    : width_(width),
      height_(height),
      channels_(channels),
      pixels_(view().byte_count()),
      runs_(RunList::MaxRuns(height, width)) {}

void Reference::Scroll(const Shift& shift) {
  const int64_t row_bytes = view().row_bytes();
  const int64_t distance = shift.rows * row_bytes + int64_t{shift.columns} * channels_;
  const int64_t count = row_bytes * height_ - std::abs(distance);
  std::memmove(pixels_.data() + std::max<int64_t>(-distance, 0),
               pixels_.data() + std::max<int64_t>(distance, 0), static_cast<size_t>(count));
}

void Reference::Assign(const PictureView& seen) {
  std::memcpy(pixels_.data(), seen.pixels, pixels_.size());
}

void Reference::Assign(const PictureView& seen, ConstMaskView pixels) {
  runs_.Assign(pixels, {0, height_});
  const ActivePixels active = runs_.pixels();
  std::for_each_n(active.runs, active.run_count, [&](const PixelRun& run) {
    const int64_t first = run.row * seen.row_bytes() + int64_t{run.begin} * channels_;
    std::memcpy(pixels_.data() + first, seen.pixels + first,
                static_cast<size_t>(run.end - run.begin) * static_cast<size_t>(channels_));
  });
}

}  // namespace cacheinf
