#ifndef CACHEINF_SPARSE_OPS_WINDOW_H_
#define CACHEINF_SPARSE_OPS_WINDOW_H_

#include <cstdint>

#include "sparse_ops/specs.h"
#include "sparse_ops/views.h"

namespace cacheinf {

// How one axis (rows or columns) of an operator's output depends on the same axis of one input:
// output index o reads the input indices i with Reads(o, i).
struct AxisWindow {
  enum class Kind : uint8_t {
    kSliding,     // o reads o stride - pad + k dilation, k < kernel: conv, pool, slice, crop, zero
                  // padding
    kTransposed,  // o reads i where i stride - pad + k dilation = o for some k < kernel
    kResize,      // the one, two or four taps of an interpolation
    kReflect,     // o reads the reflection of o - pad (PaddedIndex of ops.h)
    kEdge,        // o reads o - pad, clamped
    kBroadcast,   // every o reads index 0
    kWhole,       // every o reads every i
  };
  Kind kind = Kind::kSliding;
  int in_size = 1;
  int out_size = 1;
  WindowAxis window;  // kSliding, kTransposed; pad_begin also of kReflect and kEdge
  // kSliding: outputs come in tiles of this size, from 0 on. Each reads what any output of its tile
  // would read, even one beyond the last output.
  int tile = 1;
  ResizeSpec resize;    // kResize
  bool is_rows = true;  // kResize: which of the two axes

  // Defines this struct, one pair at a time; false for indices outside the sizes.
  bool Reads(int out, int in) const;

  // The smallest range that holds every input index that outputs of `out` read; empty if none.
  Range Needed(Range out) const;

  // The smallest range that holds every output index that reads an input of `in`; empty if none.
  Range Touched(Range in) const;

  static AxisWindow Identity(int size);
  static AxisWindow Sliding(int in_size, int out_size, const WindowAxis& window);
};

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_WINDOW_H_
