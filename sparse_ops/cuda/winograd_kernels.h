#ifndef CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_KERNELS_H_

#include <cstdint>

#include "sparse_ops/cuda/conv_kernels.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/numbers.h"
#include "sparse_ops/winograd.h"

// A convolution by Winograd (sparse_ops/winograd.h) takes these launches: list the tiles that have
// an active pixel, transform their inputs, multiply (product_kernels.h), transform the products
// back.

namespace cacheinf::cuda {

// The tiles that have an active pixel, the same in every image. All pointers are the device's.
struct WinogradTiles {
  int across = 0;
  int most = 0;
  int* count = nullptr;
  unsigned* active = nullptr;  // [most]; bit i of a tile is its pixel i, row by row
  int* list = nullptr;         // in any order

  CACHEINF_KERNEL int Row(int tile) const { return tile / across * kWinogradTile; }
  CACHEINF_KERNEL int Column(int tile) const { return tile % across * kWinogradTile; }
};

// REQUIRES: `count` and `active` are zero.
struct ListWinogradTiles {
  static constexpr const char* kName = "ListWinogradTiles";
  static constexpr int kThreads = 128;

  ConvWork work;
  WinogradTiles tiles;

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int i = thread.BlockX() * kThreads + thread.ThreadIndex();
    if (i >= work.Count(thread)) return;
    const int pixel = work.Pixel(thread, i);
    const int y = pixel / work.output.width;
    const int x = pixel % work.output.width;
    const int tile = y / kWinogradTile * tiles.across + x / kWinogradTile;
    const unsigned bit = 1u << (y % kWinogradTile * kWinogradTile + x % kWinogradTile);
    if (thread.AtomicOr(tiles.active + tile, bit) != 0) return;
    thread.Store(tiles.list + thread.AtomicAdd(tiles.count, 1), tile);
  }
};

// A thread takes one channel of a tile; block y is the image.
struct TransformWinogradInput {
  static constexpr const char* kName = "TransformWinogradInput";
  static constexpr int kThreads = 128;

  ConvWork work;
  WinogradTiles tiles;
  int pad_rows;
  int pad_columns;
  float* transformed;  // [image][place][tile of the list][channel]

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const ConstImageView& input = work.input;
    const int at = thread.BlockX() * kThreads + thread.ThreadIndex();
    const int slot = at / input.channels;
    const int channel = at % input.channels;
    if (slot >= thread.LoadReadOnly(tiles.count)) return;
    const int tile = thread.LoadReadOnly(tiles.list + slot);
    const int top = tiles.Row(tile) - pad_rows;
    const int left = tiles.Column(tile) - pad_columns;
    float rows[kWinogradPatch][kWinogradPatch];
    CACHEINF_UNROLL
    for (int x = 0; x < kWinogradPatch; ++x) {
      float column[kWinogradPatch];
      CACHEINF_UNROLL
      for (int y = 0; y < kWinogradPatch; ++y) {
        const bool is_inside =
            static_cast<unsigned>(top + y) < static_cast<unsigned>(input.height) &&
            static_cast<unsigned>(left + x) < static_cast<unsigned>(input.width);
        column[y] = is_inside
                        ? thread.Load(input.Pixel(thread.BlockY(), top + y, left + x) + channel)
                        : 0.0f;
      }
      Transform(column);
      CACHEINF_UNROLL
      for (int y = 0; y < kWinogradPatch; ++y) rows[y][x] = column[y];
    }
    float* to = transformed +
                (int64_t{thread.BlockY()} * kWinogradPlaces * tiles.most + slot) * input.channels +
                channel;
    CACHEINF_UNROLL
    for (int y = 0; y < kWinogradPatch; ++y) {
      Transform(rows[y]);
      CACHEINF_UNROLL
      for (int x = 0; x < kWinogradPatch; ++x) {
        thread.Store(to, rows[y][x]);
        to += int64_t{tiles.most} * input.channels;
      }
    }
  }

 private:
  CACHEINF_KERNEL static void Transform(float (&x)[kWinogradPatch]) {
    constexpr auto a = static_cast<float>(kWinogradPoints[0]);
    constexpr auto b = static_cast<float>(kWinogradPoints[1]);
    const float even_a = Fma(-(b * b), x[2], x[4]);
    const float odd_a = Fma(-(b * b), x[1], x[3]);
    const float even_b = Fma(-(a * a), x[2], x[4]);
    const float odd_b = Fma(-(a * a), x[1], x[3]);
    x[0] = Fma(a * a * (b * b), x[0], Fma(-(a * a + b * b), x[2], x[4]));
    x[5] = Fma(a * a * (b * b), x[1], Fma(-(a * a + b * b), x[3], x[5]));
    x[1] = Fma(a, odd_a, even_a);
    x[2] = Fma(-a, odd_a, even_a);
    x[3] = Fma(b, odd_b, even_b);
    x[4] = Fma(-b, odd_b, even_b);
  }
};

