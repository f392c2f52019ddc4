#ifndef CACHEINF_SPARSE_OPS_CPU_CPU_H_
#define CACHEINF_SPARSE_OPS_CPU_CPU_H_

#include "sparse_ops/active_pixels.h"
#include "sparse_ops/cpu/thread_pool.h"
#include "sparse_ops/ops.h"

// The operators of ops.h on this machine's vectors and threads, except convolutions (conv.h) and
// products (products.h), which pack operands. For any pool and any pixels the bits are those of
// reference::. Nothing here allocates.
//
// Only the layouts that networks use are fast: contiguous channels or, for operators along one
// axis, that axis. All others (a product or softmax of strided numbers, a sum over several axes
// that are not a picture's) go to reference::, on one thread and many times slower, with the same
// bits. Copy such tensors first.

namespace cacheinf {

struct WarpArgs;

namespace cpu {

void Compute(const PoolArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const AdaptivePoolArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const ResizeArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const DepthToSpaceArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const SpaceToDepthArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const ActivationArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const ScaleShiftArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const BinaryArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const CopyArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const GatherArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const PadArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const LayerNormArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const SoftmaxArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const ArgMaxArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const ReduceArgs& args, const ActivePixels& pixels, ThreadPool& pool);

void Compute(const FakeQuantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const QuantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const DequantiseArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const QuantConvArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const TableArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const QuantBinaryArgs& args, const ActivePixels& pixels, ThreadPool& pool);
void Compute(const QuantPoolArgs& args, const ActivePixels& pixels, ThreadPool& pool);

// The whole output.
void Compute(const GatherElementsArgs& args, ThreadPool& pool);
void Compute(const TopKArgs& args, ThreadPool& pool);
void Compute(const GroupNormArgs& args, ThreadPool& pool);
void Compute(const DecodeBoxesArgs& args, ThreadPool& pool);
void Compute(const NonMaxSuppressionArgs& args, ThreadPool& pool);
void Compute(const WarpArgs& args, ThreadPool& pool);

}  // namespace cpu
}  // namespace cacheinf

#endif  // CACHEINF_SPARSE_OPS_CPU_CPU_H_
