#ifndef CACHEINF_SPARSE_OPS_CUDA_GROUP_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_GROUP_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/row_kernels.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/ops.h"

// Kernels of operators along several axes. A group is all elements along these axes at one position
// of the others. A block takes one group, or several side by side.

namespace cacheinf::cuda {

// The axes of a group, outermost first, and how a block reduces them. Each thread reduces rows
// along the last axis into shared memory; then the block reduces these results along the axes
// before. Where that would be too many rows, the axes before `split` go step by step.
struct Nest {
  static constexpr int kThreads = 256;
  static constexpr int kMostRows = 2048;  // of all groups of a block
  static constexpr size_t kSharedBytes =
      (2 * kMostRows + TensorView::kMaxRank * kLanes) * sizeof(float);

  int rank = 0;
  int split = 0;
  int sizes[TensorView::kMaxRank] = {};
  int64_t strides[TensorView::kMaxRank] = {};
  // The axes, the largest stride first; and from `split` to the last but one, how many rows one
  // step along an axis skips in logical order.
  int by_stride[TensorView::kMaxRank] = {};
  int row_steps[TensorView::kMaxRank] = {};
  int rows = 1;
  int steps = 1;

  // Reduces `groups` groups that lie `group_stride` apart. Thread i returns the result of group i;
  // threads past the last group return that of group 0. All threads of the block must call it.
  // REQUIRES: one group, or split = 0.
  template <class Thread, class Accumulate, class Combine>
  CACHEINF_KERNEL float Reduce(const Thread& thread, const float* data, int groups,
                               int64_t group_stride, float start, const Accumulate& accumulate,
                               const Combine& combine) const {
    float* buffer = thread.template Shared<float>();
    float* other = thread.template Shared<float>(kMostRows * sizeof(float));
    float* const lanes = thread.template Shared<float>(2 * kMostRows * sizeof(float));
    const int first = thread.ThreadIndex();
    const int last = rank - 1;
    if (first < split * kLanes) thread.Store(lanes + first, start);
    float result = start;
    for (int step = 0; step < steps; ++step) {
      const float* const of_step = data + StepOffset(step);
      for (int at = first; at < rows * groups; at += kThreads) {
        int row = 0;
        const float* const from =
            of_step + RowOffset(at / groups, &row) + at % groups * group_stride;
        const auto element = [&](int i) { return thread.LoadReadOnly(from + i * strides[last]); };
        thread.Store(buffer + row * groups + at % groups,
                     ReduceInLanes(sizes[last], start, element, accumulate, combine));
      }
      thread.Barrier();
      int count = rows;
      for (int axis = last - 1; axis >= split; --axis) {
        const int size = sizes[axis];
        count /= size;
        for (int at = first; at < count * groups; at += kThreads) {
          const int row = at / groups * size;
          const auto sum = [&](int i) {
            return thread.Load(buffer + (row + i) * groups + at % groups);
          };
          thread.Store(other + at, ReduceInLanes(size, start, sum, combine, combine));
        }
        thread.Barrier();
        float* const swapped = buffer;
        buffer = other;
        other = swapped;
      }
      result = thread.Load(buffer + (first < groups ? first : 0));
      if (split > 0) {
        if (first == 0) result = Push(thread, lanes, step, start, result, combine);
        if (step + 1 == steps && first == 0) thread.Store(other, result);
        thread.Barrier();
        if (step + 1 == steps) result = thread.Load(other);
      }
    }
    thread.Barrier();
    return result;
  }

  // Calls visit(axis, index) for every axis of element `number`, counted in memory order.
  template <class Visit>
  CACHEINF_KERNEL void VisitIndices(int64_t number, const Visit& visit) const {
    for (int i = rank - 1; i >= 0; --i) {
      const int axis = by_stride[i];
      const int64_t before = number / sizes[axis];
      visit(axis, static_cast<int>(number - before * sizes[axis]));
      number = before;
    }
  }

  CACHEINF_KERNEL int64_t Count() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= sizes[i];
    return count;
  }

 private:
  CACHEINF_KERNEL int64_t StepOffset(int step) const {
    int64_t offset = 0;
    for (int axis = split - 1; axis >= 0; --axis) {
      offset += static_cast<int64_t>(step % sizes[axis]) * strides[axis];
      step /= sizes[axis];
    }
    return offset;
  }

  // Where row `number`, counted in memory order, begins. Adds its number in logical order to *row.
  CACHEINF_KERNEL int64_t RowOffset(int number, int* row) const {
    int64_t offset = 0;
    for (int i = rank - 1; i >= 0; --i) {
      const int axis = by_stride[i];
      if (axis < split || axis == rank - 1) continue;
      const int index = number % sizes[axis];
      number /= sizes[axis];
      offset += index * strides[axis];
      *row += index * row_steps[axis];
    }
    return offset;
  }

