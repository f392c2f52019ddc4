#ifndef CACHEINF_COMMON_MODEL_GRAPH_WORDS_H_
#define CACHEINF_COMMON_MODEL_GRAPH_WORDS_H_

#include "common/base/words.h"
#include "common/model/graph/graph.h"
#include "sparse_ops/window.h"

// The graph's enums as files and people read them; words of head.h are beside their enum.

namespace cacheinf {

constexpr Words<2> WordsOf(Scheme) { return {"direct", "winograd"}; }
constexpr Words<7> WordsOf(AxisWindow::Kind) {
  return {"sliding", "transposed", "resize", "reflect", "edge", "broadcast", "whole"};
}
constexpr Words<3> WordsOf(DataType) { return {"float32", "int64", "eight_bit"}; }
constexpr Words<Function::kKinds> WordsOf(Function::Kind) {
  return {"identity", "relu",         "leaky_relu", "prelu",      "elu",    "clip",
          "sigmoid",  "hard_sigmoid", "silu",       "hard_swish", "gelu",   "gelu_tanh",
          "mish",     "tanh",         "softplus",   "exp",        "log",    "erf",
          "sqrt",     "reciprocal",   "abs",        "negate",     "floor",  "ceil",
          "round",    "sin",          "cos",        "truncate",   "is_zero"};
}
constexpr Words<kBinaryKinds> WordsOf(BinaryKind) {
  return {"add",   "subtract", "multiply",      "divide", "power",    "minimum", "maximum",
          "equal", "less",     "less_or_equal", "where",  "quotient", "modulo"};
}
constexpr Words<4> WordsOf(ReduceKind) { return {"mean", "sum", "max", "min"}; }
constexpr Words<2> WordsOf(PoolSpec::Kind) { return {"max", "average"}; }
constexpr Words<3> WordsOf(PadMode) { return {"constant", "reflect", "edge"}; }
constexpr Words<3> WordsOf(ResizeSpec::Kind) { return {"nearest", "linear", "cubic"}; }
constexpr Words<5> WordsOf(ResizeSpec::Coordinates) {
  return {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
          "half_pixel_symmetric"};
}
constexpr Words<4> WordsOf(ResizeSpec::Rounding) {
  return {"prefer_floor", "prefer_ceil", "floor", "ceil"};
}

constexpr Words<4> WordsOf(PictureSpec::Fit) {
  return {"stretch", "letterbox", "crop", "letterbox-corner"};
}
constexpr Words<3> WordsOf(PictureSpec::Channels) { return {"rgb", "bgr", "gray"}; }
constexpr Words<4> WordsOf(PictureSpec::Resize) {
  return {"bilinear", "area", "antialias", "average"};
}

namespace op {

constexpr Words<2> WordsOf(DepthToSpace::Order) { return {"rows_first", "channels_first"}; }

}  // namespace op

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_GRAPH_WORDS_H_
