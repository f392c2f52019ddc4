#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/window_kernels.h"
#include "sparse_ops/resize_taps.h"

namespace cacheinf {
namespace cpu {
namespace {

// The taps of one axis of a pool's window.
struct PoolTaps {
  int first = 0;         // the first inside the picture
  int count = 0;         // inside the picture
  int padded_count = 0;  // inside the padded picture
};

int StepsBelow(int64_t begin, int64_t end, int64_t step) {
  if (end <= begin) return 0;
  return static_cast<int>(step == 1 ? end - begin : (end - begin + step - 1) / step);
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

// A picture that shrinks to one pixel has no pixels to share out, so its channels are shared out.
constexpr int kChannelsPerItem = 64;

// Keeps the taps of columns for the rows below that ask for the same ones; holds those of any
// kSlots neighbouring columns.
class ColumnTaps {
 public:
  static constexpr int kSlots = 256;

  explicit ColumnTaps(const ResizeArgs& args) : args_(args) {
    std::fill(std::begin(columns_), std::end(columns_), -1);
  }

  const ResizeTaps& At(int column) {
    const auto slot = static_cast<unsigned>(column) % kSlots;
    if (columns_[slot] != column) {
      columns_[slot] = column;
      taps_[slot] = TapsOf(args_.spec, false, args_.input.width, args_.output.width, column);
    }
    return taps_[slot];
  }

 private:
  const ResizeArgs& args_;
  int columns_[kSlots];
  ResizeTaps taps_[kSlots];
};

}  // namespace

void Compute(const PoolArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const int64_t reads = int64_t{output.channels} * args.spec.rows.kernel * args.spec.columns.kernel;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, reads, [&](int n, const PixelRun& run) {
    const PoolTaps in_rows = TapsOfPool(args.spec.rows, input.height, run.row);
    for (int x = run.begin; x < run.end; ++x) {
      const PoolTaps in_columns = TapsOfPool(args.spec.columns, input.width, x);
      PixelGrid grid;
      if (in_rows.count > 0 && in_columns.count > 0) {
        grid = {input.Pixel(n, in_rows.first, in_columns.first),
                input.row_stride * args.spec.rows.dilation,
                input.pixel_stride * args.spec.columns.dilation, in_rows.count, in_columns.count};
      }
      float* pixel = output.Pixel(n, run.row, x);
      if (args.spec.kind == PoolSpec::Kind::kMax) {
        kernels.pool_maximum(grid, output.channels, pixel);
      } else {
        const float divisor = PoolDivisor(args.spec, in_rows, in_columns);
        kernels.pool_average(grid, divisor, output.channels, pixel);
      }
    }
  });
}

void Compute(const AdaptivePoolArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const int slices = (output.channels + kChannelsPerItem - 1) / kChannelsPerItem;
  const int64_t reads = int64_t{std::min(kChannelsPerItem, output.channels)} *
                        CellOf(0, input.height, output.height).size() *
                        CellOf(0, input.width, output.width).size();
  const ActiveRuns runs(pixels, output.batch * slices, output.width);
  runs.ForEach(pool, reads, [&](int index, const PixelRun& run) {
    const int n = index / slices;
    const int first_channel = index % slices * kChannelsPerItem;
    const int channels = std::min(kChannelsPerItem, output.channels - first_channel);
    const Range in_rows = CellOf(run.row, input.height, output.height);
    for (int x = run.begin; x < run.end; ++x) {
      const Range in_columns = CellOf(x, input.width, output.width);
      const PixelGrid grid = {input.Pixel(n, in_rows.begin, in_columns.begin) + first_channel,
                              input.row_stride, input.pixel_stride, in_rows.size(),
                              in_columns.size()};
      float* pixel = output.Pixel(n, run.row, x) + first_channel;
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

void Compute(const ResizeArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const bool is_copy = args.spec.kind == ResizeSpec::Kind::kNearest;
  const size_t pixel_bytes = static_cast<size_t>(output.channels) * sizeof(float);
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEachPart(pool, output.channels, [&](Range numbers) {
    ColumnTaps column_taps(args);
    // Goes by stretches of columns, whose taps are kept from row to row.
    for (int first = 0; first < output.width; first += ColumnTaps::kSlots) {
      runs.ForEachIn(numbers, [&](int n, const PixelRun& run, int) {
        const int begin = std::max(run.begin, first);
        const int end = std::min(run.end, first + ColumnTaps::kSlots);
        if (begin >= end) return;
        const ResizeTaps rows = TapsOf(args.spec, true, input.height, output.height, run.row);
        for (int x = begin; x < end; ++x) {
          const ResizeTaps& columns = column_taps.At(x);
          float* pixel = output.Pixel(n, run.row, x);
          if (is_copy) {
            std::memcpy(pixel, input.Pixel(n, rows.index[0], columns.index[0]), pixel_bytes);
          } else {
            kernels.interpolate(input.Pixel(n, 0, 0), input.row_stride, input.pixel_stride, rows,
                                columns, output.channels, pixel);
          }
        }
      });
    }
  });
}

}  // namespace cpu
}  // namespace cacheinf
