#ifndef CACHEINF_SPARSE_OPS_REFERENCE_ON_PIXELS_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_ON_PIXELS_H_

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/ops.h"

namespace cacheinf {
namespace reference {

// Runs a function of reference.h that fills its views on the active pixels of a map only; on all of
// any other tensor.
template <typename Args>
void OnPixels(void (*kernel)(const Args&), const Args& args, const ActivePixels& pixels) {
  const TensorView& output = args.output;
  const bool is_whole = output.rank != 4 || (!pixels.is_sparse && pixels.rows == AllPixels(output));
  if (is_whole) return kernel(args);
  if (!pixels.is_sparse) {
    return kernel(CutPixels(args, pixels.rows, {0, static_cast<int>(output.dims[3])}));
  }
  for (int i = 0; i < pixels.run_count; ++i) {
    const PixelRun& run = pixels.runs[i];
    kernel(CutPixels(args, {run.row, run.row + 1}, {run.begin, run.end}));
  }
}

}  // namespace reference
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_ON_PIXELS_H_
