#ifndef CACHEINF_COMMON_EXEC_RELAID_H_
#define CACHEINF_COMMON_EXEC_RELAID_H_

#include <cstddef>
#include <cstdint>

#include "common/model/graph/graph.h"
#include "sparse_ops/views.h"

// Tensors of four dimensions lie channels-last, as maps do. What works along another of their axes
// (attention's products and softmax, say) is many times faster where the numbers of that axis lie
// end to end. So it runs on copies that lie so.

namespace cacheinf {

// How an operator wants its tensors of four dimensions.
struct Relaid {
  int axis = kNone;              // whose numbers lie end to end; kNone: as they are
  bool includes_output = false;  // else what it computes may lie as it likes
  size_t floats = 0;             // memory for all copies
};

// REQUIRES: an operator that is not local.
Relaid RelaidOf(const Graph& graph, const Operator& op);

// Whether the tensor has to be copied for it.
bool IsToBeRelaid(const ConstTensorView& tensor, int axis);

// The tensor's dims in this memory. REQUIRES: RelaidFloats(tensor) floats.
TensorView LaidAlong(const ConstTensorView& tensor, int axis, float* memory);

// Keeps what follows aligned as the memory is.
size_t RelaidFloats(const ConstTensorView& tensor);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_EXEC_RELAID_H_
