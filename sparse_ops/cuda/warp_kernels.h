#ifndef CACHEINF_SPARSE_OPS_CUDA_WARP_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_WARP_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/settle.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/cuda/window_kernels.h"
#include "sparse_ops/warp.h"

namespace cacheinf::cuda {

// kThreadsPerPixel threads share a pixel's channels.
struct WarpMap {
  static constexpr const char* kName = "WarpMap";
  static constexpr int kThreads = 128;
  static constexpr int kThreadsPerPixel = 8;
  static constexpr int kPixelsPerBlock = kThreads / kThreadsPerPixel;

  Interpolation interpolation;
  const Homography* from_of_to;  // on the device: a camera moves in every frame
  int batch;
  ConstImageView from;
  ImageView to;
  ConstMaskView wanted;
  MaskView out_of_view;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int pixel = thread.BlockX() * kPixelsPerBlock + thread.ThreadIndex() / kThreadsPerPixel;
    const int part = thread.ThreadIndex() % kThreadsPerPixel;
    if (pixel >= to.height * to.width) return;
    const int y = pixel / to.width;
    const int x = pixel - y * to.width;
    if (!TestPixel(thread, wanted, y, x)) return;
    Source source;
    if (!Find(thread, y, x, source)) {
      if (part == 0 && out_of_view.words != nullptr) {
        thread.AtomicOr(out_of_view.Row(y) + x / 64, uint64_t{1} << (x % 64));
      }
      return;
    }
    for (int n = 0; n < batch; ++n) {
      for (int c = part * kQuad; c < to.channels; c += kThreadsPerPixel * kQuad) {
        const int count = to.channels - c < kQuad ? to.channels - c : kQuad;
        float numbers[kQuad];
        LoadRow(thread, source, n, source.row.index, c, count, numbers);
        if (source.row.weight != 0.0f) {
          float below[kQuad];
          LoadRow(thread, source, n, source.row.index + 1, c, count, below);
          Mix(below, source.row.weight, numbers);
        }
        StoreQuad(thread, to.Pixel(n, y, x) + c, 1, count, numbers);
      }
    }
  }

 private:
  // A pixel's source along one axis: between `index` and the next, which has this weight.
  struct Tap {
    int index;
    float weight;
  };
  struct Source {
    Tap row;
    Tap column;
  };

  CACHEINF_KERNEL Tap TapAt(double position, int size) const {
    const int from_border = static_cast<int>(std::floor(position));
    if (interpolation == Interpolation::kNearest) return {from_border / kPositionParts, 0.0f};
    const int last = kPositionParts * (size - 1);
    int from_centre = from_border - kPositionParts / 2;
    from_centre = from_centre < 0 ? 0 : from_centre;
    from_centre = from_centre > last ? last : from_centre;
    return {from_centre / kPositionParts,
            static_cast<float>(from_centre % kPositionParts) / static_cast<float>(kPositionParts)};
  }

  // Returns false if the source is out of view.
  template <class Thread>
  CACHEINF_KERNEL bool Find(const Thread& thread, int y, int x, Source& source) const {
    double m[3][3];
    CACHEINF_UNROLL
    for (int i = 0; i < 9; ++i) m[i / 3][i % 3] = thread.LoadReadOnly(&from_of_to->m[i / 3][i % 3]);
    const double from_x = m[0][0] * x + (m[0][1] * y + m[0][2]);
    const double from_y = m[1][0] * x + (m[1][1] * y + m[1][2]);
    const double w = m[2][0] * x + (m[2][1] * y + m[2][2]);
    const double u = 1024.0 * (from_x / w) + 512.5;
    const double v = 1024.0 * (from_y / w) + 512.5;
    const bool is_in_view = w > 0 && w < HUGE_VAL &&  //
                            u >= 0 && u < static_cast<double>(kPositionParts) * from.width &&
                            v >= 0 && v < static_cast<double>(kPositionParts) * from.height;
    if (!is_in_view) return false;
    source = {TapAt(v, from.height), TapAt(u, from.width)};
    return true;
  }

  // a = a * (1 - weight) + b * weight
  CACHEINF_KERNEL static void Mix(const float (&b)[kQuad], float weight, float (&a)[kQuad]) {
    CACHEINF_UNROLL
    for (int i = 0; i < kQuad; ++i) a[i] = std::fma(b[i], weight, a[i] * (1.0f - weight));
  }

  template <class Thread>
  CACHEINF_KERNEL void LoadRow(const Thread& thread, const Source& source, int n, int row,
                               int channel, int count, float (&numbers)[kQuad]) const {
    const float* const first = from.Pixel(n, row, source.column.index) + channel;
    LoadQuad(thread, first, 1, count, numbers);
    if (source.column.weight == 0.0f) return;
    float right[kQuad];
    LoadQuad(thread, first + from.pixel_stride, 1, count, right);
    Mix(right, source.column.weight, numbers);
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WARP_KERNELS_H_
