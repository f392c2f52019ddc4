#ifndef CACHEINF_SPARSE_OPS_CUDA_WINDOW_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_WINDOW_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/lanes.h"
#include "sparse_ops/cuda/walk.h"
#include "sparse_ops/ops.h"
#include "sparse_ops/resize_taps.h"

// Kernels of operators that see maps through a window. A thread takes up to four channels of a
// pixel.

namespace cacheinf::cuda {

struct PixelShare {
  int image = 0;
  int row = 0;
  int column = 0;
  int channel = 0;  // the first one
  int count = 0;    // of channels

  // Finds the thread's share. Returns false if it has none.
  template <class Thread>
  CACHEINF_KERNEL bool Find(const Thread& thread, const Walk& walk, int width) {
    Share share;
    if (!walk.Find(thread, share)) return false;
    image = share.image;
    const int pixel = share.position - share.image * walk.plane;
    row = pixel / width;
    column = pixel - row * width;
    channel = share.element;
    count = share.count;
    return true;
  }
};

struct PoolWindows {
  static constexpr const char* kName = "PoolWindows";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  PoolSpec spec;
  ConstImageView input;
  ImageView output;

  // The taps inside the picture along one axis: begin, begin + step, …, below end.
  struct Taps {
    int64_t begin;
    int64_t end;
    int64_t step;
    int64_t padded_count;  // taps inside the padded picture

    CACHEINF_KERNEL Taps(const WindowAxis& axis, int size, int out) : step(axis.dilation) {
      const int64_t first = static_cast<int64_t>(out) * axis.stride - axis.pad_begin;
      const int64_t past = first + axis.kernel * step;
      const int64_t padded_end = static_cast<int64_t>(size) + axis.pad_end;
      begin = first + (first < 0 ? (-first + step - 1) / step : 0) * step;
      end = past < size ? past : size;
      padded_count = CountBelow(first, past < padded_end ? past : padded_end);
    }

    CACHEINF_KERNEL int64_t Count() const { return CountBelow(begin, end); }

   private:
    CACHEINF_KERNEL int64_t CountBelow(int64_t from, int64_t to) const {
      return to > from ? (to - from + step - 1) / step : 0;
    }
  };

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    PixelShare share;
    if (!share.Find(thread, walk, output.width)) return;
    const Taps rows(spec.rows, input.height, share.row);
    const Taps columns(spec.columns, input.width, share.column);
    const bool is_max = spec.kind == PoolSpec::Kind::kMax;
    float numbers[kQuad];
    CACHEINF_UNROLL
    for (int i = 0; i < kQuad; ++i) numbers[i] = is_max ? -HUGE_VALF : 0.0f;
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
        float taps[kQuad];
        LoadQuad(thread,
                 input.Pixel(share.image, static_cast<int>(y), static_cast<int>(x)) + share.channel,
                 1, share.count, taps);
        CACHEINF_UNROLL
        for (int i = 0; i < kQuad; ++i) {
          numbers[i] = is_max ? Maximum(numbers[i], taps[i]) : numbers[i] + taps[i];
        }
      }
    }
    const float divisor = is_max ? 0.0f : Divisor(rows, columns);
    CACHEINF_UNROLL
    for (int i = 0; i < kQuad; ++i) {
      if (divisor != 0.0f) numbers[i] = numbers[i] / divisor;
    }
    StoreQuad(thread, output.Pixel(share.image, share.row, share.column) + share.channel, 1,
              share.count, numbers);
  }

 private:
  CACHEINF_KERNEL float Divisor(const Taps& rows, const Taps& columns) const {
    if (spec.divisor != 0) return static_cast<float>(spec.divisor);
    if (spec.count_padding) return static_cast<float>(rows.padded_count * columns.padded_count);
    return static_cast<float>(rows.Count() * columns.Count());
  }
};

