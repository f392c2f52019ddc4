#ifndef CACHEINF_COMMON_MODEL_GRAPH_MOVES_H_
#define CACHEINF_COMMON_MODEL_GRAPH_MOVES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/model/graph/graph.h"

// Operators that the importers of all formats build.

namespace cacheinf {

// The shape to which both broadcast by NumPy's rules; nothing if there is none.
std::optional<Shape> CommonShape(const Shape& a, const Shape& b);

// A slice that takes everything, for the caller to narrow.
op::Slice WholeSlice(const Shape& shape);

op::Permute Inverse(const op::Permute& permute);

// Padding by amounts that may be negative: first slice, then pad.
struct CropAndPad {
  // REQUIRES: a begin and an end for each dimension.
  CropAndPad(const Shape& shape, const std::vector<int64_t>& begins,
             const std::vector<int64_t>& ends);

  op::Slice crop;
  op::Pad pad;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_MOVES_H_
