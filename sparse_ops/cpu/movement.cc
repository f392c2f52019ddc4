#include <algorithm>
#include <cstring>

#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/runs.h"
#include "sparse_ops/reference/reference.h"

namespace cacheinf {
namespace cpu {
namespace {

void CopyPixel(const float* from, float* to, int channels) {
  std::memcpy(to, from, static_cast<size_t>(channels) * sizeof(float));
}

// A map of which every pixel is a block of block × block pixels: dims image, row, column, row of
// the block, column of the block, channel.
template <typename T>
BasicTensorView<T> AsBlocks(const BasicImageView<T>& wide, int block) {
  BasicTensorView<T> view;
  view.data = wide.data;
  view.rank = 6;
  view.dims = {wide.batch, wide.height / block, wide.width / block, block, block, wide.channels};
  view.strides = {wide.batch_stride, wide.row_stride * block, wide.pixel_stride * block,
                  wide.row_stride,   wide.pixel_stride,       1};
  return view;
}

// The same numbers where they stand in the deep map's channels.
template <typename T>
BasicTensorView<T> AsDeepBlocks(const BasicImageView<T>& deep, int block, BlockOrder order) {
  const int wide_channels = deep.channels / (block * block);
  BasicTensorView<T> view;
  view.data = deep.data;
  view.rank = 6;
  view.dims = {deep.batch, deep.height, deep.width, block, block, wide_channels};
  view.strides = {deep.batch_stride, deep.row_stride, deep.pixel_stride, 0, 0, 0};
  if (order == BlockOrder::kRowsFirst) {
    view.strides[3] = int64_t{block} * wide_channels;
    view.strides[4] = wide_channels;
    view.strides[5] = 1;
  } else {
    view.strides[3] = block;
    view.strides[4] = 1;
    view.strides[5] = int64_t{block} * block;
  }
  return view;
}

// Axes 1 and 3 of blocks, rows and rows within a block, cut to part of each.
template <typename T>
BasicTensorView<T> CutBlocks(const BasicTensorView<T>& view, Range rows, Range rows_in_block) {
  return SliceAxis(SliceAxis(view, 1, rows.begin, rows.size()), 3, rows_in_block.begin,
                   rows_in_block.size());
}

}  // namespace

void Copy(const CopyArgs& args, ThreadPool& pool) {
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
    const Runs<2> run(1, {count}, {&stride, &stride});
    run.ForEach(pool, [&](const auto& at, int64_t length) {
      std::memcpy(out.data + at[0], in.data + at[1], static_cast<size_t>(length) * sizeof(float));
    });
    return;
  }
  const Runs<2> runs(out.rank, out.dims, {out.strides.data(), in.strides.data()});
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

void Pad(const PadArgs& args, ThreadPool& pool) {
  const TensorView& out = args.output;
  const bool is_picture = out.rank == 4 && args.begins[0] == 0 && args.begins[1] == 0 &&
                          out.dims[0] == args.input.dims[0] && out.dims[1] == args.input.dims[1] &&
                          (out.dims[1] == 1 || (out.strides[1] == 1 && args.input.strides[1] == 1));
  if (!is_picture) return reference::Pad(args);
  const ConstImageView input = AsImage(args.input);
  const ImageView output = AsImage(out);
  pool.ParallelFor(output.batch * output.height, [&](int index, int) {
    const int n = index / output.height;
    const int y = index % output.height;
    const auto in_y = static_cast<int>(PaddedIndex(args.mode, y - args.begins[2], input.height));
    for (int x = 0; x < output.width; ++x) {
      const auto in_x = static_cast<int>(PaddedIndex(args.mode, x - args.begins[3], input.width));
      float* pixel = output.Pixel(n, y, x);
      if (in_y < 0 || in_x < 0) {
        std::fill_n(pixel, output.channels, args.value);
      } else {
        CopyPixel(input.Pixel(n, in_y, in_x), pixel, output.channels);
      }
    }
  });
}

void DepthToSpace(const BlockArgs& args, Range rows, ThreadPool& pool) {
  const ConstTensorView from = AsDeepBlocks(args.input, args.block, args.order);
  const TensorView to = AsBlocks(args.output, args.block);
  for (int row = rows.begin; row < rows.end;) {
    // As many whole blocks as there are, else what is left of one.
    const int in_block = row % args.block;
    const int block = row / args.block;
    const int whole = in_block == 0 ? (rows.end - row) / args.block : 0;
    const Range blocks = {block, block + std::max(whole, 1)};
    const Range cut = whole > 0 ? Range{0, args.block}
                                : Range{in_block, std::min(args.block, in_block + rows.end - row)};
    Copy({/*in_logical_order=*/false, CutBlocks(from, blocks, cut), CutBlocks(to, blocks, cut)},
         pool);
    row += blocks.size() * cut.size();
  }
}

void SpaceToDepth(const BlockArgs& args, Range rows, ThreadPool& pool) {
  const ConstTensorView from = AsBlocks(args.input, args.block);
  const TensorView to = AsDeepBlocks(args.output, args.block, args.order);
  const Range whole = {0, args.block};
  Copy({/*in_logical_order=*/false, CutBlocks(from, rows, whole), CutBlocks(to, rows, whole)},
       pool);
}

}  // namespace cpu
}  // namespace cacheinf
