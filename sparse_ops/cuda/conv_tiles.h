#ifndef CACHEINF_SPARSE_OPS_CUDA_CONV_TILES_H_
#define CACHEINF_SPARSE_OPS_CUDA_CONV_TILES_H_

#include <cstdint>

#include "sparse_ops/cuda/conv_options.h"
#include "sparse_ops/cuda/device.h"
#include "sparse_ops/cuda/numbers.h"

// How a block's threads multiply a tile of pixels by a tile of output channels.

namespace cacheinf::cuda {

constexpr int kConvThreads = 128;  // per block

// How many products of each sum shared memory stages at a time.
constexpr int kConvDepth = 16;

// How many words of an output channel lie side by side in packed and staged weights, k ascending:
// 16 bytes, a row of a warpgroup's core matrix (numbers.h), but for exact sums one number.
constexpr int WeightWords(Precision precision) { return precision == Precision::kExact ? 1 : 4; }

// Tiles have
//   kPrecision
//   kPixels, kChannels    the tile's size
//   kByWarpgroup          whether they multiply by warpgroup instructions
//   kInstructionChannels  output channels of one instruction
//   kInputStride          words from one pixel's staged inputs to the next pixel's
//   kWeightRows           rows of staged weights, of WeightWords for each channel; a word is one
//                         number, or two, the first in the low half
// and the thread's part of the sums. The strides keep a warp's lanes out of each other's banks.

// Each thread computes some pixels, 16 apart, by four neighbouring channels, or by two such fours,
// 32 apart. One accumulator per sum, k ascending.
template <int pixels_each, int channels_each>
class FmaTile {
  static constexpr int kFours = channels_each / 4;

 public:
  static constexpr Precision kPrecision = Precision::kExact;
  static constexpr int kPixels = 16 * pixels_each;
  static constexpr int kChannels = 8 * channels_each;
  static constexpr bool kByWarpgroup = false;
  static constexpr int kInstructionChannels = 1;
  static constexpr int kInputStride = kConvDepth + 4;
  static constexpr int kWeightRows = kConvDepth;

  template <class Thread>
  CACHEINF_KERNEL void Multiply(const Thread& thread, const float* inputs, const float* weights) {
    const float* const own_inputs = inputs + FirstPixel(thread) * kInputStride;
    const float* const own_weights = weights + FirstChannel(thread);
    // Unrolling would spill registers.
    CACHEINF_NO_UNROLL
    for (int k = 0; k < kConvDepth; k += 4) {
      Float4 w[4][kFours];
      CACHEINF_UNROLL
      for (int row = 0; row < 4; ++row) {
        CACHEINF_UNROLL
        for (int j = 0; j < kFours; ++j) {
          w[row][j] = LoadFour(thread, own_weights + (k + row) * kChannels + 32 * j);
        }
      }
      CACHEINF_UNROLL
      for (int i = 0; i < pixels_each; ++i) {
        const Float4 x = LoadFour(thread, own_inputs + 16 * i * kInputStride + k);
        AddProducts(x.x, w[0], sums_[i]);
        AddProducts(x.y, w[1], sums_[i]);
        AddProducts(x.z, w[2], sums_[i]);
        AddProducts(x.w, w[3], sums_[i]);
      }
    }
  }

  // Stores the sums as one row of channels per pixel, `stride` apart.
  template <class Thread>
  CACHEINF_KERNEL void Store(const Thread& thread, float* to, int stride) const {
    CACHEINF_UNROLL
    for (int i = 0; i < pixels_each; ++i) {
      float* const row = to + (FirstPixel(thread) + 16 * i) * stride + FirstChannel(thread);
      CACHEINF_UNROLL
      for (int j = 0; j < kFours; ++j) {
        const float* const four = sums_[i] + 4 * j;
        thread.Store(reinterpret_cast<Float4*>(row + 32 * j),
                     Float4{four[0], four[1], four[2], four[3]});
      }
    }
  }

