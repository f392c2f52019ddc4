#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/window_kernels.h"
#include "sparse_ops/resize_taps.h"

namespace cacheinf {
namespace cpu {
namespace {

// Below so many numbers read, waking a second thread costs more than it brings.
constexpr int64_t kParallelReads = 32 * 1024;

// Calls fn(image, row) for the given rows of every image; `reads` is how much they read in all.
template <typename Fn>
void ForEachRow(int batch, Range rows, int64_t reads, ThreadPool& pool, const Fn& fn) {
  const int count = batch * rows.size();
  const auto run = [&](int index) { fn(index / rows.size(), rows.begin + index % rows.size()); };
  if (reads < kParallelReads) {
    for (int index = 0; index < count; ++index) run(index);
  } else {
    pool.ParallelFor(count, [&](int index, int) { run(index); });
  }
}

// The taps of one axis of a pool's window.
struct PoolTaps {
  int first = 0;         // the first inside the picture
  int count = 0;         // inside the picture
  int padded_count = 0;  // inside the padded picture
};

int StepsBelow(int64_t begin, int64_t end, int64_t step) {
  return end > begin ? static_cast<int>((end - begin + step - 1) / step) : 0;
}

PoolTaps TapsOfPool(const WindowAxis& axis, int size, int out) {
  const int64_t step = axis.dilation;
  const int64_t begin = int64_t{out} * axis.stride - axis.pad_begin;
  const int64_t end = begin + axis.kernel * step;
  const int64_t first = begin + StepsBelow(begin, 0, step) * step;
  const int64_t padded_end = std::min(end, int64_t{size} + axis.pad_end);
  return {static_cast<int>(first), StepsBelow(first, std::min<int64_t>(end, size), step),
          StepsBelow(begin, padded_end, step)};
}

float PoolDivisor(const PoolSpec& spec, const PoolTaps& rows, const PoolTaps& columns) {
  if (spec.divisor != 0) return static_cast<float>(spec.divisor);
  if (spec.count_padding) {
    return static_cast<float>(int64_t{rows.padded_count} * columns.padded_count);
  }
  return static_cast<float>(int64_t{rows.count} * columns.count);
}

// The input rows (or columns) of an adaptive pool's cell.
Range CellOf(int out, int in_size, int out_size) {
  const int64_t begin = int64_t{out} * in_size / out_size;
  const int64_t end = (int64_t{out} + 1) * in_size;
  return {static_cast<int>(begin), static_cast<int>((end + out_size - 1) / out_size)};
}

// A picture that shrinks to one pixel has no rows to share out: its channels are.
constexpr int kChannelsPerItem = 64;

}  // namespace

void Pool(const PoolArgs& args, Range rows, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const int64_t reads = int64_t{output.batch} * rows.size() * output.width * output.channels *
                        args.spec.rows.kernel * args.spec.columns.kernel;
  ForEachRow(output.batch, rows, reads, pool, [&](int n, int y) {
    const PoolTaps in_rows = TapsOfPool(args.spec.rows, input.height, y);
    for (int x = 0; x < output.width; ++x) {
      const PoolTaps in_columns = TapsOfPool(args.spec.columns, input.width, x);
      PixelGrid grid;
      if (in_rows.count > 0 && in_columns.count > 0) {
        grid = {input.Pixel(n, in_rows.first, in_columns.first),
                input.row_stride * args.spec.rows.dilation,
                input.pixel_stride * args.spec.columns.dilation, in_rows.count, in_columns.count};
      }
      float* pixel = output.Pixel(n, y, x);
      if (args.spec.kind == PoolSpec::Kind::kMax) {
        kernels.pool_maximum(grid, output.channels, pixel);
      } else {
        const float divisor = PoolDivisor(args.spec, in_rows, in_columns);
        kernels.pool_average(grid, divisor, output.channels, pixel);
      }
    }
  });
}

void AdaptivePool(const AdaptivePoolArgs& args, Range rows, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const int slices = (output.channels + kChannelsPerItem - 1) / kChannelsPerItem;
  const int columns = output.width;
  pool.ParallelFor(output.batch * rows.size() * slices, [&](int index, int) {
    const int first_channel = index % slices * kChannelsPerItem;
    const int channels = std::min(kChannelsPerItem, output.channels - first_channel);
    const int y = rows.begin + index / slices % rows.size();
    const int n = index / slices / rows.size();
    const Range in_rows = CellOf(y, input.height, output.height);
    for (int x = 0; x < columns; ++x) {
      const Range in_columns = CellOf(x, input.width, columns);
      const PixelGrid grid = {input.Pixel(n, in_rows.begin, in_columns.begin) + first_channel,
                              input.row_stride, input.pixel_stride, in_rows.size(),
                              in_columns.size()};
      float* pixel = output.Pixel(n, y, x) + first_channel;
      if (args.kind == PoolSpec::Kind::kMax) {
        kernels.pool_maximum(grid, channels, pixel);
        continue;
      }
      kernels.sum(grid, channels, pixel);
      const auto count = static_cast<float>(int64_t{in_rows.size()} * in_columns.size());
      for (int c = 0; c < channels; ++c) pixel[c] /= count;
    }
  });
}

void Resize(const ResizeArgs& args, Range rows, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const bool is_copy = args.spec.kind == ResizeSpec::Kind::kNearest;
  // Columns in stretches, so that their taps are found once for many rows.
  constexpr int kStretch = 32;
  const int stretches = (output.width + kStretch - 1) / kStretch;
  const size_t pixel_bytes = static_cast<size_t>(output.channels) * sizeof(float);
  pool.ParallelFor(output.batch * stretches, [&](int index, int) {
    const int n = index / stretches;
    const int first = index % stretches * kStretch;
    const int count = std::min(kStretch, output.width - first);
    ResizeTaps columns[kStretch];
    for (int i = 0; i < count; ++i) {
      columns[i] = TapsOf(args.spec, false, input.width, output.width, first + i);
    }
    const float* image = input.Pixel(n, 0, 0);
    for (int y = rows.begin; y < rows.end; ++y) {
      const ResizeTaps in_rows = TapsOf(args.spec, true, input.height, output.height, y);
      for (int i = 0; i < count; ++i) {
        float* pixel = output.Pixel(n, y, first + i);
        if (is_copy) {
          std::memcpy(pixel, input.Pixel(n, in_rows.index[0], columns[i].index[0]), pixel_bytes);
        } else {
          kernels.interpolate(image, input.row_stride, input.pixel_stride, in_rows, columns[i],
                              output.channels, pixel);
        }
      }
    }
  });
}

}  // namespace cpu
}  // namespace cacheinf
