#ifndef CACHEINF_SPARSE_OPS_CPU_WARP_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_WARP_KERNELS_H_

#include <cstdint>

#include "sparse_ops/warp.h"

namespace cacheinf::cpu {

// The sources of neighbouring pixels of a row, in fractions of a pixel from the centre of the
// first: u' and v' of warp.h, or for kNearest the whole pixel.
struct WarpSources {
  static constexpr int kMaxCount = 64;
  static constexpr int kOutOfView = -1;

  int count = 0;
  int32_t columns[kMaxCount];
  int32_t rows[kMaxCount];  // of a pixel out of view both are kOutOfView
};

struct WarpKernels {
  // The sources of pixels (y, x) … (y, x + count - 1). REQUIRES: count <= kMaxCount.
  void (*locate)(const WarpArgs& args, int y, int x, int count, WarpSources* sources) = nullptr;

  // Writes the pixels of one image that are in view; `to` is the first pixel.
  void (*fetch)(const WarpSources& sources, const ConstImageView& from, int image, float* to,
                int64_t to_pixel_stride) = nullptr;
};

// The kernels for the best target of this machine.
const WarpKernels& ChooseWarpKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_WARP_KERNELS_H_
