#ifndef CACHEINF_SPARSE_OPS_CUDA_WALK_H_
#define CACHEINF_SPARSE_OPS_CUDA_WALK_H_

#include <array>
#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/views.h"

// How the threads of a launch share an output: each takes up to four neighbours along the innermost
// axis, of one position of the other axes. Of a map the innermost axis is the channels, and the
// positions are pixels.

namespace cacheinf {
namespace cuda {

constexpr int kQuad = 4;

inline int DividedUp(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// What one thread takes.
struct Share {
  int image;     // of a map
  int number;    // of the pixel among those that are computed
  int position;  // in row-major order over all axes but the innermost
  int element;   // the first along the innermost axis
  int count;     // so many from there on; at most kQuad
};

struct Walk {
  static constexpr int kThreads = 128;

  Pixels pixels;              // of each image
  const int* gate = nullptr;  // on the device; where it is 0 there is nothing to do
  int images = 1;
  int plane = 0;  // positions of an image
  int inner = 0;  // elements of the innermost axis
  int quads = 0;

  // Of a map.
  static Walk OverMap(int images, int height, int width, int channels, const Pixels& pixels) {
    return {pixels, nullptr, images, height * width, channels, DividedUp(channels, kQuad)};
  }
  // Of all elements.
  static Walk OverAll(int positions, int inner, const int* gate) {
    Pixels all;
    all.most = positions;
    return {all, gate, 1, positions, inner, DividedUp(inner, kQuad)};
  }

  Blocks blocks() const { return {DividedUp(int64_t{pixels.most} * quads, kThreads), images, 1}; }

  // Whether there is anything to do for this thread, and what.
  template <class Thread>
  CACHEINF_KERNEL bool Find(const Thread& thread, Share& share) const {
    const unsigned at = static_cast<unsigned>(thread.BlockX()) * kThreads +
                        static_cast<unsigned>(thread.ThreadIndex());
    const unsigned number = at / static_cast<unsigned>(quads);
    if (!Locate(thread, number, share)) return false;
    share.element = static_cast<int>(at - number * static_cast<unsigned>(quads)) * kQuad;
    share.count = inner - share.element < kQuad ? inner - share.element : kQuad;
    return true;
  }

  // The same of all elements of a position, by its number.
  template <class Thread>
  CACHEINF_KERNEL bool Locate(const Thread& thread, unsigned number, Share& share) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return false;
    const int most = pixels.count == nullptr ? pixels.most : thread.LoadReadOnly(pixels.count);
    if (number >= static_cast<unsigned>(most)) return false;
    share.image = thread.BlockY();
    share.number = static_cast<int>(number);
    const int pixel = pixels.list == nullptr ? pixels.first + share.number
                                             : thread.LoadReadOnly(pixels.list + number);
    share.position = share.image * plane + pixel;
    share.element = 0;
    share.count = inner;
    return true;
  }
};

// Whether four numbers from here on can be loaded or stored as one.
CACHEINF_HOST_DEVICE inline bool IsAlignedQuad(const float* numbers) {
  return reinterpret_cast<uintptr_t>(numbers) % sizeof(Float4) == 0;
}

// `count` numbers, `stride` apart; those past them are zero.
template <class Thread>
CACHEINF_KERNEL void LoadQuad(const Thread& thread, const float* from, int64_t stride, int count,
                              float (&numbers)[kQuad]) {
  if (count == kQuad && stride == 1 && IsAlignedQuad(from)) {
    const Float4 quad = thread.Load(reinterpret_cast<const Float4*>(from));
    numbers[0] = quad.x;
    numbers[1] = quad.y;
    numbers[2] = quad.z;
    numbers[3] = quad.w;
    return;
  }
  CACHEINF_UNROLL
  for (int i = 0; i < kQuad; ++i) numbers[i] = i < count ? thread.Load(from + i * stride) : 0.0f;
}

template <class Thread>
CACHEINF_KERNEL void StoreQuad(const Thread& thread, float* to, int64_t stride, int count,
                               const float (&numbers)[kQuad]) {
  if (count == kQuad && stride == 1 && IsAlignedQuad(to)) {
    thread.Store(reinterpret_cast<Float4*>(to),
                 Float4{numbers[0], numbers[1], numbers[2], numbers[3]});
    return;
  }
  CACHEINF_UNROLL
  for (int i = 0; i < kQuad; ++i) {
    if (i < count) thread.Store(to + i * stride, numbers[i]);
  }
}

// Where operands' elements lie, with their axes in the order of a walk.
template <int operands>
struct Strides {
  int64_t outer[operands][TensorView::kMaxRank - 1] = {};
  int64_t inner[operands] = {};
};

// The sizes of the walk's axes but the innermost.
struct OuterAxes {
  int rank = 0;
  int sizes[TensorView::kMaxRank - 1] = {};

