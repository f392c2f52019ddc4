#ifndef CACHEINF_SPARSE_OPS_CPU_CHANGE_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_CHANGE_KERNELS_H_

#include <cstdint>

#include "sparse_ops/active_pixels.h"

// The change test for equally spaced pixels, several at a time.

namespace cacheinf::cpu {

inline constexpr int kChangeLanes = 16;  // of ops.h

// Pixels in a line, `step` floats apart.
template <typename T>
struct PixelLine {
  T* first = nullptr;
  int64_t step = 0;
};

struct ChangeKernels {
  // changed[i] becomes 1 if pixel i of `fresh` is a change of pixel i of `stored`, else 0.
  void (*find)(const ChangeTest& test, const PixelLine<const float>& fresh,
               const PixelLine<const float>& stored, int pixels, int channels,
               uint8_t* changed) = nullptr;
  // The same, given the sums of squares in lanes, [pixel][kChangeLanes]. REQUIRES: a threshold.
  void (*judge)(const ChangeTest& test, const float* squares, int pixels, int channels,
                uint8_t* changed) = nullptr;
  // Copies the pixels whose changed[i] is `wanted`.
  void (*copy)(const uint8_t* changed, uint8_t wanted, const PixelLine<const float>& from,
               const PixelLine<float>& to, int pixels, int channels) = nullptr;
};

// The kernels for the best target of this machine.
const ChangeKernels& ChooseChangeKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_CHANGE_KERNELS_H_
