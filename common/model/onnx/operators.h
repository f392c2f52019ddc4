#ifndef CACHEINF_COMMON_MODEL_ONNX_OPERATORS_H_
#define CACHEINF_COMMON_MODEL_ONNX_OPERATORS_H_

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/model/onnx/node.h"

// Turns ONNX operators into the graph's. A converter reads its node, adds operators, and sets the
// node's outputs; if it cannot, it throws InputError, in words that follow the node's name.

namespace cacheinf {

struct OnnxOperator {
  std::function<void(OnnxNode&)> convert = {};  // none: only supported among constants
  std::function<void(OnnxNode&)> fold = {};     // if all inputs are constants; none: not supported
  bool takes_integers = false;  // whether it also converts integers (class indices, say)
};

using OnnxOperators = std::unordered_map<std::string_view, OnnxOperator>;

// The operators of ONNX's own domain, in parts.
OnnxOperators OnnxWindows();    // and everything else on pictures
OnnxOperators OnnxMoves();      // do the same to numbers of every type, known or not
OnnxOperators OnnxChoices();    // of integers and truth values that are not known
OnnxOperators OnnxMatrices();   // products and norms
OnnxOperators OnnxEightBits();  // rounding to 8-bit numbers and back

// Converts a Gather with indices that are not known.
void ConvertGatherByValue(OnnxNode& node);

// The converter for an operator of ONNX's own domain; nullptr if there is none.
const OnnxOperator* FindOnnxOperator(std::string_view type);

// Why an operator without a converter is refused, and what to do about it.
std::string WhyNotSupported(std::string_view type);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_OPERATORS_H_
