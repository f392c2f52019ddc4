#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/runs.h"
#include "sparse_ops/reference/on_pixels.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace cpu {
namespace {

void CopyNumbers(const float* from, int64_t from_step, float* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

// For neighbouring pixels of the wide map that lie in one row of a block: calls move(deep,
// deep_step, wide, count) for numbers that lie end to end in the wide map, from `wide` after the
// first pixel on, and deep_step apart in the deep map, from `deep` after its pixel on.
template <typename Move>
void MoveRowOfBlock(const BlockArgs& args, int row_in_block, Range columns_in_block, int channels,
                    int64_t pixel_stride, const Move& move) {
  const int64_t first = int64_t{row_in_block} * args.block + columns_in_block.begin;
  const int pixels = columns_in_block.size();
  if (args.order == BlockOrder::kChannelsFirst) {
    for (int i = 0; i < pixels; ++i) {
      move(first + i, int64_t{args.block} * args.block, i * pixel_stride, channels);
    }
  } else if (pixel_stride == channels) {
    move(first * channels, 1, 0, pixels * channels);
  } else {
    for (int i = 0; i < pixels; ++i) {
      move((first + i) * channels, 1, i * pixel_stride, channels);
    }
  }
}

}  // namespace

void Copy(const CopyArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const TensorView& out = args.output;
  const ConstTensorView& in = args.input;
  if (args.in_logical_order) {
    // Dims differ: only where both lie in logical order is it a plain copy.
    const auto is_contiguous = [](const auto& view) {
      int64_t expected = 1;
      for (int axis = view.rank - 1; axis >= 0; --axis) {
        if (view.dims[axis] != 1 && view.strides[axis] != expected) return false;
        expected *= view.dims[axis];
      }
      return true;
    };
    if (!is_contiguous(in) || !is_contiguous(out)) return reference::Copy(args);
    const int64_t count = out.Count();
    const int64_t stride = 1;
    const Runs<2> run(Range{0, 1}, 1, {count}, {&stride, &stride});
    run.ForEach(pool, [&](const auto& at, int64_t length) {
      CopyNumbers(in.data + at[1], 1, out.data + at[0], 1, length);
    });
    return;
  }
  const Runs<2> runs(pixels, out.rank, out.dims, {out.strides.data(), in.strides.data()});
  const int64_t to_step = runs.inner_stride(0);
  const int64_t from_step = runs.inner_stride(1);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    CopyNumbers(in.data + at[1], from_step, out.data + at[0], to_step, count);
  });
}

void Pad(const PadArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const TensorView& out = args.output;
  const bool is_picture = out.rank == 4 && args.begins[0] == 0 && args.begins[1] == 0 &&
                          out.dims[0] == args.input.dims[0] && out.dims[1] == args.input.dims[1] &&
                          (out.dims[1] == 1 || (out.strides[1] == 1 && args.input.strides[1] == 1));
  if (!is_picture) return reference::OnPixels(reference::Pad, args, pixels);
  const ConstImageView input = AsImage(args.input);
  const ImageView output = AsImage(out);
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, output.channels, [&](int n, const PixelRun& run) {
    const auto in_y =
        static_cast<int>(PaddedIndex(args.mode, run.row - args.begins[2], input.height));
    for (int x = run.begin; x < run.end; ++x) {
      const auto in_x = static_cast<int>(PaddedIndex(args.mode, x - args.begins[3], input.width));
      float* pixel = output.Pixel(n, run.row, x);
      if (in_y < 0 || in_x < 0) {
        std::fill_n(pixel, output.channels, args.value);
      } else {
        CopyNumbers(input.Pixel(n, in_y, in_x), 1, pixel, 1, output.channels);
      }
    }
  });
}

void DepthToSpace(const BlockArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const ImageView& output = args.output;
  const int block = args.block;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, output.channels, [&](int n, const PixelRun& run) {
    const float* deep_pixel = args.input.Pixel(n, run.row / block, run.begin / block);
    float* wide_pixel = output.Pixel(n, run.row, run.begin);
    Range columns = {run.begin % block, block};
    for (int left = run.end - run.begin; left > 0; left -= columns.size(), columns.begin = 0) {
      columns.end = std::min(block, columns.begin + left);
      MoveRowOfBlock(args, run.row % block, columns, output.channels, output.pixel_stride,
                     [&](int64_t deep, int64_t deep_step, int64_t wide, int64_t count) {
                       CopyNumbers(deep_pixel + deep, deep_step, wide_pixel + wide, 1, count);
                     });
      deep_pixel += args.input.pixel_stride;
      wide_pixel += columns.size() * output.pixel_stride;
    }
  });
}

void SpaceToDepth(const BlockArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const int block = args.block;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, output.channels, [&](int n, const PixelRun& run) {
    for (int x = run.begin; x < run.end; ++x) {
      float* deep_pixel = output.Pixel(n, run.row, x);
      for (int row = 0; row < block; ++row) {
        const float* wide_pixel = input.Pixel(n, run.row * block + row, x * block);
        MoveRowOfBlock(args, row, {0, block}, input.channels, input.pixel_stride,
                       [&](int64_t deep, int64_t deep_step, int64_t wide, int64_t count) {
                         CopyNumbers(wide_pixel + wide, 1, deep_pixel + deep, deep_step, count);
                       });
      }
    }
  });
}

}  // namespace cpu
}  // namespace cacheinf
