#ifndef CACHEINF_SPARSE_OPS_ACTIVE_PIXELS_H_
#define CACHEINF_SPARSE_OPS_ACTIVE_PIXELS_H_

#include <cstdint>

#include "sparse_ops/views.h"

namespace cacheinf {

// Neighbouring pixels of one row: columns [begin, end).
struct PixelRun {
  int row = 0;
  int begin = 0;
  int end = 0;
};

// The output pixels that a call computes, the same in every image of a batch: all pixels of `rows`,
// or only those of some runs. A call writes no others.
struct ActivePixels {
  // Implicit: rows are what most callers have.
  ActivePixels(Range all_of_rows) : rows(all_of_rows) {}  // NOLINT(google-explicit-constructor)

  // Runs inside `within`, ordered by row and column; none is empty, none touch. `before[i]` counts
  // the pixels in the runs before run i, `before[count]` those in all. Both may begin in the middle
  // of longer lists: counts start at `before[0]`.
  ActivePixels(Range within, const PixelRun* some, const int* before, int count)
      : rows(within), is_sparse(true), runs(some), pixels_before(before), run_count(count) {}

  Range rows;
  bool is_sparse = false;
  const PixelRun* runs = nullptr;
  const int* pixels_before = nullptr;  // [run_count + 1]
  int run_count = 0;
};

// What a map's words hold.
enum class PixelNumbers : uint8_t { kFloats, kUnsignedBytes, kSignedBytes };

// Write-if-changed: an active pixel keeps its stored value unless the new one is a change. Sets
// `changed[i]` to 1 or 0 for active pixel i, in the order of the runs.
//
// With threshold 0 any differing bit is a change. Else the root mean square over the channels of
// (new - old) inverse_spread[channel] must exceed the threshold; any NaN is a change. The sum of
// squares is taken in the lanes of ops.h. In an 8-bit map (eight_bits.h) each byte of its words,
// spare bytes included, counts as a channel, as the float of its number. REQUIRES: sparse pixels, a
// batch of one, and an output that shares no memory with an operand. (It holds the old values; a
// fused residual in its place would have overwritten them.)
struct ChangeTest {
  float threshold = 0.0f;
  const float* inverse_spread = nullptr;  // [channels]; may be null with threshold 0
  uint8_t* changed = nullptr;             // [active pixels]
  bool stores_all = false;                // store every new value, changed or not
  PixelNumbers numbers = PixelNumbers::kFloats;
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_ACTIVE_PIXELS_H_
