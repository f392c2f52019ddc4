#ifndef CACHEINF_SPARSE_OPS_CUDA_ROW_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_ROW_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/ops.h"

// Kernels of operators along one axis. A row is all elements along the axis at one position of the
// others. Half a warp takes a row, each thread one of the sixteen lanes.

namespace cacheinf::cuda {

struct Rows {
  static constexpr int kThreads = 128;
  static constexpr int kPerBlock = kThreads / kLanes;

  static constexpr int kInput = 0;
  static constexpr int kOutput = 1;

  TensorWalk<2> elements;
  const float* input;
  float* output;

  Blocks blocks() const {
    return {DividedUp(elements.walk.pixels.most, kPerBlock), elements.walk.images, 1};
  }
};

// A row as one of its threads sees it. Where there is no row, its length is 0 and its threads go
// on: the other half of the warp needs them.
struct Row {
  int lane;
  int count = 0;  // of elements
  const float* input = nullptr;
  float* output = nullptr;
  int64_t in_stride = 0;
  int64_t out_stride = 0;

  template <class Thread>
  CACHEINF_KERNEL Row(const Thread& thread, const Rows& rows) : lane(thread.Lane() % kLanes) {
    Share share;
    const int number = thread.BlockX() * Rows::kPerBlock + thread.ThreadIndex() / kLanes;
    if (!rows.elements.walk.Locate(thread, static_cast<unsigned>(number), share)) return;
    int64_t offsets[2];
    rows.elements.axes.Offsets(share.position, rows.elements.strides, offsets);
    count = rows.elements.walk.inner;
    input = rows.input + offsets[Rows::kInput];
    output = rows.output + offsets[Rows::kOutput];
    in_stride = rows.elements.strides.inner[Rows::kInput];
    out_stride = rows.elements.strides.inner[Rows::kOutput];
  }

  // Reduces the row, in lanes. All threads of the warp must call it.
  template <class Thread, class Accumulate, class Combine>
  CACHEINF_KERNEL float Reduce(const Thread& thread, float start, const Accumulate& accumulate,
                               const Combine& combine) const {
    float sum = start;
    for (int i = lane; i < count; i += kLanes) sum = accumulate(sum, At(thread, i));
    return CombineHalfWarp(thread, sum, combine);
  }

  template <class Thread>
  CACHEINF_KERNEL float At(const Thread& thread, int i) const {
    return thread.LoadReadOnly(input + i * in_stride);
  }
  template <class Thread>
  CACHEINF_KERNEL void Store(const Thread& thread, int i, float value) const {
    thread.Store(output + i * out_stride, value);
  }
};

struct MaximumOf {
  CACHEINF_KERNEL float operator()(float a, float b) const { return Maximum(a, b); }
};
struct MinimumOf {
  CACHEINF_KERNEL float operator()(float a, float b) const { return Minimum(a, b); }
};
struct AddSquaredDistance {
  float center;
  CACHEINF_KERNEL float operator()(float lane, float x) const {
    const float distance = x - center;
    return std::fma(distance, distance, lane);
  }
};

struct NormalizeRows {
  static constexpr const char* kName = "NormalizeRows";
  static constexpr int kThreads = Rows::kThreads;

  Rows rows;
  float epsilon;
  const float* scale;
  const float* shift;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const Row row(thread, rows);
    const auto count = static_cast<float>(row.count);
    const float mean = row.Reduce(thread, 0.0f, Add(), Add()) / count;
    const float variance = row.Reduce(thread, 0.0f, AddSquaredDistance{mean}, Add()) / count;
    const float inverse_deviation = 1.0f / std::sqrt(variance + epsilon);
    for (int i = row.lane; i < row.count; i += kLanes) {
      float value = (row.At(thread, i) - mean) * inverse_deviation;
      if (scale != nullptr) {
        value = std::fma(value, thread.LoadReadOnly(scale + i), thread.LoadReadOnly(shift + i));
      }
      row.Store(thread, i, value);
    }
  }
};

struct SoftmaxRows {
  static constexpr const char* kName = "SoftmaxRows";
  static constexpr int kThreads = Rows::kThreads;

  Rows rows;
  bool logarithm;

  struct AddExp {
    float largest;
    CACHEINF_KERNEL float operator()(float lane, float x) const {
      return lane + ExpOf(x - largest);
    }
  };

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const Row row(thread, rows);
    const float largest = row.Reduce(thread, -HUGE_VALF, MaximumOf(), MaximumOf());
    const float sum = row.Reduce(thread, 0.0f, AddExp{largest}, Add());
    const float log_sum = logarithm ? LogOf(sum) : 0.0f;
    for (int i = row.lane; i < row.count; i += kLanes) {
      const float distance = row.At(thread, i) - largest;
      row.Store(thread, i, logarithm ? distance - log_sum : ExpOf(distance) / sum);
    }
  }
};

struct FindLargestOfRows {
  static constexpr const char* kName = "FindLargestOfRows";
  static constexpr int kThreads = Rows::kThreads;

