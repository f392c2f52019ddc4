#ifndef CACHEINF_COMMON_EXEC_SHADOW_H_
#define CACHEINF_COMMON_EXEC_SHADOW_H_

#include <cstddef>

#include "common/model/graph/graph.h"
#include "sparse_ops/active_pixels.h"
#include "sparse_ops/reference/change.h"
#include "sparse_ops/view_transforms.h"

// Kernels that compute whole rows and know no change test run on a shadow of the output, from which
// the active pixels are stored.

namespace cacheinf {

// Scratch memory for the shadow of the operator's first output.
inline size_t ShadowFloats(const Graph& graph, const Operator& op) {
  return static_cast<size_t>(ElementCount(graph.value(op.outputs[0]).shape));
}

inline TensorView ShadowOf(const TensorView& map, float* scratch) {
  return PackedView(scratch, map, /*innermost=*/1);
}

// Calls run(shadow, rows), which fills those rows of the shadow, if any pixel is active.
// REQUIRES: a map.
void RunOnShadow(const TensorView& map, const ActivePixels& pixels, const ChangeTest* test,
                 float* scratch, const auto& run) {
  if (pixels.is_sparse && pixels.run_count == 0) return;
  const TensorView shadow = ShadowOf(map, scratch);
  run(shadow, pixels.rows);
  reference::StorePixels(AsImage(shadow), AsImage(map), pixels, test);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_SHADOW_H_
