#ifndef CACHEINF_SPARSE_OPS_CUDA_WALK_H_
#define CACHEINF_SPARSE_OPS_CUDA_WALK_H_

#include <array>
#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/cuda/pixels.h"
#include "sparse_ops/views.h"

// How a launch's threads share an output. Each takes up to four neighbours along the innermost axis
// at one position of the other axes: up to four channels of a pixel, if the output is a map.

namespace cacheinf::cuda {

constexpr int kQuad = 4;

inline int DividedUp(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// A stream of a device, for code that launches kernels.
template <class Device>
struct Launcher {
  Device& device;
  typename Device::Stream& stream;

  template <class Kernel>
  void Launch(const Blocks& blocks, const Kernel& kernel, size_t shared_bytes = 0) const {
    device.Launch(stream, blocks, kernel, shared_bytes);
  }
};

struct Share {
  int image;     // of a map
  int number;    // of the position, among those that are computed
  int position;  // in row-major order over all axes but the innermost
  int element;   // the first, along the innermost axis
  int count;     // of elements; at most kQuad from Find
};

struct Walk {
  static constexpr int kThreads = 128;

  Pixels pixels;              // of each image
  const int* gate = nullptr;  // on the device; if it is 0, there is nothing to do
  int images = 1;             // or channels, if the batch is innermost
  int plane = 0;              // positions of an image
  int inner = 0;              // elements of the innermost axis
  int quads = 0;

  // The pixels of a map.
  static Walk OverMap(int images, int height, int width, int channels, const Pixels& pixels) {
    return {pixels, nullptr, images, height * width, channels, DividedUp(channels, kQuad)};
  }
  // All elements of any tensor.
  static Walk OverAll(int positions, int inner, const int* gate) {
    Pixels all;
    all.most = positions;
    return {all, gate, 1, positions, inner, DividedUp(inner, kQuad)};
  }

  Blocks blocks() const { return {DividedUp(int64_t{pixels.most} * quads, kThreads), images, 1}; }

  // Finds the thread's share. Returns false if it has none.
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

  // Finds all elements of the position with this number. Returns false if there is none.
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

// Whether the four numbers from here on can be loaded or stored at once.
CACHEINF_HOST_DEVICE inline bool IsAlignedQuad(const float* numbers) {
  return reinterpret_cast<uintptr_t>(numbers) % sizeof(Float4) == 0;
}

// Loads `count` numbers, `stride` apart, and zeros after them.
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

// The strides of a walk's operands, in the order of its axes.
template <int operands>
struct Strides {
  int64_t outer[operands][TensorView::kMaxRank - 1] = {};
  int64_t inner[operands] = {};
};

// The sizes of a walk's axes but the innermost.
struct OuterAxes {
  int rank = 0;
  int sizes[TensorView::kMaxRank - 1] = {};

  // Sets offsets[k] to where the elements of a position begin in operand k.
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

// A walk's innermost axis: a map's channels, any other tensor's last axis.
inline int InnermostOf(const ConstTensorView& output) {
  return output.rank == 4 ? 1 : output.rank - 1;
}

// An operand's stride along each axis of the output.
using AxisStrides = std::array<int64_t, TensorView::kMaxRank>;

// All pixels of a map; for another tensor they count for nothing.
inline Pixels WholeOf(const ConstTensorView& output) {
  Pixels whole;
  if (output.rank == 4) whole.most = static_cast<int>(output.dims[2] * output.dims[3]);
  return whole;
}

// A walk over an output, and over the elements of other operands at the same indices.
template <int operands>
struct TensorWalk {
  Walk walk;
  OuterAxes axes;
  Strides<operands> strides;

  // `by_axis[k]` are the strides of operand k. Walks the pixels of a map if its channels or its
  // batch are innermost; else all elements, unless the pixels' count is 0.
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
    if (output.rank == 4 && (innermost == 0 || innermost == 1)) {
      const int64_t images = output.dims[static_cast<size_t>(1 - innermost)];
      walk = Walk::OverMap(static_cast<int>(images), static_cast<int>(output.dims[2]),
                           static_cast<int>(output.dims[3]), inner, pixels);
    } else {
      walk = Walk::OverAll(static_cast<int>(positions), inner, pixels.count);
    }
  }
  TensorWalk(const ConstTensorView& output, const Pixels& pixels,
             const AxisStrides (&by_axis)[operands])
      : TensorWalk(output, pixels, by_axis, InnermostOf(output)) {}

  // Finds the thread's share, and where it begins in each operand. Returns false if it has none.
  template <class Thread>
  CACHEINF_KERNEL bool Find(const Thread& thread, Share& share,
                            int64_t (&offsets)[operands]) const {
    if (!walk.Find(thread, share)) return false;
    axes.Offsets(share.position, strides, offsets);
    CACHEINF_UNROLL
    for (int k = 0; k < operands; ++k) offsets[k] += share.element * strides.inner[k];
    return true;
  }

 private:
  // Merges the axis with the one before if together they are one long axis in every operand.
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

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WALK_H_
