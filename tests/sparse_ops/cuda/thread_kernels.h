#ifndef CACHEINF_TESTS_SPARSE_OPS_CUDA_THREAD_KERNELS_H_
#define CACHEINF_TESTS_SPARSE_OPS_CUDA_THREAD_KERNELS_H_

#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/numbers.h"

// Kernels that record what a device answers. thread_kernels.cu compiles them for GPUs.

namespace cacheinf {
namespace cuda {

// Writes out[op][thread], with op in the order below.
struct AskWarp {
  static constexpr const char* kName = "AskWarp";
  static constexpr int kThreads = 64;
  static constexpr int kAnswers = 10;

  const int* values;
  int* out;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.ThreadIndex();
    const int value = thread.Load(values + i);
    const float real = static_cast<float>(value);
    int op = 0;
    const auto write = [&](int answer) { thread.Store(out + op++ * kThreads + i, answer); };
    write(thread.Shuffle(value, (thread.Lane() * 7 + 3) % kWarp));
    write(thread.ShuffleUp(value, 3));
    write(thread.ShuffleDown(value, 5));
    write(static_cast<int>(thread.ShuffleXor(real, 9)));
    write(static_cast<int>(thread.Ballot(value % 3 == 0)));
    write(thread.Any(value == 40) ? 1 : 0);
    write(thread.All(value < 40) ? 1 : 0);
    write(thread.Sum(value));
    write(thread.BarrierCount(value % 2 == 0));
    write(thread.BarrierAny(value == 1000) ? 1 : 0);
  }
};

// Each thread of several blocks changes the same five numbers.
struct ChangeAtOnce {
  static constexpr const char* kName = "ChangeAtOnce";
  static constexpr int kThreads = 64;

  int* sum;
  unsigned* bits;
  uint64_t* mask;
  int* largest;
  int* least;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int number = thread.BlockX() * kThreads + thread.ThreadIndex();
    thread.AtomicAdd(sum, number);
    thread.AtomicOr(bits, 1u << (number % 20));
    thread.AtomicAnd(mask, ~(uint64_t{1} << (number % 50)));
    thread.AtomicMax(largest, number);
    thread.AtomicMin(least, number);
  }
};

enum class MatrixKind : uint8_t { kTf32, kHalf, kBfloat16 };

// out = a b + out: a 16 × k, b k × 8, row by row; k is 8 or 16. One warp.
struct MultiplyTile {
  static constexpr const char* kName = "MultiplyTile";
  static constexpr int kThreads = 32;

  MatrixKind kind;
  const float* a;
  const float* b;
  float* out;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int g = thread.Lane() / 4;
    const int t = thread.Lane() % 4;
    float sums[4];
    for (int i = 0; i < 4; ++i) {
      sums[i] = thread.Load(out + (g + i / 2 * 8) * 8 + 2 * t + i % 2);
    }
    unsigned a_words[4];
    unsigned b_words[2];
    if (kind == MatrixKind::kTf32) {
      for (int i = 0; i < 4; ++i) {
        a_words[i] = ToTf32(thread.Load(a + (g + i % 2 * 8) * 8 + t + i / 2 * 4));
      }
      for (int i = 0; i < 2; ++i) b_words[i] = ToTf32(thread.Load(b + (t + i * 4) * 8 + g));
      thread.MultiplyTf32(sums, a_words, b_words);
    } else {
      const auto pack = [this](float low, float high) {
        return kind == MatrixKind::kHalf ? PackHalves(low, high) : PackBfloat16s(low, high);
      };
      for (int i = 0; i < 4; ++i) {
        const float* const at = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
        a_words[i] = pack(thread.Load(at), thread.Load(at + 1));
      }
      for (int i = 0; i < 2; ++i) {
        const float* const at = b + (2 * t + i * 8) * 8 + g;
        b_words[i] = pack(thread.Load(at), thread.Load(at + 8));
      }
      if (kind == MatrixKind::kHalf) {
        thread.MultiplyHalf(sums, a_words, b_words);
      } else {
        thread.MultiplyBfloat16(sums, a_words, b_words);
      }
    }
    for (int i = 0; i < 4; ++i) {
      thread.Store(out + (g + i / 2 * 8) * 8 + 2 * t + i % 2, sums[i]);
    }
  }
};

// out[i] = function(in[i]), and Combine of in[i] and in[i + 1].
struct ApplyFunctions {
  static constexpr const char* kName = "ApplyFunctions";
  static constexpr int kThreads = 128;

  Function function;
  BinaryKind binary;
  const float* in;
  float* out;
  float* combined;
  int count;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.BlockX() * kThreads + thread.ThreadIndex();
    if (i >= count) return;
    const float x = thread.Load(in + i);
    thread.Store(out + i, ApplyFunction(function, x));
    thread.Store(combined + i, CombineNumbers(binary, x, thread.Load(in + (i + 1) % count)));
  }
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_TESTS_SPARSE_OPS_CUDA_THREAD_KERNELS_H_
