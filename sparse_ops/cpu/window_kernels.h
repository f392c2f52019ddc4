#ifndef CACHEINF_SPARSE_OPS_CPU_WINDOW_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_WINDOW_KERNELS_H_

#include <cstdint>

#include "sparse_ops/resize_taps.h"

// Kernels that compute one output pixel from a rectangle of input pixels, channel by channel.

namespace cacheinf::cpu {

// Input pixels rows × columns, steps (in floats) apart.
struct PixelGrid {
  const float* first = nullptr;
  int64_t row_step = 0;
  int64_t column_step = 0;
  int rows = 0;
  int columns = 0;
};

struct WindowKernels {
  // Pixel by pixel, as PoolArgs says. A divisor of 0 means no division.
  void (*pool_maximum)(const PixelGrid& grid, int channels, float* out) = nullptr;
  void (*pool_average)(const PixelGrid& grid, float divisor, int channels, float* out) = nullptr;

  // Over columns and then rows, in lanes, as ops.h says for sums over axes.
  void (*sum)(const PixelGrid& grid, int channels, float* out) = nullptr;
  void (*maximum)(const PixelGrid& grid, int channels, float* out) = nullptr;
  void (*minimum)(const PixelGrid& grid, int channels, float* out) = nullptr;
  // Sums squared distances to centers[channel].
  void (*sum_of_squares)(const PixelGrid& grid, const float* centers, int channels,
                         float* out) = nullptr;

  // As ResizeArgs says; `image` is the pixel (0, 0).
  void (*interpolate)(const float* image, int64_t row_stride, int64_t pixel_stride,
                      const ResizeTaps& rows, const ResizeTaps& columns, int channels,
                      float* out) = nullptr;
};

// The kernels for the best target of this machine.
const WindowKernels& ChooseWindowKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_WINDOW_KERNELS_H_
