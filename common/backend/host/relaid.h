#ifndef CACHEINF_COMMON_BACKEND_HOST_RELAID_H_
#define CACHEINF_COMMON_BACKEND_HOST_RELAID_H_

#include <cstddef>

#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

// Tensors of four dimensions lie channels-last, as maps do. Operators along another axis
// (attention's products and softmax, say) are many times faster if that axis is contiguous. So they
// run on copies.

namespace cacheinf {

// How an operator wants its tensors of four dimensions laid out.
struct Relaid {
  int axis = kNone;              // to make contiguous; kNone: none
  bool includes_output = false;  // else the output keeps its layout
  size_t floats = 0;             // memory for all copies
};

// REQUIRES: an operator that is not local.
Relaid RelaidOf(const Graph& graph, const Operator& op);

// Whether the tensor must be copied to make the axis contiguous.
bool IsToBeRelaid(const ConstTensorView& tensor, int axis);

// A view of `memory` with the tensor's dims and this axis contiguous. REQUIRES:
// RelaidFloats(tensor) floats.
TensorView LaidAlong(const ConstTensorView& tensor, int axis, float* memory);

// Rounded up, so that what follows is as aligned as the memory.
size_t RelaidFloats(const ConstTensorView& tensor);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BACKEND_HOST_RELAID_H_
