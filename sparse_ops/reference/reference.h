#ifndef CACHEINF_SPARSE_OPS_REFERENCE_REFERENCE_H_
#define CACHEINF_SPARSE_OPS_REFERENCE_REFERENCE_H_

#include "sparse_ops/ops.h"

// Every operator, slow and obvious: the definition of its arithmetic. All other families of kernels
// are checked against it bit for bit. Nothing here allocates memory.

namespace cacheinf {
namespace reference {

void Conv(const ConvArgs& args, Range rows);
void Pool(const PoolArgs& args, Range rows);
void AdaptivePool(const AdaptivePoolArgs& args, Range rows);
void Resize(const ResizeArgs& args, Range rows);
void DepthToSpace(const BlockArgs& args, Range rows);
void SpaceToDepth(const BlockArgs& args, Range rows);

void Activation(const ActivationArgs& args);
void ScaleShift(const ScaleShiftArgs& args);
void Binary(const BinaryArgs& args);

void Copy(const CopyArgs& args);
void Gather(const GatherArgs& args);
void Pad(const PadArgs& args);

void Linear(const LinearArgs& args);
void MatMul(const MatMulArgs& args);

void LayerNorm(const LayerNormArgs& args);
void GroupNorm(const GroupNormArgs& args);
void Softmax(const SoftmaxArgs& args);
void ArgMax(const ArgMaxArgs& args);
void Reduce(const ReduceArgs& args);

void DecodeBoxes(const DecodeBoxesArgs& args);
void NonMaxSuppression(const NonMaxSuppressionArgs& args);

}  // namespace reference
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_REFERENCE_REFERENCE_H_