  // Adds a step's value to the lanes of the axes before `split`. The last step returns the result.
  template <class Thread, class Combine>
  CACHEINF_KERNEL float Push(const Thread& thread, float* lanes, int step, float start, float value,
                             const Combine& combine) const {
    for (int axis = split - 1; axis >= 0; --axis) {
      float* const own = lanes + axis * kLanes;
      const int index = step % sizes[axis];
      step /= sizes[axis];
      float* const lane = own + index % kLanes;
      thread.Store(lane, combine(thread.Load(lane), value));
      if (index + 1 < sizes[axis]) return value;
      for (int half = kLanes / 2; half >= 1; half /= 2) {
        for (int i = 0; i < half; ++i) {
          thread.Store(own + i, combine(thread.Load(own + i), thread.Load(own + i + half)));
        }
      }
      value = thread.Load(own);
      for (int i = 0; i < kLanes; ++i) thread.Store(own + i, start);
    }
    return value;
  }
};

// A block takes groups at one position of `axes`, side by side along one more axis.
struct ReduceGroups {
  static constexpr const char* kName = "ReduceGroups";
  static constexpr int kThreads = Nest::kThreads;

  Nest nest;
  OuterAxes axes;
  Strides<2> strides;  // of input and output; `inner`: from one group to the next beside it
  int side_by_side;    // groups at one position
  int per_block;
  float count;
  ReduceKind kind;
  const float* input;
  float* output;
  const int* gate;  // as in Walk

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    int64_t offsets[2];
    axes.Offsets(thread.BlockX(), strides, offsets);
    const int begin = thread.BlockY() * per_block;
    const int left = side_by_side - begin;
    const int groups = left < per_block ? left : per_block;
    const float* const data = input + offsets[0] + begin * strides.inner[0];
    float value = 0.0f;
    switch (kind) {
      case ReduceKind::kMean:
        value = nest.Reduce(thread, data, groups, strides.inner[0], 0.0f, Add(), Add()) / count;
        break;
      case ReduceKind::kSum:
        value = nest.Reduce(thread, data, groups, strides.inner[0], 0.0f, Add(), Add());
        break;
      case ReduceKind::kMax:
        value = nest.Reduce(thread, data, groups, strides.inner[0], -HUGE_VALF, MaximumOf(),
                            MaximumOf());
        break;
      case ReduceKind::kMin:
        value = nest.Reduce(thread, data, groups, strides.inner[0], HUGE_VALF, MinimumOf(),
                            MinimumOf());
        break;
    }
    const int own = thread.ThreadIndex();
    if (own < groups) {
      thread.Store(output + offsets[1] + (begin + own) * strides.inner[1], value);
    }
  }
};

struct NormalizeGroups {
  static constexpr const char* kName = "NormalizeGroups";
  static constexpr int kThreads = Nest::kThreads;

  Nest nest;
  OuterAxes axes;
  Strides<3> strides;  // of input, output and parameters
  int64_t out_strides[TensorView::kMaxRank];
  int64_t parameter_strides[TensorView::kMaxRank];
  float epsilon;
  float count;
  const float* input;
  float* output;
  const float* scale;
  const float* shift;
  const int* gate;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    int64_t offsets[3];
    axes.Offsets(thread.BlockX(), strides, offsets);
    const float* const data = input + offsets[0];
    const float mean = nest.Reduce(thread, data, 1, 0, 0.0f, Add(), Add()) / count;
    const float variance =
        nest.Reduce(thread, data, 1, 0, 0.0f, AddSquaredDistance{mean}, Add()) / count;
    const float inverse_deviation = 1.0f / std::sqrt(variance + epsilon);
    const int64_t elements = nest.Count();
    for (int64_t number = thread.ThreadIndex(); number < elements; number += kThreads) {
      int64_t in = offsets[0];
      int64_t out = offsets[1];
      int64_t parameter = offsets[2];
      nest.VisitIndices(number, [&](int axis, int index) {
        in += index * nest.strides[axis];
        out += index * out_strides[axis];
        parameter += index * parameter_strides[axis];
      });
      float value = (thread.LoadReadOnly(input + in) - mean) * inverse_deviation;
      if (scale != nullptr) {
        value = std::fma(value, thread.LoadReadOnly(scale + parameter),
                         thread.LoadReadOnly(shift + parameter));
      }
      thread.Store(output + out, value);
    }
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_GROUP_KERNELS_H_
