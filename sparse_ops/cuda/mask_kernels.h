#ifndef CACHEINF_SPARSE_OPS_CUDA_MASK_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_MASK_KERNELS_H_

#include <cstdint>

#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/mask/mask.h"
#include "sparse_ops/views.h"

// The kernels of masks.h.

namespace cacheinf {
namespace cuda {

enum class MaskOperation : uint8_t { kUnite, kIntersect, kSubtract };

// A thread a word.
struct CombineMasks {
  static constexpr const char* kName = "CombineMasks";
  static constexpr int kThreads = 128;

  MaskOperation operation;
  const uint64_t* a;
  const uint64_t* b;
  uint64_t* out;
  int words;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.BlockX() * kThreads + thread.ThreadIndex();
    if (i >= words) return;
    const uint64_t from_a = thread.Load(a + i);
    const uint64_t from_b = thread.Load(b + i);
    uint64_t word = from_a | from_b;
    if (operation == MaskOperation::kIntersect) word = from_a & from_b;
    if (operation == MaskOperation::kSubtract) word = from_a & ~from_b;
    thread.Store(out + i, word);
  }
};

// Every word becomes what `columns` covers of it, a thread a word.
struct SetColumns {
  static constexpr const char* kName = "SetColumns";
  static constexpr int kThreads = 128;

  Range columns;
  MaskView out;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.BlockX() * kThreads + thread.ThreadIndex();
    if (i >= out.height * out.words_per_row) return;
    const int first = i % out.words_per_row * 64;
    thread.Store(out.words + i, Below(columns.end - first) & ~Below(columns.begin - first));
  }

 private:
  // The bits below number `end`, which may lie outside the word.
  CACHEINF_KERNEL static uint64_t Below(int end) {
    if (end <= 0) return 0;
    return end >= 64 ? ~uint64_t{0} : (uint64_t{1} << end) - 1;
  }
};

// What the indices of one axis depend on, of the other side: index i on the ranges
// [first[i], first[i + 1]) of `ranges`.
struct AxisSources {
  const int* first;
  const Range* ranges;
};

template <class Thread>
CACHEINF_KERNEL Range LoadRange(const Thread& thread, const Range* range) {
  return {thread.LoadReadOnly(&range->begin), thread.LoadReadOnly(&range->end)};
}

// Pixel (y, x) of `out` becomes whether a pixel of `in` is active in a row and a column that it
// depends on. A block a row of `out`; first the rows that it depends on become one.
// Needs shared memory for a row of `in`.
struct PropagateMask {
  static constexpr const char* kName = "PropagateMask";
  static constexpr int kThreads = 128;

  AxisSources rows;
  AxisSources columns;
  ConstMaskView in;
  MaskView out;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int y = thread.BlockX();
    auto* const united = thread.template Shared<uint64_t>();
    uint64_t any = 0;
    for (int i = thread.ThreadIndex(); i < in.words_per_row; i += kThreads) {
      uint64_t word = 0;
      const int end = thread.LoadReadOnly(rows.first + y + 1);
      for (int r = thread.LoadReadOnly(rows.first + y); r < end; ++r) {
        const Range range = LoadRange(thread, rows.ranges + r);
        for (int row = range.begin; row < range.end; ++row) word |= thread.Load(in.Row(row) + i);
      }
      thread.Store(united + i, word);
      any |= word;
    }
    const bool is_empty = !thread.BarrierAny(any != 0);
    // A warp a half word.
    auto* const halves = reinterpret_cast<uint32_t*>(out.Row(y));
    for (int first = thread.Warp() * kWarp; first < out.words_per_row * 64; first += kThreads) {
      const int x = first + thread.Lane();
      const bool is_active = !is_empty && x < out.width && DependsOnActive(thread, united, x);
      const unsigned half = thread.Ballot(is_active);
      if (thread.Lane() == 0) thread.Store(halves + first / 32, half);
    }
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL bool DependsOnActive(const Thread& thread, const uint64_t* row, int x) const {
    const int end = thread.LoadReadOnly(columns.first + x + 1);
    for (int r = thread.LoadReadOnly(columns.first + x); r < end; ++r) {
      const Range range = LoadRange(thread, columns.ranges + r);
      for (int word = range.begin / 64; word * 64 < range.end; ++word) {
        uint64_t bits = thread.Load(row + word);
        if (word == range.begin / 64) bits = bits >> (range.begin % 64) << (range.begin % 64);
        const int past = word * 64 + 64 - range.end;
        if (past > 0) bits = bits << past >> past;
        if (bits != 0) return true;
      }
    }
    return false;
  }
};

