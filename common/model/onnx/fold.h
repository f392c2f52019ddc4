#ifndef CACHEINF_COMMON_MODEL_ONNX_FOLD_H_
#define CACHEINF_COMMON_MODEL_ONNX_FOLD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/model/onnx/node.h"

// Computes nodes during import if all their inputs are constants. Integers stay exact. Everything
// throws InputError if the inputs do not fit.

namespace cacheinf {

using Strides = std::vector<int64_t>;

// The strides of a dense tensor.
Strides DenseStrides(const Shape& shape);

// The elements of `x` at start + Σ index stride.
HostTensor Strided(OnnxNode& node, const HostTensor& x, const Shape& shape, int64_t start,
                   const Strides& strides);

// REQUIRES: x.shape() broadcasts to `shape`.
HostTensor Broadcast(OnnxNode& node, const HostTensor& x, const Shape& shape);

struct CastTarget {
  HostTensor::Type type = HostTensor::Type::kFloat;
  int onnx_type = 0;
  // For integers narrower than 32 bits. A wider one that does not fit keeps only its low bits.
  struct Narrow {
    int64_t lowest;
    int64_t count;  // of numbers
  };
  std::optional<Narrow> narrow = {};
};
CastTarget ReadCastTarget(OnnxNode& node);
void FoldCast(OnnxNode& node);
void FoldFunction(OnnxNode& node, Function::Kind kind);
void FoldArithmetic(OnnxNode& node, BinaryKind kind);  // of any number of inputs, from the left
void FoldReduce(OnnxNode& node, BinaryKind combine, bool is_mean);

// Computes an operator's results during import, instead of in the graph, or differently from there.
// Shape and Size need only their input's shape.
using OnnxFold = std::function<void(OnnxNode&)>;
const std::unordered_map<std::string_view, OnnxFold>& ConstantOperators();

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_FOLD_H_
