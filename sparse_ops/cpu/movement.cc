#include <algorithm>
#include <array>
#include <cstring>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/cpu.h"
#include "sparse_ops/cpu/runs.h"
#include "sparse_ops/cpu/transpose_kernels.h"
#include "sparse_ops/reference/reference.h"
#include "sparse_ops/view_transforms.h"

namespace cacheinf::cpu {
namespace {

void CopyNumbers(const float* from, int64_t from_step, float* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

// For neighbouring pixels of the wide map in one row of a block, calls move(deep, deep_step, wide,
// count). The numbers lie end to end in the wide map, starting `wide` after the first pixel, and
// deep_step apart in the deep map, starting `deep` after its pixel.
void MoveRowOfBlock(const BlockArgs& args, int row_in_block, Range columns_in_block, int channels,
                    int64_t pixel_stride, const auto& move) {
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

// One axis of a copy: its size, and the steps along it in both operands.
struct CopyAxis {
  int64_t size;
  int64_t to_step;
  int64_t from_step;
};

// A copy whose numbers lie end to end along one axis in the output and along another in the input,
// as between channels-first and channels-last maps.
class Transposition {
 public:
  // Copies all elements of these rows; only maps have rows.
  Transposition(const ConstTensorView& in, const TensorView& out, Range rows)
      : from_(in.data), to_(out.data) {
    for (int axis = 0; axis < out.rank; ++axis) {
      const bool is_rows = out.rank == 4 && axis == 2;
      const int64_t size = is_rows ? rows.size() : out.dims[axis];
      if (is_rows) {
        from_ += rows.begin * in.strides[axis];
        to_ += rows.begin * out.strides[axis];
      }
      if (size != 1) Add({size, out.strides[axis], in.strides[axis]});
    }
    for (int i = 0; i < count_; ++i) {
      if (axes_[i].to_step == 1) inner_ = i;
      if (axes_[i].from_step == 1) outer_ = i;
    }
  }

  bool is_one() const { return inner_ >= 0 && outer_ >= 0 && inner_ != outer_; }

  void Run(ThreadPool& pool) const {
    const CopyAxis& inner = axes_[inner_];
    const CopyAxis& outer = axes_[outer_];
    int64_t planes = 1;
    for (int i = 0; i < count_; ++i) planes *= IsOfPlane(i) ? 1 : axes_[i].size;
    if (planes == 0 || inner.size == 0 || outer.size == 0) return;
    const int64_t inner_chunks = (inner.size + kChunk - 1) / kChunk;
    const int64_t chunks = inner_chunks * ((outer.size + kChunk - 1) / kChunk);
    pool.ParallelFor(static_cast<int>(planes * chunks), [&](int index, int) {
      int64_t plane = index / chunks;
      const int64_t first_inner = index % chunks % inner_chunks * kChunk;
      const int64_t first_outer = index % chunks / inner_chunks * kChunk;
      const float* from = from_ + first_outer + first_inner * inner.from_step;
      float* to = to_ + first_outer * outer.to_step + first_inner;
      for (int i = 0; i < count_; ++i) {
        if (IsOfPlane(i)) continue;
        from += plane % axes_[i].size * axes_[i].from_step;
        to += plane % axes_[i].size * axes_[i].to_step;
        plane /= axes_[i].size;
      }
      CopyChunk(from, to, std::min(kChunk, inner.size - first_inner),
                std::min(kChunk, outer.size - first_outer));
    });
  }

 private:
  static constexpr int64_t kTile = kTransposedTogether;
  static constexpr int64_t kChunk = 512;
  static constexpr int64_t kRowsTogether = 8;

  bool IsOfPlane(int axis) const { return axis == inner_ || axis == outer_; }

  // Merges the axis with the one before, if both are one axis in both operands.
  void Add(const CopyAxis& axis) {
    if (count_ > 0) {
      CopyAxis& before = axes_[count_ - 1];
      if (before.to_step == axis.to_step * axis.size &&
          before.from_step == axis.from_step * axis.size) {
        before = {before.size * axis.size, axis.to_step, axis.from_step};
        return;
      }
    }
    axes_[count_++] = axis;
  }

  // Copies this many indices along both axes, tile by tile along the inner one. A few of the outer
  // one at a time, so that whole lines of few rows of the output are written.
  void CopyChunk(const float* from, float* to, int64_t inner, int64_t outer) const {
    const int64_t from_step = axes_[inner_].from_step;
    const int64_t to_step = axes_[outer_].to_step;
    const int64_t in_tiles = inner / kTile * kTile;
    for (int64_t row = 0; row < outer; row += kRowsTogether) {
      const int64_t rows = std::min(kRowsTogether, outer - row);
      for (int64_t first = 0; first < in_tiles; first += kTile) {
        ChooseTransposeKernels().transpose(from + row + first * from_step, from_step,
                                           to + row * to_step + first, to_step, rows);
      }
    }
    const int64_t width = inner - in_tiles;
    const float* const rest = from + in_tiles * from_step;
    if (width == 3) {
      CopyTile<3>(rest, from_step, to + in_tiles, to_step, width, outer);
    } else {
      CopyTile<0>(rest, from_step, to + in_tiles, to_step, width, outer);
    }
  }

  // kWidth is `width` if known, else 0.
  template <int64_t kWidth>
  static void CopyTile(const float* from, int64_t from_step, float* to, int64_t to_step,
                       int64_t width, int64_t size) {
    if (kWidth != 0) width = kWidth;
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < width; ++j) to[i * to_step + j] = from[i + j * from_step];
    }
  }

  const float* from_;
  float* to_;
  CopyAxis axes_[TensorView::kMaxRank] = {};
  int count_ = 0;
  int inner_ = -1;  // along which the output lies end to end
  int outer_ = -1;  // along which the input does
};

template <typename T>
bool LiesInLogicalOrder(const BasicTensorView<T>& view) {
  int64_t expected = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.dims[axis] != 1 && view.strides[axis] != expected) return false;
    expected *= view.dims[axis];
  }
  return true;
}