 private:
  template <class Thread>
  CACHEINF_KERNEL static int FirstPixel(const Thread& thread) {
    return thread.ThreadIndex() / 8;
  }
  template <class Thread>
  CACHEINF_KERNEL static int FirstChannel(const Thread& thread) {
    return thread.ThreadIndex() % 8 * 4;
  }
  template <class Thread>
  CACHEINF_KERNEL static Float4 LoadFour(const Thread& thread, const float* from) {
    return thread.Load(reinterpret_cast<const Float4*>(from));
  }

  CACHEINF_KERNEL static void AddProducts(float x, const Float4 (&w)[kFours],
                                          float (&sums)[channels_each]) {
    CACHEINF_UNROLL
    for (int j = 0; j < kFours; ++j) {
      float* const four = sums + 4 * j;
      four[0] = Fma(x, w[j].x, four[0]);
      four[1] = Fma(x, w[j].y, four[1]);
      four[2] = Fma(x, w[j].z, four[2]);
      four[3] = Fma(x, w[j].w, four[3]);
    }
  }

  float sums_[pixels_each][channels_each] = {};
};

// By matrix instructions. Each warp computes pixel_tiles × channel_tiles tiles of 16 pixels by 8
// channels; channel_warps warps lie side by side. Every sum takes its products one instruction
// after another, k ascending.
template <Precision precision, int channel_warps, int pixel_tiles, int channel_tiles>
class MatrixTile {
  static constexpr bool kIsTf32 = precision == Precision::kTf32;

 public:
  static constexpr Precision kPrecision = precision;
  static constexpr int kPixels = kConvThreads / kWarp / channel_warps * pixel_tiles * 16;
  static constexpr int kChannels = channel_warps * channel_tiles * 8;
  static constexpr bool kByWarpgroup = false;
  static constexpr int kInstructionChannels = 8;
  static constexpr int kInputStride = kConvDepth + (kIsTf32 ? 4 : 8);
  static constexpr int kWeightRows = kConvDepth / (kIsTf32 ? 4 : 8);

  template <class Thread>
  CACHEINF_KERNEL void Multiply(const Thread& thread, const float* inputs, const float* weights) {
    CACHEINF_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      unsigned b[channel_tiles][2];
      CACHEINF_UNROLL
      for (int j = 0; j < channel_tiles; ++j) {
        const auto* const word = reinterpret_cast<const unsigned*>(weights) +
                                 2 * step * kWeightStride + FirstChannel(thread, j) * 4 +
                                 thread.Lane();
        b[j][0] = thread.Load(word);
        b[j][1] = thread.Load(word + kWeightStride);
      }
      CACHEINF_UNROLL
      for (int i = 0; i < pixel_tiles; ++i) {
        unsigned a[4];
        LoadInputs(thread, inputs, step, i, a);
        CACHEINF_UNROLL
        for (int j = 0; j < channel_tiles; ++j) {
          if constexpr (kIsTf32) {
            thread.MultiplyTf32(sums_[i][j], a, b[j]);
          } else if constexpr (precision == Precision::kHalf) {
            thread.MultiplyHalf(sums_[i][j], a, b[j]);
          } else {
            thread.MultiplyBfloat16(sums_[i][j], a, b[j]);
          }
        }
      }
    }
  }

  template <class Thread>
  CACHEINF_KERNEL void Store(const Thread& thread, float* to, int stride) const {
    CACHEINF_UNROLL
    for (int i = 0; i < pixel_tiles; ++i) {
      CACHEINF_UNROLL
      for (int j = 0; j < channel_tiles; ++j) {
        float* const pair = to + (FirstPixel(thread, i) + thread.Lane() / 4) * stride +
                            FirstChannel(thread, j) + thread.Lane() % 4 * 2;
        thread.Store(reinterpret_cast<Float2*>(pair), Float2{sums_[i][j][0], sums_[i][j][1]});
        thread.Store(reinterpret_cast<Float2*>(pair + 8 * stride),
                     Float2{sums_[i][j][2], sums_[i][j][3]});
      }
    }
  }

 protected:
  static constexpr int kSteps = kWeightRows / 2;  // one instruction's depth each
  static constexpr int kWeightStride = kChannels * WeightWords(precision);