// Where a list names a pixel.
CACHEINF_HOST_DEVICE constexpr uint32_t PackPixel(int y, int x) {
  return static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x);
}
CACHEINF_HOST_DEVICE constexpr int PixelRow(uint32_t pixel) {
  return static_cast<int>(pixel >> 16);
}
CACHEINF_HOST_DEVICE constexpr int PixelColumn(uint32_t pixel) {
  return static_cast<int>(pixel & 0xffffu);
}

// Lists the active pixels of `mask`, by row and column, and counts them. A block a row, which
// counts those of the rows before by itself: so nobody waits. Needs shared memory for a number a
// warp.
struct ListPixels {
  static constexpr const char* kName = "ListPixels";
  static constexpr int kThreads = 256;
  static constexpr size_t kSharedBytes = kThreads / kWarp * sizeof(int);

  ConstMaskView mask;
  int first_row;  // of the mask within the map
  uint32_t* pixels;
  int* count;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int y = thread.BlockX();
    int before = 0;
    for (int i = thread.ThreadIndex(); i < y * mask.words_per_row; i += kThreads) {
      before += CountBits(thread.Load(mask.words + i));
    }
    before = SumOfBlock(thread, before);
    const uint64_t* const row = mask.Row(y);
    for (int x = thread.ThreadIndex(); x < mask.width; x += kThreads) {
      const uint64_t word = thread.Load(row + x / 64);
      if ((word >> (x % 64) & 1) == 0) continue;
      int place = before + CountBits(word & ((uint64_t{1} << (x % 64)) - 1));
      for (int i = 0; i < x / 64; ++i) place += CountBits(thread.Load(row + i));
      thread.Store(pixels + place, PackPixel(first_row + y, x));
    }
    if (y + 1 < mask.height || thread.ThreadIndex() != 0) return;
    for (int i = 0; i < mask.words_per_row; ++i) before += CountBits(thread.Load(row + i));
    thread.Store(count, before);
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL int SumOfBlock(const Thread& thread, int value) const {
    auto* const sums = thread.template Shared<int>();
    const int of_warp = thread.Sum(value);
    if (thread.Lane() == 0) thread.Store(sums + thread.Warp(), of_warp);
    thread.Barrier();
    int sum = 0;
    for (int i = 0; i < kThreads / kWarp; ++i) sum += thread.Load(sums + i);
    return sum;
  }
};

// Clears the pixels of a list whose byte is 0. A thread a pixel.
struct ClearUnchangedPixels {
  static constexpr const char* kName = "ClearUnchangedPixels";
  static constexpr int kThreads = 128;

  const uint32_t* pixels;
  const int* count;
  const uint8_t* changed;
  MaskView mask;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.BlockX() * kThreads + thread.ThreadIndex();
    if (i >= thread.Load(count) || thread.Load(changed + i) != 0) return;
    const uint32_t pixel = thread.Load(pixels + i);
    const int x = PixelColumn(pixel);
    thread.AtomicAnd(mask.Row(PixelRow(pixel)) + x / 64, ~(uint64_t{1} << (x % 64)));
  }
};

}  // namespace cuda
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CUDA_MASK_KERNELS_H_