// Pads the channels of one pixel.
void PadChannels(const PadArgs& args, const float* from, int from_channels, float* to,
                 int to_channels) {
  for (int c = 0; c < to_channels; ++c) {
    const int64_t in_c = PaddedIndex(args.mode, c - args.begins[1], from_channels);
    to[c] = in_c < 0 ? args.value : from[in_c];
  }
}

void CopyAll(const ConstTensorView& in, const TensorView& out, ThreadPool& pool) {
  Compute(CopyArgs{in, out}, AllPixels(out), pool);
}

}  // namespace

void Compute(const CopyArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const TensorView& out = args.output;
  const ConstTensorView& in = args.input;
  if (args.in_logical_order) {
    // Numbers that lie in logical order may have any dims of the same count.
    if (LiesInLogicalOrder(out)) return CopyAll(in, PackedView(out.data, in, in.rank - 1), pool);
    if (LiesInLogicalOrder(in)) return CopyAll(PackedView(in.data, out, out.rank - 1), out, pool);
    return reference::Compute(args);
  }
  if (out.rank != 4 || !pixels.is_sparse) {
    const Transposition transposition(in, out, pixels.rows);
    if (transposition.is_one()) return transposition.Run(pool);
  }
  const Runs<2> runs(pixels, out.rank, out.dims, {out.strides.data(), in.strides.data()});
  const int64_t to_step = runs.inner_stride(0);
  const int64_t from_step = runs.inner_stride(1);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    CopyNumbers(in.data + at[1], from_step, out.data + at[0], to_step, count);
  });
}

