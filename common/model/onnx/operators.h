#ifndef CACHEINF_COMMON_MODEL_ONNX_OPERATORS_H_
#define CACHEINF_COMMON_MODEL_ONNX_OPERATORS_H_

#include <functional>
#include <string>
#include <string_view>

#include "common/model/onnx/node.h"

// Turns ONNX operators into the graph's. A converter reads its node, adds operators, and sets the
// node's outputs; if it cannot, it throws InputError, in words that follow the node's name.

namespace cacheinf {

struct OnnxOperator {
  std::function<void(OnnxNode&)> convert = {};  // none: only supported among constants
  std::function<void(OnnxNode&)> fold = {};     // if all inputs are constants; none: not supported
  bool takes_integers = false;  // whether it also converts integers (class indices, say)
};

// The converter for an operator of ONNX's own domain; nullptr if there is none.
const OnnxOperator* FindOnnxOperator(std::string_view type);

// Why an operator without a converter is refused, and what to do about it.
std::string WhyNotSupported(std::string_view type);

// Sliding windows and everything else on pictures: windows.cc.
void ConvertConv(OnnxNode& node);
void ConvertConvTranspose(OnnxNode& node);
void ConvertMaxPool(OnnxNode& node);
void ConvertAveragePool(OnnxNode& node);
void ConvertGlobalPool(OnnxNode& node, ReduceKind kind);
void ConvertResize(OnnxNode& node);
void ConvertUpsample(OnnxNode& node);
void ConvertDepthToSpace(OnnxNode& node);
void ConvertSpaceToDepth(OnnxNode& node);

// Moving numbers, known or not: moves.cc.
void ConvertIdentity(OnnxNode& node);
void ConvertDropout(OnnxNode& node);
void ConvertReshape(OnnxNode& node);
void ConvertFlatten(OnnxNode& node);
void ConvertSqueeze(OnnxNode& node);
void ConvertUnsqueeze(OnnxNode& node);
void ConvertTranspose(OnnxNode& node);
void ConvertExpand(OnnxNode& node);
void ConvertTile(OnnxNode& node);
void ConvertSlice(OnnxNode& node);
void ConvertSplit(OnnxNode& node);
void ConvertGather(OnnxNode& node);
void ConvertConcat(OnnxNode& node);
void ConvertPad(OnnxNode& node);

// Integers and truth values that are not known: choices.cc.
void ConvertCast(OnnxNode& node);
void ConvertComparison(OnnxNode& node, BinaryKind kind, bool is_swapped);
void ConvertXor(OnnxNode& node);
void ConvertNot(OnnxNode& node);
void ConvertIsNaN(OnnxNode& node);
void ConvertSign(OnnxNode& node);
void ConvertWhere(OnnxNode& node);
void ConvertMod(OnnxNode& node);
void ConvertTopK(OnnxNode& node);
void ConvertGatherElements(OnnxNode& node);
void ConvertGatherByValue(OnnxNode& node);  // a Gather whose indices are not known
void ConvertGatherND(OnnxNode& node);
void ConvertCumSum(OnnxNode& node);
void ConvertGridSample(OnnxNode& node);

// Matrix products and norms: matrices.cc.
void ConvertMatMul(OnnxNode& node);
void ConvertGemm(OnnxNode& node);
void ConvertBatchNormalization(OnnxNode& node);
void ConvertLayerNormalization(OnnxNode& node);
void ConvertInstanceNormalization(OnnxNode& node);
void ConvertGroupNormalization(OnnxNode& node);
void ConvertLocalResponseNormalization(OnnxNode& node);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_MODEL_ONNX_OPERATORS_H_
