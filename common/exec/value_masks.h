#ifndef CACHEINF_COMMON_EXEC_VALUE_MASKS_H_
#define CACHEINF_COMMON_EXEC_VALUE_MASKS_H_

#include <cstdint>
#include <optional>

#include "common/model/graph/geometry.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/mask/propagation.h"

// Sizes of the masks of values, and how masks travel between them.

namespace cacheinf {

// A value that is not a map is one pixel.
inline int HeightOf(const Value& value) {
  return value.is_map() ? static_cast<int>(value.shape[2]) : 1;
}
inline int WidthOf(const Value& value) {
  return value.is_map() ? static_cast<int>(value.shape[3]) : 1;
}

// Multiply-adds of one pixel of the operator's output.
int64_t WeightOf(const Graph& graph, const Operator& op);

// None: output pixel (y, x) reads only input pixel (y, x).
std::optional<MaskPropagation> PropagationOf(const Window& window);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_VALUE_MASKS_H_
