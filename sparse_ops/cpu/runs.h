#ifndef CACHEINF_SPARSE_OPS_CPU_RUNS_H_
#define CACHEINF_SPARSE_OPS_CPU_RUNS_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "sparse_ops/cpu/active_runs.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/views.h"

namespace cacheinf::cpu {

// Splits the elements of several operands with the same dims into few long runs: sorts axes by the
// first operand's strides, drops those of size 1, and merges axes that lie end to end in all
// operands. From a map it takes the active pixels; unless those are whole rows, a run is the
// channels of one pixel, or of neighbouring pixels that lie end to end in all operands.
template <int kOperands>
class Runs {
 public:
  using Dims = std::array<int64_t, TensorView::kMaxRank>;
  using Strides = std::array<int64_t, kOperands>;

  // `strides[i]` belong to operand i. A tensor that is not a map is taken whole.
  Runs(const ActivePixels& pixels, int rank, Dims dims,
       const std::array<const int64_t*, kOperands>& strides)
      : pixels_(pixels), is_sparse_(rank == 4 && pixels.is_sparse) {
    if (is_sparse_) {
      SetPixels(dims, strides);
      return;
    }
    if (rank == 4) {
      dims[2] = pixels.rows.size();
      for (int i = 0; i < kOperands; ++i) origin_[i] = pixels.rows.begin * strides[i][2];
    }
    for (int axis = 0; axis < rank; ++axis) {
      count_ *= dims[axis];
      if (dims[axis] == 1) continue;
      Axis added = {dims[axis], {}};
      for (int i = 0; i < kOperands; ++i) added.strides[i] = strides[i][axis];
      int place = axis_count_++;
      for (; place > 0 && added.strides[0] < axes_[place - 1].strides[0]; --place) {
        axes_[place] = axes_[place - 1];
      }
      axes_[place] = added;
    }
    Merge();
  }

  // The distance of neighbours within a run; 1 if a run has one element.
  int64_t inner_stride(int operand) const { return axes_[0].strides[operand]; }

  // Calls fn(offsets, count) for every run: operand i's elements start at offsets[i] and lie
  // inner_stride(i) apart. `work` is the cost of one element.
  template <typename Fn>
  void ForEach(ThreadPool& pool, Fn&& fn, int64_t work = 1) const {
    if (is_sparse_) return ForEachOfPixels(pool, fn, work);
    if (count_ == 0) return;
    const int64_t longest = std::max<int64_t>(1, kLongestRun / work);
    const int64_t pieces_per_run = (axes_[0].size + longest - 1) / longest;
    const int64_t pieces = count_ / axes_[0].size * pieces_per_run;
    const int items = static_cast<int>(
        std::min<int64_t>(pieces, count_ * work < kParallelWork ? 1 : 4 * int64_t{pool.threads()}));
    pool.ParallelFor(items, [&](int item, int) {
      const int64_t begin = pieces * item / items;
      const int64_t end = pieces * (item + 1) / items;
      Cursor cursor = CursorAt(begin / pieces_per_run);
      int64_t first = begin % pieces_per_run * longest;
      for (int64_t piece = begin; piece < end; ++piece) {
        Strides offsets = cursor.offsets;
        for (int i = 0; i < kOperands; ++i) offsets[i] += first * axes_[0].strides[i];
        fn(offsets, std::min(axes_[0].size - first, longest));
        first += longest;
        if (first < axes_[0].size) continue;
        first = 0;
        Advance(cursor);
      }
    });
  }

 private:
  struct Axis {
    int64_t size = 1;
    Strides strides = {};
  };

  // Longer runs are cut, so that a run's second kernel finds in the cache what the first one wrote.
  static constexpr int64_t kLongestRun = 4096;

  // Below this much work a second thread costs more to wake than it saves.
  static constexpr int64_t kParallelWork = 16 * 1024;

  void SetPixels(const Dims& dims, const std::array<const int64_t*, kOperands>& strides) {
    batch_ = static_cast<int>(dims[0]);
    width_ = static_cast<int>(dims[3]);
    channels_ = dims[1];
    for (int i = 0; i < kOperands; ++i) {
      image_[i] = strides[i][0];
      row_[i] = strides[i][2];
      column_[i] = strides[i][3];
      axes_[0].strides[i] = strides[i][channels_ == 1 ? 3 : 1];
      pixels_lie_end_to_end_ &= column_[i] == axes_[0].strides[i] * channels_;
    }
  }

  void ForEachOfPixels(ThreadPool& pool, const auto& fn, int64_t work) const {
    const int64_t longest = std::max<int64_t>(1, kLongestRun / work);
    const ActiveRuns active(pixels_, batch_, width_);
    active.ForEach(pool, channels_ * work, [&](int image, const PixelRun& run) {
      Strides offsets;
      for (int i = 0; i < kOperands; ++i) {
        offsets[i] = image * image_[i] + run.row * row_[i] + run.begin * column_[i];
      }
      const int64_t pixels = run.end - run.begin;
      if (pixels_lie_end_to_end_) {
        for (int64_t left = pixels * channels_; left > 0; left -= longest) {
          fn(offsets, std::min(left, longest));
          for (int i = 0; i < kOperands; ++i) offsets[i] += longest * axes_[0].strides[i];
        }
        return;
      }
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        fn(offsets, channels_);
        for (int i = 0; i < kOperands; ++i) offsets[i] += column_[i];
      }
    });
  }

  void Merge() {
    int last = 0;
    for (int axis = 1; axis < axis_count_; ++axis) {
      bool lies_end_to_end = true;
      for (int i = 0; i < kOperands; ++i) {
        lies_end_to_end &= axes_[axis].strides[i] == axes_[last].strides[i] * axes_[last].size;
      }
      if (lies_end_to_end) {
        axes_[last].size *= axes_[axis].size;
      } else {
        axes_[++last] = axes_[axis];
      }
    }
    if (axis_count_ == 0) axes_[0].strides.fill(1);
    axis_count_ = last + 1;
  }

  // A run: its indices along all axes but the first, and where it begins.
  struct Cursor {
    std::array<int64_t, TensorView::kMaxRank> indices = {};
    Strides offsets = {};
  };

  Cursor CursorAt(int64_t run) const {
    Cursor cursor;
    cursor.offsets = origin_;
    for (int axis = 1; axis < axis_count_; ++axis) {
      cursor.indices[axis] = run % axes_[axis].size;
      run /= axes_[axis].size;
      for (int i = 0; i < kOperands; ++i) {
        cursor.offsets[i] += cursor.indices[axis] * axes_[axis].strides[i];
      }
    }
    return cursor;
  }

  void Advance(Cursor& cursor) const {
    for (int axis = 1; axis < axis_count_; ++axis) {
      const Axis& along = axes_[axis];
      for (int i = 0; i < kOperands; ++i) cursor.offsets[i] += along.strides[i];
      if (++cursor.indices[axis] < along.size) return;
      cursor.indices[axis] = 0;
      for (int i = 0; i < kOperands; ++i) cursor.offsets[i] -= along.size * along.strides[i];
    }
  }

  ActivePixels pixels_;
  bool is_sparse_;

  std::array<Axis, TensorView::kMaxRank> axes_;  // for sparse pixels only the first, within a run
  int axis_count_ = 0;
  int64_t count_ = 1;
  Strides origin_ = {};

  // Only for sparse pixels.
  int batch_ = 1;
  int width_ = 1;
  int64_t channels_ = 1;
  bool pixels_lie_end_to_end_ = true;
  Strides image_ = {};
  Strides row_ = {};
  Strides column_ = {};
};

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_RUNS_H_
