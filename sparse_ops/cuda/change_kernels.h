#ifndef CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/cuda/window_kernels.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {
namespace cuda {

template <class Thread>
CACHEINF_KERNEL bool TestPixel(const Thread& thread, const ConstMaskView& mask, int y, int x) {
  return (thread.LoadReadOnly(mask.Row(y) + x / 64) >> (x % 64) & 1) != 0;
}

// Half a warp takes a pixel.
struct SettlePixels {
  static constexpr const char* kName = "SettlePixels";
  static constexpr int kThreads = 128;
  static constexpr int kPixelsPerBlock = kThreads / kLanes;

  Pixels pixels;
  ConstImageView fresh;
  ImageView stored;
  float threshold;
  const float* inverse_spread;
  MaskView active;
  ConstMaskView untested;  // no words: none
  ConstMaskView forced;    // the same

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int number = thread.BlockX() * kPixelsPerBlock + thread.ThreadIndex() / kLanes;
    const int lane = thread.Lane() % kLanes;
    const int most = pixels.count == nullptr ? pixels.most : thread.LoadReadOnly(pixels.count);
    // The other half of the warp needs this one even where it has no pixel.
    const bool has_pixel = number < most;
    int pixel = 0;
    if (has_pixel) {
      pixel = pixels.list == nullptr ? pixels.first + number
                                     : thread.LoadReadOnly(pixels.list + number);
    }
    const int y = pixel / stored.width;
    const int x = pixel - y * stored.width;
    const float* const from = fresh.Pixel(0, y, x);
    float* const to = stored.Pixel(0, y, x);

    const bool is_untested =
        has_pixel && untested.words != nullptr && TestPixel(thread, untested, y, x);
    const bool is_tested = has_pixel && !is_untested;
    const bool is_change = IsChange(thread, from, to, is_tested ? stored.channels : 0, lane);
    if (!has_pixel) return;
    if (is_tested && !is_change) {
      if (lane == 0) thread.AtomicAnd(active.Row(y) + x / 64, ~(uint64_t{1} << (x % 64)));
      if (forced.words == nullptr || !TestPixel(thread, forced, y, x)) return;
    }
    for (int c = lane; c < stored.channels; c += kLanes) {
      thread.Store(to + c, thread.LoadReadOnly(from + c));
    }
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL bool IsChange(const Thread& thread, const float* from, const float* to,
                                int channels, int lane) const {
    if (threshold == 0.0f) {
      bool differs = false;
      for (int c = lane; c < channels; c += kLanes) {
        const float numbers[2] = {thread.LoadReadOnly(from + c), thread.Load(to + c)};
        differs = differs || scalar::Ops().Bits(numbers[0]) != scalar::Ops().Bits(numbers[1]);
      }
      const unsigned of_half = 0xffffu << (thread.Lane() / kLanes * kLanes);
      return (thread.Ballot(differs) & of_half) != 0;
    }
    float sum = 0.0f;
    for (int c = lane; c < channels; c += kLanes) {
      const float change = (thread.LoadReadOnly(from + c) - thread.Load(to + c)) *
                           thread.LoadReadOnly(inverse_spread + c);
      sum = std::fma(change, change, sum);
    }
    sum = CombineHalfWarp(thread, sum, Add());
    return !(std::sqrt(sum / static_cast<float>(stored.channels)) <= threshold);
  }
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_
