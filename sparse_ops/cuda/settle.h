#ifndef CACHEINF_SPARSE_OPS_CUDA_SETTLE_H_
#define CACHEINF_SPARSE_OPS_CUDA_SETTLE_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/views.h"

namespace cacheinf::cuda {

// Write-if-changed (ChangeTest of active_pixels.h) on a device. REQUIRES: a batch of one, and masks
// of the map's size that share no memory.
struct SettleArgs {
  float threshold = 0.0f;
  const float* inverse_spread = nullptr;  // [channels]; may be null with threshold 0
  MaskView active;                        // loses the pixels that did not change; no words: no test
  ConstMaskView untested;                 // stored, and counted as changed; no words: none
  ConstMaskView forced;                   // stored, changed or not; no words: none
};

template <class Thread>
CACHEINF_KERNEL bool TestPixel(const Thread& thread, const ConstMaskView& mask, int y, int x) {
  return (thread.LoadReadOnly(mask.Row(y) + x / 64) >> (x % 64) & 1) != 0;
}

// Whether a pixel's fresh values are a change of the stored ones. Half a warp takes a pixel, each
// thread one lane of ops.h. All threads of the warp must call it.
template <class Thread>
CACHEINF_KERNEL bool IsChange(const Thread& thread, const SettleArgs& args, const float* fresh,
                              const float* stored, int channels) {
  const int lane = thread.Lane() % kLanes;
  if (args.threshold == 0.0f) {
    bool differs = false;
    for (int c = lane; c < channels; c += kLanes) {
      differs = differs || BitsOf(thread.Load(fresh + c)) != BitsOf(thread.Load(stored + c));
    }
    const unsigned of_half = 0xffffu << (thread.Lane() / kLanes * kLanes);
    return (thread.Ballot(differs) & of_half) != 0;
  }
  float sum = 0.0f;
  for (int c = lane; c < channels; c += kLanes) {
    const float change = (thread.Load(fresh + c) - thread.Load(stored + c)) *
                         thread.LoadReadOnly(args.inverse_spread + c);
    sum = Fma(change, change, sum);
  }
  sum = CombineHalfWarp(thread, sum, Add());
  return !(std::sqrt(sum / static_cast<float>(channels)) <= args.threshold);
}

// Stores the fresh values of pixel (y, x) if they are a change, untested or forced. Makes the pixel
// inactive if they are no change. Half a warp takes a pixel. All threads of the warp must call it,
// even those without a pixel.
template <class Thread>
CACHEINF_KERNEL void SettlePixel(const Thread& thread, const SettleArgs& args, bool has_pixel,
                                 int y, int x, const float* fresh, const ImageView& map) {
  const int lane = thread.Lane() % kLanes;
  float* const stored = map.Pixel(0, y, x);
  const bool is_tested =
      has_pixel && (args.untested.words == nullptr || !TestPixel(thread, args.untested, y, x));
  const bool is_change = IsChange(thread, args, fresh, stored, is_tested ? map.channels : 0);
  if (!has_pixel) return;
  if (is_tested && !is_change) {
    if (lane == 0) thread.AtomicAnd(args.active.Row(y) + x / 64, ~(uint64_t{1} << (x % 64)));
    if (args.forced.words == nullptr || !TestPixel(thread, args.forced, y, x)) return;
  }
  for (int c = lane; c < map.channels; c += kLanes) {
    thread.Store(stored + c, thread.Load(fresh + c));
  }
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_SETTLE_H_