struct PoolCells {
  static constexpr const char* kName = "PoolCells";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  PoolSpec::Kind kind;
  ConstImageView input;
  ImageView output;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    PixelShare share;
    if (!share.Find(thread, walk, output.width)) return;
    const Cell rows(share.row, input.height, output.height);
    const Cell columns(share.column, input.width, output.width);
    const float* const first = input.Pixel(share.image, rows.begin, columns.begin) + share.channel;
    float* const to = output.Pixel(share.image, share.row, share.column) + share.channel;
    for (int i = 0; i < share.count; ++i) {
      const auto tap = [&](int y, int x) {
        return thread.Load(first + i + y * input.row_stride + x * input.pixel_stride);
      };
      if (kind == PoolSpec::Kind::kMax) {
        float largest = -HUGE_VALF;
        for (int y = 0; y < rows.size; ++y) {
          for (int x = 0; x < columns.size; ++x) largest = Maximum(largest, tap(y, x));
        }
        thread.Store(to + i, largest);
        continue;
      }
      const auto row_sum = [&](int y) {
        const auto tap_of_row = [&](int x) { return tap(y, x); };
        return ReduceInLanes(columns.size, 0.0f, tap_of_row, Add(), Add());
      };
      const float sum = ReduceRows(rows.size, 0.0f, row_sum, Add());
      thread.Store(to + i,
                   sum / static_cast<float>(static_cast<int64_t>(rows.size) * columns.size));
    }
  }

 private:
  // The input indices that one output index averages, along one axis.
  struct Cell {
    int begin;
    int size;

    CACHEINF_KERNEL Cell(int out, int in_size, int out_size)
        : begin(static_cast<int>(static_cast<int64_t>(out) * in_size / out_size)),
          size(static_cast<int>((static_cast<int64_t>(out + 1) * in_size + out_size - 1) /
                                out_size) -
               begin) {}
  };
};

struct ResizeMap {
  static constexpr const char* kName = "ResizeMap";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  ResizeSpec spec;
  ConstImageView input;
  ImageView output;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    PixelShare share;
    if (!share.Find(thread, walk, output.width)) return;
    const ResizeTaps rows = TapsOf(spec, true, input.height, output.height, share.row);
    const ResizeTaps columns = TapsOf(spec, false, input.width, output.width, share.column);
    float numbers[kQuad] = {};
    if (spec.kind == ResizeSpec::Kind::kNearest) {
      LoadQuad(thread, input.Pixel(share.image, rows.index[0], columns.index[0]) + share.channel, 1,
               share.count, numbers);
    } else {
      CACHEINF_UNROLL
      for (int i = 0; i < ResizeTaps::kMaxCount; ++i) {
        if (i >= rows.count) break;
        float row[kQuad] = {};
        CACHEINF_UNROLL
        for (int j = 0; j < ResizeTaps::kMaxCount; ++j) {
          if (j >= columns.count) break;
          float taps[kQuad];
          LoadQuad(thread,
                   input.Pixel(share.image, rows.index[i], columns.index[j]) + share.channel, 1,
                   share.count, taps);
          CACHEINF_UNROLL
          for (int c = 0; c < kQuad; ++c) row[c] = std::fma(taps[c], columns.weight[j], row[c]);
        }
        CACHEINF_UNROLL
        for (int c = 0; c < kQuad; ++c) numbers[c] = std::fma(row[c], rows.weight[i], numbers[c]);
      }
    }
    StoreQuad(thread, output.Pixel(share.image, share.row, share.column) + share.channel, 1,
              share.count, numbers);
  }
};

// Moves between a deep map's channels and a wide map's blocks, either way.
struct MoveBlocks {
  static constexpr const char* kName = "MoveBlocks";
  static constexpr int kThreads = Walk::kThreads;

  Walk walk;
  int block;
  BlockOrder order;
  bool to_depth;
  ConstImageView input;
  ImageView output;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    PixelShare share;
    if (!share.Find(thread, walk, output.width)) return;
    float numbers[kQuad];
    CACHEINF_UNROLL
    for (int i = 0; i < kQuad; ++i) {
      numbers[i] = 0.0f;
      if (i < share.count) numbers[i] = thread.Load(Source(share, share.channel + i));
    }
    StoreQuad(thread, output.Pixel(share.image, share.row, share.column) + share.channel, 1,
              share.count, numbers);
  }

 private:
  CACHEINF_KERNEL const float* Source(const PixelShare& share, int channel) const {
    if (!to_depth) {
      const int by = share.row % block;
      const int bx = share.column % block;
      const int deep = order == BlockOrder::kRowsFirst
                           ? (by * block + bx) * output.channels + channel
                           : (channel * block + by) * block + bx;
      return input.Pixel(share.image, share.row / block, share.column / block) + deep;
    }
    const bool rows_first = order == BlockOrder::kRowsFirst;
    const int in_block = rows_first ? channel / input.channels : channel % (block * block);
    const int wide = rows_first ? channel % input.channels : channel / (block * block);
    return input.Pixel(share.image, share.row * block + in_block / block,
                       share.column * block + in_block % block) +
           wide;
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WINDOW_KERNELS_H_
