#ifndef CACHEINF_SPARSE_OPS_RESIZE_TAPS_H_
#define CACHEINF_SPARSE_OPS_RESIZE_TAPS_H_

#include "sparse_ops/specs.h"

namespace cacheinf {

// The input of one output index of a resized axis. An index may appear twice (at the border).
struct ResizeTaps {
  static constexpr int kMaxCount = 4;

  int count = 0;
  int index[kMaxCount] = {};     // ascending, within the input
  float weight[kMaxCount] = {};  // a single tap weighs 1
};

// Taps of output index `out` along the rows (`is_rows`) or columns of a map, in the float
// arithmetic of ONNX Runtime if the spec states a scale, of PyTorch if it follows from the sizes.
// Lists taps of weight 0, too; input indices never fall as `out` grows.
// REQUIRES: sizes of at least 1.
ResizeTaps TapsOf(const ResizeSpec& spec, bool is_rows, int in_size, int out_size, int out);

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_RESIZE_TAPS_H_