// A thread takes up to four neighbouring output channels of a tile; block y is the image.
struct TransformWinogradOutput {
  static constexpr const char* kName = "TransformWinogradOutput";
  static constexpr int kThreads = 128;
  static constexpr int kPixels = kWinogradTile * kWinogradTile;

  ConvWork work;
  WinogradTiles tiles;
  const float* products;  // [image][place][tile of the list][channel]

  template <class Thread>
  CACHEINF_KERNEL void operator()(const Thread& thread) const {
    const int channels = work.output.channels;
    const int quads = (channels + kQuad - 1) / kQuad;
    const int at = thread.BlockX() * kThreads + thread.ThreadIndex();
    const int slot = at / quads;
    const int first = at % quads * kQuad;
    if (slot >= thread.LoadReadOnly(tiles.count)) return;
    const int count = channels - first < kQuad ? channels - first : kQuad;
    float sums[kPixels][kQuad] = {};
    const float* from =
        products + (int64_t{thread.BlockY()} * kWinogradPlaces * tiles.most + slot) * channels +
        first;
    for (int i = 0; i < count; ++i) TransformChannel(thread, from + i, i, sums);

    const int tile = thread.LoadReadOnly(tiles.list + slot);
    const unsigned active = thread.LoadReadOnly(tiles.active + tile);
    CACHEINF_NO_UNROLL
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      if ((active >> pixel & 1) == 0) continue;
      const int y = tiles.Row(tile) + pixel / kWinogradTile;
      const int x = tiles.Column(tile) + pixel % kWinogradTile;
      work.Finish(thread, thread.BlockY(), y, x, first, count, sums[pixel]);
      StoreQuad(thread, work.output.Pixel(thread.BlockY(), y, x) + first, 1, count, sums[pixel]);
    }
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL void TransformChannel(const Thread& thread, const float* from, int i,
                                        float (&sums)[kPixels][kQuad]) const {
    const int64_t place = int64_t{tiles.most} * work.output.channels;
    float rows[kWinogradTile][kWinogradPatch];
    CACHEINF_UNROLL
    for (int x = 0; x < kWinogradPatch; ++x) {
      float column[kWinogradPatch];
      CACHEINF_UNROLL
      for (int y = 0; y < kWinogradPatch; ++y) {
        column[y] = thread.LoadReadOnly(from + (y * kWinogradPatch + x) * place);
      }
      float back[kWinogradTile];
      TransformBack(column, back);
      CACHEINF_UNROLL
      for (int y = 0; y < kWinogradTile; ++y) rows[y][x] = back[y];
    }
    CACHEINF_UNROLL
    for (int y = 0; y < kWinogradTile; ++y) {
      float back[kWinogradTile];
      TransformBack(rows[y], back);
      CACHEINF_UNROLL
      for (int x = 0; x < kWinogradTile; ++x) sums[y * kWinogradTile + x][i] = back[x];
    }
  }

  CACHEINF_KERNEL static void TransformBack(const float (&m)[kWinogradPatch],
                                            float (&back)[kWinogradTile]) {
    constexpr auto a = static_cast<float>(kWinogradPoints[0]);
    constexpr auto b = static_cast<float>(kWinogradPoints[1]);
    const float sum_a = m[1] + m[2];
    const float sum_b = m[3] + m[4];
    const float difference_a = m[1] - m[2];
    const float difference_b = m[3] - m[4];
    back[0] = m[0] + sum_a + sum_b;
    back[1] = Fma(a, difference_a, b * difference_b);
    back[2] = Fma(a * a, sum_a, b * b * sum_b);
    back[3] = Fma(a * (a * a), difference_a, Fma(b * (b * b), difference_b, m[5]));
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_WINOGRAD_KERNELS_H_
