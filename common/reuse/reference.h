#ifndef CACHEINF_COMMON_REUSE_REFERENCE_H_
#define CACHEINF_COMMON_REUSE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "common/base/picture_view.h"
#include "common/exec/scroll.h"
#include "sparse_ops/mask/lists.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// The picture whose results are stored. It takes over a pixel only when that pixel is computed, so
// a change too slow to be seen from frame to frame adds up until it is seen.
class Reference {
 public:
  Reference(int width, int height, int channels);

  PictureView view() const { return {pixels_.data(), width_, height_, channels_}; }

  // For geometries, which move it to the next frame's place or into its light.
  std::vector<uint8_t>& pixels() { return pixels_; }

  // Moves by whole strides, as what is stored does. Pixels that come in are undefined.
  void Scroll(const Shift& shift);

  void Assign(const PictureView& seen);
  void Assign(const PictureView& seen, ConstMaskView pixels);  // these only

 private:
  int width_;
  int height_;
  int channels_;
  std::vector<uint8_t> pixels_;
  RunList runs_;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_REUSE_REFERENCE_H_
