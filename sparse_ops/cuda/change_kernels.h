#ifndef CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_

#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/settle.h"

namespace cacheinf::cuda {

// Settles pixels whose fresh values lie in a map of their own, because several blocks share a
// pixel's channels or the kernel writes them one by one.
struct SettlePixels {
  static constexpr const char* kName = "SettlePixels";
  static constexpr int kThreads = 128;
  static constexpr int kPixelsPerBlock = kThreads / kLanes;

  Pixels pixels;
  ConstImageView fresh;
  ImageView stored;
  SettleArgs args;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int number = thread.BlockX() * kPixelsPerBlock + thread.ThreadIndex() / kLanes;
    const int most = pixels.count == nullptr ? pixels.most : thread.LoadReadOnly(pixels.count);
    const bool has_pixel = number < most;
    int pixel = 0;
    if (has_pixel) {
      pixel = pixels.list == nullptr ? pixels.first + number
                                     : thread.LoadReadOnly(pixels.list + number);
    }
    const int y = pixel / stored.width;
    const int x = pixel - y * stored.width;
    SettlePixel(thread, args, has_pixel, y, x, fresh.Pixel(0, y, x), stored);
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_
