#ifndef CACHEINF_COMMON_MODEL_GRAPH_WORDS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_WORDS_H_

#include "common/base/words.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/window.h"

// The graph's enums as files and people read them.

namespace cacheinf {

constexpr Words<2> WordsOf(Scheme) { return {"direct", "winograd"}; }
constexpr Words<7> WordsOf(AxisWindow::Kind) {
  return {"sliding", "transposed", "resize", "reflect", "edge", "broadcast", "whole"};
}
constexpr Words<3> WordsOf(ResizeSpec::Kind) { return {"nearest", "linear", "cubic"}; }
constexpr Words<5> WordsOf(ResizeSpec::Coordinates) {
  return {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
          "half_pixel_symmetric"};
}
constexpr Words<4> WordsOf(ResizeSpec::Rounding) {
  return {"prefer_floor", "prefer_ceil", "floor", "ceil"};
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_WORDS_H_