  // offsets[k]: how far the element at a position and 0 of the innermost axis lies from the first.
  template <int operands>
  CACHEINF_KERNEL void Offsets(int position, const Strides<operands>& strides,
                               int64_t (&offsets)[operands]) const {
    CACHEINF_UNROLL
    for (int k = 0; k < operands; ++k) offsets[k] = 0;
    unsigned rest = static_cast<unsigned>(position);
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto size = static_cast<unsigned>(sizes[axis]);
      const unsigned before = rest / size;
      const auto index = static_cast<int64_t>(rest - before * size);
      rest = before;
      CACHEINF_UNROLL
      for (int k = 0; k < operands; ++k) offsets[k] += index * strides.outer[k][axis];
    }
  }
};

// The innermost axis of a walk: of a map its channels, of other tensors the last.
inline int InnermostOf(const ConstTensorView& output) {
  return output.rank == 4 ? 1 : output.rank - 1;
}

// The strides of an operand by its axes.
using AxisStrides = std::array<int64_t, TensorView::kMaxRank>;

// A walk over an output and the elements of other operands that belong to the same index.
template <int operands>
struct TensorWalk {
  Walk walk;
  OuterAxes axes;
  Strides<operands> strides;

  // `by_axis[k]` are the strides of operand k along the output's axes. If the output is no map
  // walked by its channels, all of it is computed, but for a count of 0.
  TensorWalk(const ConstTensorView& output, const Pixels& pixels,
             const AxisStrides (&by_axis)[operands], int innermost) {
    int64_t positions = 1;
    for (int axis = 0; axis < output.rank; ++axis) {
      if (axis == innermost) continue;
      positions *= output.dims[axis];
      Append(static_cast<int>(output.dims[axis]), axis, by_axis);
    }
    for (int k = 0; k < operands && innermost >= 0; ++k) {
      strides.inner[k] = by_axis[k][static_cast<size_t>(innermost)];
    }
    const int inner = innermost >= 0 ? static_cast<int>(output.dims[innermost]) : 1;
    if (output.rank == 4 && innermost == 1) {
      walk = Walk::OverMap(static_cast<int>(output.dims[0]), static_cast<int>(output.dims[2]),
                           static_cast<int>(output.dims[3]), inner, pixels);
    } else {
      walk = Walk::OverAll(static_cast<int>(positions), inner, pixels.count);
    }
  }
  TensorWalk(const ConstTensorView& output, const Pixels& pixels,
             const AxisStrides (&by_axis)[operands])
      : TensorWalk(output, pixels, by_axis, InnermostOf(output)) {}

 private:
  // An axis of which the next index follows the last everywhere is one with the axis before.
  void Append(int size, int axis, const AxisStrides (&by_axis)[operands]) {
    if (size == 1) return;
    const auto at = static_cast<size_t>(axis);
    bool follows = axes.rank > 0;
    for (int k = 0; k < operands && follows; ++k) {
      follows = strides.outer[k][axes.rank - 1] == by_axis[k][at] * size;
    }
    if (!follows) axes.sizes[axes.rank++] = 1;
    axes.sizes[axes.rank - 1] *= size;
    for (int k = 0; k < operands; ++k) strides.outer[k][axes.rank - 1] = by_axis[k][at];
  }
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_WALK_H_
