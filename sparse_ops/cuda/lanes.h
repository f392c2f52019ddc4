#ifndef CACHEINF_SPARSE_OPS_CUDA_LANES_H_
#define CACHEINF_SPARSE_OPS_CUDA_LANES_H_

#include "sparse_ops/cuda/device.h"

// Reductions in the sixteen lanes of ops.h, by one thread or by half a warp, and a warp's sums.

namespace cacheinf::cuda {

constexpr int kLanes = 16;

// Sums `value` over this lane and the lanes before it. All threads of the warp must call it.
template <class Thread>
CACHEINF_KERNEL int SumUpToLane(const Thread& thread, int value) {
  for (int by = 1; by < kWarp; by *= 2) {
    const int before = thread.ShuffleUp(value, by);
    if (thread.Lane() >= by) value += before;
  }
  return value;
}

// Reduces value(0), …, value(count - 1) on one thread.
template <class Value, class Accumulate, class Combine>
CACHEINF_KERNEL float ReduceInLanes(int count, float start, const Value& value,
                                    const Accumulate& accumulate, const Combine& combine) {
  float lanes[kLanes];
  CACHEINF_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = start;
  for (int first = 0; first < count; first += kLanes) {
    CACHEINF_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) {
      if (first + lane < count) lanes[lane] = accumulate(lanes[lane], value(first + lane));
    }
  }
  CACHEINF_UNROLL
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    CACHEINF_UNROLL
    for (int lane = 0; lane < half; ++lane) lanes[lane] = combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

struct Add {
  CACHEINF_KERNEL float operator()(float a, float b) const { return a + b; }
};

// The same for values whose code is long: calls it in one place, and keeps the lanes in memory.
template <class Value, class Combine>
CACHEINF_KERNEL float ReduceRows(int count, float start, const Value& value,
                                 const Combine& combine) {
  float lanes[kLanes];
  CACHEINF_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = start;
  for (int i = 0; i < count; ++i) {
    lanes[i % kLanes] = combine(lanes[i % kLanes], value(i));
  }
  CACHEINF_UNROLL
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    CACHEINF_UNROLL
    for (int lane = 0; lane < half; ++lane) lanes[lane] = combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

// Combines the lanes of half a warp, one per thread, and returns the result to each of its threads.
// All threads of the warp must call it.
template <class Thread, class Combine>
CACHEINF_KERNEL float CombineHalfWarp(const Thread& thread, float lane, const Combine& combine) {
  CACHEINF_UNROLL
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    lane = combine(lane, thread.ShuffleDown(lane, half));
  }
  return thread.Shuffle(lane, thread.Lane() / kLanes * kLanes);
}

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_LANES_H_