  Rows rows;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const Row row(thread, rows);
    int best = -1;
    float best_value = 0.0f;
    for (int i = row.lane; i < row.count; i += kLanes) {
      TakeBetter(i, row.At(thread, i), best, best_value);
    }
    CACHEINF_UNROLL
    for (int half = kLanes / 2; half >= 1; half /= 2) {
      const int other = thread.ShuffleDown(best, half);
      const float other_value = thread.ShuffleDown(best_value, half);
      TakeBetter(other, other_value, best, best_value);
    }
    if (row.count > 0 && row.lane == 0) row.Store(thread, 0, static_cast<float>(best));
  }

 private:
  // Keeps the larger value, NaN above all; between equals the lower index. Index -1: there is none.
  CACHEINF_KERNEL static void TakeBetter(int index, float value, int& best, float& best_value) {
    const bool is_nan = value != value;
    const bool best_is_nan = best_value != best_value;
    const bool is_equal = is_nan ? best_is_nan : value == best_value;
    const bool is_better = is_equal ? index < best : is_nan || (!best_is_nan && value > best_value);
    if (index >= 0 && (best < 0 || is_better)) {
      best = index;
      best_value = value;
    }
  }
};

// One block a row finds the first element, then the first of those that come after it, and so on.
struct ListLargestOfRows {
  static constexpr const char* kName = "ListLargestOfRows";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarp;

  // Index -1: there is none.
  struct Element {
    float value = 0.0f;
    int index = -1;

    CACHEINF_KERNEL bool ComesBefore(const Element& other) const {
      if (index < 0 || other.index < 0) return index >= 0;
      return ComesFirst(value, index, other.value, other.index);
    }
  };
  // Every warp's first, for even and for odd rounds.
  static constexpr size_t kSharedBytes = size_t{2} * 2 * kWarps * sizeof(int);

  Rows rows;
  int kept;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    Share share;
    if (!rows.elements.walk.Locate(thread, static_cast<unsigned>(thread.BlockX()), share)) return;
    int64_t offsets[2];
    rows.elements.axes.Offsets(share.position, rows.elements.strides, offsets);
    Element last;
    for (int k = 0; k < kept; ++k) {
      last = FindNext(thread, rows.input + offsets[Rows::kInput], last, k % 2);
      if (thread.ThreadIndex() == 0) {
        thread.Store(
            rows.output + offsets[Rows::kOutput] + k * rows.elements.strides.inner[Rows::kOutput],
            static_cast<float>(last.index));
      }
    }
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL Element FindNext(const Thread& thread, const float* row, const Element& last,
                                   int parity) const {
    Element next;
    for (int i = thread.ThreadIndex(); i < rows.elements.walk.inner; i += kThreads) {
      const Element own = {thread.LoadReadOnly(row + i * rows.elements.strides.inner[Rows::kInput]),
                           i};
      const bool is_left = last.index < 0 || last.ComesBefore(own);
      if (is_left && own.ComesBefore(next)) next = own;
    }
    // Warps without elements have found none.
    const int warps = rows.elements.walk.inner > kThreads
                          ? kWarps
                          : (rows.elements.walk.inner + kWarp - 1) / kWarp;
    if (thread.Warp() < warps) {
      CACHEINF_UNROLL
      for (int by = kWarp / 2; by >= 1; by /= 2) {
        const Element other = thread.ShuffleXor(next, by);
        if (other.ComesBefore(next)) next = other;
      }
    }
    // Even and odd rounds use different memory, so one barrier a round is enough.
    const size_t offset = static_cast<size_t>(parity) * 2 * kWarps * sizeof(int);
    float* const values = thread.template Shared<float>(offset);
    int* const indices = thread.template Shared<int>(offset + kWarps * sizeof(int));
    if (thread.Lane() == 0 && thread.Warp() < warps) {
      thread.Store(values + thread.Warp(), next.value);
      thread.Store(indices + thread.Warp(), next.index);
    }
    thread.Barrier();
    for (int warp = 0; warp < warps; ++warp) {
      const Element other = {thread.Load(values + warp), thread.Load(indices + warp)};
      if (other.ComesBefore(next)) next = other;
    }
    return next;
  }
};

struct ReduceRowsOfAxis {
  static constexpr const char* kName = "ReduceRowsOfAxis";
  static constexpr int kThreads = Rows::kThreads;

  Rows rows;
  ReduceKind kind;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const Row row(thread, rows);
    float value = 0.0f;
    switch (kind) {
      case ReduceKind::kMean:
        value = row.Reduce(thread, 0.0f, Add(), Add()) / static_cast<float>(row.count);
        break;
      case ReduceKind::kSum:
        value = row.Reduce(thread, 0.0f, Add(), Add());
        break;
      case ReduceKind::kMax:
        value = row.Reduce(thread, -HUGE_VALF, MaximumOf(), MaximumOf());
        break;
      case ReduceKind::kMin:
        value = row.Reduce(thread, HUGE_VALF, MinimumOf(), MinimumOf());
        break;
    }
    if (row.count > 0 && row.lane == 0) row.Store(thread, 0, value);
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_ROW_KERNELS_H_
