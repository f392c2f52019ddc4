#include "sparse_ops/cpu/window_kernels.h"

#include <cmath>

#include "sparse_ops/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_ops/cpu/window_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "sparse_ops/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cacheinf::cpu::HWY_NAMESPACE {
namespace {

constexpr int kSumLanes = 16;  // of ops.h, whatever the vectors

HWY_INLINE Floats Maximum(Floats a, Floats b) {
  return Combine<BinaryKind::kMaximum>(VectorOps(), a, b);
}
HWY_INLINE Floats Minimum(Floats a, Floats b) {
  return Combine<BinaryKind::kMinimum>(VectorOps(), a, b);
}

// Calls fn(channel, count) for every vector of channels.
HWY_INLINE void ForEachVector(int channels, const auto& fn) {
  for (int c = 0; c < channels; c += kLanes) fn(c, HWY_MIN(kLanes, channels - c));
}

// result = step(result, pixel) from `start`, row by row.
HWY_INLINE Floats Fold(const PixelGrid& grid, int channel, int count, Floats start,
                       const auto& step) {
  Floats result = start;
  for (int y = 0; y < grid.rows; ++y) {
    const float* pixel = grid.first + y * grid.row_step + channel;
    for (int x = 0; x < grid.columns; ++x) {
      result = step(result, LoadFirst(pixel, count));
      pixel += grid.column_step;
    }
  }
  return result;
}

void PoolMaximum(const PixelGrid& grid, int channels, float* out) {
  ForEachVector(channels, [&](int c, int count) {
    const Floats start = hn::Set(FloatTag(), -HUGE_VALF);
    StoreFirst(Fold(grid, c, count, start, Maximum), out + c, count);
  });
}

void PoolAverage(const PixelGrid& grid, float divisor, int channels, float* out) {
  ForEachVector(channels, [&](int c, int count) {
    const auto add = [](Floats a, Floats b) { return hn::Add(a, b); };
    Floats sum = Fold(grid, c, count, hn::Zero(FloatTag()), add);
    if (divisor != 0.0f) sum = hn::Div(sum, hn::Set(FloatTag(), divisor));
    StoreFirst(sum, out + c, count);
  });
}

HWY_INLINE Floats CombineLanes(Floats (&lanes)[kSumLanes], const auto& combine) {
  for (int half = kSumLanes / 2; half >= 1; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// Reduces columns in lanes by `accumulate`, then rows in lanes by `combine`.
HWY_INLINE Floats ReduceInLanes(const PixelGrid& grid, int channel, int count, float start,
                                const auto& accumulate, const auto& combine) {
  Floats row_lanes[kSumLanes];
  for (Floats& lane : row_lanes) lane = hn::Set(FloatTag(), start);
  for (int y = 0; y < grid.rows; ++y) {
    Floats lanes[kSumLanes];
    for (Floats& lane : lanes) lane = hn::Set(FloatTag(), start);
    const float* pixel = grid.first + y * grid.row_step + channel;
    for (int x = 0; x < grid.columns; ++x) {
      Floats& lane = lanes[x % kSumLanes];
      lane = accumulate(lane, LoadFirst(pixel, count));
      pixel += grid.column_step;
    }
    Floats& row_lane = row_lanes[y % kSumLanes];
    row_lane = combine(row_lane, CombineLanes(lanes, combine));
  }
  return CombineLanes(row_lanes, combine);
}

HWY_INLINE Floats Add(Floats a, Floats b) { return hn::Add(a, b); }

void GridSum(const PixelGrid& grid, int channels, float* out) {
  ForEachVector(channels, [&](int c, int count) {
    StoreFirst(ReduceInLanes(grid, c, count, 0.0f, Add, Add), out + c, count);
  });
}

void GridMaximum(const PixelGrid& grid, int channels, float* out) {
  ForEachVector(channels, [&](int c, int count) {
    StoreFirst(ReduceInLanes(grid, c, count, -HUGE_VALF, Maximum, Maximum), out + c, count);
  });
}

void GridMinimum(const PixelGrid& grid, int channels, float* out) {
  ForEachVector(channels, [&](int c, int count) {
    StoreFirst(ReduceInLanes(grid, c, count, HUGE_VALF, Minimum, Minimum), out + c, count);
  });
}

void GridSumOfSquares(const PixelGrid& grid, const float* centers, int channels, float* out) {
  ForEachVector(channels, [&](int c, int count) {
    const Floats center = LoadFirst(centers + c, count);
    const auto add_square = [&](Floats lane, Floats x) {
      const Floats distance = hn::Sub(x, center);
      return Fma(distance, distance, lane);
    };
    StoreFirst(ReduceInLanes(grid, c, count, 0.0f, add_square, Add), out + c, count);
  });
}

// Blends two pixels, one above the other.
void Blend(const float* above, const float* below, const float* weights, int channels, float* out) {
  const Floats above_weight = hn::Set(FloatTag(), weights[0]);
  const Floats below_weight = hn::Set(FloatTag(), weights[1]);
  ForEachVector(channels, [&](int c, int count) {
    const Floats sum = Fma(LoadFirst(above + c, count), above_weight, hn::Zero(FloatTag()));
    StoreFirst(Fma(LoadFirst(below + c, count), below_weight, sum), out + c, count);
  });
}

// A single tap weighs 1, and is a sum already: another product would lose the sign of zero.
void Interpolate(const float* image, int64_t row_stride, int64_t pixel_stride,
                 const ResizeTaps& rows, const ResizeTaps& columns, int channels, float* out) {
  if (rows.count == 2 && columns.count == 1) {
    const float* const pixel = image + columns.index[0] * pixel_stride;
    return Blend(pixel + rows.index[0] * row_stride, pixel + rows.index[1] * row_stride,
                 rows.weight, channels, out);
  }
  ForEachVector(channels, [&](int c, int count) {
    Floats sum = hn::Zero(FloatTag());
    for (int i = 0; i < rows.count; ++i) {
      const float* row = image + rows.index[i] * row_stride + c;
      Floats row_sum = hn::Zero(FloatTag());
      for (int j = 0; j < columns.count; ++j) {
        const Floats x = LoadFirst(row + columns.index[j] * pixel_stride, count);
        row_sum = columns.count == 1 ? x : Fma(x, hn::Set(FloatTag(), columns.weight[j]), row_sum);
      }
      sum = rows.count == 1 ? row_sum : Fma(row_sum, hn::Set(FloatTag(), rows.weight[i]), sum);
    }
    StoreFirst(sum, out + c, count);
  });
}

}  // namespace

const WindowKernels& TargetWindowKernels() {
  static constexpr WindowKernels kKernels = {PoolMaximum, PoolAverage,      GridSum,    GridMaximum,
                                             GridMinimum, GridSumOfSquares, Interpolate};
  return kKernels;
}

}  // namespace cacheinf::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
CACHEINF_DISPATCH(WindowKernels)
#endif
