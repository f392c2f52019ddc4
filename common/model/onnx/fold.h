#ifndef CACHEINF_COMMON_MODEL_ONNX_FOLD_H_
#define CACHEINF_COMMON_MODEL_ONNX_FOLD_H_

#include <string_view>

#include "common/model/onnx/node.h"

namespace cacheinf {

// Whether operators of this type can be computed while the model is imported.
bool CanFold(std::string_view type);

// Computes the node's outputs while the model is imported, if all its inputs are constants, or if
// only the shape of its input matters (Shape, Size). Integers stay exact. Returns whether it did.
// Throws InputError when the node's inputs do not fit, or when it cannot compute a node whose
// inputs are all constants.
bool FoldNode(OnnxNode& node);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_FOLD_H_
