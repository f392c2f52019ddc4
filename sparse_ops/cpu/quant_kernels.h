#ifndef CACHEINF_SPARSE_OPS_CPU_QUANT_KERNELS_H_
#define CACHEINF_SPARSE_OPS_CPU_QUANT_KERNELS_H_

#include <cstdint>
#include <vector>

#include "sparse_ops/cpu/functions.h"
#include "sparse_ops/specs.h"

// The inner kernels of convolutions of 8-bit maps. Like those for floats (pixel_kernels.h), they
// take a list of any output pixels, and compute some output channels of each.

namespace cacheinf::cpu {

inline constexpr int kQuantListPixels = 48;  // a multiple of every tile's pixels, as is half of it

// Output pixels, and the segments of input that each reads: whole rows of taps, or single taps.
struct QuantList {
  int count = 0;     // at most `stride`
  int segments = 0;  // of a pixel
  int words = 0;     // of a segment
  int stride = 0;    // a multiple of every tile's pixels
  // Segment s of pixel p begins at [s * stride + p]; all `stride` entries are readable.
  const uint8_t* const* inputs = nullptr;
  float* const* outputs = nullptr;          // [p]
  const float* const* residuals = nullptr;  // [p], or null
  uint8_t* const* changed = nullptr;        // [p], or null: where a 1 is written if any bit changes
  const struct QuantEpilogue* epilogue = nullptr;
};

// Neighbouring output pixels of a row, for a depthwise convolution.
struct QuantRow {
  static constexpr int kMostRows = 5;

  int count = 0;
  int kernel = 3;                       // rows and columns: 3 or 5
  int stride = 1;                       // of columns: 1 or 2
  const uint8_t* rows[kMostRows] = {};  // column 0 of the input rows under the taps; null: outside
  int first = 0;                        // the column under the first tap; perhaps outside
  int width = 0;                        // of the input
  int64_t pixel_bytes = 0;              // from one column of the input to the next
  const uint8_t* outside = nullptr;     // a pixel outside the picture
  float* output = nullptr;
  int64_t output_step = 0;          // in floats
  const float* residual = nullptr;  // or null
  int64_t residual_step = 0;
  uint8_t* changed = nullptr;  // [pixel], or null: as in a list
  const struct QuantEpilogue* epilogue = nullptr;
};

// How sums become results, as QuantConvArgs says.
struct QuantEpilogue {
  static constexpr int kNumbers = 256;

  bool rounds_sums = false;
  // Rounded sums here count from their lowest number: 0 to 255.
  int zero_point = 0;
  int low = 0;
  int high = 255;
  bool has_table = false;
  alignas(64) uint8_t bytes[kNumbers] = {};  // the stored byte, by rounded sum
  int flip = 0;                              // without a table: rounded sum ^ flip is stored

  Steps addend;  // of the stored bytes, if a residual follows
  bool is_residual_float = false;
  Steps residual;
  Function activation;
  FunctionKernel apply = nullptr;  // of `activation`; null: it is the identity
  bool activation_before_residual = false;
  bool gives_floats = false;
  Steps steps;    // of the output, between these bounds, where sums are not rounded or a residual
  int least = 0;  // follows
  int most = 255;
};

// Adjacent output channels of one group, as many as a tile is wide. Lanes are in the order of
// ChannelOfLane.
struct QuantBlock {
  // [segment][word][vector][lane], as `has_wide_weights` says. Depthwise: [two taps][vector][lane],
  // 16 bits a tap; in registers [column][four rows][vector][lane], a byte a row.
  const void* weights = nullptr;
  const int32_t* sums = nullptr;       // [vectors * lanes]: where they start
  const float* multipliers = nullptr;  // [vectors * lanes]
  int vectors = 0;                     // 1, 2 or 4
  int first_input = 0;                 // byte of each segment
  int first_output = 0;
  int outputs = 0;
  bool flips_inputs = false;  // they are signed: the sums start from what 128 more would add
};

// Sums of two numbers of such scales are finite.
inline constexpr float kModerateScale = 1e30f;

// One way to multiply bytes on one vector family.
struct QuantKernels {
  const char* name = "";
  int lanes = 0;
  int max_vectors = 0;
  // Weights are pairs of 16-bit numbers: lane by lane those of bytes 0 and 2 of the word, then
  // those of bytes 1 and 3. Otherwise they are four signed bytes a lane.
  bool has_wide_weights = false;
  void (*run)(const QuantBlock& block, const QuantList& list) = nullptr;
  // The same, if the family can round sums in registers, else null. REQUIRES: rounds_sums,
  // multipliers below 1, and with a residual: 8 bits in it, no activation except by `least`, and
  // scales up to kModerateScale.
  void (*run_in_registers)(const QuantBlock& block, const QuantList& list) = nullptr;
  // All channels of a depthwise convolution's block; segments are taps. Any family has it.
  void (*depthwise)(const QuantBlock& block, const QuantList& list) = nullptr;
  // The same in registers, else null. REQUIRES: as run_in_registers, and blocks of 4 vectors.
  void (*depthwise_row)(const QuantBlock& block, const QuantRow& row) = nullptr;
};

// The channel of a block that a lane of a vector holds. Sums that are rounded in registers come out
// in order if they go in like that.
inline int ChannelOfLane(bool in_registers, int lanes, int vectors, int vector, int lane) {
  if (!in_registers || vectors == 1) return vector * lanes + lane;
  constexpr int kPack = 4;
  return (lane / kPack * vectors + vector) * kPack + lane % kPack;
}

// All ways that the best target of this machine has, the best first. The last takes any weights.
struct QuantFamily {
  std::vector<const QuantKernels*> ways;

  // Without widening them first.
  bool multiplies_bytes() const { return !ways.front()->has_wide_weights; }
};
const QuantFamily& ChooseQuantFamily();

}  // namespace cacheinf::cpu

#endif  // CACHEINF_SPARSE_OPS_CPU_QUANT_KERNELS_H_
