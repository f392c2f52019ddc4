#ifndef CACHEINF_SPARSE_OPS_CPU_PIXEL_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_PIXEL_KERNELS_H_

#include <cstdint>

#include "sparse_ops/cpu/change_kernels.h"
#include "sparse_ops/cpu/functions.h"
#include "sparse_ops/specs.h"
#include "sparse_ops/views.h"

// The inner kernels of convolutions. They know no picture: they take a list of any output pixels
// with a pointer to the input under each tap, and compute some output channels of each. A pixel's
// bits do not depend on its place in a list.

namespace cacheinf::cpu {

inline constexpr int kListPixels = 24;  // a multiple of every tile's pixels
inline constexpr int kRowGrain = 12;    // for conv_row: a multiple of half of every tile's pixels

// Numbers to prefetch into the second-level cache in the meantime.
struct FetchAhead {
  const float* begin = nullptr;
  const float* end = nullptr;
};

// Where to save a pixel's old values before they are overwritten, and the sums of squares so far
// for ChangeTest, in the lanes of ops.h.
struct ComparedPixel {
  float* old_values = nullptr;  // of channel 0
  float* squares = nullptr;     // [kChangeLanes]
};

struct PixelList {
  int count = 0;  // at most kListPixels
  int taps = 0;
  // Tap t of pixel p is at [t * kListPixels + p]; all kListPixels entries are readable pixels.
  const float* const* inputs = nullptr;
  const int* weight_taps = nullptr;  // [tap]: its number in the block's weights; null: the same
  float* const* outputs = nullptr;   // [p]
  const float* const* residuals = nullptr;  // [p], or null
  uint8_t* const* changed = nullptr;        // [p], or null: where a 1 is written if any bit changes
  const ComparedPixel* compared = nullptr;  // [p], or null
  const float* inverse_spread = nullptr;    // as in ChangeTest, if pixels are compared
  FetchAhead ahead;
};

// Output pixels side by side. All their taps lie within the input's columns, unless
// PixelKernels::takes_borders allows others.
struct PixelRow {
  int count = 0;
  int tap_rows = 0;
  int tap_columns = 0;
  Range rows_inside;  // rows of taps that lie within the input; in all others x is +0
  // The same for the columns under the row, if borders are taken: column 0 is under the first tap
  // of the first pixel.
  Range columns_inside;
  const float* first = nullptr;  // under the first tap inside
  int64_t row_step = 0;          // from one row of taps to the next, in floats; likewise below
  int64_t column_step = 0;
  int64_t pixel_step = 0;        // from one output pixel to the next
  const float* zeros = nullptr;  // a pixel
  float* output = nullptr;
  int64_t output_step = 0;
  const float* residual = nullptr;  // or null
  int64_t residual_step = 0;
  uint8_t* changed = nullptr;  // [p], or null: as in a list
  ComparedPixel compared;      // of the first pixel; the others follow, by these steps
  int64_t old_values_step = 0;
  const float* inverse_spread = nullptr;  // null: nothing is compared
};

struct PixelEpilogue {
  Function activation;
  FunctionKernel apply = nullptr;  // of `activation`
  PReluKernel prelu = nullptr;     // instead, if there are slopes
  bool activation_before_residual = false;
};

// Adjacent output channels of one group, as many as a tile is wide.
struct ConvBlock {
  const float* weights = nullptr;  // [tap][input channel][vectors * lanes], padded with zeros
  const float* bias = nullptr;     // [vectors * lanes], or null
  const float* slopes = nullptr;   // [vectors * lanes], kPRelu only
  int vectors = 0;                 // at most PixelKernels::max_vectors
  int first_input = 0;             // channels
  int inputs = 0;
  int first_output = 0;
  int outputs = 0;
  PixelEpilogue epilogue;
};

// All channels of a depthwise convolution.
struct DepthwiseBlock {
  const float* weights = nullptr;  // [tap][padded channels]
  const float* bias = nullptr;     // [padded channels], or null
  const float* slopes = nullptr;   // [padded channels], kPRelu only
  int channels = 0;
  int padded_channels = 0;  // a multiple of lanes
  PixelEpilogue epilogue;
};

struct PixelKernels {
  int lanes = 0;
  int max_vectors = 0;
  void (*conv)(const ConvBlock& block, const PixelList& list) = nullptr;
  void (*conv_row)(const ConvBlock& block, const PixelRow& row) = nullptr;  // of whole grains
  void (*depthwise)(const DepthwiseBlock& block, const PixelList& list) = nullptr;
  void (*depthwise_row)(const DepthwiseBlock& block, const PixelRow& row) = nullptr;
  // Whether depthwise_row takes pixels with taps beyond the input's columns, where x is +0. Only
  // the ratio of the steps matters.
  bool (*takes_borders)(const DepthwiseBlock& block, int tap_columns, int64_t pixel_step,
                        int64_t column_step) = nullptr;
};

// The kernels for the best target of this machine.
const PixelKernels& ChoosePixelKernels();
// The same, unless vectors of half the width hold so many outputs: half of a wider vector would be
// padding.
const PixelKernels& ChoosePixelKernelsFor(int outputs);

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_PIXEL_KERNELS_H_