  // Loads `a` for one of the warp's tiles.
  template <class Thread>
  CACHEINF_KERNEL static void LoadInputs(const Thread& thread, const float* inputs, int step,
                                         int tile, unsigned (&a)[4]) {
    const float* const row = inputs + (FirstPixel(thread, tile) + thread.Lane() / 4) * kInputStride;
    const float* const row_below = row + 8 * kInputStride;
    if constexpr (kIsTf32) {
      const int k = step * 8 + thread.Lane() % 4;
      a[0] = ToTf32(thread.Load(row + k));
      a[1] = ToTf32(thread.Load(row_below + k));
      a[2] = ToTf32(thread.Load(row + k + 4));
      a[3] = ToTf32(thread.Load(row_below + k + 4));
    } else {
      const int k = step * 16 + 2 * (thread.Lane() % 4);
      a[0] = LoadPair(thread, row + k);
      a[1] = LoadPair(thread, row_below + k);
      a[2] = LoadPair(thread, row + k + 8);
      a[3] = LoadPair(thread, row_below + k + 8);
    }
  }

  float sums_[pixel_tiles][channel_tiles][4] = {};

 private:
  template <class Thread>
  CACHEINF_KERNEL static int FirstPixel(const Thread& thread, int tile) {
    return (thread.Warp() / channel_warps * pixel_tiles + tile) * 16;
  }
  template <class Thread>
  CACHEINF_KERNEL static int FirstChannel(const Thread& thread, int tile) {
    return (thread.Warp() % channel_warps * channel_tiles + tile) * 8;
  }

  template <class Thread>
  CACHEINF_KERNEL static unsigned LoadPair(const Thread& thread, const float* from) {
    const Float2 pair = thread.Load(reinterpret_cast<const Float2*>(from));
    return precision == Precision::kHalf ? PackHalves(pair.x, pair.y)
                                         : PackBfloat16s(pair.x, pair.y);
  }
};

// The same by instructions of the whole block, a warpgroup: each multiplies 64 pixels, 16 of each
// warp, by all the tile's channels, whose weights it reads from shared memory as they are staged:
// 16 bytes of each channel, one after another, then those of the next k. No GPU has run this yet.
template <Precision precision, int pixel_tiles, int channel_tiles>
class WarpgroupTile : public MatrixTile<precision, 1, pixel_tiles, channel_tiles> {
  using Base = MatrixTile<precision, 1, pixel_tiles, channel_tiles>;
  using Base::kSteps;
  using Base::kWeightStride;
  using Base::sums_;

 public:
  static constexpr bool kByWarpgroup = true;
  static constexpr int kInstructionChannels = Base::kChannels;

  template <class Thread>
  CACHEINF_KERNEL void Multiply(const Thread& thread, const float* inputs, const float* weights) {
    unsigned a[kSteps][pixel_tiles][4];
    CACHEINF_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      CACHEINF_UNROLL
      for (int i = 0; i < pixel_tiles; ++i) Base::LoadInputs(thread, inputs, step, i, a[step][i]);
    }
    thread.FenceWarpgroup(sums_, a);
    CACHEINF_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      constexpr int kEightChannelsBytes = 8 * 16;
      const uint64_t b = thread.WarpgroupMatrix(weights + 2 * step * kWeightStride,
                                                4 * kWeightStride, kEightChannelsBytes);
      CACHEINF_UNROLL
      for (int i = 0; i < pixel_tiles; ++i) {
        if constexpr (precision == Precision::kTf32) {
          thread.MultiplyWarpgroupTf32(sums_[i], a[step][i], b);
        } else if constexpr (precision == Precision::kHalf) {
          thread.MultiplyWarpgroupHalf(sums_[i], a[step][i], b);
        } else {
          thread.MultiplyWarpgroupBfloat16(sums_[i], a[step][i], b);
        }
      }
    }
    thread.CommitWarpgroup();
    thread.template WaitForWarpgroup<0>(sums_);
  }
};

}  // namespace cacheinf::cuda

#endif  // CACHEINF_SPARSE_OPS_CUDA_CONV_TILES_H_
