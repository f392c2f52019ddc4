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

void CopyPixel(const float* from, float* to, int channels) {
  std::memcpy(to, from, static_cast<size_t>(channels) * sizeof(float));
}

// Where a pixel of the wide map lies in the deep map's pixel of its block: channel c at
// first + c step.
struct PlaceInBlock {
  int64_t first;
  int64_t step;
};

PlaceInBlock PlaceOf(const BlockArgs& args, int row_in_block, int column_in_block, int channels) {
  const int64_t place = int64_t{row_in_block} * args.block + column_in_block;
  if (args.order == BlockOrder::kRowsFirst) return {place * channels, 1};
  return {place, int64_t{args.block} * args.block};
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
      std::memcpy(out.data + at[0], in.data + at[1], static_cast<size_t>(length) * sizeof(float));
    });
    return;
  }
  const Runs<2> runs(pixels, out.rank, out.dims, {out.strides.data(), in.strides.data()});
  const int64_t to_step = runs.inner_stride(0);
  const int64_t from_step = runs.inner_stride(1);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    float* to = out.data + at[0];
    const float* from = in.data + at[1];
    if (to_step == 1 && from_step == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      return;
    }
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
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
        CopyPixel(input.Pixel(n, in_y, in_x), pixel, output.channels);
      }
    }
  });
}

void DepthToSpace(const BlockArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const ImageView& output = args.output;
  const int block = args.block;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, output.channels, [&](int n, const PixelRun& run) {
    for (int x = run.begin; x < run.end; ++x) {
      const PlaceInBlock place = PlaceOf(args, run.row % block, x % block, output.channels);
      const float* from = args.input.Pixel(n, run.row / block, x / block) + place.first;
      float* to = output.Pixel(n, run.row, x);
      if (place.step == 1) {
        CopyPixel(from, to, output.channels);
      } else {
        for (int c = 0; c < output.channels; ++c) to[c] = from[c * place.step];
      }
    }
  });
}

void SpaceToDepth(const BlockArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const ConstImageView& input = args.input;
  const ImageView& output = args.output;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, output.channels, [&](int n, const PixelRun& run) {
    for (int x = run.begin; x < run.end; ++x) {
      float* pixel = output.Pixel(n, run.row, x);
      for (int row = 0; row < args.block; ++row) {
        for (int column = 0; column < args.block; ++column) {
          const PlaceInBlock place = PlaceOf(args, row, column, input.channels);
          const float* from = input.Pixel(n, run.row * args.block + row, x * args.block + column);
          float* to = pixel + place.first;
          if (place.step == 1) {
            CopyPixel(from, to, input.channels);
          } else {
            for (int c = 0; c < input.channels; ++c) to[c * place.step] = from[c];
          }
        }
      }
    }
  });
}

}  // namespace cpu
}  // namespace cacheinf
