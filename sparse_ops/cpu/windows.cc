#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/window_kernels.h"
#include "sparse_ops/resize_taps.h"

namespace cacheinf::cpu {
namespace {

// The taps of one axis of a pool's window.
struct PoolTaps {
  int first = 0;         // the first inside the picture
  int count = 0;         // inside the picture
  int padded_count = 0;  // inside the padded picture
};

template <typename T>
bool LieEndToEnd(const BasicImageView<T>& map) {
  return map.pixel_stride == map.channels;
}

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

// The end of the indices whose windows end inside the picture, for a pool with stride 1.
int64_t EndOfWhole(const WindowAxis& axis, int size) {
  return size + int64_t{axis.pad_begin} - (axis.kernel - int64_t{1}) * axis.dilation;
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

// Rows of the input, resized along their columns, which several rows of the output blend.
class ResizedRows {
 public:
  // So many columns at most have room.
  static int MostColumns(int channels) { return kNumbers / channels; }

  ResizedRows(const ResizeArgs& args, const WindowKernels& kernels, ColumnTaps& column_taps)
      : args_(args), kernels_(kernels), column_taps_(column_taps) {}

  // Writes those columns of an output row. REQUIRES: output pixels lie end to end.
  void Blend(int n, const PixelRun& columns, const ResizeTaps& rows, float* out) {
    ResizeTaps slots = rows;
    for (int i = 0; i < rows.count; ++i) {
      slots.index[i] = rows.index[i] % kSlots;
      Fill(n, rows.index[i], columns);
    }
    const int numbers = (columns.end - columns.begin) * args_.output.channels;
    kernels_.interpolate(numbers_[0], kNumbers, 0, slots, kOne, numbers, out);
  }

 private:
  static constexpr int kSlots = ResizeTaps::kMaxCount;  // taps are neighbours
  static constexpr int kNumbers = 4096;
  static constexpr ResizeTaps kOne = {1, {0}, {1.0f}};

  void Fill(int n, int row, const PixelRun& columns) {
    Held& held = held_[row % kSlots];
    if (held.image == n && held.row == row && held.begin == columns.begin &&
        held.end == columns.end) {
      return;
    }
    held = {n, row, columns.begin, columns.end};
    const int channels = args_.output.channels;
    float* to = numbers_[row % kSlots];
    for (int x = columns.begin; x < columns.end; ++x, to += channels) {
      kernels_.interpolate(args_.input.Pixel(n, row, 0), 0, args_.input.pixel_stride, kOne,
                           column_taps_.At(x), channels, to);
    }
  }

  // What a slot holds.
  struct Held {
    int image = -1;
    int row = -1;
    int begin = 0;
    int end = 0;
  };

  const ResizeArgs& args_;
  const WindowKernels& kernels_;
  ColumnTaps& column_taps_;
  Held held_[kSlots];
  float numbers_[kSlots][kNumbers];
};

}  // namespace

void Compute(const PoolArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const WindowKernels& kernels = ChooseWindowKernels();
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const WindowAxis& along = args.spec.columns;
  const int64_t reads = int64_t{output.channels} * args.spec.rows.kernel * along.kernel;
  // Neighbours with whole windows are one pixel with the channels of all.
  const bool joins = along.stride == 1 && LieEndToEnd(input) && LieEndToEnd(output);
  const int64_t end_of_whole = joins ? EndOfWhole(along, input.width) : 0;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, reads, [&](int n, const PixelRun& run) {
    const PoolTaps in_rows = TapsOfPool(args.spec.rows, input.height, run.row);
    for (int x = run.begin, joined = 1; x < run.end; x += joined) {
      const PoolTaps in_columns = TapsOfPool(along, input.width, x);
      const int64_t end = std::min<int64_t>(run.end, end_of_whole);
      joined = x < along.pad_begin || end <= x ? 1 : static_cast<int>(end - x);
      const int numbers = joined * output.channels;
      PixelGrid grid;
      if (in_rows.count > 0 && in_columns.count > 0) {
        grid = {input.Pixel(n, in_rows.first, in_columns.first),
                input.row_stride * args.spec.rows.dilation, input.pixel_stride * along.dilation,
                in_rows.count, in_columns.count};
      }
      float* pixel = output.Pixel(n, run.row, x);
      if (args.spec.kind == PoolSpec::Kind::kMax) {
        kernels.pool_maximum(grid, numbers, pixel);
      } else {
        const float divisor = PoolDivisor(args.spec, in_rows, in_columns);
        kernels.pool_average(grid, divisor, numbers, pixel);
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
  const int most_columns = ResizedRows::MostColumns(output.channels);
  // With fewer neighbours, or rows that no other row blends, this is no better than single pixels.
  constexpr int kFewColumns = 8;
  const bool joins = !is_copy && most_columns >= kFewColumns && LieEndToEnd(output) &&
                     output.height > input.height;
  const int stretch = joins ? std::min(most_columns, ColumnTaps::kSlots) : ColumnTaps::kSlots;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEachPart(pool, output.channels, [&](Range numbers) {
    ColumnTaps column_taps(args);
    ResizedRows resized_rows(args, kernels, column_taps);
    // Goes by stretches of columns, whose taps and rows are kept from row to row.
    for (int first = 0; first < output.width; first += stretch) {
      runs.ForEachIn(numbers, [&](int n, const PixelRun& run, int) {
        const int begin = std::max(run.begin, first);
        const int end = std::min(run.end, first + stretch);
        if (begin >= end) return;
        const ResizeTaps rows = TapsOf(args.spec, true, input.height, output.height, run.row);
        if (joins && end - begin >= kFewColumns) {
          resized_rows.Blend(n, {run.row, begin, end}, rows, output.Pixel(n, run.row, begin));
          return;
        }
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

}  // namespace cacheinf::cpu
