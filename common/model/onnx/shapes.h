#ifndef CACHEINF_COMMON_MODEL_ONNX_SHAPES_H_
#define CACHEINF_COMMON_MODEL_ONNX_SHAPES_H_

#include <cstdint>
#include <vector>

#include "common/model/graph/graph.h"
#include "common/model/onnx/node.h"

// What ONNX operators that only move numbers do to a shape, in every form of the operator sets
// (attributes first, inputs later). Folding and converting share it.
// All throw InputError when the node does not fit the shape.

namespace cacheinf {

// NumPy's rule.
Shape BroadcastShapes(const Shape& a, const Shape& b);

// Axes from the attribute `axes`, or from input number `input`; sorted and from 0. None given:
// empty.
std::vector<int> Axes(OnnxNode& node, int input, int rank);

Shape ReshapedShape(OnnxNode& node, const Shape& in);
Shape FlattenedShape(OnnxNode& node, const Shape& in);
Shape SqueezedShape(OnnxNode& node, const Shape& in);
Shape UnsqueezedShape(OnnxNode& node, const Shape& in);
Shape ExpandedShape(OnnxNode& node, const Shape& in);

std::vector<int> TransposeOrder(OnnxNode& node, int rank);

// One entry per dimension. Steps may be negative; sizes may be zero.
struct SliceBounds {
  std::vector<int64_t> starts;
  std::vector<int64_t> sizes;
  std::vector<int64_t> steps;
};
SliceBounds SliceOf(OnnxNode& node, const Shape& in);

struct SplitSizes {
  int axis = 0;
  std::vector<int64_t> sizes;  // one per output
};
SplitSizes SplitOf(OnnxNode& node, const Shape& in);

// Indices from 0; throws when one lies outside a dimension of `size`.
std::vector<int64_t> GatherIndices(const OnnxNode& node, const HostTensor& indices, int64_t size);

// One entry per dimension.
std::vector<int64_t> TileRepeats(OnnxNode& node, const Shape& in);

HostTensor::Type CastTarget(OnnxNode& node);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_SHAPES_H_
