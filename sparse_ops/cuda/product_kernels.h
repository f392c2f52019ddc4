#ifndef CACHEINF_SPARSE_OPS_CUDA_PRODUCT_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_PRODUCT_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "sparse_ops/cuda/functions.h"
#include "sparse_ops/cuda/walk.h"

namespace cacheinf::cuda {

struct MatrixView {
  const float* data;
  int64_t row_stride;
  int64_t column_stride;
};

// activation(a × b + bias) for every position of some outer axes; bias has one entry per column. A
// block computes a tile of the output and sums over the depth, a tile at a time, in shared memory.
struct MultiplyMatrices {
  static constexpr const char* kName = "MultiplyMatrices";
  static constexpr int kTile = 32;
  static constexpr int kThreads = 256;
  static constexpr int kRowsApart = kThreads / kTile;
  static constexpr int kPerThread = kTile / kRowsApart;
  // One more, so that threads that read down a column of a tile use different banks.
  static constexpr int kTileStride = kTile + 1;
  static constexpr size_t kSharedBytes = 2 * kTile * kTileStride * sizeof(float);

  static constexpr int kA = 0;
  static constexpr int kB = 1;
  static constexpr int kOutput = 2;

  OuterAxes axes;
  Strides<3> strides;
  MatrixView a;  // rows × depth
  MatrixView b;  // depth × columns
  int rows;
  int columns;
  int depth;
  float* output;
  int64_t output_row_stride;
  int64_t output_column_stride;
  const float* bias;
  Function activation;
  const int* gate;       // as in Walk
  const int* row_count;  // on the device; null: all rows

  // One block per tile, outer position after outer position.
  Blocks blocks() const {
    int blocks = DividedUp(rows, kTile) * DividedUp(columns, kTile);
    for (int i = 0; i < axes.rank; ++i) blocks *= axes.sizes[i];
    return {blocks};
  }

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    if (gate != nullptr && thread.LoadReadOnly(gate) == 0) return;
    const int tiles_across = (columns + kTile - 1) / kTile;
    const int tiles = (rows + kTile - 1) / kTile * tiles_across;
    const int tile = thread.BlockX() % tiles;
    const int first_row = tile / tiles_across * kTile;
    const int first_column = tile % tiles_across * kTile;
    const int row_end = row_count == nullptr ? rows : thread.LoadReadOnly(row_count);
    if (first_row >= row_end) return;
    int64_t offsets[3];
    axes.Offsets(thread.BlockX() / tiles, strides, offsets);
    float* const a_tile = thread.template Shared<float>();
    float* const b_tile = thread.template Shared<float>(kTile * kTileStride * sizeof(float));
    const int column = thread.ThreadIndex() % kTile;
    const int row = thread.ThreadIndex() / kTile;

    float sums[kPerThread] = {};
    for (int first = 0; first < depth; first += kTile) {
      const int steps = depth - first < kTile ? depth - first : kTile;
      LoadTile(thread, a, offsets[kA], first_row, row_end, first, depth, a_tile);
      LoadTile(thread, b, offsets[kB], first, depth, first_column, columns, b_tile);
      thread.Barrier();
      // Stop at the depth: adding 0 would turn -0 into +0.
      for (int k = 0; k < steps; ++k) {
        const float factor = thread.Load(b_tile + k * kTileStride + column);
        CACHEINF_UNROLL
        for (int i = 0; i < kPerThread; ++i) {
          const float other = thread.Load(a_tile + (row + i * kRowsApart) * kTileStride + k);
          sums[i] = std::fma(other, factor, sums[i]);
        }
      }
      thread.Barrier();
    }

    const int to_column = first_column + column;
    if (to_column >= columns) return;
    if (bias != nullptr) {
      const float added = thread.LoadReadOnly(bias + to_column);
      CACHEINF_UNROLL
      for (int i = 0; i < kPerThread; ++i) sums[i] += added;
    }
    if (activation.kind != Function::Kind::kIdentity) ApplyTo(activation, sums);
    CACHEINF_UNROLL
    for (int i = 0; i < kPerThread; ++i) {
      const int to_row = first_row + row + i * kRowsApart;
      if (to_row < row_end) {
        thread.Store(output + offsets[kOutput] + to_row * output_row_stride +
                         to_column * output_column_stride,
                     sums[i]);
      }
    }
  }

 private:
  // Loads zeros outside the matrix. Neighbouring threads read neighbouring memory.
  template <class Thread>
  CACHEINF_KERNEL static void LoadTile(const Thread& thread, const MatrixView& matrix,
                                       int64_t offset, int first_row, int row_count,
                                       int first_column, int column_count, float* tile) {
    const bool along_rows = matrix.row_stride < matrix.column_stride;
    CACHEINF_UNROLL
    for (int i = 0; i < kPerThread; ++i) {
      const int fast = thread.ThreadIndex() % kTile;
      const int slow = thread.ThreadIndex() / kTile + i * kRowsApart;
      const int row = along_rows ? fast : slow;
      const int column = along_rows ? slow : fast;
      const bool is_inside = first_row + row < row_count && first_column + column < column_count;
      const float number =
          is_inside
              ? thread.LoadReadOnly(matrix.data + offset + (first_row + row) * matrix.row_stride +
                                    (first_column + column) * matrix.column_stride)
              : 0.0f;
      thread.Store(tile + row * kTileStride + column, number);
    }
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_PRODUCT_KERNELS_H_
