#ifndef CACHEINF_SPARSE_OPS_REFERENCE_TENSOR_WALK_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_TENSOR_WALK_H_

#include <array>
#include <cstdint>

#include "sparse_ops/views.h"

namespace cacheinf::reference {

using TensorIndex = std::array<int64_t, TensorView::kMaxRank>;

// Steps to the next index in logical order; false after the last one.
template <typename T>
bool Advance(TensorIndex& index, const BasicTensorView<T>& shape) {
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    if (++index[axis] < shape.dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

// Calls visit(index) for every index of `shape`, in logical order.
template <typename T, typename Visit>
void ForEachIndex(const BasicTensorView<T>& shape, const Visit& visit) {
  if (shape.Count() == 0) return;
  TensorIndex index = {};
  do {
    visit(static_cast<const TensorIndex&>(index));
  } while (Advance(index, shape));
}

template <typename T>
T* ElementAt(const BasicTensorView<T>& view, const TensorIndex& index) {
  T* element = view.data;
  for (int axis = 0; axis < view.rank; ++axis) element += index[axis] * view.strides[axis];
  return element;
}

}  // namespace cacheinf::reference

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_TENSOR_WALK_H_
