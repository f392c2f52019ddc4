#ifndef CACHEINF_SPARSE_OPS_VIEW_TRANSFORMS_H_
#define CACHEINF_SPARSE_OPS_VIEW_TRANSFORMS_H_

#include <cstdint>

#include "sparse_ops/views.h"

// Views of the same memory under other dims and strides. With these and Copy (ops.h), slice,
// permute, expand and concat need no kernels.

namespace cacheinf {

// The entries begin, begin + step, … (`size` of them) along `axis`.
template <typename T>
BasicTensorView<T> SliceAxis(BasicTensorView<T> view, int axis, int64_t begin, int64_t size,
                             int64_t step = 1) {
  view.data += begin * view.strides[axis];
  view.dims[axis] = size;
  view.strides[axis] *= step;
  return view;
}

// These rows of a feature map (dimension 2). REQUIRES: rank 4, rows within the map.
template <typename T>
BasicTensorView<T> CutRows(const BasicTensorView<T>& map, Range rows) {
  return SliceAxis(map, 2, rows.begin, rows.size());
}

// This rectangle of a feature map.
template <typename T>
BasicTensorView<T> CutPixels(const BasicTensorView<T>& map, Range rows, Range columns) {
  return SliceAxis(CutRows(map, rows), 3, columns.begin, columns.size());
}

// Dimension i of the result is dimension order[i] of `view`.
template <typename T>
BasicTensorView<T> PermuteAxes(const BasicTensorView<T>& view, const int* order) {
  BasicTensorView<T> result = view;
  for (int i = 0; i < view.rank; ++i) {
    result.dims[i] = view.dims[order[i]];
    result.strides[i] = view.strides[order[i]];
  }
  return result;
}

// `view` repeated, by strides of 0, to the dims of `shape`; matches dimensions from the last.
// REQUIRES: rank not above that of `shape`; each dimension equal to that of `shape`, or 1.
template <typename T, typename U>
BasicTensorView<T> BroadcastTo(const BasicTensorView<T>& view, const BasicTensorView<U>& shape) {
  BasicTensorView<T> result;
  result.data = view.data;
  result.rank = shape.rank;
  for (int i = 0; i < shape.rank; ++i) {
    const int from = i - (shape.rank - view.rank);
    const bool repeated = from < 0 || (view.dims[from] == 1 && shape.dims[i] != 1);
    result.dims[i] = shape.dims[i];
    result.strides[i] = repeated ? 0 : view.strides[from];
  }
  return result;
}

// Inserts a dimension of size 1 before `axis`.
// REQUIRES: rank < kMaxRank.
template <typename T>
BasicTensorView<T> InsertAxis(const BasicTensorView<T>& view, int axis) {
  BasicTensorView<T> result = view;
  ++result.rank;
  for (int i = view.rank; i > axis; --i) {
    result.dims[i] = view.dims[i - 1];
    result.strides[i] = view.strides[i - 1];
  }
  result.dims[axis] = 1;
  result.strides[axis] = 0;
  return result;
}

// Numbers without gaps: those along `innermost` lie end to end, the other dimensions in logical
// order. So innermost = rank - 1 is logical order, and 1 is channels-last.
// REQUIRES: rank <= kMaxRank; innermost < rank, unless rank is 0.
template <typename T>
BasicTensorView<T> PackedView(T* data, const int64_t* dims, int rank, int innermost) {
  BasicTensorView<T> view;
  view.data = data;
  view.rank = rank;
  int64_t stride = rank == 0 ? 1 : dims[innermost];
  for (int axis = rank - 1; axis >= 0; --axis) {
    view.dims[axis] = dims[axis];
    view.strides[axis] = axis == innermost ? 1 : stride;
    if (axis != innermost) stride *= dims[axis];
  }
  return view;
}

// The same, for the dims of `shape`.
template <typename T, typename U>
BasicTensorView<T> PackedView(T* data, const BasicTensorView<U>& shape, int innermost) {
  return PackedView(data, shape.dims.data(), shape.rank, innermost);
}

}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_VIEW_TRANSFORMS_H_
