#include <algorithm>
#include <cmath>
#include <limits>

#include "sparse_ops/function.h"
#include "sparse_ops/reference/pool_taps.h"
#include "sparse_ops/reference/reduce_lanes.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/resize_taps.h"

namespace cacheinf::reference {
namespace {

// Calls visit(n, y, x, pixel) for the given rows of every image.
void ForEachPixel(const ImageView& image, Range rows, const auto& visit) {
  for (int n = 0; n < image.batch; ++n) {
    for (int y = rows.begin; y < rows.end; ++y) {
      for (int x = 0; x < image.width; ++x) visit(n, y, x, image.Pixel(n, y, x));
    }
  }
}

// The input indices of an adaptive pool's cell.
Range CellOf(int out, int in_size, int out_size) {
  const int64_t begin = static_cast<int64_t>(out) * in_size / out_size;
  const int64_t end = (static_cast<int64_t>(out + 1) * in_size + out_size - 1) / out_size;
  return {static_cast<int>(begin), static_cast<int>(end)};
}

// One channel of a rectangle of a picture, as rows × columns.
ConstTensorView ChannelOf(const ConstImageView& image, int n, Range rows, Range columns, int c) {
  ConstTensorView view;
  view.data = image.Pixel(n, rows.begin, columns.begin) + c;
  view.rank = 2;
  view.dims = {rows.size(), columns.size()};
  view.strides = {image.row_stride, image.pixel_stride};
  return view;
}

}  // namespace

void Compute(const PoolArgs& args, const ActivePixels& pixels) {
  const bool is_max = args.spec.kind == PoolSpec::Kind::kMax;
  const ConstImageView& input = args.input;
  ForEachPixel(args.output, pixels.rows, [&](int n, int y, int x, float* pixel) {
    const PoolTaps in_rows = TapsOfPool(args.spec.rows, input.height, y);
    const PoolTaps in_columns = TapsOfPool(args.spec.columns, input.width, x);
    const float divisor = PoolDivisor(args.spec, in_rows, in_columns);
    for (int c = 0; c < args.output.channels; ++c) {
      float value = is_max ? -std::numeric_limits<float>::infinity() : 0.0f;
      for (int64_t in_y = in_rows.begin; in_y < in_rows.end; in_y += in_rows.step) {
        for (int64_t in_x = in_columns.begin; in_x < in_columns.end; in_x += in_columns.step) {
          const float tap = input.Pixel(n, static_cast<int>(in_y), static_cast<int>(in_x))[c];
          value = is_max ? Combine(BinaryKind::kMaximum, value, tap) : value + tap;
        }
      }
      pixel[c] = is_max || divisor == 0.0f ? value : value / divisor;
    }
  });
}

void Compute(const AdaptivePoolArgs& args, const ActivePixels& pixels) {
  const bool is_max = args.kind == PoolSpec::Kind::kMax;
  const AxisSet both = {true, true};
  ForEachPixel(args.output, pixels.rows, [&](int n, int y, int x, float* pixel) {
    const Range in_rows = CellOf(y, args.input.height, args.output.height);
    const Range in_columns = CellOf(x, args.input.width, args.output.width);
    const float count =
        static_cast<float>(static_cast<int64_t>(in_rows.size()) * in_columns.size());
    for (int c = 0; c < args.output.channels; ++c) {
      const ConstTensorView cell = ChannelOf(args.input, n, in_rows, in_columns, c);
      if (!is_max) {
        pixel[c] = SumOver(cell.data, cell, both) / count;
        continue;
      }
      float largest = -std::numeric_limits<float>::infinity();
      for (int in_y = in_rows.begin; in_y < in_rows.end; ++in_y) {
        for (int in_x = in_columns.begin; in_x < in_columns.end; ++in_x) {
          largest = Combine(BinaryKind::kMaximum, largest, args.input.Pixel(n, in_y, in_x)[c]);
        }
      }
      pixel[c] = largest;
    }
  });
}

void Compute(const ResizeArgs& args, const ActivePixels& pixels) {
  const ConstImageView& input = args.input;
  const bool is_copy = args.spec.kind == ResizeSpec::Kind::kNearest;
  ForEachPixel(args.output, pixels.rows, [&](int n, int y, int x, float* pixel) {
    const ResizeTaps in_rows = TapsOf(args.spec, true, input.height, args.output.height, y);
    const ResizeTaps in_columns = TapsOf(args.spec, false, input.width, args.output.width, x);
    for (int c = 0; c < args.output.channels; ++c) {
      if (is_copy) {
        pixel[c] = input.Pixel(n, in_rows.index[0], in_columns.index[0])[c];
        continue;
      }
      float sum = 0.0f;
      for (int i = 0; i < in_rows.count; ++i) {
        float row_sum = 0.0f;
        for (int j = 0; j < in_columns.count; ++j) {
          const float tap = input.Pixel(n, in_rows.index[i], in_columns.index[j])[c];
          row_sum = std::fma(tap, in_columns.weight[j], row_sum);
        }
        sum = std::fma(row_sum, in_rows.weight[i], sum);
      }
      pixel[c] = sum;
    }
  });
}

namespace {

// The channel of the deep map that holds channel `c` of the wide one at (by, bx) of a block.
int DeepChannel(const BlockArgs& args, int wide_channels, int by, int bx, int c) {
  if (args.order == BlockOrder::kRowsFirst) return (by * args.block + bx) * wide_channels + c;
  return (c * args.block + by) * args.block + bx;
}

}  // namespace

void Compute(const DepthToSpaceArgs& args, const ActivePixels& pixels) {
  const int block = args.block;
  const int channels = args.output.channels;
  ForEachPixel(args.output, pixels.rows, [&](int n, int y, int x, float* pixel) {
    const float* deep = args.input.Pixel(n, y / block, x / block);
    for (int c = 0; c < channels; ++c) {
      pixel[c] = deep[DeepChannel(args, channels, y % block, x % block, c)];
    }
  });
}

void Compute(const SpaceToDepthArgs& args, const ActivePixels& pixels) {
  const int block = args.block;
  const int channels = args.input.channels;
  ForEachPixel(args.output, pixels.rows, [&](int n, int y, int x, float* pixel) {
    for (int by = 0; by < block; ++by) {
      for (int bx = 0; bx < block; ++bx) {
        const float* wide = args.input.Pixel(n, y * block + by, x * block + bx);
        for (int c = 0; c < channels; ++c) {
          pixel[DeepChannel(args, channels, by, bx, c)] = wide[c];
        }
      }
    }
  });
}

}  // namespace cacheinf::reference