// An element's entry is a third operand that has a step along the axis alone. So whole runs of one
// entry are copied or, if entries lie innermost, runs of entries.
void Compute(const GatherArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const TensorView& out = args.output;
  const ConstTensorView& in = args.input;
  const int64_t entry_stride = in.strides[args.axis];
  std::array<int64_t, TensorView::kMaxRank> in_strides = in.strides;
  std::array<int64_t, TensorView::kMaxRank> entry_steps = {};
  in_strides[args.axis] = 0;
  entry_steps[args.axis] = 1;
  const Runs<3> runs(pixels, out.rank, out.dims,
                     {out.strides.data(), in_strides.data(), entry_steps.data()});
  const int64_t to_step = runs.inner_stride(0);
  const int64_t from_step = runs.inner_stride(1);
  const bool entries_are_innermost = runs.inner_stride(2) == 1;
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    float* to = out.data + at[0];
    const float* from = in.data + at[1];
    const int64_t* indices = args.indices + at[2];
    if (entries_are_innermost) {
      for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[indices[i] * entry_stride];
    } else {
      CopyNumbers(from + indices[0] * entry_stride, from_step, to, to_step, count);
    }
  });
}

// As Gather, but every element has its own entry, or shares it with elements to which its index
// broadcasts.
void Compute(const GatherElementsArgs& args, ThreadPool& pool) {
  const TensorView& out = args.output;
  const ConstTensorView& in = args.input;
  const int64_t size = in.dims[args.axis];
  const int64_t entry_stride = in.strides[args.axis];
  std::array<int64_t, TensorView::kMaxRank> in_strides = in.strides;
  in_strides[args.axis] = 0;
  const ConstTensorView indices = BroadcastTo(args.indices, out);
  const Runs<3> runs(AllPixels(out), out.rank, out.dims,
                     {out.strides.data(), in_strides.data(), indices.strides.data()});
  const int64_t to_step = runs.inner_stride(0);
  const int64_t from_step = runs.inner_stride(1);
  const int64_t index_step = runs.inner_stride(2);
  runs.ForEach(pool, [&](const auto& at, int64_t count) {
    float* to = out.data + at[0];
    const float* from = in.data + at[1];
    const float* index = indices.data + at[2];
    for (int64_t i = 0; i < count; ++i) {
      to[i * to_step] = from[i * from_step + PlaceOf(index[i * index_step], size) * entry_stride];
    }
  });
}

void Compute(const PadArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
  const auto are_pixels = [](const auto& view) {
    return view.dims[1] == 1 || view.strides[1] == 1;
  };
  const bool is_map = args.output.rank == 4 && are_pixels(args.output) && are_pixels(args.input);
  if (!is_map) return reference::Compute(args, pixels);
  const ConstImageView input = AsImage(args.input);
  const ImageView output = AsImage(args.output);
  const auto padded = [&](int axis, int index, int size) {
    return static_cast<int>(PaddedIndex(args.mode, index - args.begins[axis], size));
  };
  const bool pads_channels = args.begins[1] != 0 || output.channels != input.channels;
  const bool moves_rows = !pads_channels && input.pixel_stride == input.channels &&
                          output.pixel_stride == output.channels;
  const ActiveRuns runs(pixels, output.batch, output.width);
  runs.ForEach(pool, output.channels, [&](int n, const PixelRun& run) {
    const int in_n = padded(0, n, input.batch);
    const int in_y = padded(2, run.row, input.height);
    for (int x = run.begin; x < run.end;) {
      const int in_x = padded(3, x, input.width);
      float* const to = output.Pixel(n, run.row, x);
      int count = 1;
      if (in_n < 0 || in_y < 0 || in_x < 0) {
        std::fill_n(to, output.channels, args.value);
      } else if (pads_channels) {
        PadChannels(args, input.Pixel(in_n, in_y, in_x), input.channels, to, output.channels);
      } else {
        const bool is_inside = x >= args.begins[3] && x < args.begins[3] + input.width;
        if (moves_rows && is_inside) count = std::min(run.end - x, input.width - in_x);
        CopyNumbers(input.Pixel(in_n, in_y, in_x), 1, to, 1, int64_t{count} * output.channels);
      }
      x += count;
    }
  });
}

void Compute(const DepthToSpaceArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
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

void Compute(const SpaceToDepthArgs& args, const ActivePixels& pixels, ThreadPool& pool) {
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

}  // namespace cacheinf::cpu
