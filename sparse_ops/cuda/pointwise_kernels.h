#ifndef CACHEINF_SPARSE_OPS_CUDA_POINTWISE_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_POINTWISE_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/ops.h"

// Kernels of operators whose output elements depend on one element of each operand.

namespace cacheinf::cuda {

// activation(x) or activation(fma(x, scale, shift)), where x may come from another place along one
// axis: Activation, ScaleShift, Copy, Gather.
struct MapElements {
  static constexpr const char* kName = "MapElements";
  static constexpr int kThreads = Walk::kThreads;

  // Operands of the walk.
  static constexpr int kOutput = 0;
  static constexpr int kInput = 1;
  static constexpr int kParameter = 2;  // scale, shift, slopes
  static constexpr int kIndex = 3;      // places
  static constexpr int kOperands = 4;

  TensorWalk<kOperands> elements;
  float* output;
  const float* input;
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* slopes = nullptr;
  bool one_slope = false;
  Function function = {};
  // Places along an axis, in either type, or null. The walk's strides of the input along it are 0.
  const int64_t* long_places = nullptr;
  const int* places = nullptr;
  int64_t place_stride = 0;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    int64_t offsets[kOperands];
    if (!elements.Find(thread, share, offsets)) return;

    float numbers[kQuad];
    LoadInput(thread, share, offsets, numbers);
    if (scale != nullptr) {
      float scales[kQuad];
      float shifts[kQuad];
      LoadParameters(thread, scale, share, offsets, scales);
      LoadParameters(thread, shift, share, offsets, shifts);
      CACHEINF_UNROLL
      for (int i = 0; i < kQuad; ++i) numbers[i] = std::fma(numbers[i], scales[i], shifts[i]);
    }
    if (function.kind != Function::Kind::kIdentity) {
      float alphas[kQuad] = {};
      if (one_slope) {
        LoadQuad(thread, slopes, 0, share.count, alphas);
      } else if (slopes != nullptr) {
        LoadParameters(thread, slopes, share, offsets, alphas);
      }
      ApplyTo(function, alphas, numbers);
    }
    StoreQuad(thread, output + offsets[kOutput], elements.strides.inner[kOutput], share.count,
              numbers);
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL void LoadParameters(const Thread& thread, const float* parameters,
                                      const Share& share, const int64_t (&offsets)[kOperands],
                                      float (&numbers)[kQuad]) const {
    LoadQuad(thread, parameters + offsets[kParameter], elements.strides.inner[kParameter],
             share.count, numbers);
  }

  template <class Thread>
  CACHEINF_KERNEL int64_t PlaceAt(const Thread& thread, int64_t index) const {
    if (places != nullptr) return thread.LoadReadOnly(places + index);
    return long_places != nullptr ? thread.LoadReadOnly(long_places + index) : 0;
  }

  template <class Thread>
  CACHEINF_KERNEL void LoadInput(const Thread& thread, const Share& share,
                                 const int64_t (&offsets)[kOperands],
                                 float (&numbers)[kQuad]) const {
    const float* const first = input + offsets[kInput];
    const int64_t stride = elements.strides.inner[kInput];
    const int64_t index_stride = elements.strides.inner[kIndex];
    if (index_stride == 0) {
      const int64_t place = PlaceAt(thread, offsets[kIndex]);
      return LoadQuad(thread, first + place * place_stride, stride, share.count, numbers);
    }
    CACHEINF_UNROLL
    for (int i = 0; i < kQuad; ++i) {
      numbers[i] = 0.0f;
      if (i >= share.count) continue;
      const int64_t place = PlaceAt(thread, offsets[kIndex] + i * index_stride);
      numbers[i] = thread.Load(first + i * stride + place * place_stride);
    }
  }
};

// activation(a op b).
struct CombineElements {
  static constexpr const char* kName = "CombineElements";
  static constexpr int kThreads = Walk::kThreads;

  static constexpr int kOutput = 0;
  static constexpr int kA = 1;
  static constexpr int kB = 2;
  static constexpr int kOperands = 3;

  TensorWalk<kOperands> elements;
  float* output;
  const float* a;
  const float* b;
  BinaryKind kind;
  Function function;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    int64_t offsets[kOperands];
    if (!elements.Find(thread, share, offsets)) return;

    float numbers[kQuad];
    float others[kQuad];
    LoadQuad(thread, a + offsets[kA], elements.strides.inner[kA], share.count, numbers);
    LoadQuad(thread, b + offsets[kB], elements.strides.inner[kB], share.count, others);
    CombineTo(kind, numbers, others);
    if (function.kind != Function::Kind::kIdentity) ApplyTo(function, numbers);
    StoreQuad(thread, output + offsets[kOutput], elements.strides.inner[kOutput], share.count,
              numbers);
  }
};

// Each element is the input's at the place along one axis that its own index operand names.
struct PickElements {
  static constexpr const char* kName = "PickElements";
  static constexpr int kThreads = Walk::kThreads;

  static constexpr int kOutput = 0;
  static constexpr int kInput = 1;  // 0 along the axis
  static constexpr int kIndex = 2;
  static constexpr int kOperands = 3;

