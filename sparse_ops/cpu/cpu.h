#ifndef CACHEINF_SPARSE_OPS_CPU_CPU_H_
#define CACHEINF_SPARSE_OPS_CPU_CPU_H_

#include <cstddef>

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

// The operators of ops.h on this machine's vectors and threads, except convolutions (conv.h) and
// Linear (linear.h), which keep their weights packed. The bits are those of reference:: for any
// pool and any rows. Nothing here allocates.
//
// Fast is what networks do: contiguous channels, or, in operators along one axis, that axis.
// All else (a product or softmax of strided numbers, a sum over several axes that are not a
// picture's) goes to reference::, on one thread and many times slower, with the same bits: copy
// those tensors first.

namespace cacheinf {
namespace cpu {

void Pool(const PoolArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void AdaptivePool(const AdaptivePoolArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Resize(const ResizeArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void DepthToSpace(const BlockArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void SpaceToDepth(const BlockArgs& args, const ActivePixels& pixels, ThreadPool& pool);

void Activation(const ActivationArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void ScaleShift(const ScaleShiftArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Binary(const BinaryArgs& args, const ActivePixels& pixels, ThreadPool& pool);

void Copy(const CopyArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Gather(const GatherArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Pad(const PadArgs& args, const ActivePixels& pixels, ThreadPool& pool);

void LayerNorm(const LayerNormArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void GroupNorm(const GroupNormArgs& args, ThreadPool& pool);
void Softmax(const SoftmaxArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void ArgMax(const ArgMaxArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Reduce(const ReduceArgs& args, const ActivePixels& pixels, ThreadPool& pool);

void DecodeBoxes(const DecodeBoxesArgs& args, ThreadPool& pool);
void NonMaxSuppression(const NonMaxSuppressionArgs& args);

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_CPU_H_
