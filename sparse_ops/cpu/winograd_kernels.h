#ifndef CACHEINF_SPARSE_OPS_CPU_WINOGRAD_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_WINOGRAD_KERNELS_H_

#include <cstdint>

#include "sparse_ops/cpu/pixel_kernels.h"
#include "sparse_ops/winograd.h"

// The inner kernels of Winograd's F(4x4, 3x3): the transforms of one tile, and the products of many
// transformed tiles with transformed weights, one matrix product per frequency. They know no
// picture. A tile's bits do not depend on its place among others.

namespace cacheinf::cpu {

inline constexpr int kTileSize = kWinogradTile;
inline constexpr int kTilePixels = 16;                // of the output, row by row
inline constexpr int kPatchSize = kWinogradPatch;     // input pixels per side
inline constexpr int kPatchPixels = 36;               // of the input, row by row
inline constexpr int kFrequencies = kWinogradPlaces;  // a patch transformed

// The channels of one group.
struct WinogradShape {
  int inputs = 0;          // channels
  int input_vectors = 0;   // that hold them
  int outputs = 0;         // channels
  int output_vectors = 0;  // that hold them
};

// Some tiles on their way from input to output, in panels of WinogradKernels::panel_tiles.
struct WinogradBatch {
  int tiles = 0;
  float* transformed = nullptr;  // [panel][input vector][frequency][tile of panel][lane]
  float* products = nullptr;     // [tile][output vector][frequency][lane]
};

// One tile of the output, which may reach beyond the picture.
struct WinogradOutput {
  float* output = nullptr;  // its first pixel, and how far apart they are
  int64_t row_stride = 0;
  int64_t pixel_stride = 0;
  const float* residual = nullptr;  // likewise, or null
  int64_t residual_row_stride = 0;
  int64_t residual_pixel_stride = 0;
  uint32_t active = 0;  // bit i: write pixel i
};

struct WinogradEpilogue {
  const float* bias = nullptr;    // [output vector][lane], or null
  const float* slopes = nullptr;  // likewise, kPRelu only
  PixelEpilogue rest;
};

struct WinogradKernels {
  int lanes = 0;
  int panel_tiles = 0;
  int block_vectors = 0;  // weights are [frequency][block of at most that many vectors of
                          // outputs][input][vector of block][lane]

  // `patch` has kPatchPixels readable pixels.
  void (*transform_input)(const WinogradShape& shape, const float* const* patch, int tile,
                          const WinogradBatch& batch) = nullptr;
  // Multiplies at these frequencies; `weights` are those of all.
  void (*multiply)(const WinogradShape& shape, const float* weights, Range frequencies,
                   const WinogradBatch& batch) = nullptr;
  void (*transform_output)(const WinogradShape& shape, const WinogradBatch& batch, int tile,
                           const WinogradEpilogue& epilogue,
                           const WinogradOutput& output) = nullptr;
};

// The kernels for the best target of this machine.
const WinogradKernels& ChooseWinogradKernels();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_WINOGRAD_KERNELS_H_