  TensorWalk<kOperands> elements;
  float* output;
  const float* input;
  const float* indices;
  int64_t size;  // of the input along the axis
  int64_t place_stride;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    int64_t offsets[kOperands];
    if (!elements.Find(thread, share, offsets)) return;
    for (int i = 0; i < share.count; ++i) {
      const float index =
          thread.Load(indices + offsets[kIndex] + i * elements.strides.inner[kIndex]);
      const int64_t place = PlaceOf(index, size);
      thread.Store(output + offsets[kOutput] + i * elements.strides.inner[kOutput],
                   thread.Load(input + offsets[kInput] + i * elements.strides.inner[kInput] +
                               place * place_stride));
    }
  }
};

// A tensor's dims and strides, for kernels that turn one index into another.
struct Axes {
  int rank = 0;
  int sizes[TensorView::kMaxRank] = {};
  int64_t strides[TensorView::kMaxRank] = {};

  Axes() = default;
  explicit Axes(const ConstTensorView& view) : rank(view.rank) {
    for (int i = 0; i < rank; ++i) {
      sizes[i] = static_cast<int>(view.dims[i]);
      strides[i] = view.strides[i];
    }
  }
};

// A walk's element as an index along every axis of the output. In a map, `position` counts images,
// rows and columns.
struct ElementIndex {
  int along[TensorView::kMaxRank];

  CACHEINF_KERNEL ElementIndex(const Axes& output, int position, int element) {
    const bool is_map = output.rank == 4;
    const int inner_axis = is_map ? 1 : output.rank - 1;
    auto rest = static_cast<unsigned>(position);
    CACHEINF_UNROLL
    for (int axis = TensorView::kMaxRank - 1; axis >= 0; --axis) {
      along[axis] = 0;
      if (axis >= output.rank) continue;
      if (axis == inner_axis) {
        along[axis] = element;
        continue;
      }
      const auto size = static_cast<unsigned>(output.sizes[axis]);
      along[axis] = static_cast<int>(rest % size);
      rest /= size;
    }
  }
};

// Pads as PadArgs says. With `keeps_outside`, writes only elements that the input has.
struct PadElements {
  static constexpr const char* kName = "PadElements";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  Axes output_axes;
  Axes input_axes;
  int64_t begins[TensorView::kMaxRank];
  float* output;
  const float* input;
  PadMode mode;
  float value;
  bool keeps_outside;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    if (!walk.Find(thread, share)) return;
    for (int i = 0; i < share.count; ++i) {
      const ElementIndex to(output_axes, share.position, share.element + i);
      const float* from = input;
      float* at = output;
      bool is_inside = true;
      CACHEINF_UNROLL
      for (int axis = 0; axis < TensorView::kMaxRank; ++axis) {
        if (axis >= output_axes.rank) break;
        const int64_t index =
            PaddedIndex(mode, to.along[axis] - begins[axis], input_axes.sizes[axis]);
        is_inside = is_inside && index >= 0;
        from += index * input_axes.strides[axis];
        at += to.along[axis] * output_axes.strides[axis];
      }
      if (is_inside) {
        thread.Store(at, thread.Load(from));
      } else if (!keeps_outside) {
        thread.Store(at, value);
      }
    }
  }
};

// Copies elements in logical order into a tensor of another shape.
struct ReshapeElements {
  static constexpr const char* kName = "ReshapeElements";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  Axes output_axes;
  Axes input_axes;
  float* output;
  const float* input;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    if (!walk.Find(thread, share)) return;
    for (int i = 0; i < share.count; ++i) {
      const ElementIndex to(output_axes, share.position, share.element + i);
      float* at = output;
      unsigned number = 0;
      CACHEINF_UNROLL
      for (int axis = 0; axis < TensorView::kMaxRank; ++axis) {
        if (axis >= output_axes.rank) break;
        number = number * static_cast<unsigned>(output_axes.sizes[axis]) +
                 static_cast<unsigned>(to.along[axis]);
        at += to.along[axis] * output_axes.strides[axis];
      }
      const float* from = input;
      CACHEINF_UNROLL
      for (int axis = TensorView::kMaxRank - 1; axis >= 0; --axis) {
        if (axis >= input_axes.rank) continue;
        const auto size = static_cast<unsigned>(input_axes.sizes[axis]);
        from += static_cast<int64_t>(number % size) * input_axes.strides[axis];
        number /= size;
      }
      thread.Store(at, thread.Load(from));
    }
  }
};

// Moves listed pixels between a map and a buffer, where they lie end to end, image after image.
struct PackPixels {
  static constexpr const char* kName = "PackPixels";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  ImageView map;
  float* packed;
  bool unpacks;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    if (!walk.Find(thread, share)) return;
    const int pixel = share.position - share.image * walk.plane;
    const int row = pixel / map.width;
    float* const in_map = map.Pixel(share.image, row, pixel - row * map.width) + share.element;
    const int count =
        walk.pixels.count == nullptr ? walk.pixels.most : thread.LoadReadOnly(walk.pixels.count);
    float* const in_packed =
        packed + (static_cast<int64_t>(share.image) * count + share.number) * walk.inner +
        share.element;
    float numbers[kQuad];
    LoadQuad(thread, unpacks ? in_packed : in_map, 1, share.count, numbers);
    StoreQuad(thread, unpacks ? in_map : in_packed, 1, share.count, numbers);
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_POINTWISE_KERNELS_H_
