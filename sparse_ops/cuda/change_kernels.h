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

// Write-if-changed (active_pixels.h) of pixels in a batch of one.
struct PixelTest {
  float threshold = 0.0f;
  const float* inverse_spread = nullptr;  // [channels]; may be null with threshold 0
  MaskView changed;        // gets the pixels that changed; no words: there is no test
  ConstMaskView untested;  // stored and taken for changed; no words: none
  ConstMaskView forced;    // stored, changed or not; no words: none

  template <class Thread>
  CACHEINF_KERNEL bool IsUntested(const Thread& thread, int y, int x) const {
    return untested.words != nullptr && TestPixel(thread, untested, y, x);
  }
  template <class Thread>
  CACHEINF_KERNEL void NoteChange(const Thread& thread, int y, int x) const {
    thread.AtomicOr(changed.Row(y) + x / 64, uint64_t{1} << (x % 64));
  }

  // Half a warp takes a pixel, or none, with all its channels, or with threshold 0 some of them.
  // All threads of the warp call it.
  template <class Thread>
  CACHEINF_KERNEL void Store(const Thread& thread, bool has_pixel, int y, int x, const float* fresh,
                             float* stored, int channels) const {
    const int lane = thread.Lane() % kLanes;
    const bool is_untested = has_pixel && IsUntested(thread, y, x);
    const bool differs =
        IsChange(thread, fresh, stored, has_pixel && !is_untested ? channels : 0, lane);
    if (!has_pixel) return;
    if (is_untested || differs) {
      if (lane == 0) NoteChange(thread, y, x);
    } else if (forced.words == nullptr || !TestPixel(thread, forced, y, x)) {
      return;
    }
    for (int c = lane; c < channels; c += kLanes) thread.Store(stored + c, thread.Load(fresh + c));
  }

 private:
  // No channels: anything.
  template <class Thread>
  CACHEINF_KERNEL bool IsChange(const Thread& thread, const float* fresh, const float* stored,
                                int channels, int lane) const {
    if (threshold == 0.0f) {
      bool differs = false;
      for (int c = lane; c < channels; c += kLanes) {
        const float numbers[2] = {thread.Load(fresh + c), thread.Load(stored + c)};
        differs = differs || scalar::Ops().Bits(numbers[0]) != scalar::Ops().Bits(numbers[1]);
      }
      const unsigned of_half = 0xffffu << (thread.Lane() / kLanes * kLanes);
      return (thread.Ballot(differs) & of_half) != 0;
    }
    float sum = 0.0f;
    for (int c = lane; c < channels; c += kLanes) {
      const float change = (thread.Load(fresh + c) - thread.Load(stored + c)) *
                           thread.LoadReadOnly(inverse_spread + c);
      sum = std::fma(change, change, sum);
    }
    sum = CombineHalfWarp(thread, sum, Add());
    return !(std::sqrt(sum / static_cast<float>(channels)) <= threshold);
  }
};

// Tests values that lie in a map of their own.
struct SettlePixels {
  static constexpr const char* kName = "SettlePixels";
  static constexpr int kThreads = 128;
  static constexpr int kPixelsPerBlock = kThreads / kLanes;

  Pixels pixels;
  ConstImageView fresh;
  ImageView stored;
  PixelTest test;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int number = thread.BlockX() * kPixelsPerBlock + thread.ThreadIndex() / kLanes;
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
    test.Store(thread, has_pixel, y, x, fresh.Pixel(0, y, x), stored.Pixel(0, y, x),
               stored.channels);
  }
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_CHANGE_KERNELS_H_
